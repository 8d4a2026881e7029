# Licensed under the Apache License, Version 2.0; see LICENSE.

# Tunnels of clients that speak TLS (mod_ssl) or HTTP/2 (mod_http2, RFC 8441).

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Answers;
use Up::Backend ();
use Up::Server ();
use Up::TLS ();
use Up::TLSClient ();
use Up::WS;

my $PYTHON = '/usr/bin/python3';

my %DO = (
    echo => sub { echo($_[0]) },
    close => sub { $_[0]->send(frame(1, 'last')) },
    ends => sub {
        my ($c) = @_;
        $c->send('the end');
        $c->shutdown_write;
        $c->note(type => 'left', how => $c->wait_eof(5));
    },
    after => sub {
        my ($c) = @_;
        $c->wait_eof;
        $c->note(type => 'left');
        $c->send(filler(300_000));
    },
    listen => sub { $_[0]->note(type => 'left', how => $_[0]->wait_eof(8)) },
    idle => sub {
        my ($c) = @_;
        my ($opcode, $payload) = read_frame($c);
        $c->note(type => 'told', text => defined $opcode
            ? "$opcode " . unpack('n', $payload) : 'end');
    },
    refuse => sub { },
);

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    while (my $req = $c->read_request) {
        my ($name) = $req->{target} =~ m{/(\w+)\z};
        if ($name eq 'refuse') {
            $c->respond($req, 403, [], 'nope') or last;
            next;
        }
        $c->send(switching($req) . ($name eq 'first' ? 'first' : ''));
        ($DO{$name} // $DO{echo})->($c);
        return;
    }
});

