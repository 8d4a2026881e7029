# Licensed under the Apache License, Version 2.0; see LICENSE.

# Name servers that are silent, broken or deny a name: the last good addresses
# stay in use, and nobody waits.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::DNS ();
use Up::Server ();

my $one = Up::Backend->http(sub { [200, [], 'one'] });
my $port = $one->port;
my ($two, $three) = map {
    my $name = $_->[0];
    Up::Backend->http(sub { [200, [], $name] }, host => $_->[1],
        port => $port);
} ['two', '127.0.0.2'], ['three', '127.0.0.3'];

my @HOW = qw(silent SERVFAIL REFUSED garbage cut loop);
my $dns = Up::DNS->start(
    (map { ("\L$_.test" => { A => ['127.0.0.1'] }) } @HOW),
    'lost.test' => { A => ['127.0.0.1'] },
);
my $conf = join '', map { <<"END" } map { lc } @HOW, 'lost';
<Upstream $_>
    UpstreamServer $_.test:\@PORT0\@
</Upstream>
UpstreamPass /$_/ http://$_
END
my $s = Up::Server->start(DNS => $dns->addr, PORT0 => $port,
    conf => "UpstreamResolver \@DNS\@ valid=200ms\n$conf");
my ($moved, $status);

# Which server answers until it is `want`; the statuses on the way.
sub moves {
    my ($target, $want, $limit) = @_;
    my $until = time + ($limit // 8);
    my %status;
    while (time < $until) {
        my $res = $s->get($target);
        $status{ $res->status }++;
        return (1, join ' ', sort keys %status) if $res->body eq $want;
        sleep 0.02;
    }
    return (0, join ' ', sort keys %status);
}

# --- no answer ----------------------------------------------------------------

$dns->set(map { ("\L$_.test" => $_) } @HOW);
for my $how (@HOW) {
    my $name = lc $how;
    $dns->wait_queries("$name.test", 2);
    my $began = time;
    is $s->get("/$name/x")->body, 'one', "$how: the last good address";
    cmp_ok time - $began, '<', 1, 'and nobody waits';
}
ok scalar($s->error_log('UP0763: looking up servfail\.test')), 'logged';
$dns->set('servfail.test' => { A => ['127.0.0.2'] },
    'silent.test' => { A => ['127.0.0.2'] });
for my $name (qw(servfail silent)) {
    ($moved, $status) = moves("/$name/x", 'two', 15);
    ok $moved, 'it is asked again and again';
    is $status, '200', 'without a failure';
}

# --- no such name -------------------------------------------------------------

$dns->set('lost.test' => 'NXDOMAIN');
$dns->wait_queries('lost.test', 2);
is $s->get('/lost/x')->body, 'one', 'a name that vanishes stays for a while';
$status = '';
for (1 .. 400) {
    last if ($status = $s->get('/lost/x')->status) == 502;
    sleep 0.02;
}
is $status, 502, 'and is gone after that';
$dns->set('lost.test' => { A => ['127.0.0.3'] });
($moved) = moves('/lost/x', 'three');
ok $moved, 'until it comes back';

ok $s->stop, 'no crash, nothing left';
done_testing;
