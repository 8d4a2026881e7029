# Licensed under the Apache License, Version 2.0; see LICENSE.

# A place where an output filter sleeps: what begins there while that is
# remembered may wait for as long as anything else, and holds no thread for it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Crowd;
use Up::Server ();

only_loop;

my $N = 60;
my $b = Up::Crowd->start;
my $s = Up::Server->start(A => $b->addr, loglevel => 'warn', main => <<'MAIN',
ServerLimit 1
StartServers 1
ThreadsPerChild 8
MaxRequestWorkers 8
AsyncRequestWorkerFactor 100
MAIN
    conf => <<'END');
UpstreamPass /p/ http://@A@
<Location /p/paced/>
    UpstreamPass http://@A@/
    UpstreamBuffering off
    SetOutputFilter RATE_LIMIT
    SetEnv rate-limit 20
</Location>
END

# A loop is made to sleep, in this part of the site and no other.
my $k = $s->client(timeout => 20);
is $k->get('/p/quick')->body, 'quick', 'a connection that a loop has';
$k->request(GET => '/p/paced/big/60000');
sleep 0.5;

my @upgrade = ('Upgrade' => 'websocket', 'Connection' => 'Upgrade');
my @all = crowd($N, $s, GET => '/p/tunnel', [@upgrade]);
is scalar(grep { $_->response->status == 101 } @all), $N, 'all are open';
my @kept = crowd($N, $s, GET => '/p/quick');
is tally(map { $_->response } @kept), "$N x 200 quick", 'others, kept alive';
$_->request(GET => '/p/tunnel', [@upgrade]) for @kept;
is scalar(grep { $_->response->status == 101 } @kept), $N,
    'turn into tunnels, too';
my @waiting = crowd($N, $s, GET => '/p/wait/1.5');
cmp_ok quickly($s, '/p/quick', 'quick'), '<', 1, 'a request meanwhile';
for my $k (@all, @kept) {
    $k->send('ping');
}
is scalar(grep { $_->read_bytes(4, 5) eq 'ping' } @all, @kept), 2 * $N,
    'tunnels work';
is tally(map { $_->response } @waiting), "$N x 200 waited", 'who waits';
is length $k->response->body, 60_000, 'and what is slow arrives';
$_->close for @all, @kept, @waiting;
ok $s->stop, 'no crash, nothing left';
done_testing;
