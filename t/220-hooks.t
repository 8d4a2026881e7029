# Licensed under the Apache License, Version 2.0; see LICENSE.

# The hooks for other modules, with the module of docs/examples: each runs
# where it should, and what it asks for is done.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

# `make test` has built it already.
my $example = "$ENV{UP_TOP}/build/examples/mod_upstream_example.so";
-e $example or system('make', '-s', '-C', $ENV{UP_TOP}, 'examples') == 0
    or die "no example module\n";

my ($A, $B, $C) = map { Up::Scripts->obedient($_) } qw(A B C);
my $refused = Up::Backend->closed(sub { });
my $raw = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['X-Reject' => 1], 'rejected'] if $req->{target} =~ /reject/;
    return [200, [], $req->{raw} =~ s/\r\n\r\n.*//sr =~ s/\r//gr
        . "\n" . $req->{body}];
});

my $s = Up::Server->start(A => $A->addr, B => $B->addr, C => $C->addr,
    R => $refused->addr, W => $raw->addr, EXAMPLE => $example,
    main => 'LoadModule upstream_example_module "@EXAMPLE@"',
    conf => <<'END');
LogLevel upstream_example:info
<Upstream abc>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @B@ max_fails=0
    UpstreamServer @C@ max_fails=0 backup
</Upstream>
<Upstream rab>
    UpstreamServer @R@ max_fails=0 weight=1000
    UpstreamServer @A@ max_fails=0
</Upstream>
<Upstream out>
    UpstreamServer @A@ fail_timeout=1s weight=1000
    UpstreamServer @B@ backup
</Upstream>
UpstreamNextUpstream error timeout http_503
UpstreamPass /abc/ http://abc
UpstreamPass /rab/ http://rab
UpstreamPass /out/ http://out
UpstreamPass /raw/ http://@W@
<Location /off/>
    UpstreamPass http://abc
    UpstreamNextUpstream off
</Location>
<Location /stream/>
    UpstreamPass http://@W@
    UpstreamRequestBuffering off
</Location>
END

my $k = $s->client;
my $n = 0;

# Response, and what the example wrote of this request.
sub ask {
    my ($path, %field) = @_;
    my $method = delete $field{method} // 'GET';
    my $body = delete $field{body};
    my $target = $path . ++$n;
    $s->mark;
    my $res = $k->ask($method, $target, [%field], $body);
    $k = $s->client if $res->closes;
    $s->logged($target);
    return ($res, map { /example: (.*?)(?:, referer.*)?$/ ? $1 : () }
        $s->error_log);
}

subtest 'select_peer' => sub {
    my ($a, $b, $c) = map { $_->addr } $A, $B, $C;
    for my $round (1 .. 3) {
        for my $row ([$a, 'A'], [$b, 'B'], [$c, 'C']) {
            my ($res) = ask('/abc/', 'X-Example-Server' => $row->[0]);
            is $res->body, $row->[1], "the server that is named: $row->[1]";
        }
    }
    my ($res) = ask('/abc/', 'X-Example-Server' => 'nowhere:1');
    like $res->body, qr/^[AB]\z/, 'one that is not there: the method chooses';
    ($res) = ask('/abc/', 'X-Example-Server' => 'idle');
    like $res->body, qr/^[AB]\z/, 'chosen out of the list';
    my @said;
    ($res, @said) = ask('/abc/', 'X-Example-Server' => $c, 'X-C' => 'part');
    like $res->body, qr/^[AB]\z/, 'the next try goes elsewhere';
    is_deeply [grep { /again/ } @said], ["try failed: try 1 at $c: "
        . 'http_response_incomplete (prematurely closed connection), again'],
        'which is told';
};

subtest 'request_out' => sub {
    my ($res) = ask('/raw/x', 'X-Example-Secret' => 's3', 'X-Other' => 'o');
    my $addr = $raw->addr;
    like $res->body, qr/^X-Example-Try: 1 at \Q$addr\E$/m, 'a field more';
    unlike $res->body, qr/s3/, 'one less';
    like $res->body, qr/^X-Other: o$/m, 'the others are there';
    like $res->body, qr/^Host: \Q$addr\E$/m, 'Host, too';
    unlike $res->body, qr/^Content-Length:/m, 'framing is not theirs';
    for my $path ('/raw/', '/stream/') {
        ($res) = ask($path, method => 'POST', body => 'a body');
        like $res->body, qr/^Content-Length: 6\n.*^a body\z/ms,
            "$path: with a body";
    }
    ($res) = ask('/rab/', 'X-Example-Server' => $refused->addr);
    is $res->body, 'A', 'another try';
    like +($A->requests)[-1]{raw}, qr/^X-Example-Try: 2 at /m,
        'has a head of its own';
    my ($broken, @said) = ask('/raw/', 'X-Example-Break' => 1);
    is $broken->status, 500, 'a field that would be two is none';
    like $said[-1], qr/^ended: 1 tries/, 'told of the end';
    ($res) = ask('/raw/', 'X-Example-No-Send' => 1);
    is $res->status, 503, 'its status counts';
    is scalar(grep { /X-More/ } map { $_->{raw} } $raw->requests), 0,
        'nothing of it was sent';
};

