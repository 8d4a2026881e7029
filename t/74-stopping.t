# Licensed under the Apache License, Version 2.0; see LICENSE.

# Restarts and stops with exchanges that wait in a loop and connections that
# are kept there: nobody who can be served is let down, and every process
# ends in time.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use POSIX ();
use Time::HiRes qw(time sleep);

use Up::Crowd;
use Up::Server ();

only_loop;

my $b = Up::Crowd->start;

sub server {
    my ($conf, $main) = @_;
    my $s = Up::Server->start(driver => 'loop', A => $b->addr,
        loglevel => 'info upstream_proxy:debug',
        main => "AsyncRequestWorkerFactor 100\n" . ($main // ''),
        conf => <<'END' . ($conf // ''));
ScriptAlias /cgi/ @HTDOCS@/cgi/
UpstreamPass /p/ http://@A@
<Location /unbuffered/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
END
    chmod 0755, $s->write_file('cgi/slow', "#!/usr/bin/perl\n"
        . 'sleep 2; print "Content-Type: text/plain\n\nslow";');
    $s->write_file('small.txt', 'small');
    return $s;
}

# Connections that a loop has, idle.
sub idle {
    my ($s, $n) = @_;
    my @all = crowd($n, $s, GET => '/p/quick');
    $_->response for @all;
    return @all;
}

# Processes of the server's that handle requests.
sub child {
    my ($s) = @_;
    my ($pid) = sort { threads_of($::b) <=> threads_of($::a) } $s->children;
    return $pid;
}

sub gone_in {
    my ($pid, $timeout) = @_;
    my $began = time;
    while (-e "/proc/$pid" && time - $began < $timeout) {
        sleep 0.02;
    }
    return -e "/proc/$pid" ? 'still there' : 'gone';
}

# Nothing worse than a notice, but for what is expected.
sub log_is_clean {
    my ($s, $name, $except) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my @bad = grep { /:(?:warn|error|crit|alert|emerg)\]/ } $s->error_log;
    @bad = grep { !/UP0211/ } @bad; # a slow client's answer is in a file
    @bad = grep { !/$except/ } @bad if $except;
    is_deeply \@bad, [], "$name: a clean log";
    return;
}

# Processes that ask all the time. Returns how many answers they got and
# what else they saw.
sub under_load {
    my ($s, $seconds, $do) = @_;
    pipe my $from, my $to or die "pipe: $!";
    STDOUT->flush;
    my @pids;
    for my $n (1 .. 20) {
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            close $from;
            syswrite $to, ask_on($s, time + $seconds, $n);
            POSIX::_exit(0);
        }
        push @pids, $pid;
    }
    close $to;
    $do->();
    my ($good, @bad) = (0);
    while (my $line = <$from>) {
        chomp $line;
        my ($n, $what) = split / /, $line, 2;
        $good += $n;
        push @bad, $what if length $what;
    }
    waitpid $_, 0 for @pids;
    return ($good, join '; ', @bad);
}

# On one connection as long as the server keeps it.
sub ask_on {
    my ($s, $until, $n) = @_;
    my ($good, $k, $used) = (0);
    my @targets = ($n % 4 == 0 ? '/small.txt' : '/p/wait/0.05',
        $n % 3 == 0 ? '/p/quick' : '/p/wait/0.02', '/unbuffered/body/0.03');
    my %body = (waited => 1, quick => 1, late => 1, small => 1);
    while (time < $until) {
        $k //= $s->client(timeout => 5);
        my $target = $targets[ $good % @targets ];
        my $res = eval { $k->get($target) };
        if (!$res || ($res->status // 0) != 200 || !$body{ $res->body }) {
            return "$good $target: " . ($res ? ($res->status // 'nothing')
                . ' ' . ($res->end // '') . ' after ' . ($used // 0)
                : $@ =~ s/\n.*//sr) . "\n";
        }
        $good++;
        $used++;
        if (($res->header('Connection') // '') =~ /close/i) {
            undef $k;
            $used = 0;
        }
    }
    return "$good \n";
}

subtest 'graceful under load' => sub {
    my $s = server();
    my %seen;
    my ($good, $bad) = under_load($s, 8, sub {
        for (1 .. 5) {
            sleep 1.2;
            $seen{ child($s) } = 1;
            $s->graceful;
        }
    });
    is $bad, '', 'no request is lost';
    cmp_ok $good, '>', 300, "many were answered ($good)";
    is scalar(keys %seen), 5, 'each time by another child';
    is gone_in($_, 10), 'gone', 'the old child' for keys %seen;
    log_is_clean($s, 'graceful');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'graceful with exchanges that wait' => sub {
    my $s = server();
    my @idle = idle($s, 30);
    my @wait = crowd(100, $s, GET => '/p/wait/2');
    my @body = crowd(10, $s, GET => '/unbuffered/body/2');
    my ($cgi) = idle($s, 1);
    $cgi->request(GET => '/cgi/slow');
    my $k = $s->client(rcvbuf => 4096);
    $k->request(GET => '/p/big/6000000');
    my $old = child($s);
    $b->wait_many(100);
    sleep 0.3;
    $s->graceful;
    my $began = time;
    $idle[0]->request(GET => '/p/quick');
    is tally($idle[0]->response), '1 x 200 quick',
        'a request just behind the signal';
    cmp_ok quickly($s, '/p/quick', 'quick'), '<', 2.5,
        'the new child serves';
    is scalar(grep { ($_->wait_close(3) // '') eq 'eof' } @idle), 30,
        'idle connections are closed';
    cmp_ok time - $began, '<', 3, 'soon';
    my @res = map { $_->response } @wait;
    is tally(@res), '100 x 200 waited', 'all that wait are answered';
    is scalar(grep { ($_->header('Connection') // '') eq 'close' } @res), 100,
        'and told that it ends';
    is tally(map { $_->response } @body), '10 x 200 late',
        'bodies under way come to their end';
    is tally($cgi->response), '1 x 200 slow', 'and a CGI';
    is -e "/proc/$old" ? 1 : 0, 1, 'the old child waits for a slow client';
    is tally($k->response), '1 x 200 6000000 bytes', 'which gets all of it';
    $_->close for $k, @body, @wait;
    is gone_in($old, 5), 'gone', 'the old child';
    log_is_clean($s, 'graceful');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'UpstreamShutdownTimeout' => sub {
    my $s = server("UpstreamShutdownTimeout 1s\n");
    my @idle = idle($s, 10);
    my @all = crowd(50, $s, GET => '/p/silent');
    my $k = $s->client(rcvbuf => 4096);
    $k->request(GET => '/unbuffered/big/30000000');
    my $slow = $s->client(rcvbuf => 4096);
    $slow->request(GET => '/p/big/6000000');
    my $old = child($s);
    $b->wait_many(50);
    sleep 0.3;
    my $began = time;
    $s->graceful;
    my $ended = grep { defined $_->wait_close(5) } @all;
    my $took = time - $began;
    is $ended, 50, 'what waits is given up';
    ok $took > 0.9 && $took < 3, "when it is over ($took)";
    is gone_in($old, 4), 'gone', 'the old child, slow clients or not';
    like +($s->error_log(qr/UP0430/))[0], qr/UpstreamShutdownTimeout/,
        'the log says why';
    log_is_clean($s, 'shutdown timeout');
    ok $s->stop, 'no crash, nothing left';
};

for (['graceful-stop', 'WINCH'], ['stop', 'TERM']) {
    my ($name, $signal) = @$_;
    subtest $name => sub {
        my $s = server();
        my @idle = idle($s, 50);
        my @all = crowd(300, $s, GET => '/p/wait/1.5');
        my ($cgi) = idle($s, 1);
        $cgi->request(GET => '/cgi/slow');
        $b->wait_many(300);
        my $began = time;
        if ($signal eq 'WINCH') {
            # Whoever stops it waits for the children.
            kill WINCH => $s->pid;
            is tally(map { $_->response } @all), '300 x 200 waited',
                'all that wait are answered';
            is tally($cgi->response), '1 x 200 slow', 'and a CGI';
            $_->close for @all, @idle, $cgi;
        }
        ok $s->stop($signal), 'no crash, nothing left';
        cmp_ok time - $began, '<', 8, 'in time';
        # httpd complains of the CGI's two seconds in stock as well.
        log_is_clean($s, $name, qr/AH00045/);
        if ($signal eq 'TERM') {
            my @ends = map { $_->wait_close(1) // 'open' } @all, @idle;
            is scalar(grep { $_ ne 'open' } @ends), 350, 'all are closed';
        }
    };
}

subtest 'restart' => sub {
    my $s = server();
    my @idle = idle($s, 50);
    for (1 .. 3) {
        my @all = crowd(100, $s, GET => '/p/silent');
        $b->wait_many(100);
        my $old = child($s);
        my $began = time;
        ok $s->restart, 'up again';
        cmp_ok time - $began, '<', 5, 'in time';
        is gone_in($old, 1), 'gone', 'the old child';
        cmp_ok quickly($s, '/p/quick', 'quick'), '<', 2.5, 'it serves';
        is scalar(grep { defined $_->wait_close(1) } @all), 100,
            'what waited is closed';
    }
    log_is_clean($s, 'restart');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'MaxConnectionsPerChild' => sub {
    my $s = server('', "MaxConnectionsPerChild 40\nStartServers 2\n");
    my %seen;
    my ($good, $bad) = under_load($s, 3, sub {
        for (1 .. 60) {
            $seen{$_} = 1 for $s->children;
            $s->get('/p/wait/0.01') for 1 .. 5;
            sleep 0.02;
        }
    });
    is $bad, '', 'no request is lost';
    cmp_ok $good, '>', 100, "many were answered ($good)";
    cmp_ok scalar(keys %seen), '>=', 5, 'by one child after the other';
    my $left;
    for (1 .. 200) {
        $left = grep { -e "/proc/$_" } keys %seen;
        last if $left <= 4;
        sleep 0.05;
    }
    cmp_ok $left, '<=', 4, 'the old ones are gone';
    log_is_clean($s, 'MaxConnectionsPerChild');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'a child that is killed' => sub {
    my $s = server();
    my @all = crowd(100, $s, GET => '/p/silent');
    $b->wait_many(100);
    my $old = child($s);
    kill KILL => $old;
    is scalar(grep { defined $_->wait_close(3) } @all), 100,
        'its clients are told';
    my $res;
    for (1 .. 50) {
        $res = eval { $s->get('/p/wait/0.1', [], timeout => 2) };
        last if $res && ($res->body // '') eq 'waited';
        sleep 0.1;
    }
    is $res->body, 'waited', 'the next one serves';
    isnt child($s), $old, 'another child';
    log_is_clean($s, 'killed', qr/AH0005[012]/);
    $s->stop;
};

done_testing;
