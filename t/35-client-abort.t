# Licensed under the Apache License, Version 2.0; see LICENSE.

# A client that leaves, at every point: the backend hears of it at once, and
# nobody is to blame. One that only has finished sending is still served.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use File::Temp ();
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $stuck = Up::Backend->stuck;

# A body with a pause in it; says when the rest was sent.
my $parts = Up::Backend->start(sub {
    my ($c) = @_;
    my $req = $c->read_request or return;
    $c->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5\r\nfirst\r\n");
    if ($req->{target} =~ /stall/) {
        $c->wait_eof(5);
        return;
    }
    $c->wait_for('go on', 5);
    for (1 .. 200) {
        $c->send("6\r\nsecond\r\n") or last;
        $c->pause(0.01);
        last if $req->{target} !~ /long/;
    }
    $c->send("0\r\n\r\n");
    $c->wait_eof(5);
});

# TLS and HTTP/2 have ports of their own.
my $mpm = $ENV{UP_MPM} // 'event';
my $h2 = $mpm ne 'prefork' && -e "$ENV{UP_LIBEXECDIR}/mod_http2.so";
my $tls = -e "$ENV{UP_LIBEXECDIR}/mod_ssl.so";
my $dir = File::Temp->newdir(DIR => $ENV{UP_RUN});
if ($tls) {
    $tls = system("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x "
        . "-keyout $dir/key -out $dir/cert >/dev/null 2>&1") == 0;
}
my %ports = map { $_ => Up::Server::free_port() } qw(H T);
my $conf = '';
$conf .= <<'END' if $h2;
Listen 127.0.0.1:@H@
<VirtualHost 127.0.0.1:@H@>
    Protocols h2c
</VirtualHost>
END
$conf .= <<'END' if $tls;
LoadModule ssl_module "@MODULES@/mod_ssl.so"
Listen 127.0.0.1:@T@
<VirtualHost 127.0.0.1:@T@>
    SSLEngine on
    SSLCertificateFile @D@/cert
    SSLCertificateKeyFile @D@/key
</VirtualHost>
END

my $s = Up::Server->start(A => $A->addr, B => $B->addr, S => $stuck->addr,
    P => $parts->addr, D => "$dir", %ports, conf => $conf . <<'END');
Timeout 5
<Upstream ab>
    UpstreamServer @A@ max_conns=2 fail_timeout=60s
    UpstreamServer @B@ backup
</Upstream>
UpstreamPass /p/ http://@A@
UpstreamPass /ab/ http://ab
UpstreamPass /connect/ http://@S@
UpstreamPass /buffered/ http://@P@
<Location /unbuffered/>
    UpstreamPass http://@P@
    UpstreamBuffering off
</Location>
<Location /ignore/>
    UpstreamPass http://@A@
    UpstreamIgnoreClientAbort on
</Location>
<Location /ignore-parts/>
    UpstreamPass http://@P@
    UpstreamIgnoreClientAbort on
    UpstreamBuffering off
</Location>
<Location /stream/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
END

# The backend must see the end soon after `left`.
sub hears {
    my ($backend, $left, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $end;
    do {
        sleep 0.005;
        ($end) = grep { $_->{type} =~ /^(?:eof|reset)\z/ } $backend->events;
    } while (!$end && time - $left < 1);
    return ok($end && $end->{t} - $left < 1, $name);
}

my $serial = 0;

# Asks A, which stays silent, and waits until the request is there.
sub asking {
    my ($location, $method, @more) = @_;
    $A->clear;
    my $target = "/$location/" . ++$serial;
    my $k = $s->client;
    $k->request($method, $target, ['X-A' => 'silent'], @more);
    $A->wait_count(1);
    return ($k, $target);
}

subtest 'RT21 C36 while the backend thinks' => sub {
    for my $how (qw(close reset)) {
        for my $location (qw(p ab stream)) {
            my ($k, $target) = asking($location, 'GET');
            sleep 0.1;
            my $left = time;
            $k->$how;
            hears($A, $left, "$location, $how: its connection ends");
            my $line = $s->logged($target);
            is $line->{status}, 499, 'logged as 499';
            is $line->{bytes}, 0, 'nothing was sent';
            is $line->{conn}, 'X', 'the client had left';
            is $line->{UPSTREAM_STATUS}, '-', 'no answer';
        }
    }
    my ($k, $target) = asking('p', 'POST', 'x' x 100_000);
    my $left = time;
    $k->close;
    hears($A, $left, 'after a body');
    ($k, $target) = asking('p', 'GET');
    $k->request(GET => '/p/next');
    $left = time;
    $k->close;
    hears($A, $left, 'with another request in the pipeline');
    like +($s->error_log(qr/UP0429/))[0], qr/:info\].*client\ closed\ conn
        ection\ while\ reading\ response\ header/x, 'a line in the log';
};

