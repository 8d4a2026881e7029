# Licensed under the Apache License, Version 2.0; see LICENSE.

# Names whose addresses change: a new answer moves all new requests without a
# failure, and what vanishes drains.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::DNS ();
use Up::Server ();

# The same port at several addresses.
sub named {
    my ($name, $host, $port, %arg) = @_;
    return Up::Backend->http(sub {
        my ($req, $c) = @_;
        $c->pause(1.5) if $req->{target} =~ /slow/;
        return [200, [], $name];
    }, host => $host, port => $port, %arg);
}

my $one = named('one', '127.0.0.1', 0);
my $port = $one->port;
my $two = named('two', '127.0.0.2', $port);
my $three = named('three', '127.0.0.3', $port);
my $refused = named('refused', '127.0.0.4', $port, closed => 1);

my $dns = Up::DNS->start(
    'app.test' => { A => ['127.0.0.1'] },
    'both.test' => { A => ['127.0.0.1', '127.0.0.2'] },
    'dead.test' => { A => ['127.0.0.4', '127.0.0.2'] },
    'late.test' => 'NXDOMAIN',
    'slow.test' => { A => ['127.0.0.1'] },
    'alias.test' => { CNAME => 'app.test', ttl => 2 },
    'ttl.test' => { A => ['127.0.0.1'], ttl => 1 },
    'mixed.test' => { A => ['127.0.0.2'], AAAA => 'SERVFAIL' },
    'fixed.test' => { A => ['127.0.0.1'] },
    'other.test' => { A => ['127.0.0.1'] },
);

my $conf = join '', map { <<"END" }
<Upstream $_>
    UpstreamServer $_.test:\@PORT0\@
    UpstreamResolver \@DNS\@ valid=200ms
</Upstream>
UpstreamPass /$_/ http://$_
END
    qw(both dead late slow alias mixed);
my $s = Up::Server->start(DNS => $dns->addr, PORT0 => $port,
    conf => "UpstreamResolver \@DNS\@ valid=200ms\n$conf" . <<'END');
UpstreamPass /app/ http://app.test:@PORT0@
<Upstream ttl>
    UpstreamServer ttl.test:@PORT0@ resolve
    UpstreamResolver @DNS@
</Upstream>
UpstreamPass /ttl/ http://ttl
<Upstream fixed>
    UpstreamServer fixed.test:@PORT0@
    UpstreamResolver off
</Upstream>
UpstreamPass /local/ http://localhost:@PORT0@
<Location /other/>
    UpstreamPass http://other.test:@PORT0@
    UpstreamResolver 127.0.0.1:9 valid=1s
</Location>
END

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

sub seen {
    my ($target, $n) = @_;
    my %seen;
    $seen{ $s->get($target)->body }++ for 1 .. $n;
    return join ' ', sort keys %seen;
}

is $s->get('/app/x')->body, 'one', 'a name of a plain URL';
is $s->get('/ttl/x')->body, 'one', 'another name';
$dns->set('ttl.test' => { A => ['127.0.0.2'], ttl => 1 }); # seen later
is seen('/both/x', 4), 'one two', 'all addresses of a name are used'
    if ($ENV{UP_MPM} // 'event') ne 'prefork';
is seen('/dead/x', 6), 'two', 'refused on one address moves to the next';
is $s->get('/local/x')->body, 'one', 'localhost, whichever family it is';
is $s->get('/alias/x')->body, 'one', 'through an alias';
is $s->get('/mixed/x')->body, 'two', 'one family is enough';
is $s->get('/late/x')->status, 502, 'no such name: 502';
ok scalar($s->error_log('UP0105.*late\.test.*until it can')),
    'and a warning at start';

# --- changes ------------------------------------------------------------------

$dns->set('app.test' => { A => ['127.0.0.2'] });
my ($moved, $status) = moves('/app/x', 'two');
ok $moved, 'a new address is used';
is $status, '200', 'and no request fails';
$one->clear;
is seen('/app/x', 5), 'two', 'all new requests go there';
is scalar($one->requests), 0, 'none to the old one';
ok scalar($s->error_log('UP0762')), 'the log says so';

($moved, $status) = moves('/alias/x', 'two');
ok $moved, 'what an alias leads to has changed';

$dns->set('late.test' => { A => ['127.0.0.3'] });
($moved) = moves('/late/x', 'three');
ok $moved, 'a name that comes up later';

# --- what vanishes drains -----------------------------------------------------

my $slow = $s->client;
is $s->get('/slow/first')->body, 'one', 'an idle connection';
$slow->request('GET', '/slow/slow');
for (1 .. 100) {
    last if grep { $_->{target} =~ m{slow/slow} } $one->requests;
    sleep 0.02;
}
$dns->set('slow.test' => { A => ['127.0.0.3'] });
($moved, $status) = moves('/slow/x', 'three', 4);
ok $moved, 'others have moved';
is $slow->response->body, 'one', 'it ends normally';
my $open = 0;
for (1 .. 100) {
    $open = grep { !$_->{eof} && !$_->{reset}
        && grep { $_->{target} =~ m{^/slow/} } @{ $_->{requests} } }
        $one->connections;
    last if !$open;
    sleep 0.05;
}
is $open, 0, 'connections to the old address are closed';

$dns->set('mixed.test' => { A => ['127.0.0.3'], AAAA => 'silent' });
($moved, $status) = moves('/mixed/x', 'three');
ok $moved && $status eq '200', 'an answer of one family counts at once';

# --- when to ask --------------------------------------------------------------

$dns->set('fixed.test' => { A => ['127.0.0.2'] });
my $asked = $dns->queries('fixed.test');
sleep 1;
is scalar($dns->queries('fixed.test')), $asked, 'off: never again';
is $s->get('/other/x')->status, 502,
    'the resolver of a section: nobody there';
is scalar($dns->queries('other.test')), 0, 'and no other is asked';
($moved, $status) = moves('/ttl/x', 'two', 12);
ok $moved, 'without valid= the answer says when';
is $status, '200', 'without a failure';

ok $s->stop, 'no crash, nothing left';
done_testing;
