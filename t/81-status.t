# Licensed under the Apache License, Version 2.0; see LICENSE.

# mod_status counts what event loops serve, and for how long.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep);

use Up::Backend ();
use Up::Server ();

my $backend = Up::Backend->http(sub { sleep 0.3; [200, [], 'late'] });
my $s = Up::Server->start(conf => q{
    ExtendedStatus On
    <Location /status>
        SetHandler server-status
    </Location>
    <Location /p/>
        UpstreamPass http://@A@
    </Location>
}, A => $backend->addr);

my $k = $s->client;
for my $n (1 .. 4) {
    $k->request(GET => "/p/$n");
    is $k->response->body, 'late', "answer $n";
}
my %status = $s->get('/status?auto')->body =~ /^(\w[\w ]*): (\S+)$/mg;
SKIP: {
    skip 'the status page is of one child', 2 if $s->{mpm} eq 'prefork';
    ok $status{'Total Accesses'} >= 4, 'all are counted';
    ok $status{'Total Duration'} >= 1000 && $status{'Total Duration'} < 60_000,
        "with their time ($status{'Total Duration'} ms)";
}
ok $s->stop, 'no crash, nothing left';
done_testing;
