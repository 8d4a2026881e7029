# Licensed under the Apache License, Version 2.0; see LICENSE.

# How much of it is wanted: UpstreamAsync, UpstreamLoops,
# UpstreamMaxSuspended, and MPMs that cannot do it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Crowd;
use Up::Server ();

only_loop;

my $b = Up::Crowd->start;

sub server {
    my ($conf, %opt) = @_;
    return Up::Server->start(driver => 'loop', A => $b->addr,
        main => "ExtendedStatus On\n", %opt, conf => <<'END' . $conf);
UpstreamPass /p/ http://@A@
<Location /server-status>
    SetHandler server-status
</Location>
END
}

# Workers that are at work, without the one that tells.
sub busy {
    my ($s) = @_;
    my ($n) = $s->get('/server-status?auto')->body
        =~ /^BusyWorkers: (\d+)/m;
    return $n - 1;
}

sub worse_than_notices {
    my ($s) = @_;
    return [grep { /:(?:warn|error|crit|alert|emerg)\]/ } $s->error_log];
}

subtest 'UpstreamMaxSuspended' => sub {
    my $s = server("UpstreamMaxSuspended 10\n");
    my @all = crowd(10, $s, GET => '/p/wait/2');
    $b->wait_many(10);
    is busy($s), 0, 'ten hold no thread';
    my @more = crowd(10, $s, GET => '/p/wait/2');
    $b->wait_many(20);
    is busy($s), 10, 'ten more hold one each';
    is tally(map { $_->response } @all, @more), '20 x 200 waited',
        'all are answered';
    # Now the loop has ten connections: beyond the limit they wait aside.
    $_->request(GET => '/p/wait/2') for @all, @more;
    push @all, crowd(10, $s, GET => '/p/wait/2');
    my $took = quickly($s, '/p/wait/0.1', 'waited');
    cmp_ok $took, '<', 1, 'others go on';
    is tally(map { $_->response } @all, @more), '30 x 200 waited',
        'all are answered';
    is_deeply worse_than_notices($s), [], 'a clean log';
    ok $s->stop, 'no crash, nothing left';
};

subtest 'UpstreamLoops' => sub {
    my @threads;
    for my $loops (1, 3) {
        my $s = server("UpstreamLoops $loops\n");
        my @all = crowd(50, $s, GET => '/p/wait/1');
        $b->wait_many(50);
        push @threads, threads_of(($s->children)[-1]);
        is busy($s), 0, "$loops: no worker";
        is tally(map { $_->response } @all), '50 x 200 waited', 'all served';
        $_->request(GET => '/p/wait/0.1') for @all;
        is tally(map { $_->response } @all), '50 x 200 waited', 'again';
        ok $s->stop, 'no crash, nothing left';
    }
    is $threads[1] - $threads[0], 2, 'a thread each';
};

subtest 'UpstreamAsync off' => sub {
    my $s = server(<<'END');
<Location /off/>
    UpstreamPass http://@A@
    UpstreamAsync off
</Location>
END
    my @all = crowd(10, $s, GET => '/off/wait/2');
    my @on = crowd(10, $s, GET => '/p/wait/2');
    $b->wait_many(20);
    is busy($s), 10, 'holds a worker each';
    is tally(map { $_->response } @all, @on), '20 x 200 waited',
        'all are answered';
    $_->request(GET => '/p/wait/2') for @all;
    $_->request(GET => '/off/wait/2') for @on;
    $b->wait_many(20);
    my $took = quickly($s, '/p/wait/0.1', 'waited');
    cmp_ok $took, '<', 1, 'the other way round: others go on';
    is tally(map { $_->response } @all, @on), '20 x 200 waited',
        'all are answered';
    ok $s->stop, 'no crash, nothing left';
};

for my $mpm (qw(worker prefork)) {
    subtest "the $mpm MPM" => sub {
        my $s = server('', mpm => $mpm);
        my @all = crowd(4, $s, GET => '/p/wait/0.5');
        is tally(map { $_->response } @all), '4 x 200 waited', 'works';
        is $s->get('/p/quick')->body, 'quick', 'again';
        my @notice = $s->error_log(qr/UP0521/);
        is scalar(@notice), 1, 'one notice';
        like $notice[0], qr/:notice\].*\ $mpm\ MPM/x, 'says which MPM';
        is_deeply worse_than_notices($s), [], 'and nothing worse';
        ok $s->stop, 'no crash, nothing left';
    };
}

done_testing;
