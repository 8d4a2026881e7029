# Licensed under the Apache License, Version 2.0; see LICENSE.

# What each timeout covers, when it begins anew, and what follows it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $stuck = Up::Backend->stuck;

# What it does is in the path.
my %SCRIPTS = (
    # a part of the body every 0.1 s
    parts => sub {
        my ($c) = @_;
        $c->send("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n");
        return $c->send_slow('p' x 40, 5, 0.1);
    },
    # then silence
    stall => sub {
        my ($c) = @_;
        $c->send("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n", 'p' x 11);
        return $c->wait_eof;
    },
    interim => sub {
        my ($c) = @_;
        return $c->send_slow("HTTP/1.1 102 Processing\r\n\r\n" x 40, 27, 0.1);
    },
    much => sub {
        my ($c) = @_;
        my $part = 'm' x 100_000;
        $c->send("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n");
        for (1 .. 200) {
            $c->send($part) or return;
        }
        $c->signal('all-sent');
        return 1;
    },
);
my $odd = Up::Backend->start(sub {
    my ($c) = @_;
    $c->timeout(20);
    while (my $req = $c->read_request) {
        $SCRIPTS{ (split m{/}, $req->{target})[-1] }->($c) or return;
    }
});

# Takes little, so that a request is not sent at once.
my $slow = Up::Backend->start(sub {
    my ($c) = @_;
    my $req = $c->read_head or return;
    my $left = (Up::Backend::Conn::values_of($req, 'Content-Length'))[0];
    if ($req->{target} =~ /never/) {
        $c->record_request($req);
        $c->pause(4);
        return;
    }
    while ($left > 0) {
        $c->pause(0.1);
        $left -= length $c->read_bytes($left > 200_000 ? 200_000 : $left);
    }
    $c->respond($req, 200, [Connection => 'close'], 'slow');
}, rcvbuf => 8192);

my $s = Up::Server->start(A => $A->addr, B => $B->addr, S => $stuck->addr,
    O => $odd->addr, L => $slow->addr, conf => <<'END');
Timeout 1
<If "%{HTTP:X-A} =~ /silent|trickle/ || %{REQUEST_URI} =~ m#odd|unbuf#">
    UpstreamReadTimeout 500ms
</If>
UpstreamConnectTimeout 10s
UpstreamSendTimeout 10s
UpstreamSocketSndbuf 16k
<Upstream ab>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @B@ max_fails=0 backup
</Upstream>
<Location /connect/>
    UpstreamPass http://@S@
    UpstreamConnectTimeout 500ms
</Location>
<Location /connect-only/>
    UpstreamPass http://@A@
    UpstreamConnectTimeout 100ms
</Location>
UpstreamPass /read/ http://@A@
UpstreamPass /ab/ http://ab
UpstreamPass /odd/ http://@O@
<Location /unbuffered/>
    UpstreamPass http://@O@
    UpstreamBuffering off
</Location>
<LocationMatch ^/(send|slow)/>
    UpstreamSendTimeout 400ms
</LocationMatch>
UpstreamPass /slow/ http://@L@
UpstreamPass /send/ http://@L@
<Location /stream/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
    UpstreamSendTimeout 300ms
    UpstreamReadTimeout 400ms
</Location>
<Location /stream-slow/>
    UpstreamPass http://@L@
    UpstreamRequestBuffering off
    UpstreamSendTimeout 300ms
</Location>
END

# Seconds and response of an exchange.
sub timed {
    my (@ask) = @_;
    my $start = time;
    my $res = $s->ask(@ask);
    return (time - $start, $res);
}

