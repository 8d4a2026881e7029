# Licensed under the Apache License, Version 2.0; see LICENSE.

# Two thousand exchanges that wait in one child of 25 threads: all are
# answered, and what they took is given back. UP_MANY: another number.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Bulk;
use Up::Crowd;
use Up::Server ();

only_loop;

my $N = $ENV{UP_MANY} // 2000;
plan skip_all => "needs $N open files several times"
    if qx{sh -c 'ulimit -n'} < 2 * $N + 500;

my $b = Up::Crowd->start;
my $s = Up::Server->start(driver => 'loop', A => $b->addr,
    loglevel => 'warn', main => <<'MAIN', conf => <<'END');
ServerLimit 1
StartServers 1
ThreadsPerChild 25
MaxRequestWorkers 25
AsyncRequestWorkerFactor 400
ListenBacklog 4096
KeepAliveTimeout 30
MAIN
UpstreamPass /p/ http://@A@
END
$s->write_file('small.txt', 'small');
my ($child) = sort { threads_of($::b) <=> threads_of($::a) } $s->children;

my ($descriptors, $memory, $parked);
for my $round (1 .. 3) {
    my $began = time;
    my @all = crowd($N, $s, GET => '/p/wait/1');
    cmp_ok quickly($s, '/small.txt', 'small'), '<', 1, 'others are answered';
    $parked = anonymous_memory($child);
    is tally(map { $_->response(timeout => 30) } @all), "$N x 200 waited",
        "round $round: all are answered";
    my $took = time - $began;
    note "$took s";
    # The same connections again.
    $_->request(GET => '/p/wait/1') for @all;
    is tally(map { $_->response(timeout => 30) } @all), "$N x 200 waited",
        'and once more';
    $_->close for @all;
    for (1 .. 100) {
        last if descriptors_of($child) <= ($descriptors // 150);
        sleep 0.05;
    }
    $descriptors //= descriptors_of($child);
    sleep 0.5;
    my $now = anonymous_memory($child);
    $memory //= $now;
    cmp_ok descriptors_of($child), '<=', $descriptors + 5,
        'no descriptor is left';
    cmp_ok $now, '<=', $memory + 4_000_000,
        'memory does not grow (' . int($now / 1024) . ' kB, '
        . int($parked / 1024) . ' kB while they wait)';
}
cmp_ok $descriptors, '<', 150, 'few to begin with';
is_deeply [grep { /:(?:warn|error|crit|alert|emerg)\]/ } $s->error_log], [],
    'a clean log';
ok $s->stop, 'no crash, nothing left';
done_testing;
