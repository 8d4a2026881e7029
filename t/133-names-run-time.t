# Licensed under the Apache License, Version 2.0; see LICENSE.

# Names out of an expression: looked up while the request waits, without a
# thread in the loop; kept, followed, and given up in time.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::DNS ();
use Up::Server ();

my $one = Up::Backend->http(sub { [200, [], 'one'] });
my $port = $one->port;
my $two = Up::Backend->http(sub { [200, [], 'two'] }, host => '127.0.0.2',
    port => $port);
my $dns = Up::DNS->start(
    'a.test' => { A => ['127.0.0.1'] },
    'dead.test' => { A => ['127.0.0.9', '127.0.0.2'] },
    'held.test' => 'silent',
    'mute.test' => 'silent',
    'fail.test' => 'SERVFAIL',
);

my $s = Up::Server->start(DNS => $dns->addr, P => $port, conf => <<'END');
UpstreamResolver @DNS@ valid=300ms
UpstreamPass /to/ http://%{HTTP:X-Host}:@P@
<Location /short/>
    UpstreamPass http://%{HTTP:X-Host}:@P@
    UpstreamResolverTimeout 300ms
</Location>
<Location /off/>
    UpstreamPass http://%{HTTP:X-Host}:@P@
    UpstreamResolver off
</Location>
UpstreamPass /plain/ http://127.0.0.1:@P@
END

sub to { return $s->get($_[0], ['X-Host' => $_[1]]) }

is to('/to/x', 'a.test')->body, 'one', 'a name that is looked up';
is to('/to/x', 'A.TEST')->body, 'one', 'in any case';
my %seen;
$seen{ to('/to/x', 'dead.test')->status }++ for 1 .. 4;
is join(' ', %seen), '200 4', 'one of two addresses refuses';
is to('/to/x', 'no.test')->status, 502, 'no such name';
is to('/to/x', 'fail.test')->status, 502, 'the name server fails';
is to('/off/x', 'a.test')->status, 502, 'UpstreamResolver off: no names';
is to('/off/x', '127.0.0.1')->body, 'one', 'but addresses';
is to('/to/x', 'localhost')->body, 'one', 'localhost';

# --- kept and followed ------------------------------------------------------

$dns->set('a.test' => { A => ['127.0.0.2'] });
my $until = time + 5;
my $body = '';
my %status;
while (time < $until && $body ne 'two') {
    my $res = to('/to/x', 'a.test');
    $status{ $res->status }++;
    $body = $res->body;
    sleep 0.02;
}
is $body, 'two', 'a name in use is looked up again';
is join(' ', keys %status), '200', 'without a failure';

# --- waiting ----------------------------------------------------------------

my $began = time;
is to('/short/x', 'mute.test')->status, 502, 'UpstreamResolverTimeout: 502';
cmp_ok time - $began, '<', 2, 'in time';
ok scalar($s->error_log('UP0427.*\(UpstreamResolverTimeout\)')), 'logged so';

# With the sync driver each of them has a thread.
my $waiters = $ENV{UP_DRIVER} eq 'sync' ? 10 : 40;
my @waiting = map {
    my $c = $s->client;
    $c->request('GET', "/to/$_", ['X-Host' => 'held.test']);
    $c;
} 1 .. $waiters;
$dns->wait_queries('held.test', 1) if !$dns->queries('held.test');
is $s->get('/plain/x')->body, 'one', 'others are served meanwhile';
$waiting[0]->close; # a client that does not wait
$waiting[1]->reset;
$dns->set('held.test' => { A => ['127.0.0.1'] });
my @got = map { $_->response->body } @waiting[2 .. $#waiting];
is scalar(grep { $_ eq 'one' } @got), $waiters - 2,
    'all that wait get their answer';
cmp_ok scalar($dns->queries('held.test')), '<', 20,
    'to one question for all of them';

# --- too many hosts ---------------------------------------------------------

$dns->set('many.test' => { A => ['127.0.0.1'] });
my %status_of;
$status_of{ to('/to/x', "127.1.0.$_")->status }++ for 1 .. 20;
$status_of{ to('/to/x', "127.1.1.$_")->status }++ for 1 .. 255;
is join(' ', sort keys %status_of), '502',
    'many hosts, one after the other: those not in use make room';
if ($ENV{UP_DRIVER} ne 'sync') {
    $dns->set(map { ("n$_.test" => 'silent') } 1 .. 256);
    my @held = map {
        my $c = $s->client;
        $c->request('GET', '/to/x', ['X-Host' => "n$_.test"]);
        $c;
    } 1 .. 256;
    $dns->wait_queries('n256.test', 1) if !$dns->queries('n256.test');
    is to('/to/x', 'many.test')->status, 503, 'all 256 are in use: 503';
    ok scalar($s->error_log('UP0761.*256 hosts')), 'and the log says so';
    $held[0]->close;
    my $status = 0;
    for (1 .. 100) {
        last if ($status = to('/to/x', 'many.test')->status) == 200;
        sleep 0.05;
    }
    is $status, 200, 'one that is not used any more makes room';
}

# What hangs when the server goes.
my $c = $s->client;
if ($ENV{UP_DRIVER} ne 'sync') {
    $c->request('GET', '/to/x', ['X-Host' => 'mute.test']);
    sleep 0.2;
}

ok $s->stop, 'no crash, nothing left';
done_testing;
