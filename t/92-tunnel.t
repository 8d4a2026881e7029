# Licensed under the Apache License, Version 2.0; see LICENSE.

# Tunnels: no byte is lost, held or changed, whoever sends it when; each
# direction waits for its reader and ends by itself.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Answers;
use Up::Backend ();
use Up::Server ();
use Up::WS;

my $MB = 1024 * 1024;

# What a backend does behind its 101, by the end of the path.
my %DO = (
    echo => sub { echo($_[0]) },
    small => sub {
        my ($c) = @_;
        read_frame($c);
        $c->send(frame(1, 'A'));
        sleep 0.4;
        $c->send(frame(1, 'B'));
        $c->wait_eof;
    },
    close => sub { $_[0]->send(frame(1, 'last')); sleep 0.05 },
    reset => sub {
        $_[0]->send(frame(1, 'last'));
        sleep 0.1;
        $_[0]->reset;
    },
    closing => sub {
        my ($c) = @_;
        my ($opcode, $payload) = read_frame($c);
        $c->send(frame(8, pack 'n', 1000)) if $opcode == 8;
    },
    ends => sub { # has finished sending, and listens
        my ($c) = @_;
        $c->send('the end');
        $c->shutdown_write;
        my $got = '';
        while (length(my $more = $c->read_some)) {
            $got .= $more;
        }
        $c->note(type => 'heard', text => $got);
    },
    after => sub { # sends when the client has ended
        my ($c) = @_;
        $c->note(type => 'heard', text => $c->read_bytes(5));
        $c->wait_eof;
        $c->send(filler($MB));
    },
    count => sub {
        my ($c) = @_;
        my ($n, $good) = (0, 1);
        $c->wait_for('go');
        while (length(my $more = $c->read_some)) {
            $good &&= $more eq filler(length $more, $n);
            $n += length $more;
        }
        $c->send("$n " . ($good ? 'good' : 'bad'));
    },
    flood => sub {
        my ($c) = @_;
        my $sent = 0;
        while ($sent < 24 * $MB) {
            $c->send(filler($MB, $sent)) or last;
            $sent += $MB;
        }
        $c->note(type => 'flooded', sent => $sent);
        $c->wait_eof;
    },
    idle => sub {
        my ($c) = @_;
        my $began = time;
        my ($opcode, $payload, $masked) = read_frame($c);
        $c->note(type => 'told', text => defined $opcode
            ? "$opcode " . unpack('n', $payload) . " $masked" : 'end',
            took => time - $began);
        $c->wait_eof;
    },
    half => sub { $_[0]->send("\x81\x05ha"); $_[0]->wait_eof },
    raw => sub { $_[0]->wait_eof },
    busy => sub {
        my ($c) = @_;
        for (1 .. 8) {
            sleep 0.25;
            $c->send('.') or last;
        }
        $c->wait_eof;
    },
    listen => sub { # for the client's bytes, until they end
        my ($c) = @_;
        1 while length $c->read_some;
        $c->note(type => 'ended');
    },
);

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    while (my $req = $c->read_head) {
        my ($name) = $req->{target} =~ m{/(\w+)\z};
        if ($name eq 'early') { # 101 as soon as the head is there
            $c->send(switching($req));
            $c->read_body($req);
        }
        else {
            $c->read_body($req);
            $c->send(switching($req)
                . ($name eq 'first' ? frame(1, 'first') : ''));
        }
        $c->record_request($req);
        ($DO{$name} // $DO{echo})->($c);
        return;
    }
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /any/>
    UpstreamPass http://@A@
    UpstreamUpgrade any
    UpstreamTunnelTimeout 1s
</Location>
<Location /short/>
    UpstreamPass http://@A@
    UpstreamTunnelTimeout 700ms
</Location>
<Location /read/>
    UpstreamPass http://@A@
    UpstreamReadTimeout 700ms
</Location>
<Location /tiny/>
    UpstreamPass http://@A@
    UpstreamBufferSize 1k
    UpstreamSocketRcvbuf 16k
    UpstreamSocketSndbuf 16k
</Location>
END

my $FIELDS = join '', map { "$_\r\n" } 'Host: x', 'Upgrade: websocket',
    'Connection: Upgrade', "Sec-WebSocket-Key: $KEY";

sub opened {
    my ($target, %opt) = @_;
    my $k = $s->client(timeout => 15, %opt);
    my $res = upgrade($k, $target);
    is $res->status, '101', $target if $res->status != 101;
    return $k;
}

sub heard {
    my ($type) = @_;
    $b->wait_count(1, $type, 8);
    my ($event) = $b->events($type);
    return $event // {};
}

subtest 'bytes that come together with the head' => sub {
    my $k = $s->client;
    my $frame = frame(1, 'hello', 'mask');
    $k->send("GET /p/echo HTTP/1.1\r\n$FIELDS\r\n$frame");
    is $k->response->status, 101, 'a frame behind the request (WS05)';
    is +(read_frame($k, 3))[1], 'hello', 'is echoed once';
    ok $k->idle, 'and not again';
    $k = $s->client;
    $k->send("GET /p/first HTTP/1.1\r\n$FIELDS\r\n" . frame(1, 'a', 'mask'));
    is $k->response->status, 101, 'one behind the 101, too (WS04, J4, J15)';
    is +(read_frame($k, 3))[1], 'first', 'the first frame';
    is +(read_frame($k, 3))[1], 'a', 'and the echo';
    my ($head, $more) = ("GET /p/echo HTTP/1.1\r\n$FIELDS\r\n",
        filler(60_000));
    for my $cut (1, length($head) - 1, length $head, length($head) + 1) {
        $k = $s->client;
        $k->send(substr $head . $more, 0, $cut);
        sleep 0.05;
        $k->send(substr $head . $more, $cut);
        is $k->response->status, 101, "cut at $cut";
        ok $k->read_bytes(60_000) eq $more, 'nothing lost';
    }
};

subtest 'a request with a body (J5, J6, J7, J8)' => sub {
    for my $where (qw(p off)) {
        for my $name (qw(echo early)) {
            my $body = filler(5120);
            my $head = "POST /$where/$name HTTP/1.1\r\n$FIELDS";
            my %sent = (
                'in one packet' => ["${head}Content-Length: 5120\r\n\r\n"
                    . $body . 'hello'],
                'in pieces' => ["${head}Content-Length: 5120\r\n\r\n",
                    substr($body, 0, 2000), substr($body, 2000), 'hello'],
                chunked => ["${head}Transfer-Encoding: chunked\r\n\r\n",
                    "1000\r\n" . substr($body, 0, 4096) . "\r\n400\r\n",
                    substr($body, 4096) . "\r\n0\r\n\r\nhel", 'lo'],
            );
            for my $how (sort keys %sent) {
                $b->clear;
                my $k = $s->client;
                for (@{ $sent{$how} }) {
                    $k->send($_);
                    sleep 0.03;
                }
                is $k->response->status, 101, "/$where/$name, $how";
                is $k->read_bytes(5, 3), 'hello', 'what follows is raw';
                $k->shutdown_write;
                is $k->wait_close(3), 'eof', 'the end';
                $b->wait_count(1);
                ok +($b->requests)[0]{body} eq $body, 'the body is whole';
            }
        }
    }
    $b->clear;
    my $k = $s->client;
    $k->send("POST /off/early HTTP/1.1\r\n${FIELDS}"
        . "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    is $k->response->status, 101, 'a body that breaks off';
    $k->send("no chunk\r\n\r\nGET /evil HTTP/1.1\r\n\r\n");
    is $k->wait_close(5), 'eof', 'ends it';
    my ($c) = $b->connections;
    unlike $c->{data}, qr/evil/, 'and nothing of it gets through';
};

subtest 'small frames at once (WS02, C29)' => sub {
    my $began = time;
    my $k = opened('/p/small');
    cmp_ok time - $began, '<', 0.25, 'the 101';
    sleep 0.2;
    $began = time;
    $k->send(frame(1, '', 'mask'));
    is +(read_frame($k))[1], 'A', 'the first';
    cmp_ok time - $began, '<', 0.25, 'at once';
    is +(read_frame($k))[1], 'B', 'the second';
    my $took = time - $began;
    ok $took > 0.35 && $took < 0.65, "when it was sent ($took)";
    $k = opened('/p/echo');
    $began = time;
    for my $n (1 .. 200) {
        $k->send(chr 65 + $n % 26);
        $k->read_bytes(1, 2) eq chr 65 + $n % 26 or last;
    }
    cmp_ok time - $began, '<', 2, '200 bytes, one by one';
};

subtest 'both sides at once' => sub {
    for my $where (qw(p tiny)) {
        my $n = ($where eq 'p' ? 16 : 2) * $MB;
        my $k = opened("/$where/echo");
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            for (my $at = 0; $at < $n; $at += $MB) {
                $k->send(filler($MB, $at));
            }
            $k->shutdown_write;
            POSIX::_exit(0);
        }
        my ($at, $good) = (0, 1);
        while (defined(my $more = $k->read_some(undef, 10))) {
            $good &&= $more eq filler(length $more, $at);
            $at += length $more;
        }
        waitpid $pid, 0;
        is $at, $n, "/$where/: all comes back";
        ok $good, 'unchanged';
        is $k->wait_close, 'eof', 'and the end';
    }
};

subtest 'a reader that does not read' => sub {
    { # kernel buffers of a known size
        my $k = opened('/tiny/count');
        $k->socket->blocking(0);
        my ($sent, $stalled) = (0, 0);
        while ($stalled < 20) {
            my $n = syswrite $k->socket, filler(65_536, $sent);
            $sent += $n // 0;
            $stalled = $n ? 0 : $stalled + 1;
            sleep 0.02 if !$n;
            last if $sent > 24 * $MB;
        }
        cmp_ok $sent, '<', 24 * $MB, "the client is held back ($sent)";
        $b->signal('go');
        $k->send(filler($MB, $sent));
        $sent += $MB;
        $k->shutdown_write;
        is $k->read_bytes(100, 10), "$sent good", 'all of it arrives';
    }
    $b->clear;
    my $k = opened('/p/flood', rcvbuf => 65_536);
    sleep 0.8;
    ok !$b->events('flooded'), 'the backend is held back';
    my ($at, $good) = (0, 1);
    while ($at < 24 * $MB) {
        my $more = $k->read_some(undef, 5) // last;
        $good &&= $more eq filler(length $more, $at);
        $at += length $more;
    }
    ok $at == 24 * $MB && $good, 'all of it arrives';
};

subtest 'one direction ends before the other' => sub {
    $b->clear;
    my $k = opened('/p/after');
    $k->send('hello');
    $k->shutdown_write;
    ok $k->read_bytes($MB, 5) eq filler($MB), 'the client ends first';
    is heard('heard')->{text}, 'hello', 'what it sent arrived';
    is $k->wait_close(3), 'eof', 'and then the backend';
    $b->clear;
    $k = opened('/p/ends');
    is $k->read_bytes(7, 3), 'the end', 'the backend ends first';
    is $k->wait_close(3), 'eof', 'which is told';
    for (1 .. 3) {
        $k->send("more $_ ");
        sleep 0.1;
    }
    $k->shutdown_write;
    is heard('heard')->{text}, 'more 1 more 2 more 3 ',
        'and it still gets what comes';
    $b->clear;
    $k = $s->client;
    $k->send("GET /p/after HTTP/1.1\r\n$FIELDS\r\nhello");
    $k->shutdown_write;
    my $res = $k->response;
    is $res->status, 101, 'an end before the 101';
    ok $k->read_bytes($MB, 5) eq filler($MB), 'and the rest comes';
};

subtest 'a side that goes (WS06, J1, J2, J3, J14)' => sub {
    for my $name (qw(close reset)) {
        my $k = opened("/p/$name");
        my $began = time;
        is +(read_frame($k))[1], 'last', "$name: the frame";
        ok defined $k->wait_close(3), 'and the end';
        cmp_ok time - $began, '<', 0.5, 'within half a second';
    }
    my $k = opened('/p/closing');
    $k->send(frame(8, pack('n', 1000), 'mask'));
    my ($opcode, $payload) = read_frame($k, 3);
    is "$opcode " . unpack('n', $payload), '8 1000', 'a Close is answered';
    is $k->wait_close(3), 'eof', 'and then the end';
    $b->clear;
    for my $how (qw(close reset)) {
        $k = opened('/p/listen');
        $k->send('bytes');
        sleep 0.1;
        my $left = time;
        $how eq 'close' ? $k->close : $k->reset;
        my $ended = heard('ended')->{t};
        ok $ended && $ended - $left < 0.5, "client $how: backend told";
        $b->clear;
    }
    my $res = $s->get('/p/echo', ['Upgrade' => 'websocket',
        'Connection' => 'Upgrade', 'X-N' => 2]);
    is $res->status, 101, 'another one';
    my @connections = $b->connections;
    is scalar @connections, 1, 'has a connection of its own';
};

subtest 'UpstreamTunnelTimeout' => sub {
    for my $where (qw(short read)) {
        $b->clear;
        my $began = time;
        my $k = opened("/$where/idle");
        my ($opcode, $payload, $masked) = read_frame($k, 5);
        my $took = time - $began;
        ok $took > 0.6 && $took < 2.5, "/$where/: closed ($took)";
        is "$opcode " . unpack('n', $payload) . ($masked ? ' masked' : ''),
            '8 1001', 'with a Close that says why';
        is $k->wait_close(3), 'eof', 'and the end';
        is heard('told')->{text}, '8 1001 1', 'to the backend as well';
    }
    ok $s->error_log(qr/UP0740.*UpstreamTunnelTimeout/), 'it is logged';
    my $k = opened('/short/half');
    is $k->read_bytes(4, 3), "\x81\x05ha", 'within a frame';
    is $k->wait_close(5), 'eof', 'no Close, but the end';
    is $k->rest, '', 'nothing else';
    $k = $s->client;
    is $k->get('/any/raw', ['Upgrade' => 'foo',
        'Connection' => 'Upgrade'])->status, 101, 'another protocol';
    is $k->wait_close(5), 'eof', 'just ends';
    is $k->rest, '', 'nothing is put into it';
    my $began = time;
    $k = opened('/short/busy');
    is $k->read_bytes(8, 5), '........', 'one direction keeps it';
    cmp_ok time - $began, '>', 1.5, 'for long';
    $k = opened('/short/listen');
    for (1 .. 8) {
        sleep 0.25;
        $k->send('.');
    }
    ok $k->idle, 'so does the other one';
};

subtest 'logs' => sub {
    my @bad = grep { /:(?:warn|error|crit|alert|emerg)\]/ } $s->error_log;
    is_deeply \@bad, [], 'nothing to complain about';
};

is_deeply [grep { !/Upgrade without Connection/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
