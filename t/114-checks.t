# Licensed under the Apache License, Version 2.0; see LICENSE.

# Health checks: who fails them gets no requests, whoever made them.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use File::Temp ();
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Server ();

my $dir = File::Temp->newdir;

sub set {
    my ($name, $how) = @_;
    open my $fh, '>', "$dir/$name.new" or die "$name: $!\n";
    print $fh $how;
    close $fh;
    rename "$dir/$name.new", "$dir/$name";
    return;
}

sub how {
    my ($name) = @_;
    open my $fh, '<', "$dir/$name" or return 'ok';
    return <$fh> // '';
}

# A backend that answers requests with its name, and checks as it is told.
sub backend {
    my ($name) = @_;
    set($name, 'ok');
    return Up::Backend->start(sub {
        my ($c) = @_;
        while (my $req = $c->read_request) {
            my $how = $req->{target} =~ m{^/check} ? how($name) : 'request';
            $c->note(type => 'check', text => $how) if $how ne 'request';
            return if $how eq 'close';
            sleep 3 if $how eq 'stall';
            $how =~ /^(\d+)/
                ? $c->respond($req, $1, ['X-Load' => 'low'], 'sick')
                : $c->respond($req, 200, ['X-Load' => $how], "I am $name");
        }
    });
}

my ($A, $B) = (backend('a'), backend('b'));

sub server {
    my ($check, %more) = @_;
    return Up::Server->start(A => $A->addr, B => $B->addr,
        main => 'LoadModule slotmem_shm_module "@MODULES@/mod_slotmem_shm.so"'
            . "\n" . ($more{main} // ''),
        conf => "<Upstream g>\nUpstreamServer \@A\@\nUpstreamServer \@B\@\n"
            . "UpstreamHealthCheck $check\n" . ($more{group} // '')
            . "</Upstream>\nUpstreamPass /p/ http://g/\n");
}

# Who answers, in ten requests.
sub who {
    my ($s) = @_;
    my %seen;
    for (1 .. 10) {
        my $res = $s->get('/p/x');
        $seen{ $res->status == 200 ? substr $res->body, -1 : $res->status }++;
    }
    return join ' ', sort keys %seen;
}

# Within five seconds.
sub becomes {
    my ($s, $expected, $what) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $until = time + 5;
    my $seen;
    while (($seen = who($s)) ne $expected && time < $until) {
        sleep 0.05;
    }
    return is $seen, $expected, $what;
}

my $FAST = 'uri=/check interval=100ms timeout=500ms';

subtest 'down and up again' => sub {
    my $s = server("http $FAST fails=2 passes=2");
    is who($s), 'a b', 'both, before anything is known';
    for my $how ('503', 'close', 'stall') {
        set(b => $how);
        becomes($s, 'a', "not b: $how");
        ok $s->error_log(qr/UP0913: server \S+ of group g is unhealthy/),
            'a line says so';
        set(b => 'ok');
        becomes($s, 'a b', 'b is back');
        ok $s->error_log(qr/UP0911: server \S+ of group g is healthy/),
            'as another one says';
        $s->mark;
    }
    set($_ => '500') for qw(a b);
    becomes($s, '502', 'all are unhealthy');
    set($_ => 'ok') for qw(a b);
    becomes($s, 'a b', 'all are back');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'a port that nobody listens on' => sub {
    my $s = server('tcp interval=100ms port=' . Up::Server::free_port());
    becomes($s, '502', 'refused');
    ok $s->error_log(qr/UP0913.*cannot connect/), 'the reason';
    ok $s->stop, 'no crash, nothing left';
    $s = server('tcp interval=100ms mandatory');
    becomes($s, 'a b', 'a connection will do');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'mandatory' => sub {
    set(b => '500');
    my $s = server("http $FAST mandatory passes=2");
    becomes($s, 'a', 'a has passed');
    set(b => 'ok');
    becomes($s, 'a b', 'now b has');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'match' => sub {
    my $s = server("$FAST match=alive reuse", main => <<'END');
<UpstreamMatch alive>
    UpstreamMatchStatus 200 204
    UpstreamMatchHeader X-Load != high
    UpstreamMatchBody ~ "^I am"
</UpstreamMatch>
END
    becomes($s, 'a b', 'they match');
    for my $how ('206', 'high', '200') {
        set(b => $how);
        becomes($s, 'a', "b does not: $how");
        set(b => 'ok');
        becomes($s, 'a b', 'b does');
    }
    ok $s->stop, 'no crash, nothing left';
};

subtest 'drain' => sub {
    my $s = server("$FAST drain=404");
    set(b => '404');
    becomes($s, 'a', 'b drains');
    ok $s->error_log(qr/UP0912: server \S+ of group g drains/), 'and is not'
        . ' called ill';
    set(b => 'ok');
    becomes($s, 'a b', 'b is back');
    ok $s->stop, 'no crash, nothing left';
};

subtest 'one checker for all children' => sub {
    Test::More::plan(skip_all => 'of threads')
        if ($ENV{UP_MPM} // '') eq 'prefork';
    my $s = server('uri=/check interval=200ms timeout=500ms',
        group => "UpstreamZone hc\n",
        main => "StartServers 3\nServerLimit 6\nThreadsPerChild 2\n"
        . "MaxRequestWorkers 6\nMinSpareThreads 6\nMaxSpareThreads 6\n");
    is who($s), 'a b', 'there';
    $A->clear;
    sleep 2;
    my $n = () = $A->events('check');
    cmp_ok $n, '<=', 13, "checks of three children: those of one ($n)";
    cmp_ok $n, '>=', 3, 'and no less';
    my @old = $s->children;
    kill KILL => $_ for @old;
    set(b => '503');
    becomes($s, 'a', 'others go on when children are killed');
    set(b => 'ok');
    becomes($s, 'a b', 'and go on');
    $s->graceful;
    set(b => '503');
    becomes($s, 'a', 'after a restart, too');
    set(b => 'ok');
    becomes($s, 'a b', 'both again');
    ok $s->stop, 'no crash, nothing left';
};

done_testing;
