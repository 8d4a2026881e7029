# Licensed under the Apache License, Version 2.0; see LICENSE.

# Clients that announce a body, are refused before anybody reads it, and do
# not send it: httpd waits for such a body, a loop must not.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Crowd;
use Up::Server ();

only_loop;

my $CLIENTS = 24; # more than a loop has threads to stand in

my $backend = Up::Crowd->start;
my $s = Up::Server->start(driver => 'loop', main => 'UpstreamLoops 1',
    conf => q{
    <Location /p/>
        UpstreamPass http://@A@/
    </Location>
    <LocationMatch ^/no>
        Require all denied
    </LocationMatch>
    <LocationMatch ^/no-page>
        ErrorDocument 403 /page.html
    </LocationMatch>
    <Location /page.html>
        Require all granted
    </Location>
}, A => $backend->addr);
$s->write_file('page.html', 'a page');

sub adopted {
    my $k = $s->client(timeout => 5);
    is $k->get('/p/quick')->body, 'quick', 'a connection of the loop';
    return $k;
}

for my $what ('no', 'no-page') {
    my $good = adopted();
    my @bad = map { adopted() } 1 .. $CLIENTS;
    my $began = time;
    # each in a place of its own, so that nothing is learnt from the first
    for my $n (1 .. $CLIENTS) {
        $bad[$n - 1]->request(POST => "/$what$n/x",
            ['Content-Length' => 100], undef);
    }
    is join(' ', map { $_->response->status } @bad), join(' ',
        (403) x $CLIENTS), "$what: refused";
    is $good->get('/p/quick')->body, 'quick', "$what: others are served";
    cmp_ok time - $began, '<', 2, "$what: at once";
}

my $k = adopted();
$k->request(POST => '/no/x', ['Content-Length' => 3], 'abc');
is $k->response->status, 403, 'a body that is there';
is $k->get('/p/quick')->body, 'quick', 'does not end the connection';
ok $s->stop, 'no crash, nothing left';
done_testing;
