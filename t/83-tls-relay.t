# Licensed under the Apache License, Version 2.0; see LICENSE.

# What goes over a TLS connection to a backend: bodies, kept connections,
# sessions, ends of all kinds, tunnels; and the PROXY protocol before it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::CA ();
use Up::Server ();

plan skip_all => 'needs openssl and IO::Socket::SSL' if !Up::CA::usable();

my $ca = Up::CA->new;
my $cert = $ca->issue('www', 'DNS:www.test,DNS:two.test');
my %tls = (SSL_cert_file => $cert->{cert}, SSL_key_file => $cert->{key});
my $BIG = 3_000_000;

sub answer {
    my ($c) = @_;
    while (my $req = $c->read_request) {
        if ($req->{target} =~ m{/big}) {
            $c->respond($req, 200, [], 'b' x $BIG) or return;
        }
        elsif ($req->{target} =~ m{/chunks}) {
            $c->respond($req, 200, [], [('c' x 1000) x 500]) or return;
        }
        elsif ($req->{target} =~ m{/bytes}) {
            $c->send_slow("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
                1, 0) or return;
        }
        elsif ($req->{target} =~ m{/(untold|cut)}) {
            $c->send("HTTP/1.0 200 OK\r\n\r\n" . 'u' x 1000);
            $c->socket->close(SSL_no_shutdown => 1) if $1 eq 'cut';
            return;
        }
        elsif ($req->{target} =~ m{/early}) {
            $c->respond($req, 413, [Connection => 'close'], 'no');
            return;
        }
        elsif ($req->{target} =~ m{/echo}) {
            $c->send("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
                . "Connection: Upgrade\r\n\r\n");
            while (length(my $bytes = $c->read_some)) {
                $c->send($bytes);
            }
            return;
        }
        else {
            $c->respond($req, 200, [], "$req->{method} "
                . length $req->{body}) or return;
        }
        return if $req->{target} =~ m{/last};
    }
    return;
}

my %b = map { $_ => Up::Backend->start(\&answer, tls => { %tls,
    SSL_version => $_ }) } qw(TLSv12 TLSv13);
my $unix = Up::Backend->start(\&answer, tls => { %tls }, unix => 1);
my $spoken = Up::Backend->start(\&answer, tls => { %tls },
    before_tls => sub {
        my ($sock, $note) = @_;
        my $line = '';
        sysread $sock, $line, 1, length $line or return
            while length $line < 16;
        my $rest = $line =~ /^PROXY/ ? undef : unpack 'n', substr $line, 14;
        while (defined $rest ? length $line < 16 + $rest
            : $line !~ /\r\n\z/) {
            sysread $sock, $line, 1, length $line or return;
        }
        $note->(type => 'spoken', bytes => $line);
    });

my $s = Up::Server->start(conf => <<'END', CA => $ca->cert,
UpstreamSSLTrustedCertificate @CA@
UpstreamSSLName www.test
UpstreamPass /TLSv12/ https://@A@
UpstreamPass /TLSv13/ https://@B@
UpstreamPass /unix/ https://@U@
<Location /two/>
    UpstreamPass https://@B@
    UpstreamSSLName two.test
</Location>
<Location /streamed/>
    UpstreamPass https://@B@
    UpstreamRequestBuffering off
</Location>
<Location /v1/>
    UpstreamPass https://@S@
    UpstreamProxyProtocol v1
</Location>
<Location /v2/>
    UpstreamPass https://@S@
    UpstreamProxyProtocol v2
</Location>
END
    A => $b{TLSv12}->addr, B => $b{TLSv13}->addr, U => $unix->addr,
    S => $spoken->addr);

for my $v (sort keys %b) {
    subtest $v => sub {
        my $k = $s->client;
        is length($k->get("/$v/big")->body), $BIG, 'a large body';
        is length($k->get("/$v/chunks")->body), 500_000, 'chunks';
        is $k->get("/$v/bytes")->body, 'abc', 'a record for each byte';
        is $k->ask(PUT => "/$v/x", [], 'x' x $BIG)->body, "PUT $BIG",
            'an upload out of a file';
        is $k->get("/$v/x")->body, 'GET 0', 'another request' for 1 .. 10;
        is scalar $b{$v}->connections, 1, 'one connection for all';

        is $k->get("/$v/last")->body, 'GET 0', 'the last on it';
        $b{$v}->wait_count(1, 'close');
        is $k->get("/$v/last")->body, 'GET 0', 'a new connection';
        my @tls = $b{$v}->events('tls');
        is $tls[0]{resumed}, 0, 'the first is a full handshake';
        is $tls[1]{resumed}, 1, 'the second resumes its session';

        is length($s->get("/$v/untold")->body), 1000, 'close_notify is an end';
        my $res = $s->get("/$v/cut");
        ok $res->cut, 'without it the response is cut';
        ok $s->error_log(qr/without close_notify/), 'and logged';
        is $s->ask(PUT => "/$v/early", [], 'x' x $BIG)->status, 413,
            'an early answer';
    };
}

subtest 'other names' => sub {
    $b{TLSv13}->clear;
    is $s->get('/two/last')->body, 'GET 0', 'answered';
    my ($tls) = $b{TLSv13}->events('tls');
    is $tls->{sni}, 'two.test', 'on a connection of its own';
    is $tls->{resumed}, 0, 'without a session of another name';
};

is $s->get('/unix/x')->body, 'GET 0', 'over a unix socket';
is $s->ask(PUT => '/streamed/x', [], 'x' x $BIG)->body, "PUT $BIG",
    'a streamed upload';

subtest tunnel => sub {
    my $k = $s->client;
    $k->send("GET /TLSv13/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
        . "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        . "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
    is $k->response->status, 101, 'switched';
    for my $n (1, 1000, 40_000) {
        $k->send('e' x $n);
        is $k->read_bytes($n), 'e' x $n, "$n bytes and back";
    }
};

subtest 'PROXY protocol' => sub {
    my $k = $s->client;
    is $k->get('/v1/x')->body, 'GET 0', 'v1' for 1, 2;
    is $k->get('/v2/x')->body, 'GET 0', 'v2';
    my @said = $spoken->events('spoken');
    is scalar @said, 2, 'once a connection';
    my $from = $k->socket->sockport;
    is $said[0]{bytes}, "PROXY TCP4 127.0.0.1 127.0.0.1 $from "
        . $s->port . "\r\n", 'v1 names both ends';
    is unpack('H*', $said[1]{bytes}), unpack('H*',
        "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" . ("\x7f\0\0\1" x 2)
        . pack('nn', $from, $s->port)), 'v2, too';
    is $s->get('/v1/x')->body, 'GET 0', 'another client';
    is scalar(() = $spoken->events('spoken')), 3, 'another connection';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