# Not before `from`; how much later depends on the machine.
sub took {
    my ($seconds, $from, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok($seconds > $from - 0.02 && $seconds < $from + 1.5,
        sprintf "%s after %.1f s (%.3f)", $name, $from, $seconds);
}

subtest 'RT04 UpstreamConnectTimeout' => sub {
    $s->mark;
    my ($seconds, $res) = timed(GET => '/connect/x');
    is $res->status, 504, 'status';
    took($seconds, 0.5, 'given up');
    like +($s->error_log(qr/UP0427/))[0],
        qr/\(UpstreamConnectTimeout\) while connecting to upstream/,
        'the log says why';
    ($seconds, $res) = timed(GET => '/connect-only/x', ['X-A' => 'late:0.6']);
    is $res->status, 200, 'it ends with the connection';
};

subtest 'RT05 UpstreamReadTimeout before the head' => sub {
    $A->clear;
    $s->mark;
    my ($seconds, $res) = timed(GET => '/read/x', ['X-A' => 'silent']);
    is $res->status, 504, 'status';
    ok $res->complete, 'a whole response';
    took($seconds, 0.5, 'given up');
    ok $A->wait_count(1, 'eof', 1), 'the connection is closed';
    is $s->get('/read/x')->body, 'A', 'the next request';
    my @requests = $A->requests;
    isnt $requests[1]{conn}, $requests[0]{conn}, 'has another one';
    like +($s->error_log(qr/UP0427/))[0], qr/\(UpstreamReadTimeout\)\ while
        \ reading\ response\ header/x, 'the log says why';
};

subtest 'a part of a head does not begin it anew' => sub {
    my ($seconds, $res) = timed(GET => '/read/x', ['X-A' => 'trickle']);
    is $res->status, 504, 'bytes of a head: 504';
    took($seconds, 0.5, 'given up');
    ($seconds, $res) = timed(GET => '/odd/interim');
    is $res->status, 504, 'interim responses: 504';
    took($seconds, 0.5, 'given up');
};

subtest 'RT17 a timeout is followed by another try' => sub {
    my ($seconds, $res) = timed(GET => '/ab/x', ['X-A' => 'silent']);
    is $res->body, 'B', 'by B';
    took($seconds, 0.5, 'answered');
    ($seconds, $res) = timed(GET => '/ab/x',
        ['X-A' => 'silent', 'X-B' => 'silent']);
    is $res->status, 504, 'B is silent, too';
    took($seconds, 1, 'each try has the full time');
};

subtest 'UpstreamReadTimeout between parts of a body' => sub {
    for my $location ('odd', 'unbuffered') {
        my ($seconds, $res) = timed(GET => "/$location/parts");
        ok $res->complete && length $res->body == 40,
            "$location: begins anew with every part";
        ok $seconds > 0.6, 'it took long enough';
        $s->mark;
        ($seconds, $res) = timed(GET => "/$location/stall");
        is $res->status, 200, 'silence in the middle: the head is out';
        is $res->body, 'p' x 11, 'nothing of what came is lost';
        ok $res->cut, 'the cut is seen';
        took($seconds, 0.5, 'given up');
        like +($s->error_log(qr/UP0426/))[0],
            qr/timed out \(UpstreamReadTimeout\).*, 11 body bytes/,
            'the log says why';
    }
};

subtest 'no timeout while the client holds the backend up' => sub {
    my $k = $s->client(rcvbuf => 8192, timeout => 20);
    $k->request(GET => '/unbuffered/much');
    sleep 0.8;
    my $early = $odd->wait_for('all-sent', 0);
    ok !$early, 'the backend was held up';
    my $got = '';
    for (1 .. 10) {
        $got .= $k->read_bytes(1_000_000);
        sleep 0.1;
    }
    $got .= $k->read_bytes(10_000_000 + index($got, "\r\n\r\n") + 4);
    is length $got, 20_000_004 + index($got, "\r\n\r\n"),
        'all comes, slow as the client is';
    $k->close;
};

subtest 'Timeout: a client that takes nothing' => sub {
    $odd->clear;
    $s->mark;
    my $k = $s->client(rcvbuf => 8192);
    $k->request(GET => '/unbuffered/much');
    ok $odd->wait_count(1, 'close', 4), 'is given up';
    like +($s->error_log(qr/UP0426/))[0], qr/client timed out \(Timeout\)/,
        'the log says why';
};

subtest 'UpstreamSendTimeout' => sub {
    my $body = 'b' x 2_000_000;
    $s->mark;
    my ($seconds, $res) = timed(PUT => '/send/never', [], $body);
    is $res->status, 504, 'the backend takes nothing: 504';
    ok $seconds < 3, "in time ($seconds)";
    like +($s->error_log(qr/UP0427/))[0],
        qr/\(UpstreamSendTimeout\) while sending request/,
        'the log says why';
    ($seconds, $res) = timed(PUT => '/slow/x', [], $body);
    is $res->body, 'slow', 'it begins anew with every write';
    ok $seconds > 0.9, "it took long enough ($seconds)";
};

subtest 'a streamed body' => sub {
    my $k = $s->client;
    $k->send("PUT /stream/x HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: 20\r\n\r\n");
    for (1 .. 2) {
        sleep 0.5;
        $k->send('0123456789');
    }
    my $res = $k->response;
    is $res->body, 'A', 'no timeout of the backend while the client sends';

    $k = $s->client;
    my $start = time;
    $k->send("PUT /stream/x HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: 30\r\n\r\n0123456789");
    $res = $k->response;
    is $res->status, 408, 'the client stops sending: 408';
    took(time - $start, 1, 'Timeout: given up');

    $k = $s->client;
    $k->send("PUT /stream-slow/never HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: 4000000\r\n\r\n0123456789");
    sleep 0.5;
    $start = time;
    $k->send('b' x 1_000_000); # more than the backend takes
    $res = $k->response;
    is $res->status, 504, 'then it is the backend that holds it up: 504';
    ok time - $start < 0.9, 'UpstreamSendTimeout, not Timeout';
};

subtest 'Timeout: a buffered body' => sub {
    $A->clear;
    my $k = $s->client;
    my $start = time;
    $k->send("PUT /read/x HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: 30\r\n\r\n0123456789");
    is $k->response->status, 408, 'the client stops sending: 408';
    took(time - $start, 1, 'given up');
    is $A->connections, 0, 'no backend was asked';
    is $k->wait_close(2), 'eof', 'the connection ends';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
