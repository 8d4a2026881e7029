# Licensed under the Apache License, Version 2.0; see LICENSE.

# An exchange that waits holds no thread: 100 of them wait at each point, and
# five threads still answer everybody else at once.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();

only_loop;

my $N = 100;
my $b = Up::Crowd->start;
my $stuck = Up::Backend->stuck;

my $s = Up::Server->start(driver => 'loop', A => $b->addr,
    S => $stuck->addr, main => <<'MAIN', conf => <<'END');
ServerLimit 1
ThreadsPerChild 5
MaxRequestWorkers 5
AsyncRequestWorkerFactor 400
ExtendedStatus On
MAIN
UpstreamPass /p/ http://@A@
<Location /connect/>
    UpstreamPass http://@S@
    UpstreamConnectTimeout 3s
</Location>
<Location /streamed/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /unbuffered/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
<Location /server-status>
    SetHandler server-status
</Location>
END

$s->write_file('file.txt', 'static');

# A few looks: the slowest counts. Two seconds are what a thread would hold.
sub others_are_quick {
    my ($name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $most = 0;
    for (1 .. 3) {
        for (quickly($s, '/file.txt', 'static'),
            quickly($s, '/p/quick', 'quick')) {
            $most = $_ if $_ > $most;
        }
    }
    cmp_ok $most, '<', 0.7, "$name: others are answered at once";
    my $busy = $s->get('/server-status?auto')->body;
    my ($workers) = $busy =~ /^BusyWorkers: (\d+)/m;
    is $workers, 1, "$name: the only busy worker tells so";
    my ($most_threads) = sort { $::b <=> $::a } map { threads_of($_) }
        $s->children;
    cmp_ok $most_threads, '<', 40, "$name: no thread for each";
    return;
}

sub send_rest {
    my ($bytes, @all) = @_;
    $_->send($bytes) for @all;
    return tally(map { $_->response } @all);
}

subtest 'connecting' => sub {
    my @all = crowd($N, $s, GET => '/connect/x');
    others_are_quick('a full backlog');
    like tally(map { $_->response } @all), qr/^$N x 504 /,
        'they time out in the end';
};

subtest 'the request body, buffered' => sub {
    my @all = crowd($N, $s);
    my ($open) = $b->count;
    my $head = "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n";
    $_->send(sprintf($head, '/p/quick') . 'x' x 50) for @all;
    others_are_quick('half a body');
    cmp_ok +($b->count)[0], '<=', $open + 3, 'no backend connection is held';
    $_->send('x' x 49) for @all;
    others_are_quick('a byte is missing');
    is send_rest('x', @all), "$N x 200 quick", 'all are answered';

    @all = crowd($N, $s);
    $_->send(sprintf($head, '/streamed/quick') . 'x' x 50) for @all;
    $b->wait_many($N);
    others_are_quick('a streamed one');
    is send_rest('x' x 50, @all), "$N x 200 quick", 'all are answered';
};

subtest 'the response head' => sub {
    my @all = crowd($N, $s, GET => '/p/wait/2');
    others_are_quick('no answer yet');
    is tally(map { $_->response } @all), "$N x 200 waited",
        'all are answered';
    $_->request(GET => '/p/wait/2') for @all;
    others_are_quick('once more on the same connections');
    is tally(map { $_->response } @all), "$N x 200 waited",
        'all are answered';
};

subtest 'the response body' => sub {
    for my $location (qw(p unbuffered)) {
        my @all = crowd($N, $s, GET => "/$location/body/2");
        others_are_quick($location);
        is tally(map { $_->response } @all), "$N x 200 late",
            'all are answered';
    }
};

subtest 'the client' => sub {
    my $size = 4_000_000;
    for my $location (qw(p unbuffered)) {
        my @all;
        for (1 .. $N / 5) {
            my $k = $s->client(rcvbuf => 4096);
            $k->request(GET => "/$location/big/$size");
            push @all, $k;
        }
        sleep 0.3;
        others_are_quick("$location, clients that do not read");
        is tally(map { $_->response } @all[0 .. 2]), "3 x 200 $size bytes",
            'some read after all';
        $_->close for @all;
    }
};

ok $s->stop, 'no crash, nothing left';
done_testing;