my ($port, $host) = Up::TLS::usable() ? Up::TLS::host() : ();
my $s = Up::Server->start(A => $b->addr, conf => ($host // '') . <<'END');
Protocols h2c http/1.1
<IfModule http2_module>
    H2WebSockets on
</IfModule>
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /short/>
    UpstreamPass http://@A@
    UpstreamTunnelTimeout 700ms
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamUpgrade off
</Location>
END

subtest TLS => sub {
    Test::More::plan(skip_all => 'needs mod_ssl and IO::Socket::SSL')
        if !$port;
    my $client = sub { $s->client(port => $port, tls => 1, timeout => 15) };
    my $k = $client->();
    is upgrade($k, '/p/echo')->status, 101, 'a tunnel';
    for my $n (1, 100, 16_384, 16_385, 70_000) {
        $k->send(filler($n));
        ok $k->read_bytes($n) eq filler($n), "$n bytes";
    }
    my $began = time;
    for my $n (1 .. 100) {
        $k->send(chr 65 + $n % 26);
        $k->read_bytes(1, 2) eq chr 65 + $n % 26 or last;
    }
    cmp_ok time - $began, '<', 2, 'small ones at once';
    my ($at, $good) = (0, 1);
    for my $round (1 .. 30) {
        $k->send(filler(60_000, $at));
        $good &&= $k->read_bytes(60_000) eq filler(60_000, $at);
        $at += 60_000;
    }
    ok $good, 'much, both ways';
    $k->close;
    $k = $client->();
    $k->send("GET /p/first HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        . "Connection: Upgrade\r\n\r\nhello");
    is $k->response->status, 101, 'one record with more behind the request';
    is $k->read_bytes(10, 3), 'firsthello', 'nothing is lost';
    $k = $client->();
    is upgrade($k, '/p/close')->status, 101, 'a backend that closes';
    $began = time;
    is +(read_frame($k, 3))[1], 'last', 'its last frame';
    is $k->wait_close(3), 'eof', 'and the end';
    cmp_ok time - $began, '<', 0.5, 'at once';
    for my $how (qw(close reset)) {
        $b->clear;
        $k = $client->();
        is upgrade($k, '/p/listen')->status, 101, "a client's $how";
        sleep 0.1;
        $began = time;
        $k->$how;
        $b->wait_count(1, 'left', 3);
        cmp_ok time - $began, '<', 0.5, 'reaches the backend';
    }
    $b->clear;
    $k = $client->();
    is upgrade($k, '/p/ends')->status, 101, 'a backend that ends its side';
    is $k->read_bytes(7, 3), 'the end', 'what it sent';
    is $k->wait_close(3), 'eof', 'ends the tunnel';
    is $b->wait_count(1, 'left', 3), 1, 'for both';
    $k = $client->();
    is upgrade($k, '/short/idle')->status, 101, 'UpstreamTunnelTimeout';
    my ($opcode, $payload) = read_frame($k, 5);
    is "$opcode " . unpack('n', $payload), '8 1001', 'a Close';
    is $k->wait_close(3), 'eof', 'and the end';
    $k = $client->();
    is upgrade($k, '/p/refuse')->status, 403, 'no tunnel';
    is $k->get('/p/refuse')->body, 'nope', 'HTTP goes on';
    # A record that brings half a frame and the rest of another one.
    $k = Up::TLSClient->new(port => $port);
    $k->send("GET /p/echo HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        . "Connection: Upgrade\r\n\r\n" . filler(10_000));
    is $k->response->status, 101, 'a large record with the request';
    ok $k->read_bytes(10_000, 5) eq filler(10_000), 'all of it';
    $k->send(filler(16_000));
    ok $k->read_bytes(16_000, 5) eq filler(16_000), 'a record';
    $k->close;
};

sub h2 {
    my ($path, @steps) = @_;
    my ($file) = grep { -e } "$ENV{UP_RUN}/t/clients/h2_websocket.py",
        't/clients/h2_websocket.py';
    open my $pipe, '-|', $PYTHON, $file, $s->port, $path, @steps
        or die "$PYTHON: $!\n";
    my @said = <$pipe>;
    close $pipe;
    return join '', grep { !/^(?:connect|fields)/ } @said;
}

subtest 'HTTP/2 (RFC 8441)' => sub {
    Test::More::plan(skip_all => 'needs mod_http2 without prefork')
        if !-e "$ENV{UP_LIBEXECDIR}/mod_http2.so"
        || $ENV{UP_MPM} eq 'prefork';
    Test::More::plan(skip_all => 'needs python3-h2')
        if system("$PYTHON -c 'import h2' 2>/dev/null");
    is h2('/p/echo', 'send:hello', 'expect:11', 'send:you', 'expect:20',
        'end', 'wait'),
        "status 200\ndata 11 b'\\x81\\x85mask\\x05\\x04\\x1f\\x07\\x02' "
        . "quick\ndata 20 b'\\x81\\x85mask\\x05\\x04\\x1f\\x07\\x02"
        . "\\x81\\x83mask\\x14\\x0e\\x06' quick\nend ended\n",
        'frames, their echo, the end';
    my ($req) = reverse $b->requests;
    is $req->{method}, 'GET', 'the backend gets a GET';
    is join(' ', Up::Backend::Conn::values_of($req, 'Upgrade')), 'websocket',
        'with Upgrade';
    is h2('/p/first', 'expect:5'), "status 200\ndata 5 b'first' quick\n",
        'bytes behind the 101';
    is h2('/p/echo', 'raw:1000000', 'expect:1000000', 'end', 'wait'),
        "status 200\ndata 1000000 b'...' quick\nend ended\n", '1 MB';
    is h2('/p/echo', 'pause:300', map { ("raw:10", 'expect:' . 10 * $_,
        'pause:20') } 1 .. 3), "status 200\n" . join('', map {
        "data @{[ 10 * $_ ]} b'" . 'x' x (10 * $_) . "' quick\n" } 1 .. 3),
        'bit by bit';
    is h2('/p/close', 'expect:6', 'wait'),
        "status 200\ndata 6 b'\\x81\\x04last' quick\nend ended\n",
        'a backend that closes';
    is h2('/p/after', 'end', 'expect:300000', 'wait'),
        "status 200\ndata 300000 b'...' quick\nend ended\n",
        'a client that ends first gets the rest';
    is h2('/short/idle', 'expect:4', 'wait'), "status 200\n"
        . "data 4 b'\\x88\\x02\\x03\\xe9' slow\nend ended\n",
        'UpstreamTunnelTimeout';
    is h2('/p/refuse', 'expect:4', 'wait'),
        "status 403\ndata 4 b'nope' quick\nend ended\n", 'a refusal';
    like h2('/off/echo', 'wait'), qr/^status 502/, 'UpstreamUpgrade off';
    for my $how ('reset', 'pause:10') {
        $b->clear;
        my $began = time;
        h2('/p/listen', 'pause:300', $how);
        is $b->wait_count(1, 'left', 3), 1, "the backend is told of $how";
    }
};

is_deeply [grep { /:(?:error|crit|alert|emerg)\]/ && !m{/off/echo} }
    $s->error_log], [], 'nothing to complain about';
is_deeply [grep { !/Upgrade without Connection/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
