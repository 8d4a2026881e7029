# Licensed under the Apache License, Version 2.0; see LICENSE.

# A server that comes back has its share again within one fail_timeout, with
# every balancing method.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my %b = map { $_ => Up::Scripts->obedient($_) } qw(A B);

my %METHODS = (
    robin => '', least => 'UpstreamLeastConn', time => 'UpstreamLeastTime '
        . 'header', random => 'UpstreamRandom two',
    ring => 'UpstreamHash %{QUERY_STRING} consistent',
    hash => 'UpstreamHash %{QUERY_STRING}',
    ewma => 'UpstreamPeakEWMA decay=200ms',
    zone => 'UpstreamZone z',
);
my $conf = join '', map { "<Upstream $_>\n$METHODS{$_}\n"
    . "UpstreamServer \@A\@ fail_timeout=1s weight=10\n"
    . "UpstreamServer \@B\@ fail_timeout=1s weight=10\n</Upstream>\n"
    . "UpstreamPass /$_/ http://$_/\n" } sort keys %METHODS;
my $s = Up::Server->start(A => $b{A}->addr, B => $b{B}->addr, conf => $conf,
    main => 'LoadModule slotmem_shm_module "@MODULES@/mod_slotmem_shm.so"'
    . "\n");
my $k = $s->client;

# Requests one after the other, of different keys: how many A, B, and nobody
# answered.
sub share {
    my ($group, $n) = @_;
    my %count = (A => 0, B => 0);
    for my $i (1 .. $n) {
        my $res = $k->get("/$group/x?$i");
        $k = $s->client if $res->closes;
        $count{ $res->status == 200 ? $res->body : 'none' }++;
    }
    return \%count;
}

my %before = map { $_ => share($_, 60) } sort keys %METHODS;
is $before{$_}{none}, undef, "$_: all is well" for sort keys %METHODS;

$b{A}->stop;
for my $group (sort keys %METHODS) {
    my $count = share($group, 20);
    is $count->{none}, undef, "$group: all are answered without A";
    is $count->{A}, 0, 'by the other one';
}

$b{A}->open;
my $back = time;
# whole seconds, and more than one: nginx's way of counting
sleep 2.05;
for my $group (sort keys %METHODS) {
    my $count = share($group, 60);
    is $count->{none}, undef, "$group: all are answered";
    # Four fifths of what it had; by lot it may be less, and a time may be
    # a long one by chance.
    my $fair = $before{$group}{A};
    my $least = $group =~ /time|ewma/ ? 1
        : $group eq 'random' ? 0.4 * $fair : 0.8 * $fair;
    cmp_ok $count->{A}, '>=', $least,
        "and A has its share: $count->{A} of $fair";
}

ok $s->stop, 'no crash, nothing left';
done_testing;
