# Licensed under the Apache License, Version 2.0; see LICENSE.

# Tunnels of a server that stops or restarts, and many of them: what they
# take, and that all of it is given back.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();
use Up::WS;

my $LOOP = ($ENV{UP_DRIVER} // '') eq 'loop'
    && ($ENV{UP_MPM} // 'event') eq 'event';
plan skip_all => 'prefork has a child a connection'
    if ($ENV{UP_MPM} // '') eq 'prefork';

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    my $req = $c->read_request or return;
    if ($req->{target} =~ /plain/) {
        $c->respond($req, 200, [], 'plain');
        return;
    }
    $c->send(switching($req));
    $c->send("\x81\x05ha") if $req->{target} =~ /half/;
    while (my ($opcode, $payload, $masked) = read_frame($c)) {
        $c->note(type => 'frame', text => $opcode == 8
            ? "8 " . unpack('n', $payload) . ($masked ? ' masked' : '')
            : "$opcode $payload");
        last if $opcode == 8;
        $c->send(frame($opcode, $payload));
    }
    $c->wait_eof;
});

sub server {
    my ($conf) = @_;
    return Up::Server->start(A => $b->addr, main => "StartServers 1\n"
        . "ServerLimit 4\nThreadsPerChild 25\nMaxRequestWorkers 100\n"
        . "AsyncRequestWorkerFactor 100\n", conf => ($conf // '')
        . "UpstreamPass /p/ http://\@A\@\n");
}

sub child {
    my ($s) = @_;
    my ($pid) = sort { threads_of($::b) <=> threads_of($::a) } $s->children;
    return $pid;
}

sub gone_in {
    my ($pid, $timeout) = @_;
    my $until = time + $timeout;
    sleep 0.02 while -e "/proc/$pid" && time < $until;
    return -e "/proc/$pid" ? 'still there' : 'gone';
}

sub opened {
    my ($s, $target) = @_;
    my $k = $s->client(timeout => 15);
    my $res = upgrade($k, $target);
    is $res->status, '101', $target if $res->status != 101;
    return $k;
}

sub echoes {
    my ($k, $text) = @_;
    $k->send(frame(1, $text, 'mask'));
    return ((read_frame($k, 5))[1] // '') eq $text;
}

subtest 'a graceful restart' => sub {
    my $s = server("UpstreamShutdownTimeout 2s\n");
    my @all = map { opened($s, '/p/echo') } 1 .. 8;
    my $half = opened($s, '/p/half');
    is $half->read_bytes(4, 3), "\x81\x05ha", 'one within a frame';
    my $old = child($s);
    $b->clear;
    my $began = time;
    ok $s->graceful, 'restarted';
    is scalar(grep { echoes($_, 'on') } @all), 8, 'tunnels go on';
    is $s->get('/p/plain')->body, 'plain', 'others are served';
    my $new = opened($s, '/p/echo');
    my @close = map { [read_frame($_, 6)] } @all;
    my $took = time - $began;
    ok $took > 1.5 && $took < 5, "until UpstreamShutdownTimeout ($took)";
    is scalar(grep { @$_ && $_->[0] == 8
        && unpack('n', $_->[1]) == 1001 } @close), 8,
        'then they get a Close, 1001';
    is scalar(grep { defined $_->wait_close(5) } @all), 8, 'and the end';
    ok defined $half->wait_close(5), 'within a frame only the end';
    is $half->rest, '', 'and nothing else';
    $b->wait_count(17, 'frame');
    is scalar(grep { $_->{text} eq '8 1001 masked' } $b->events('frame')), 9,
        'backends get one as well, where a frame of theirs may be half';
    ok $s->error_log(qr/UP0740.*the server is stopping/), 'the log says why';
    is gone_in($old, 6), 'gone', 'the old child';
    ok echoes($new, 'new'), 'a tunnel of the new child';
    $_->close for @all, $half, $new;
    ok $s->stop, 'no crash, nothing left';
};

subtest 'without a limit' => sub {
    my $s = server();
    my @all = map { opened($s, '/p/echo') } 1 .. 3;
    my $old = child($s);
    ok $s->graceful, 'restarted';
    for (1 .. 3) {
        sleep 0.5;
        is scalar(grep { echoes($_, "still $_") } @all), 3, 'tunnels go on';
    }
    is gone_in($old, 0), 'still there', 'in the old child';
    $_->close for @all;
    is gone_in($old, 6), 'gone', 'until they end';
    ok $s->stop, 'no crash, nothing left';
};

subtest 'a stop' => sub {
    my $s = server();
    my @all = map { opened($s, '/p/echo') } 1 .. 8;
    my $began = time;
    ok $s->stop, 'no crash, nothing left';
    cmp_ok time - $began, '<', 12, 'in time';
    is scalar(grep { defined $_->wait_close(2) } @all), 8, 'all are closed';
};

subtest 'many' => sub {
    Test::More::plan(skip_all => 'of the loop alone') if !$LOOP;
    my $n = 500;
    my $crowd = Up::Crowd->start;
    my $s = Up::Server->start(A => $crowd->addr, loglevel => 'warn',
        main => <<'MAIN', conf => "UpstreamPass /p/ http://\@A\@\n");
ServerLimit 1
StartServers 1
ThreadsPerChild 25
MaxRequestWorkers 25
AsyncRequestWorkerFactor 400
ListenBacklog 4096
MAIN
    $s->write_file('small.txt', 'small');
    my $child = child($s);
    my $threads = threads_of($child);
    my $descriptors;
    for my $round (1 .. 3) {
        my $memory = Up::Crowd::field_of($child, 'VmRSS');
        my @all = crowd($n, $s, GET => '/p/tunnel',
            ['Upgrade' => 'websocket', 'Connection' => 'Upgrade']);
        is scalar(grep { $_->response->status == 101 } @all), $n,
            "round $round: all are open";
        cmp_ok quickly($s, '/small.txt', 'small'), '<', 0.5,
            'a file meanwhile';
        cmp_ok quickly($s, '/p/quick', 'quick'), '<', 0.5, 'and a request';
        $_->send('ping') for @all;
        is scalar(grep { $_->read_bytes(4) eq 'ping' } @all), $n,
            'all answer';
        # (the watchdog lends some while the machine is busy)
        cmp_ok threads_of($child), '<', $threads + $n / 10,
            'without threads';
        $_->close for @all;
        cmp_ok $crowd->wait_open(8), "<=", 8, "all end";
        for (1 .. 100) {
            last if descriptors_of($child) <= ($descriptors // 80);
            sleep 0.05;
        }
        $descriptors //= descriptors_of($child);
        cmp_ok descriptors_of($child), '<=', $descriptors + 5,
            'no descriptor is left';
    }
    cmp_ok $descriptors, '<', 150, 'few to begin with';
    is_deeply [grep { /:(?:warn|error|crit|alert|emerg)\]/ } $s->error_log],
        [], 'a clean log';
    ok $s->stop, 'no crash, nothing left';
};

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
done_testing;
