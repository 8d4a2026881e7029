# Licensed under the Apache License, Version 2.0; see LICENSE.

# A pooled connection that the backend has given up: who may ask again, where,
# and who is to blame.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $going = Up::Scripts->obedient('A');
my $short = Up::Backend->start(sub {
    my ($c) = @_;
    my $req = $c->read_request or return;
    $c->respond($req, 200, [], "$req->{method} $req->{body}");
    $c->pause(0.05);
});

my $s = Up::Server->start(A => $A->addr, B => $B->addr, G => $going->addr,
    S => $short->addr, conf => <<'END');
<If "%{HTTP:X-A-again} == 'silent'">
    UpstreamReadTimeout 400ms
</If>
<Upstream ab>
    UpstreamServer @A@ fail_timeout=60s
    UpstreamServer @B@ backup
</Upstream>
<Upstream two>
    UpstreamServer @A@ fail_timeout=60s
    UpstreamServer @B@ fail_timeout=60s
</Upstream>
<Upstream blamed>
    UpstreamServer @A@ fail_timeout=60s
    UpstreamServer @B@ backup
</Upstream>
<Upstream loses>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @B@ backup
</Upstream>
<Upstream one>
    UpstreamServer @A@ max_conns=1
</Upstream>
<Upstream gone>
    UpstreamServer @G@ fail_timeout=60s
    UpstreamServer @B@ backup
</Upstream>
UpstreamPass /single/ http://@A@/
UpstreamPass /short/ http://@S@/
UpstreamPass /ab/ http://ab/
UpstreamPass /two/ http://two/
UpstreamPass /blamed/ http://blamed/
UpstreamPass /loses/ http://loses/
UpstreamPass /one/ http://one/
UpstreamPass /gone/ http://gone/
<Location /off/>
    UpstreamPass http://ab/
    UpstreamNextUpstream off
</Location>
<Location /tries/>
    UpstreamPass http://ab/
    UpstreamNextUpstreamTries 1
</Location>
<Location /time/>
    UpstreamPass http://loses/
    UpstreamNextUpstreamTimeout 1ms
</Location>
<Location /non-idempotent/>
    UpstreamPass http://ab/
    UpstreamNextUpstream error non_idempotent
</Location>
<Location /stream/>
    UpstreamPass http://ab/
    UpstreamRequestBuffering off
    UpstreamRequestBufferSize 1k
</Location>
END

# One connection, so one pool.
my $k = $s->client;

sub ask {
    my (@ask) = @_;
    my $res = $k->ask(@ask);
    $k = $s->client if $res->closes;
    return $res;
}

my $serial = 0;

# Makes sure that a pooled connection waits; then asks. Returns response and
# entry of the access log.
sub stale {
    my ($method, $target, $do, $body, @more) = @_;
    is ask(GET => $target)->status, 200, 'a first request';
    $_->clear for $A, $B;
    $target .= '?' . ++$serial;
    my $res = ask($method => $target, ['X-A-again' => $do, @more], $body);
    return ($res, $s->logged($target));
}

sub asked { return Up::Scripts::asked(A => $A, B => $B) }

my $twice = $A->addr . ', ' . $A->addr;

subtest 'RT01 C23 an idempotent request is sent again' => sub {
    for my $location (qw(single ab one off tries)) {
        for my $do (qw(close reset)) {
            my ($res, $line) = stale(GET => "/$location/x", $do);
            is $res->status . $res->body, '200A', "$location, $do: answered";
            is $line->{UPSTREAM_ADDR}, $twice, 'by the same server';
            is $line->{UPSTREAM_STATUS}, '502, 200', 'both tries';
            is $line->{UPSTREAM_CONNECT_TIME} =~ /^0\.000, \d\.\d{3}\z/, 1,
                'the first on a pooled connection';
            is asked(), 'A:2', 'no other server';
        }
    }
    for my $method (qw(HEAD PUT DELETE OPTIONS PROPFIND)) {
        my ($res) = stale($method => '/ab/x', 'close');
        is $res->status, 200, $method;
    }
    is ask(GET => '/ab/x')->body, 'A', 'it was no failure';
};

subtest 'one of several servers' => sub {
    is join('', map { ask(GET => '/two/x')->body } 1 .. 4), 'ABAB',
        'both have a pooled connection';
    my @again = map { ("X-$_-again" => 'close') } qw(A B);
    is join('', map { ask(GET => '/two/x', [@again])->body } 1 .. 4),
        'ABAB', 'no longer alive: the same servers';
    is join('', map { ask(GET => '/two/x')->body } 1 .. 4), 'ABAB',
        'none rests';
};

