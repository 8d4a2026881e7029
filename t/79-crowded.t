# Licensed under the Apache License, Version 2.0; see LICENSE.

# A child takes a limited number of connections. Clients that keep theirs
# must not lock others out: near the limit answers end the connection.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();

only_loop;

my $backend = Up::Backend->http(sub { [200, [], 'here'] });

# 5 threads and up to 5 x 2 more: 15 connections.
my $s = Up::Server->start(driver => 'loop', main => q{
    ThreadsPerChild 5
    MaxRequestWorkers 5
    MinSpareThreads 1
    MaxSpareThreads 5
    ServerLimit 1
    AsyncRequestWorkerFactor 2
    KeepAliveTimeout 30
}, conf => q{
    <Location />
        UpstreamPass http://@A@
    </Location>
}, A => $backend->addr);

my @kept;
my ($answered, $closed) = (0, 0);
for my $n (1 .. 40) {
    my $k = $s->client(timeout => 5);
    $k->request(GET => "/$n");
    my $res = $k->response;
    $answered++ if $res && $res->status == 200 && $res->body eq 'here';
    $closed++ if $res && ($res->header('Connection') // '') =~ /close/i;
    push @kept, $k;
}
is $answered, 40, 'more clients than connections: all are answered';
ok $closed >= 20, "those beyond the limit are not kept ($closed closed)";
ok $closed < 40, 'the others are';
undef @kept;
ok $s->stop, 'no crash, nothing left';
done_testing;
