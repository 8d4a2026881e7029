# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamTotalTimeout: all tries and the body together.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Scripts ();
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $MB = 1024 * 1024;

my $b = Up::Answers->start({
    quick => ["${H}Content-Length: 2\r\n\r\nok"],
    drip => ["${H}Content-Length: 400\r\n\r\n",
        sub { $_[0]->send_slow('d' x 400, 1, 0.01) }],
    pieces => ["${H}Transfer-Encoding: chunked\r\n\r\n",
        sub { $_[0]->send_slow("1\r\np\r\n" x 400, 6, 0.01) }],
    never => [pause(5), hang_up()],
    torrent => ["HTTP/1.0 200 OK\r\n\r\n", sub {
        my ($c) = @_;
        my $until = time + 5;
        while (time < $until) {
            $c->send('t' x 100) or return 0;
        }
        return 1;
    }, hang_up()],
    big => [bulk_head(8 * $MB), send_bulk(8 * $MB)],
});
my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $stuck = Up::Backend->stuck;
my $s = Up::Server->start(P => $b->addr, A => $A->addr, B => $B->addr,
    S => $stuck->addr, conf => <<'END');
UpstreamTotalTimeout 600ms
<Upstream ab>
    UpstreamServer @A@ max_fails=1 fail_timeout=60s
    UpstreamServer @B@ max_fails=1 fail_timeout=60s backup
</Upstream>
<Location /p/>
    UpstreamPass http://@P@
</Location>
<Location /off/>
    UpstreamPass http://@P@
    UpstreamBuffering off
</Location>
<Location /none/>
    UpstreamPass http://@P@
    UpstreamTotalTimeout 0
</Location>
<Location /stuck/>
    UpstreamPass http://@S@
</Location>
<Location /ab/>
    UpstreamPass http://ab
    UpstreamReadTimeout 400ms
</Location>
<Location /up/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /gathered/>
    UpstreamPass http://@A@
</Location>
END

sub took {
    my ($res, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $seconds = $res->finished - $res->started;
    return ok($seconds > 0.5 && $seconds < 2, "$name ($seconds)");
}

sub failure {
    my ($tag) = @_;
    return ($s->error_log(qr/$tag/))[0];
}

is $s->get('/p/quick')->body, 'ok', 'what is quick is not touched';

subtest 'before the head' => sub {
    for my $target ('/p/never', '/stuck/x') {
        $s->mark;
        my $res = $s->get($target);
        is $res->status, 504, "$target: 504";
        took($res, 'in time');
        like failure('UP0427'), qr/timed out \(UpstreamTotalTimeout\) while/,
            'the log names the directive';
    }
};

subtest 'tries share it' => sub {
    $s->mark;
    my $res = $s->get('/ab/x', ['X-A' => 'silent', 'X-B' => 'silent']);
    is $res->status, 504, 'A and B say nothing';
    took($res, 'not the time of both');
    my @lines = $s->error_log(qr/UP0427.*TotalTimeout/);
    like $lines[-1], qr/: UpstreamTotalTimeout is over$/, 'no more tries';
    is scalar(grep { /UP0424/ } $s->error_log), 1,
        'the second server is not blamed for what was left';
};

subtest 'in the body, nothing sent yet' => sub {
    $s->mark;
    my $res = $s->get('/p/drip');
    is $res->status, 504, 'a buffered one: 504';
    ok $res->complete, 'whole and well';
    took($res, 'in time');
    like failure('UP0426'), qr/UpstreamTotalTimeout.*: the client gets a 504/,
        'the log says so';
};

subtest 'in the body, the head is out' => sub {
    for my $target ('/off/drip', '/p/pieces', '/off/torrent', '/p/torrent') {
        $s->mark;
        my $res = $s->get($target);
        is $res->status, 200, "$target: the head is out";
        ok $res->cut || !$res->complete, 'cut';
        ok length $res->body > 10, 'nothing of what came is lost';
        took($res, 'in time');
        like failure('UP0426'), qr/timed out \(UpstreamTotalTimeout\)/,
            'the log names the directive';
    }
};

subtest 'a slow client is not the backend' => sub {
    my $k = $s->client(rcvbuf => 65_536, timeout => 20);
    $k->request(GET => '/p/big');
    sleep 1.2;
    read_head($k);
    is read_bulk($k, 8 * $MB), 8 * $MB, 'what was there in time is sent';
};

subtest 'the request' => sub {
    my $k = $s->client;
    $k->send("PUT /gathered/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n",
        'ab');
    sleep 0.9;
    $k->send('cd');
    is $k->response->status, 200, 'is gathered in its own time';
    $s->mark;
    $k = $s->client;
    $k->send("PUT /up/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
        'ab');
    my $res = $k->response;
    is $res->status, 504, 'and streamed in that of the exchange';
    like failure('UP0427'), qr/UpstreamTotalTimeout/, 'as the log says';
};

is length $s->get('/none/drip')->body, 400, '0: no limit';
is $s->get('/p/quick')->body, 'ok', 'and all is well';
ok $s->stop, 'httpd ended well';
done_testing;
