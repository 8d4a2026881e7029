# Licensed under the Apache License, Version 2.0; see LICENSE.

# What is no request yet, behind a request: the connection waits for the next
# one, as long as KeepAliveTimeout says and no longer.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Crowd;
use Up::Server ();

only_loop;

my $backend = Up::Crowd->start;
my $s = Up::Server->start(driver => 'loop', main => 'KeepAliveTimeout 1',
    conf => 'UpstreamPass /p/ http://@A@/', A => $backend->addr);

for my $blank ("\r", "\r\n", "\n", "\r\n\r\n\r") {
    my $name = join ' ', map { sprintf '%02x', ord } split //, $blank;
    my $k = $s->client(timeout => 5);
    $k->get('/p/quick');
    $k->send("GET /p/wait/0.2 HTTP/1.1\r\nHost: x\r\n\r\n$blank");
    is $k->response->body, 'waited', "$name: answered";
    my $began = time;
    ok defined $k->wait_close(5), "$name: closed";
    my $took = time - $began;
    ok $took > 0.5 && $took < 3, "$name: after KeepAliveTimeout ($took s)";
}
ok $s->stop, 'no crash, nothing left';
done_testing;