subtest 'a body' => sub {
    for my $size (10, 100_000) {
        my $body = substr 'body ' x 20_000, 0, $size;
        my ($res) = stale(PUT => '/ab/x', 'close', $body);
        is $res->status, 200, "$size bytes";
        is_deeply [map { $_->{body} eq $body } $A->requests], [1, 1],
            'sent twice, whole';
    }
    my ($res) = stale(PUT => '/stream/x', 'reset', 'b' x 200_000);
    is $res->status, 502, 'a streamed one is not';
    is asked(), 'A:1', 'sent again';
    ($res) = stale(PUT => '/stream/x', 'close');
    is $res->status, 200, 'none: nothing in the way';
};

subtest 'C23 other requests' => sub {
    for my $method (qw(POST LOCK PATCH FROB)) {
        my ($res, $line) = stale($method => '/ab/x', 'close', 'abc');
        is $res->status, 502, "$method: 502";
        is asked(), 'A:1', 'sent once';
        is ask(GET => '/ab/x')->body, 'A', 'no failure of the server';
        ($res, $line) = stale($method => '/non-idempotent/x', 'close', 'abc');
        is $res->status, 200, 'non_idempotent: sent again';
        is $line->{UPSTREAM_ADDR}, $twice, 'to the same server';
        is_deeply [map { $_->{body} } $A->requests], ['abc', 'abc'],
            'with its body';
    }
};

subtest 'free of charge once' => sub {
    my ($res, $line) = stale(GET => '/loses/x', 'close', undef,
        'X-A-first' => 'close');
    is $res->body, 'B', 'the new connection fails: the next server';
    is $line->{UPSTREAM_STATUS}, '502, 502, 200', 'three tries';
    is asked(), 'A:2 B:1', 'two of them with A';
    ($res, $line) = stale(GET => '/single/x', 'close', undef,
        'X-A-first' => 'reset');
    is $res->status, 502, 'no next server';
    is $line->{UPSTREAM_STATUS}, '502, 502', 'two tries';
    ask(GET => '/blamed/x');
    ($res) = ask(GET => '/blamed/x', ['X-A' => 'close']);
    is $res->body, 'B', 'and that one';
    is ask(GET => '/blamed/x')->body, 'B', 'is a failure';
};

subtest 'several stale connections' => sub {
    Test::More::plan(skip_all => 'a pool per process')
        if $s->{mpm} eq 'prefork';
    my @clients = map { $s->client } 1 .. 3;
    $_->request(GET => '/loses/x', ['X-A' => 'late:0.2']) for @clients;
    is $_->response->body, 'A', 'one more connection' for @clients;
    my ($res, $line) = stale(GET => '/loses/x', 'close');
    is $res->body, 'A', 'answered';
    is $line->{UPSTREAM_STATUS}, '502, 200', 'the second try is a new one';
};

subtest 'not stale' => sub {
    my %failures = (part => 502, garbage => 502, silent => 504,
        interim => 502);
    for my $do (sort keys %failures) {
        my ($res, $line) = stale(GET => '/single/x', $do);
        is $res->status, $failures{$do}, "$do: there was an answer, or none "
            . 'is known';
        is $line->{UPSTREAM_STATUS}, $failures{$do}, 'one try';
    }
    my ($res, $line) = stale(GET => '/time/x', 'late-close');
    is $res->status, 502, 'UpstreamNextUpstreamTimeout is over';
    is $line->{UPSTREAM_STATUS}, '502', 'one try';
};

subtest 'the server is gone' => sub {
    is ask(GET => '/gone/x')->body, 'A', 'a first request';
    $going->refuse;
    is ask(GET => '/gone/1', ['X-A-again' => 'close'])->body, 'B',
        'stale, then refused, then the next server';
    is $s->logged('/gone/1')->{UPSTREAM_STATUS}, '502, 502, 200',
        'three tries';
    is ask(GET => '/gone/2')->body, 'B', 'and it rests';
    is $s->logged('/gone/2')->{UPSTREAM_STATUS}, '200', 'not asked again';
};

subtest 'RT13 an end that was seen in time' => sub {
    my @asks = (['GET'], ['POST', 'abc'], ['GET'], ['PUT', 'abc']);
    for my $ask (@asks) {
        my ($method, $body) = @$ask;
        my $target = '/short/' . ++$serial;
        my $res = ask($method => $target, [], $body);
        is $res->body, "$method " . ($body // ''), $method;
        is $s->logged($target)->{UPSTREAM_STATUS}, 200, 'no try failed';
        sleep 0.2;
    }
    is scalar($short->requests), 4, 'each was seen once';
    is $short->wait_count(4, 'accept'), 4, 'four connections';
};

subtest 'the log' => sub {
    $s->mark;
    stale(GET => '/single/x', 'close');
    my @lines = $s->error_log(qr/UP0427/);
    is scalar @lines, 1, 'one line';
    like $lines[0], qr/:info\].*prematurely\ closed\ connection.*pooled
        \ connection.*trying\ again\ on\ a\ new\ connection/x, 'says so';
    is scalar(grep { /UP0424/ } $s->error_log), 0, 'nobody is disabled';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
