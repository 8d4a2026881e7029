# Licensed under the Apache License, Version 2.0; see LICENSE.

# Clients that leave while a loop waits for them or for their backend: it is
# seen at once, in plain and over TLS, on a connection's first request and on
# later ones.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use File::Temp ();
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();
use Up::TLS ();
use Up::TLSClient ();

only_loop;

my $N = 20;
my $b = Up::Crowd->start;
my $stuck = Up::Backend->stuck;
my $tls = Up::TLSClient->usable;
my ($tls_port, $tls_host) = $tls ? Up::TLS::host() : (0, '');

my $s = Up::Server->start(driver => 'loop', A => $b->addr,
    S => $stuck->addr, conf => <<'END' . $tls_host);
UpstreamPass /p/ http://@A@
<Location /streamed/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /unbuffered/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
<Location /connect/>
    UpstreamPass http://@S@
</Location>
<Location /ignore/>
    UpstreamPass http://@A@
    UpstreamIgnoreClientAbort on
</Location>
END

# N clients, on their second request when `later`; with TLS when `secure`.
sub clients {
    my ($secure, $later) = @_;
    return map {
        my $k = $secure ? Up::TLSClient->new(port => $tls_port) : $s->client;
        if ($later) {
            $k->get('/p/quick')->body eq 'quick' or die 'no first answer';
        }
        $k;
    } 1 .. $N;
}

# Method, target, what the entry in the log says; 1: the backend is asked.
my %phase = (
    'reading the body' => ['PUT', '/p/quick', '400|499', 0],
    'streaming the body' => ['PUT', '/streamed/quick', '400|499', 1],
    'reading the head' => ['GET', '/p/silent', '499', 1],
    'reading the response' => ['GET', '/p/body/9', '200|499', 1],
    'relaying the response' => ['GET', '/unbuffered/body/9', '200', 1],
);

# Waits for n entries that match.
sub logged {
    my ($n, $pattern) = @_;
    my $until = time + 3;
    my @lines;
    do {
        sleep 0.02;
        @lines = grep { $_->{request} =~ $pattern } $s->access_log;
    } while (@lines < $n && time < $until);
    return @lines;
}

sub leave {
    my ($name, $phase, $how, @all) = @_;
    my ($method, $target, $status, $asks) = @{ $phase{$phase} };
    my ($idle) = $b->count;
    $s->mark;
    $_->request($method, $target,
        [$method eq 'PUT' ? ('Content-Length' => 100) : ()]) for @all;
    $b->wait_many($N) if $asks;
    sleep $asks ? 0.1 : 0.5;
    my $left = time;
    $_->$how for @all;
    cmp_ok $b->wait_open($idle, 2), '<=', $idle, "$name, $how while $phase";
    cmp_ok time - $left, '<', 0.8, 'at once';
    my @lines = logged($N, qr/\Q$target\E/);
    is scalar(@lines), $N, 'all are logged';
    my %seen = map { $_->{status} => 1 } @lines;
    like join(' ', sort keys %seen), qr/^(?:$status)\z/, "as $status";
    return;
}

for my $secure (0, $tls ? 1 : ()) {
    for my $later (0, 1) {
        my $name = ($secure ? 'TLS' : 'plain') . ($later ? ', later' : '');
        for my $phase (sort keys %phase) {
            # Nobody tells when a handshake is done, but for the backend.
            next if $secure && !$later && !$phase{$phase}[3];
            for my $how ('close', $secure ? () : 'reset') {
                leave($name, $phase, $how, clients($secure, $later));
            }
        }
    }
}

subtest 'connecting' => sub {
    $s->mark;
    my @all = crowd($N, $s, GET => '/connect/x');
    sleep 0.3;
    $_->close for @all;
    my @lines = grep { $_->{status} == 499 } logged($N, qr/connect/);
    is scalar(@lines), $N, 'logged as 499';
};

subtest 'finished sending, still listening' => sub {
    my @all = clients(0, 1);
    $_->request(GET => '/p/wait/0.5') for @all;
    $_->shutdown_write for @all;
    is tally(map { $_->response } @all), "$N x 200 waited", 'served';
    is scalar(grep { ($_->wait_close(2) // '') eq 'eof' } @all), $N,
        'and then closed';
};

# The rest of the body will not come: no need to wait for Timeout.
subtest 'finished sending in the middle of a body' => sub {
    for my $location (qw(p streamed)) {
        for my $later (0, 1) {
            my @all = clients(0, $later);
            $_->request(PUT => "/$location/quick", ['Content-Length' => 9],
                'half') for @all;
            sleep 0.2;
            my $began = time;
            $_->shutdown_write for @all;
            is tally(map { $_->response } @all) =~ s/ 400 .*/ 400/sr,
                "$N x 400", "$location: 400";
            cmp_ok time - $began, '<', 2, 'at once';
        }
    }
};

subtest 'UpstreamIgnoreClientAbort on' => sub {
    my @all = clients(0, 1);
    $s->mark;
    $_->request(GET => '/ignore/wait/0.8') for @all;
    sleep 0.2;
    $_->close for @all;
    sleep 0.3;
    is scalar(grep { $_->{request} =~ /ignore/ } $s->access_log), 0,
        'goes on';
    my @lines = grep { $_->{UPSTREAM_STATUS} eq '200' }
        logged($N, qr/ignore/);
    is scalar(@lines), $N, 'to the end';
};

is $s->get('/p/quick')->body, 'quick', 'the server is well';
ok $s->stop, 'no crash, nothing left';
done_testing;
