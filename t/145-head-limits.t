# Licensed under the Apache License, Version 2.0; see LICENSE.

# RequestReadTimeout for heads on connections that a loop has: of the main
# server, of a virtual host, growing with MinRate, and mod_reqtimeout's own.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use IO::Socket::IP ();
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();

only_loop;
plan skip_all => 'no mod_reqtimeout'
    if !-e "$ENV{UP_LIBEXECDIR}/mod_reqtimeout.so";

my $b = Up::Backend->http(sub { [200, [], 'ok'] });
my ($strict, $growing) = map {
    IO::Socket::IP->new(LocalHost => '127.0.0.1', LocalPort => 0,
        Listen => 1)->sockport } 1, 2;

my $s = Up::Server->start(A => $b->addr, P => $strict, Q => $growing,
    main => 'Timeout 30', conf => <<'END');
LoadModule reqtimeout_module "@MODULES@/mod_reqtimeout.so"
Listen 127.0.0.1:@P@
Listen 127.0.0.1:@Q@
RequestReadTimeout body=30 header=2
UpstreamPass /p/ http://@A@
<VirtualHost 127.0.0.1:@P@>
    RequestReadTimeout header=1 body=1
    UpstreamPass /p/ http://@A@
</VirtualHost>
<VirtualHost 127.0.0.1:@Q@>
    RequestReadTimeout header=1-2,MinRate=500
    UpstreamPass /p/ http://@A@
</VirtualHost>
END

# A kept connection, on a loop from its second request on.
sub kept {
    my ($port) = @_;
    my $k = Up::Client->new(port => $port, strict => 0);
    $k->get('/p/1') for 1 .. 2;
    return $k;
}

# How long a head may take of which `piece` comes every 0.1 s.
sub life {
    my ($port, $piece) = @_;
    my $k = kept($port);
    my $began = time;
    $k->send("GET /p/x HTTP/1.1\r\n");
    while (time - $began < 8) {
        last if defined $k->wait_close(0.1);
        $k->send($piece) or last;
    }
    return time - $began;
}

my $took = life($strict, 'X');
ok $took > 0.8 && $took < 2, "of the virtual host ($took)";
$took = life($s->port, 'X');
ok $took > 1.7 && $took < 3.5, "of the main server ($took)";
$took = life($growing, 'X');
ok $took > 0.8 && $took < 2, "too slow for MinRate ($took)";
$took = life($growing, 'X' x 100);
ok $took > 1.5 && $took < 3.5, "fast enough, up to its limit ($took)";

my $k = kept($strict);
sleep 1.3;
is $k->get('/p/x')->status, 200, 'a pause between requests is none of a head';
$k->send("GET /p/x HTTP/1.1\r\nHost: ");
sleep 0.3;
$k->send("x\r\n\r\n");
is $k->response->status, 200, 'a head in two pieces';

ok $s->stop, 'no crash, nothing left';
done_testing;
