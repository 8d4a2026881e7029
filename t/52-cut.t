# Licensed under the Apache License, Version 2.0; see LICENSE.

# Responses that break off after their head: what came reaches the client,
# and the cut stays visible. And clients that do not take theirs.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Bulk;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n\r\n";
my $MB = 1024 * 1024;

# Nothing more comes, for longer than UpstreamReadTimeout.
sub silence { return sub { $_[0]->wait_eof(5); 0 } }

# name => [what the backend does, what the client must get of the body]
my %CUT = (
    head => [["${H}Content-Length: 5\r\n\r\n", silence()], ''],
    partlen => [["${H}Content-Length: 6000\r\n\r\n", pause(0.1),
        filler(1923), silence()], filler(1923)],
    partchunk => [[$CH . "1000\r\nhello", pause(0.1), ' world', silence()],
        'hello world'],
    chunks => [[$CH . "5\r\nhello\r\n", silence()], 'hello'],
    close => [["HTTP/1.0 200 OK\r\n\r\nhello", silence()], 'hello'],
    more => [["${H}Content-Length: 99000\r\n\r\n", pause(0.1), filler(40_000),
        silence()], filler(40_000)],
    resetlen => [["${H}Content-Length: 6000\r\n\r\n", filler(1923),
        pause(0.3), break_off()], filler(1923)],
    resetchunk => [[$CH . "5\r\nhello\r\n", pause(0.3), break_off()],
        'hello'],
    resetclose => [["HTTP/1.0 200 OK\r\n\r\nhello", pause(0.3), break_off()],
        'hello'],
    badchunk => [[$CH . "5\r\nhello\r\n", pause(0.3), "zz\r\n", silence()],
        'hello'],
    badlater => [[$CH . "ffff\r\n" . filler(0xffff) . "\r\n", pause(0.2),
        "2\r\nokX\r\n", silence()], filler(0xffff) . 'ok'],
);

my %answer = map { $_ => $CUT{$_}[0] } keys %CUT;
$answer{plain} = "${H}Content-Length: 2\r\n\r\nok";
# Slower than UpstreamReadTimeout as a whole, but never silent for so long.
$answer{slow} = ["${H}Content-Length: 6\r\n\r\n", map { (pause(0.4), $_) }
    qw(ab cd ef)];
$answer{big} = [bulk_head(32 * $MB), send_bulk(32 * $MB), sub {
    $_[0]->note(type => 'ended', how => $_[0]->wait_eof(5)); 0 }];

# More than a client takes that does not read, then a little now and then.
$answer{drip} = [bulk_head(64 * $MB), send_bulk(16 * $MB), sub {
    for (1 .. 30) {
        sleep 0.2;
        $_[0]->send('x' x 20_000) or last;
    }
    return 0;
}];

my $b = Up::Answers->start(\%answer);
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamReadTimeout 700ms
UpstreamTempPath @TMP@
UpstreamPass /on/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
END

# All at once, each on a connection of its own: they mostly wait.
for my $mode (qw(on off)) {
    subtest "buffering $mode" => sub {
        my @names = sort keys %CUT;
        my %k = map { $_ => $s->client(timeout => 5) } @names;
        $s->mark;
        $b->clear;
        $k{$_}->request(GET => "/$mode/$_") for @names;
        for my $name (@names) {
            my $res = $k{$name}->response;
            is $res->status, 200, "$name: the status arrives";
            ok $res->body eq $CUT{$name}[1], 'and what came'
                or diag length($res->body) . ' bytes';
            if ($res->framing eq 'close') {
                ok defined $k{$name}->wait_close(2), 'and an end';
            }
            else {
                ok $res->cut, 'and a cut';
            }
        }
        my @log = $s->error_log(qr/UP0426/);
        is scalar(grep { /timed out \(UpstreamReadTimeout\)/ } @log), 6,
            'time-outs are logged';
        is scalar(grep { /recv\(\) failed/ } @log), 3, 'and resets';
        is scalar(grep { /sent invalid chunked response/ } @log), 2,
            'and bad chunks';
        is scalar(grep { $s->logged("/$mode/$_")->{UPSTREAM_STATUS} == 200 }
            @names), scalar @names, 'status 200';
        is scalar(my @r = $b->requests), @names, 'nothing is tried again';
        my $res = $s->get("/$mode/slow");
        is $res->body, 'abcdef', 'slow is not silent';
        ok $res->complete, 'complete';
    };
}

# The client's part of it: httpd's Timeout.
my $t = Up::Server->start(A => $b->addr, conf => <<'END');
Timeout 2
SendBufferSize 65536
UpstreamPass /on/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
<Location /nofile/>
    UpstreamPass http://@A@
    UpstreamMaxTempFileSize 0
</Location>
END

subtest 'clients that read nothing, and one that reads slowly' => sub {
    my @targets = qw(/off/big /nofile/big /on/drip);
    my $slow = $t->client(rcvbuf => 65_536);
    $slow->request(GET => '/nofile/big');
    $b->wait_count(1);
    $t->mark;
    $b->clear;
    my @k = map { $t->client(rcvbuf => 65_536) } @targets;
    $k[$_]->request(GET => $targets[$_]) for 0 .. $#targets;
    my $began = time;
    read_head($slow);
    my $got = 0;
    for (1 .. 8) {
        sleep 0.4;
        for (1 .. 4) {
            $got += read_bulk($slow, 32_768, undef, $got);
        }
    }
    is $got, 8 * 4 * 32_768, 'the slow one is patient';
    my @log = $t->error_log(qr/UP0426.*client timed out \(Timeout\)/);
    is scalar @log, 3, 'the others are given up';
    is $b->wait_count(3, 'close'), 3, 'the backend is told';
    is scalar(my @all = $b->events('all')), 1, 'before it was done';
    for my $event ($b->events('close')) {
        my $took = $event->{t} - $began;
        ok $took > 1.7 && $took < 3.5, "after that time ($took)";
    }
    for my $k (@k) {
        my $n = 0;
        $n += length($k->read_some // last) while $n < 40 * $MB;
        ok $n < 20 * $MB, 'and so are they, once they read';
    }
    is read_bulk($slow, 32 * $MB - $got, undef, $got), 32 * $MB - $got,
        'the slow one gets all of it';
};

ok $_->stop, 'httpd ended well' for $s, $t;
done_testing;
