# Licensed under the Apache License, Version 2.0; see LICENSE.

# Balancing methods: who is asked, as seen from outside.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my @NAMES = qw(A B C);
my %b = map { $_ => Up::Scripts->obedient($_) } @NAMES;
my $going = Up::Scripts->obedient('G');

my $servers = join '', map { "UpstreamServer \@$_\@\n" } @NAMES;
my $weighted = "UpstreamServer \@A\@ weight=3\nUpstreamServer \@B\@\n"
    . "UpstreamServer \@C\@ weight=2\n";
my $with_going = "UpstreamServer \@A\@\nUpstreamServer \@G\@ max_fails=1 "
    . "fail_timeout=60s\nUpstreamServer \@B\@\nUpstreamServer \@C\@\n";
my %GROUPS = (
    least => "UpstreamLeastConn\n$servers",
    iphash => "$servers UpstreamIPHash\n",
    hash => "UpstreamHash %{QUERY_STRING}\n$servers",
    ring => "UpstreamHash %{QUERY_STRING} consistent\n$with_going",
    bounded => "UpstreamHash hot consistent balance=150\n$servers",
    random => "$weighted UpstreamRandom\n",
    two => "UpstreamRandom two least_conn\n$servers",
    time => "UpstreamLeastTime header\n$servers",
    last => "UpstreamLeastTime last_byte inflight\n$servers",
    ewma => "UpstreamPeakEWMA choices=3\n$servers",
    ewmab => "UpstreamPeakEWMA\nUpstreamServer \@A\@\n"
        . "UpstreamServer \@B\@ backup\n",
);
my $conf = "RemoteIPHeader X-Forwarded-For\n"
    . "RemoteIPInternalProxy 127.0.0.1/32\n"
    . join '', map { "<Upstream $_>\n$GROUPS{$_}</Upstream>\n"
    . "UpstreamPass /$_/ http://$_/\n" } sort keys %GROUPS;
my $s = Up::Server->start((map { $_ => $b{$_}->addr } @NAMES),
    G => $going->addr, conf => $conf);

# Who answers a request: on one connection, so of one child.
my $k = $s->client;

sub who {
    my ($target, @fields) = @_;
    my $res = $k->get($target, [@fields]);
    $k = $s->client if $res->closes;
    return $res->status == 200 ? $res->body : "($res->{status})";
}

# Requests that are under way at the server that is named, at the same time.
sub hold {
    my ($n, $target, $time, @names) = @_;
    my $before = 0;
    my @clients;
    for my $i (1 .. $n) {
        my $client = $s->client;
        $client->request(GET => $target, [map { ("X-$_" => "late:$time") }
            @names]);
        push @clients, $client;
        for (1 .. 100) {
            last if total() >= $i;
            sleep 0.02;
        }
    }
    return @clients;
}

sub total {
    my $sum = 0;
    $sum += $_->requests for values %b;
    return $sum;
}

sub clear { $_->clear for values %b, $going }

sub counts { return map { scalar $b{$_}->requests } @NAMES }

subtest 'least connections' => sub {
    Test::More::plan(skip_all => 'counted per process')
        if $s->{mpm} eq 'prefork';
    clear();
    my @busy = hold(6, '/least/x', 0.7, @NAMES);
    is join(' ', counts()), '2 2 2', 'all alike';
    $_->response for @busy;
    clear();
    @busy = hold(1, '/least/x', 0.7, @NAMES);
    my ($held) = grep { scalar $b{$_}->requests } @NAMES;
    is scalar(grep { $_ eq $held } map { who('/least/y') } 1 .. 6), 0,
        'who has nothing to do is asked';
    is $_->response->body, $held, 'the one that was busy' for @busy;
};

subtest 'the hash of an address' => sub {
    my %golden = ('10.0.0.1' => 'A', '10.0.1.9' => 'B', '192.0.2.77' => 'A',
        '198.51.100.3' => 'A', '203.0.113.200' => 'A', '8.8.8.8' => 'C');
    is who('/iphash/x'), 'C', '127.0.0.1';
    for my $ip (sort keys %golden) {
        is who('/iphash/x', 'X-Forwarded-For' => $ip), $golden{$ip}, $ip;
    }
    is who('/iphash/x', 'X-Forwarded-For' => '8.8.8.200'), 'C',
        'the same network';
    is who('/iphash/x', 'X-C' => 'close'), who('/iphash/x', 'X-C' => 'close'),
        'another server when it fails';
};

