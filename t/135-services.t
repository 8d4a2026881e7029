# Licensed under the Apache License, Version 2.0; see LICENSE.

# service=: hosts, ports, weights and backups out of SRV records.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::DNS ();
use Up::Server ();

my ($one, $two, $three) = map {
    my $name = $_;
    Up::Backend->http(sub { [200, [], $name] });
} qw(one two three);
my $gone = Up::Backend->http(sub { [200, [], 'gone'] }, closed => 1);
my ($p1, $p2, $p3, $p4) = map { $_->port } $one, $two, $three, $gone;

my %host = ('h.test' => { A => ['127.0.0.1'] });
my $dns = Up::DNS->start(%host,
    '_http._tcp.plain.test' => { SRV => [[1, 0, $p1, 'h.test'],
        [1, 0, $p2, 'h.test']] },
    '_x._udp.dots.test' => { SRV => [[1, 0, $p3, 'h.test']] },
    '_http._tcp.weight.test' => { SRV => [[1, 3, $p1, 'h.test'],
        [1, 1, $p2, 'h.test']] },
    '_http._tcp.prio.test' => { SRV => [[20, 0, $p2, 'h.test'],
        [10, 0, $p4, 'h.test'], [30, 0, $p2, 'h.test']] },
    '_http._tcp.moves.test' => { SRV => [[1, 0, $p1, 'h.test']] },
    '_http._tcp.waits.test' => { SRV => [[1, 0, $p1, 'h.test']] },
    '_http._tcp.lost.test' => { SRV => [[1, 0, $p1, 'h.test']] },
    '_http._tcp.none.test' => { SRV => [[0, 0, 1, '']] },
    'new.test' => 'silent',
);

my %extra = (weight => 'weight=1', prio => 'max_fails=0');
my $conf = join '', map { <<"END" }
<Upstream $_>
    UpstreamServer $_.test service=http @{[$extra{$_} // '']}
</Upstream>
UpstreamPass /$_/ http://$_
END
    qw(plain weight prio moves waits lost late none);
my $s = Up::Server->start(DNS => $dns->addr, P => $three->addr,
    conf => "UpstreamResolver \@DNS\@ valid=200ms\n$conf" . <<'END');
<Upstream dots>
    UpstreamServer dots.test service=_x._udp
</Upstream>
UpstreamPass /dots/ http://dots
<Upstream beside>
    UpstreamServer @P@
    UpstreamServer plain.test service=http backup
</Upstream>
UpstreamPass /beside/ http://beside
END

sub seen {
    my ($target, $n) = @_;
    my %seen;
    $seen{ $s->get($target)->body }++ for 1 .. $n;
    return join ' ', map { "$_:$seen{$_}" } sort keys %seen;
}

sub moves {
    my ($target, $want) = @_;
    my $until = time + 8;
    my %status;
    while (time < $until) {
        my $res = $s->get($target);
        $status{ $res->status }++;
        return join ' ', sort keys %status if $res->body eq $want;
        sleep 0.02;
    }
    return 'not within 8 s';
}

my $shared = ($ENV{UP_MPM} // 'event') ne 'prefork';
is seen('/plain/x', 4), 'one:2 two:2', 'hosts and ports of a service'
    if $shared;
is seen('/dots/x', 2), 'three:2', 'a service with a dot';
is seen('/weight/x', 8), 'one:6 two:2', 'its weights' if $shared;
is seen('/prio/x', 3), 'two:3', 'the next priority is a backup';
$gone->open;
is moves('/prio/x', 'gone'), '200', 'and the first one comes first';
is seen('/beside/x', 4), 'three:4', 'all of a backup are backups';
is $s->get('/late/x')->status, 502, 'no such service';
ok scalar($s->error_log('UP0105.*late\.test')), 'a warning at start';
is $s->get('/none/x')->status, 502, 'a target of ".": no such service';

$dns->set('_http._tcp.moves.test' => { SRV => [[1, 0, $p2, 'h.test']] });
is moves('/moves/x', 'two'), '200', 'another port, without a failure';
$one->clear;
is seen('/moves/x', 3), 'two:3', 'all new requests go there';

$dns->set('_http._tcp.late.test' => { SRV => [[5, 0, $p3, 'h.test']] });
like moves('/late/x', 'three'), qr/^200/, 'a service that comes up later';

$dns->set('_http._tcp.waits.test' => { SRV => [[1, 0, $p2, 'new.test']] });
$dns->wait_queries('new.test', 1) if !$dns->queries('new.test');
is seen('/waits/x', 3), 'one:3', 'new targets count when they are known';
$dns->set('new.test' => { A => ['127.0.0.1'] });
is moves('/waits/x', 'two'), '200', 'which is now';

for my $how (qw(silent SERVFAIL cut loop NXDOMAIN)) {
    $dns->set('_http._tcp.lost.test' => $how);
    $dns->wait_queries('_http._tcp.lost.test', 1);
    is $s->get('/lost/x')->body, 'one', "$how: the last good answer";
}
my $status = '';
for (1 .. 400) {
    last if ($status = $s->get('/lost/x')->status) == 502;
    sleep 0.02;
}
is $status, 502, 'no such service, again and again: gone';
$dns->set('_http._tcp.lost.test' => { SRV => [[1, 0, $p2, 'h.test']] });
like moves('/lost/x', 'two'), qr/^200/, 'until it comes back';

ok $s->stop, 'no crash, nothing left';
done_testing;
