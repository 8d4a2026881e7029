# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamQueue: who waits for a place at a server, without a thread.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

plan skip_all => 'a child has one request at a time, so none can wait'
    if ($ENV{UP_MPM} // '') eq 'prefork';

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $refused = Up::Backend->closed(sub { });

# group => its content
my %GROUPS = (
    order => "UpstreamServer \@A\@ max_conns=1\nUpstreamQueue 20",
    small => "UpstreamServer \@A\@ max_conns=1\nUpstreamQueue 1",
    short => "UpstreamServer \@A\@ max_conns=1\nUpstreamQueue 9 timeout=300ms",
    leave => "UpstreamServer \@A\@ max_conns=1\nUpstreamQueue 1",
    down => "UpstreamServer \@R\@\nUpstreamServer \@R2\@ backup\n"
        . 'UpstreamQueue 20',
    zone => "UpstreamServer \@A\@ max_conns=2\nUpstreamQueue 20\n"
        . 'UpstreamZone z',
    total => "UpstreamServer \@A\@ max_conns=1\nUpstreamQueue 20",
    both => "UpstreamServer \@A\@ max_conns=1\nUpstreamServer \@B\@ "
        . "max_conns=1 backup\nUpstreamQueue 20",
);
my $conf = q{};
for my $name (sort keys %GROUPS) {
    $conf .= "<Upstream $name>\n$GROUPS{$name}\n</Upstream>\n"
        . "UpstreamPass /$name/ http://$name/\n";
}
$conf .= "<Location /total/brief/>\nUpstreamTotalTimeout 400ms\n</Location>\n";
my $slotmem = 'LoadModule slotmem_shm_module "@MODULES@/mod_slotmem_shm.so"'
    . "\n";
my %addr = (A => $A->addr, B => $B->addr, R => $refused->addr,
    R2 => Up::Backend->closed(sub { })->addr);
my $s = Up::Server->start(%addr, conf => $conf, main => $slotmem);

# A client whose request is under way.
sub ask {
    my ($target, @fields) = @_;
    my $client = $s->client;
    $client->request(GET => $target, [@fields]);
    return $client;
}

# One that holds A for a while.
sub hold {
    my ($target, $time) = @_;
    $A->clear;
    my $client = ask($target, 'X-A' => "late:$time");
    ok $A->wait_count(1), 'a request is under way';
    return $client;
}

subtest 'first come, first served' => sub {
    my $first = hold('/order/0', 0.5);
    my @waiting;
    for my $n (1 .. 8) {
        push @waiting, ask("/order/$n", 'X-A' => 'late:0.05');
        sleep 0.02;
    }
    is $_->response->body, 'A', 'answered' for $first, @waiting;
    is join(' ', map { $_->{target} } $A->requests),
        join(' ', map { "/$_" } 0 .. 8), 'in their order';
    my $waited = $s->logged('/order/8');
    cmp_ok $waited->{UPSTREAM_QUEUE_TIME}, '>=', 0.5, 'the time is known';
    is $s->logged('/order/0')->{UPSTREAM_QUEUE_TIME}, '-',
        'and of one that has not waited, that it has not';
    is $waited->{UPSTREAM_STATUS}, 200, 'one try';
    is scalar $A->connections, 1, 'on one connection';
};

subtest 'a full queue' => sub {
    my $first = hold('/small/0', 0.6);
    my $second = ask('/small/1');
    sleep 0.1;
    my $res = $s->get('/small/2');
    is $res->status, 503, 'is said at once';
    is $res->field('Retry-After'), 1, 'with Retry-After';
    is $_->response->status, 200, 'the others are answered'
        for $first, $second;
    my $entry = $s->logged('/small/2');
    is $entry->{UPSTREAM_ADDR}, 'small', 'no server was asked';
    is $entry->{UPSTREAM_STATUS}, 503, 'the status';
    ok scalar $s->error_log(qr/UP0804: group small takes no more, /),
        'and why';
    is $s->get('/small/3')->status, 200, 'there is room again';
};

subtest 'too long' => sub {
    my $first = hold('/short/0', 1);
    my $start = time;
    my $res = $s->get('/short/1');
    my $took = time - $start;
    is $res->status, 503, 'is said';
    is $res->field('Retry-After'), 1, 'with Retry-After';
    ok $took >= 0.29 && $took < 0.9, "after timeout= ($took)";
    cmp_ok $s->logged('/short/1')->{UPSTREAM_QUEUE_TIME}, '>=', 0.29,
        'the time is known';
    is $first->response->status, 200, 'the first is not touched';
    is $s->get('/short/2')->status, 200, 'and the next is answered';
};

subtest 'UpstreamTotalTimeout counts in the queue' => sub {
    my $first = hold('/total/1', 1.2);
    my $second = ask('/total/brief/2');
    is $second->response->status, 504, 'the second has waited too long';
    my $entry = $s->logged('/total/brief/2');
    is $entry->{UPSTREAM_ADDR}, 'total', 'no server was asked';
    is $entry->{UPSTREAM_STATUS}, 504, 'the status';
    cmp_ok $entry->{UPSTREAM_QUEUE_TIME}, '>=', 0.35, 'the time is known';
    is $first->response->status, 200, 'the first is answered';
    ok scalar $s->error_log(qr/UP0835: group total: no server in time/),
        'and why';
    is $s->get('/total/brief/4')->status, 200, 'its place is another\'s';
};

subtest 'a client that leaves' => sub {
    my $first = hold('/leave/0', 0.8);
    my $second = ask('/leave/1');
    sleep 0.1;
    $second->reset;
    ok scalar $s->error_log(qr/UP0429: .* while choosing an upstream/),
        'is noticed';
    my $third = ask('/leave/2');
    is $_->response->status, 200, 'his place is another\'s'
        for $first, $third;
    is join(' ', map { $_->{target} } $A->requests), '/0 /2',
        'his request is not sent';
    is $s->logged('/leave/1')->{status}, 499, 'logged as gone';
};

subtest 'servers that fail are not waited for' => sub {
    my $start = time;
    is $s->get('/down/1')->status, 502, 'all have failed';
    is $s->get('/down/2')->status, 502, 'and rest';
    cmp_ok time - $start, '<', 2, 'at once';
};

subtest 'a backup has a place, too' => sub {
    my $first = hold('/both/0', 0.4);
    is $s->get('/both/1')->body, 'B', 'at once';
    my $second = ask('/both/2', 'X-B' => 'late:1.5');
    sleep 0.1;
    my $third = ask('/both/3');
    is $third->response->body, 'A', 'the first that is free again';
    is $first->response->body, 'A', 'the primary';
    is $second->response->body, 'B', 'and the other in the end';
};

ok $s->stop, 'no crash, nothing left';

# Several children, of few threads each.
$s = Up::Server->start(%addr, conf => $conf, main => $slotmem
    . "StartServers 4\nServerLimit 12\nThreadsPerChild 3\n"
    . "MaxRequestWorkers 12\nMinSpareThreads 12\nMaxSpareThreads 12\n");

subtest 'children with a zone' => sub {
    $A->clear;
    my $start = time;
    my @all = map { ask("/zone/$_", 'X-A' => 'late:0.1') } 1 .. 12;
    is join('', map { $_->response->body } @all), 'A' x 12, 'all answered';
    is scalar $A->requests, 12, 'once each';
    my $took = time - $start;
    ok $took >= 0.6 && $took < 3, "never more than two at a time ($took)";
};

ok $s->stop, 'no crash, nothing left';
done_testing;