subtest 'the hash of a key' => sub {
    is join('', map { who("/hash/x?$_") } 1 .. 12), 'BCBABAACCACA',
        'that of nginx';
    is join('', map { who('/hash/x?7') } 1 .. 4), 'AAAA', 'always the same';
    is join('', map { who('/hash/x') } 1 .. 6) =~ s/(...)\1/$1/r, 'ABC',
        'no key: all in turn';
};

subtest 'the consistent hash' => sub {
    my @keys = map { "key$_" } 1 .. 60;
    my %before = map { $_ => who("/ring/x?$_") } @keys;
    my %seen = map { $_ => 1 } values %before;
    is join('', sort keys %seen), 'ABCG', 'all have keys';
    is_deeply { map { $_ => who("/ring/x?$_") } @keys }, \%before,
        'and keep them';
    $going->stop;
    my %after = map { $_ => who("/ring/x?$_") } @keys;
    is scalar(grep { $_ eq 'G' || $_ =~ /\(/ } values %after), 0,
        'one goes: all are answered';
    is_deeply [grep { $before{$_} ne 'G' && $before{$_} ne $after{$_} } @keys],
        [], 'what others had stays where it is';
};

subtest 'bounded load' => sub {
    Test::More::plan(skip_all => 'counted per process')
        if $s->{mpm} eq 'prefork';
    clear();
    my @busy = hold(6, '/bounded/x', 0.8, @NAMES);
    my @counts = sort { $b <=> $a } counts();
    is join(' ', @counts), '3 3 0', 'six at once: three are the most for one';
    $_->response for @busy;
    my $first = who('/bounded/y');
    is who('/bounded/y'), $first, 'one at a time: always the same'
        for 1 .. 3;
};

subtest 'by lot' => sub {
    my %count;
    $count{ who('/random/x') }++ for 1 .. 240;
    # 120, 40, 80: five times the deviation
    cmp_ok abs($count{A} - 120), '<', 40, "3 of 6: $count{A}";
    cmp_ok abs($count{B} - 40), '<', 30, "1 of 6: $count{B}";
    cmp_ok abs($count{C} - 80), '<', 37, "2 of 6: $count{C}";
    is who('/random/x', map { ("X-$_" => 'close') } qw(A B)), 'C',
        'those that fail are passed over';
    SKIP: {
        skip 'counted per process', 2 if $s->{mpm} eq 'prefork';
        clear();
        my @busy = hold(9, '/two/x', 0.9, @NAMES);
        my ($most) = sort { $b <=> $a } counts();
        cmp_ok $most, '<=', 4, 'two: nearly alike';
        is scalar(grep { $_->response->status == 200 } @busy), 9, 'answered';
    }
};

subtest 'by time' => sub {
    for my $group (qw(time last ewma)) {
        # A answers later: once it is known, the others get it all
        who("/$group/x", 'X-A' => 'late:0.25') for 1 .. 6;
        my @got = map { who("/$group/x", 'X-A' => 'late:0.25') } 1 .. 10;
        is scalar(grep { $_ eq 'A' } @got), 0, "$group: not the slow one";
        is scalar(grep { /\A[BC]\z/ } @got), 10, 'but the others';
    }
    is who('/ewmab/x'), 'A', 'a primary';
    is who('/ewmab/x', 'X-A' => 'close'), 'B', 'and then the backup';
};

subtest 'requests that hang' => sub {
    Test::More::plan(skip_all => 'counted per process')
        if $s->{mpm} eq 'prefork';
    clear();
    my @busy = hold(1, '/last/x', 1, 'B', 'C');
    my ($held) = grep { scalar $b{$_}->requests } @NAMES;
    isnt $held, 'A', 'the slow one is still known';
    sleep 0.4;
    is scalar(grep { $_ eq $held } map { who('/last/y') } 1 .. 6), 0,
        'inflight: known before they end';
    is $_->response->status, 200, 'answered in the end' for @busy;
};

is_deeply [map { $_->problems } values %b], [], 'nothing wrong in requests';
ok $s->stop, 'no crash, nothing left';
done_testing;
