# Licensed under the Apache License, Version 2.0; see LICENSE.

# Under load: a new answer moves all new requests, and none of them fails,
# however often the answer changes.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use POSIX ();
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::DNS ();
use Up::Server ();

my $CLIENTS = 12;
my $SECONDS = 6;

my $first = Up::Backend->http(sub { [200, [], 'at1'] });
my $port = $first->port;
my @backends = ($first, map {
    my $n = $_;
    Up::Backend->http(sub { [200, [], "at$n"] }, host => "127.0.0.$n",
        port => $port);
} 2 .. 4);

my $dns = Up::DNS->start('app.test' => { A => ['127.0.0.1'] });
my $s = Up::Server->start(DNS => $dns->addr, P => $port, conf => <<'END');
UpstreamResolver @DNS@ valid=100ms
UpstreamPass /x http://app.test:@P@
UpstreamPass /var http://%{HTTP:X-Host}:@P@
END

# A client: asks on one connection, and tells what it got, with the time at
# which it asked.
sub ask_on {
    my ($n, $until, $out) = @_;
    my $c = $s->client;
    while (time < $until) {
        my $began = time;
        my $res = eval { $n % 2 ? $c->get('/x')
            : $c->get('/var', ['X-Host' => 'app.test']) };
        print $out join(' ', $began, $res ? $res->status : 0,
            $res ? $res->body : '-'), "\n";
        $c = $s->client if !$res || $res->closes;
        sleep 0.002;
    }
    return;
}

my (@pids, @files);
my $until = time + $SECONDS;
for my $n (1 .. $CLIENTS) {
    push @files, $s->tmp . "/client$n";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open my $out, '>', $files[-1] or POSIX::_exit(1);
        eval { ask_on($n, $until, $out) };
        close $out;
        POSIX::_exit(0);
    }
    push @pids, $pid;
}

# Every half second another address; what was asked a second after the change
# must come from the new one.
my @changes = ([0, 'at1']);
my $at = 1;
while (time < $until - 1.5) {
    sleep 0.5 if @changes % 3;
    sleep 1.5 if !(@changes % 3);
    $at = $at % 4 + 1;
    $dns->set('app.test' => { A => ["127.0.0.$at"] });
    push @changes, [time, "at$at"];
}
waitpid $_, 0 for @pids;

my ($requests, $failed, $late, %seen) = (0, 0, 0);
for my $file (@files) {
    open my $fh, '<', $file or die "$file: $!";
    while (<$fh>) {
        my ($began, $status, $body) = split;
        my ($change) = grep { $_->[0] <= $began } reverse @changes;
        $requests++;
        $failed++ if $status != 200;
        $seen{$body}++;
        $late++ if $began > $change->[0] + 1 && $body ne $change->[1];
    }
}
cmp_ok $requests, '>', 500, "many requests ($requests)";
is $failed, 0, 'none failed';
is $late, 0, 'a second after a change all go to the new address';
cmp_ok scalar(keys %seen), '>=', 3, 'which has changed some times';

ok $s->stop, 'no crash, nothing left';
done_testing;
