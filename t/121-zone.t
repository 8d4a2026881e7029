# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamZone: what one child knows of a server all know, it outlives a
# restart, and what a dead child held is given back.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);

my %GROUPS = (
    fails => ['@A@ fail_timeout=60s', '@B@ backup'],
    alone => ['@A@ fail_timeout=60s', '@B@ backup'],
    full => ['@A@ max_conns=3'],
    dies => ['@A@ max_conns=2'],
    later => ['@A@ fail_timeout=60s weight=3', '@B@ weight=2'],
    own => ['@A@ fail_timeout=60s', '@B@ backup'],
);

sub conf {
    my (%groups) = @_;
    my $conf = '';
    for my $name (sort keys %groups) {
        $conf .= "<Upstream $name>\n"
            . join('', map { "UpstreamServer $_\n" } @{ $groups{$name} })
            . ($name eq 'own' ? '' : "UpstreamZone z\n")
            . "</Upstream>\nUpstreamPass /$name/ http://$name/\n";
    }
    return $conf;
}

# Several children, whatever the MPM.
my $s = Up::Server->start(A => $A->addr, B => $B->addr,
    main => 'LoadModule slotmem_shm_module "@MODULES@/mod_slotmem_shm.so"'
        . "\n<IfModule !mpm_prefork_module>\nStartServers 4\nServerLimit 12\n"
        . "ThreadsPerChild 2\nMaxRequestWorkers 8\nMinSpareThreads 8\n"
        . "MaxSpareThreads 8\n</IfModule>\n",
    conf => conf(%GROUPS));

# So many requests at once; [status, body] of each, in order.
sub crowd {
    my ($n, $target, @fields) = @_;
    my @clients = map { $s->client } 1 .. $n;
    $_->request(GET => $target, [@fields]) for @clients;
    return map { [$_->status, $_->body] } map { $_->response } @clients;
}

# How often A was asked for it.
sub asked_A {
    my ($target) = @_;
    return scalar grep { $_->{target} eq $target } $A->requests;
}

subtest 'a failure is known to all' => sub {
    is join('', map { $_->[1] } crowd(1, '/fails/x', 'X-A' => 'close')), 'B',
        'A fails, B answers';
    my @all = crowd(12, '/fails/y', 'X-B' => 'late:0.3');
    is join('', map { $_->[1] } @all), 'B' x 12, 'all answers are from B';
    is asked_A('/y'), 0, 'nobody asks A again';
    is join('', map { $_->[1] } crowd(4, '/alone/x')), 'AAAA',
        'the same server in another group is another server';
};

subtest 'max_conns over all children' => sub {
    my @all = crowd(12, '/full/x', 'X-A' => 'late:1');
    my @good = grep { $_->[0] == 200 } @all;
    is scalar @good, 3, 'three get through';
    is scalar(grep { $_->[0] == 502 } @all), 9, 'nine do not';
    is asked_A('/x') - 5, 3, 'as A has it';
    is scalar(grep { $_->[0] == 200 } crowd(3, '/full/y')), 3,
        'the places are free again';
};

for my $way (qw(graceful restart)) {
    subtest "after a $way" => sub {
        $A->clear;
        crowd(1, '/later/x', 'X-A' => 'close');
        ok $s->$way, 'it comes back';
        $A->clear;
        is join('', map { $_->[1] } crowd(4, '/fails/z')), 'BBBB',
            'A is still known to have failed';
        is asked_A('/z'), 0, 'and is not asked';
        is join('', map { $_->[1] } crowd(3, '/later/y')), 'BBB',
            'in the other group, too';
        is scalar(grep { $_->[0] == 200 } crowd(3, '/full/z')), 3,
            'what was under way is forgotten';
    };
}

subtest 'without a zone' => sub {
    is join('', map { $_->[1] } crowd(1, '/own/x', 'X-A' => 'close')), 'B',
        'A fails';
    ok $s->graceful, 'a graceful restart';
    is join('', map { $_->[1] } crowd(1, '/own/y')), 'A', 'is forgotten';
};

subtest 'a child that dies' => sub {
    $s->mark;
    $A->clear;
    my @clients = map { $s->client } 1, 2;
    $_->request(GET => '/dies/held', ['X-A' => 'late:20']) for @clients;
    ok $A->wait_count(2, 'request', 5), 'two requests under way';
    is $s->get('/dies/x')->status, 502, 'which is all that A may have';
    my %pids = map { /\[pid (\d+)/ ? ($1 => 1) : () }
        $s->error_log(qr{connect -> send.*|send -> head.*});
    kill KILL => keys %pids;
    ok scalar(keys %pids), 'the children that have them are killed';
    my $until = time + 10;
    my $status = 0;
    while ($status != 200 && time < $until) {
        sleep 0.1;
        $status = eval { $s->get('/dies/x')->status } // 0;
    }
    is $status, 200, 'what they held is given back';
    is scalar(grep { $_->[0] == 200 } crowd(2, '/dies/y')), 2, 'all of it';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
