# Licensed under the Apache License, Version 2.0; see LICENSE.

# Which server is asked: weights, backups, servers that are down, full, or
# resting after failures.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B, $C) = map { Up::Scripts->obedient($_) } qw(A B C);
my $late = Up::Scripts->obedient('late', closed => 1);
my $alone = Up::Scripts->obedient('alone', closed => 1);
my $going = Up::Scripts->obedient('A');
my $twin = Up::Scripts->obedient('two', host => '127.0.0.2');
my $twin3 = Up::Scripts->obedient('three', host => '127.0.0.3',
    port => $twin->port, closed => 1);
my $hosts = Up::Server::has_hosts();

# What A does, and whether that counts as a failure.
my @COUNTS = ([close => 1], [silent => 1], [garbage => 1], ['say:500' => 1],
    ['say:429' => 1], ['say:404' => 0], ['say:503' => 0], [cut => 0],
    [ok => 0]);
my $COUNTED = ['@A@ max_fails=2 fail_timeout=60s', '@B@ backup'];

# name => its servers
my %GROUPS = (
    w31 => ['@A@ weight=3', '@B@'],
    w511 => ['@A@ weight=5', '@B@', '@C@'],
    w432 => ['@A@ weight=4', '@B@ weight=3', '@C@ weight=2'],
    equal => ['@A@', '@B@'],
    cut3 => ['@A@ weight=3 max_fails=3', '@B@'],
    cut0 => ['@A@ weight=3 max_fails=0', '@B@'],
    (map { ("fails$_" => ["\@A\@ max_fails=$_ fail_timeout=60s",
        '@B@ backup']) } 0 .. 3),
    (map { ("counts$_" => $COUNTED) } 0 .. $#COUNTS, 'once'),
    recovers => ['@L@ fail_timeout=1s', '@B@'],
    probe => ['@A@ fail_timeout=1s', '@B@ backup'],
    probing => ['@A@ fail_timeout=1s', '@B@ backup'],
    forgets => ['@A@ max_fails=2 fail_timeout=1s', '@B@ backup'],
    single => ['@O@ max_fails=1'],
    backup => ['@G@', '@B@ backup'],
    backups => ['@R@', '@B@ backup weight=2', '@C@ backup'],
    down => ['@A@ down', '@B@', '@C@'],
    alldown => ['@A@ down', '@B@ down backup'],
    full => ['@A@ max_conns=1', '@B@'],
    full1 => ['@A@ max_conns=1'],
    fullb => ['@A@ max_conns=1 max_fails=0', '@B@ backup'],
    names => ['twin:@TP@'],
);
my $conf = '';
for my $name (sort keys %GROUPS) {
    next if $name eq 'names' && !$hosts;
    $conf .= "<Upstream $name>\n"
        . join('', map { "UpstreamServer $_\n" } @{ $GROUPS{$name} })
        . "</Upstream>\nUpstreamPass /$name/ http://$name/\n";
}
my $refused = Up::Backend->closed(sub { });
my $s = Up::Server->start(A => $A->addr, B => $B->addr, C => $C->addr,
    L => $late->addr, O => $alone->addr, G => $going->addr,
    R => $refused->addr, TP => $twin->port,
    $hosts ? (hosts => "127.0.0.1 localhost\n127.0.0.2 twin\n"
        . "127.0.0.3 twin\n") : (),
    conf => "<If \"%{HTTP:X-A} == 'silent'\">\nUpstreamReadTimeout 300ms\n"
        . "</If>\nUpstreamNextUpstream error timeout "
        . "invalid_header http_500 http_404 http_429\n$conf"
        . "<Location /countsonce/once/>\n"
        . "UpstreamNextUpstreamTries 1\n</Location>\n");

# One connection, so one child, whatever the MPM.
my $k = $s->client;

# Sends the same request n times; returns who answered, a letter each, the
# status where it was none of 200.
sub answers {
    my ($group, $n, @fields) = @_;
    return join '', map {
        my $res = $k->get("/$group/x", [@fields]);
        $k = $s->client if $res->closes;
        $res->status == 200 ? $res->body : "($res->{status})";
    } 1 .. $n;
}

# How often A was asked meanwhile.
sub asked_A {
    my (@ask) = @_;
    $A->clear;
    answers(@ask);
    return scalar $A->requests;
}

subtest 'RT23 weights' => sub {
    is answers('w31', 8), 'AABAAABA', '3, 1: spread out';
    is answers('w511', 7), 'AABACAA', '5, 1, 1';
    is answers('w432', 9), 'ABCABACBA', '4, 3, 2';
    is answers('equal', 6), 'ABABAB', '1, 1';
};

subtest 'a failure takes away weight for a while' => sub {
    answers('cut3', 1, 'X-A' => 'close');
    answers('cut0', 1, 'X-A' => 'close');
    is answers('cut3', 3), 'BAA', 'of a server whose failures count';
    is answers('cut0', 3), 'ABA', 'else not';
};

subtest 'RT22 C40 max_fails' => sub {
    is answers('fails1', 6, 'X-A' => 'close'), 'BBBBBB', 'all is answered';
    is asked_A('fails1', 5), 0, '1: A rests after its first failure';
    is asked_A('fails2', 5, 'X-A' => 'close'), 2, '2: after two';
    is asked_A('fails3', 5, 'X-A' => 'reset'), 3, '3: after three';
    is asked_A('fails0', 5, 'X-A' => 'close'), 5, '0: never';
    my $addr = $A->addr;
    ok scalar $s->error_log(
        qr/UP0424: upstream server \Q$addr\E temporarily disabled/),
        'said in the log';
    is answers('equal', 4, 'X-A' => 'close'), 'BBBB', 'of two equal ones';
    is answers('equal', 4), 'BBBB', 'the other gets it all';
};

subtest 'what counts as a failure' => sub {
    # The third request shows what the first two have done.
    for my $i (0 .. $#COUNTS) {
        my ($do, $counts) = @{ $COUNTS[$i] };
        is asked_A("counts$i", 3, 'X-A' => $do), $counts ? 2 : 3,
            $counts ? "$do does" : "$do does not";
    }
    is asked_A('countsonce/once', 3, 'X-A' => 'say:500'), 3,
        'nor an answer that no other try can follow';
};

subtest 'a failed server comes back' => sub {
    # all that must be over in fail_timeout, then one wait
    is answers('recovers', 2), 'BB', 'RT19 closed at first';
    is asked_A('probe', 2, 'X-A' => 'close'), 1, 'A rests';
    is asked_A('probing', 2, 'X-A' => 'close'), 1, 'A rests';
    is asked_A('forgets', 1, 'X-A' => 'close'), 1, 'one failure of two';
    $late->open;
    sleep 2.1;

    my $got = answers('recovers', 10);
    like $got, qr/^(?:B|late){10}\z/, 'RT19 C40 always answered';
    cmp_ok scalar(() = $got =~ /late/g), '>=', 3, 'and it has its share';

    is asked_A('probe', 4, 'X-A' => 'close'), 1, 'one request tries it out';
    my $other = $s->client;
    SKIP: {
        skip 'state is per process', 1 if $s->{mpm} eq 'prefork';
        $A->clear;
        $other->request(GET => '/probing/x', ['X-A' => 'late:0.2']);
        ok $A->wait_count(1, 'request', 2), 'A is tried out';
        is answers('probing', 1), 'B', 'while nobody else goes there';
        is $other->response->body, 'A', 'it answers';
    }
    is answers('probing', 3), 'AAA', 'and is back in service';

    is answers('forgets', 1), 'A', 'an answer after fail_timeout';
    is asked_A('forgets', 3, 'X-A' => 'say:500'), 2, 'makes it forget';
};

subtest 'RT18 C40 the only server never rests' => sub {
    is answers('single', 3), '(502)' x 3, 'it refuses';
    is scalar(grep { /no live upstreams/ } $s->error_log), 0, 'but is asked';
    $alone->open;
    is answers('single', 3), 'alone' x 3, 'then answers at once';
    is answers('single', 3, 'X-alone' => 'close'), '(502)' x 3, 'it fails';
    is answers('single', 3), 'alone' x 3, 'and is asked again';
};

subtest 'RT20 backups' => sub {
    is answers('backup', 2), 'AA', 'not while a primary can be used';
    $going->stop;
    is answers('backup', 1), 'B', 'then the backup';
    is answers('backups', 3), 'BCB', 'several, with their weights';
    is answers('backups', 2, 'X-B' => 'close', 'X-C' => 'close'),
        '(502)(502)', 'and all fail';
};

subtest 'down' => sub {
    $A->clear;
    is answers('down', 4), 'BCBC', 'is never chosen';
    is scalar $A->connections, 0, 'nor connected to';
    is answers('alldown', 1), '(502)', 'all are';
    is $s->logged('/alldown/x')->{UPSTREAM_ADDR}, 'alldown',
        'no live upstreams';
};

subtest 'max_conns' => sub {
    Test::More::plan(skip_all => 'counted per process')
        if $s->{mpm} eq 'prefork';
    my ($one, $two) = ($s->client, $s->client);
    for ($one, $two) {
        $A->clear;
        $_->request(GET => $_ == $one ? '/full/x' : '/full1/x',
            ['X-A' => 'late:0.5']);
        ok $A->wait_count(1), 'a request is under way';
    }
    is answers('full', 2), 'BB', 'the other server gets the rest';
    is answers('full1', 1), '(502)', 'no other server: 502';
    is $s->logged('/full1/x')->{UPSTREAM_ADDR}, 'full1', 'no live upstreams';
    is $_->response->body, 'A', 'the answer' for $one, $two;
    is answers('full1', 2), 'AA', 'an idle connection does not count';
    for my $do (qw(close reset silent garbage say:500 say:404 cut)) {
        answers('fullb', 1, 'X-A' => $do);
        is answers('fullb', 1), 'A', "$do: the place is free again";
    }
};

subtest 'several addresses of a name' => sub {
    Test::More::plan(skip_all => 'cannot give httpd another /etc/hosts')
        if !$hosts;
    $s->mark;
    is answers('names', 1), 'two', 'one that may be the first answers';
    is answers('names', 1), 'two', 'and the other refuses';
    my @addrs = map { $_->{UPSTREAM_ADDR} }
        grep { $_->{request} =~ /names/ } $s->access_log(2);
    is scalar(grep { $_ eq $twin3->addr . ', ' . $twin->addr } @addrs), 1,
        'both were tried, as servers of their own';
    $s->graceful;
    $k = $s->client;
    $twin3->open;
    like answers('names', 4), qr/^(?:(?:two|three){2})+\z/, 'both';
    is scalar($twin3->requests), 2, 'get half each';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