subtest 'C36 over TLS' => sub {
    Test::More::plan(skip_all => 'no mod_ssl or no openssl') if !$tls;
    $A->clear;
    my $pid = open my $to, '|-', 'exec openssl s_client -quiet '
        . "-connect 127.0.0.1:$ports{T} >/dev/null 2>&1" or die "openssl: $!";
    syswrite $to, "GET /p/tls HTTP/1.1\r\nHost: x\r\nX-A: silent\r\n\r\n";
    is $A->wait_count(1), 1, 'the request arrives';
    sleep 0.1;
    my $left = time;
    kill KILL => $pid;
    hears($A, $left, 'the connection ends');
    close $to;
};

subtest 'C36 a stream of HTTP/2' => sub {
    Test::More::plan(skip_all => 'no mod_http2') if !$h2;
    my $frame = sub {
        my ($type, $flags, $id, $payload) = @_;
        return substr(pack('N', length $payload), 1)
            . pack('CCN', $type, $flags, $id) . $payload;
    };
    my @fields = (':method' => 'GET', ':scheme' => 'http',
        ':authority' => 'x', ':path' => '/p/h2', 'x-a' => 'silent');
    my $block = '';
    while (my ($name, $value) = splice @fields, 0, 2) {
        $block .= pack 'x C/a C/a', $name, $value;
    }
    $A->clear;
    my $k = $s->client(port => $ports{H});
    $k->send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", $frame->(4, 0, 0, ''),
        $frame->(1, 5, 1, $block));
    is $A->wait_count(1), 1, 'the request arrives';
    sleep 0.1;
    my $left = time;
    $k->send($frame->(3, 0, 1, pack 'N', 8));
    hears($A, $left, 'a reset: the connection ends');
};

subtest 'while connecting' => sub {
    my $k = $s->client;
    $k->request(GET => '/connect/x');
    sleep 0.2;
    my $left = time;
    $k->close;
    my $line = $s->logged('/connect/x', 2);
    is $line->{status}, 499, 'logged as 499';
    ok time - $left < 1, 'at once';
};

subtest 'while the body comes' => sub {
    for my $location (qw(buffered unbuffered)) {
        $parts->clear;
        my $k = $s->client;
        $k->request(GET => "/$location/long");
        $parts->wait_count(1);
        sleep 0.1;
        my $left = time;
        $k->close;
        $parts->signal('go on'); # the client can be found gone
        hears($parts, $left, "$location: the connection ends");
    }
};

subtest 'UP03 C16 while it uploads' => sub {
    $A->clear;
    my $k = $s->client;
    my $head = "PUT /%s/x HTTP/1.1\r\nHost: x\r\nX-A: silent\r\n";
    $k->send(sprintf($head, 'stream') . "Transfer-Encoding: chunked\r\n\r\n"
        . "5\r\nfirst\r\n");
    $A->wait_count(1, 'data');
    sleep 0.1;
    my $left = time;
    $k->close;
    hears($A, $left, 'streamed: the connection ends');
    my ($conn) = $A->connections;
    unlike $conn->{data}, qr/\r\n0\r\n/, 'without a last chunk';
    is scalar(@{ $conn->{requests} }), 0, 'so no request';
    $A->clear;
    $k = $s->client;
    $k->send(sprintf($head, 'p') . "Content-Length: 10\r\n\r\nfirst");
    sleep 0.1;
    $k->close;
    is $A->wait_count(1, 'accept', 0.5), 0, 'buffered: nobody is asked';
};