subtest 'response_in' => sub {
    my ($res) = ask('/abc/', 'X-Example-Server' => $A->addr);
    is $res->header('X-Example'), $A->addr . ' said 200 in try 1 of abc',
        'a field more';
    my @said;
    ($res, @said) = ask('/raw/reject');
    is $res->status, 502, 'another answer in its place';
    unlike $res->body, qr/rejected/, 'nothing of it';
};

subtest 'pre_connect' => sub {
    my $before = $raw->requests;
    my ($res, @said) = ask('/raw/', 'X-Example-Refuse' => 1);
    is $res->status, 403, 'refused';
    is scalar(@said), 0, 'no other hook runs';
    is scalar($raw->requests), $before, 'nobody was asked';
};

subtest 'connect_failed, try_failed' => sub {
    my ($res, @said) = ask('/rab/', 'X-Example-Retry' => 'no',
        'X-Example-Server' => $refused->addr);
    is $res->status, 502, 'a veto';
    like $said[0], qr/^connect failed: try 1 at \S+: connection_refused \(/,
        'before there was a connection';
    like $said[-1], qr/^ended: 1 tries, 0 connections, 1 failures, final 502/,
        'one try';
    is scalar(grep { /UP0427.*another module allows no other try/ }
        $s->error_log), 1, 'and the log says why';

    ($res, @said) = ask('/abc/', 'X-Example-Retry' => 'no',
        'X-Example-Server' => $A->addr, 'X-A' => 'say:503');
    is $res->status, 503, 'an answer that would be given up';
    ($res, @said) = ask('/off/', 'X-Example-Retry' => 'yes',
        'X-Example-Server' => $A->addr, 'X-A' => 'part');
    is $res->body, 'B', 'a try that the configuration does not want';
    ($res, @said) = ask('/off/', 'X-Example-Retry' => 'yes',
        'X-Example-Server' => $A->addr, 'X-A' => 'part', method => 'POST',
        body => 'b');
    is $res->body, 'B', 'with a POST, too';
    ($res, @said) = ask('/stream/', 'X-Example-Retry' => 'yes',
        method => 'POST', body => 'x');
    is $res->status, 200, 'what goes well is left alone';
    ($res, @said) = ask('/abc/', 'X-Example-Retry' => 'yes',
        map { ("X-$_" => 'part') } qw(A B C));
    is $res->status, 502, 'when there is no other server, none is asked';
    is scalar(grep { /^try failed/ } @said), 3, 'each failure is told';
};

subtest 'a stale connection' => sub {
    ask('/abc/', 'X-Example-Server' => $A->addr);
    my ($res, @said) = ask('/abc/', 'X-Example-Server' => $A->addr,
        'X-A-again' => 'close');
    is $res->body, 'A', 'again on the same server';
    my $addr = $A->addr;
    like $said[0], qr/^try 1 on a kept connection to \Q$addr\E\z/, 'kept';
    like $said[1], qr/^try failed: try 1 .*, again\z/, 'stale';
    like $said[2], qr/^try 2 on a new connection to \Q$addr\E\z/, 'new';
};

subtest 'failed' => sub {
    my %all = map { ("X-$_" => 'part') } qw(A B C);
    my ($res, @said) = ask('/abc/', %all, 'X-Example-Status' => 504);
    is $res->status, 504, 'another status';
    like $said[-1], qr/^ended: 3 tries, 3 connections, 3 failures, final 504/,
        'the end';
    ($res) = ask('/abc/', %all, 'X-Example-Status' => 200);
    is $res->status, 502, 'but no success';
    ($res, @said) = ask('/abc/', 'X-A' => 'say:404', 'X-B' => 'say:404');
    is $res->status, 404, 'an answer is no failure';
    like $said[-1], qr/ 0 failures, final 0,/, 'and not told as one';
};

subtest 'peer_state_changed' => sub {
    my $addr = $A->addr;
    my ($res, @said) = ask('/out/', 'X-Example-Server' => $addr,
        'X-A' => 'part');
    is_deeply [grep { /is out/ } @said], ["server $addr of out is out"],
        'it has failed';
    my @back;
    for (1 .. 40) {
        ($res, @said) = ask('/out/');
        @back = grep { /is back/ } @said and last;
        select undef, undef, undef, 0.1;
    }
    is_deeply \@back, ["server $addr of out is back"], 'and is back';
    ($res, @said) = ask('/out/');
    is scalar(grep { / is / } @said), 0, 'once';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