subtest 'nobody is to blame' => sub {
    for (1 .. 3) {
        my ($k) = asking('ab', 'GET');
        $k->close;
        $A->wait_count(1, 'eof', 2);
    }
    $B->clear;
    is $s->get('/ab/x')->body, 'A', 'A has not failed, nor is it full';
    is scalar($B->connections), 0, 'B was never asked';
};

subtest 'finished sending, still listening' => sub {
    for my $location (qw(p stream ab)) {
        my $k = $s->client;
        $k->request(GET => "/$location/x", ['X-A' => 'late:0.4']);
        $k->shutdown_write;
        my $res = $k->response;
        is $res->body, 'A', "$location: served";
        is join(' ', map { $_->status } @{ $res->interim }), 100,
            'asked with a 100';
    }
    my $k = $s->client;
    $k->request(PUT => '/stream/x', ['X-A' => 'late:0.2'], 'b' x 500_000);
    $k->shutdown_write;
    is $k->response->body, 'A', 'after an upload';

    $k = $s->client;
    $k->request(GET => '/unbuffered/x');
    is $k->read_bytes(12), 'HTTP/1.1 200', 'an answer has begun';
    $k->shutdown_write;
    sleep 0.2;
    $parts->signal('go on');
    is $k->wait_close(2), 'eof', 'the connection ends with it';
    like $k->rest, qr/first.*second.*\r\n0\r\n\r\n\z/s, 'it goes on';

    $A->clear;
    $k = $s->client;
    $k->request(GET => '/p/old', ['X-A' => 'silent'], undef,
        version => '1.0');
    $A->wait_count(1);
    my $left = time;
    $k->shutdown_write;
    hears($A, $left, 'HTTP/1.0 cannot be asked: the end');

    ($k) = asking('p', 'GET');
    $k->shutdown_write;
    sleep 0.2;
    is $A->wait_count(1, 'eof', 0), 0, 'served so far';
    $left = time;
    $k->close;
    hears($A, $left, 'then it leaves');
};

# Seconds of CPU that the children have used.
sub cpu {
    my $ticks = 0;
    for my $pid ($s->children) {
        open my $fh, '<', "/proc/$pid/stat" or next;
        my @stat = split / /, <$fh> =~ s/^.*\) //r;
        $ticks += $stat[11] + $stat[12];
    }
    return $ticks / 100;
}

subtest 'UpstreamIgnoreClientAbort on' => sub {
    for my $how (qw(close reset)) {
        $A->clear;
        my $k = $s->client;
        my $target = "/ignore/$how";
        $k->request(GET => $target, ['X-A' => 'late:0.8']);
        $A->wait_count(1);
        my $before = cpu();
        $k->$how;
        is $A->wait_count(1, 'eof', 0.4), 0, "$how: the backend goes on";
        my $line = $s->logged($target);
        is $line->{UPSTREAM_STATUS}, 200, 'to its end';
        cmp_ok cpu() - $before, '<', 0.4, 'nobody waits in a hurry';
    }
    $A->clear;
    is $s->get('/ignore/x')->body, 'A', 'the next request';
    is $A->wait_count(1, 'accept', 0), 0, 'has that connection'
        if $mpm ne 'prefork';

    $parts->clear;
    my $k = $s->client;
    $k->request(GET => '/ignore-parts/long');
    $parts->wait_count(1);
    $k->close;
    my $left = time;
    hears($parts, $left, 'what cannot be written ends it all the same');
};

ok $s->stop, 'no crash, nothing left';
done_testing;
