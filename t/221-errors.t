# Licensed under the Apache License, Version 2.0; see LICENSE.

# UPSTREAM_ERROR, UPSTREAM_REUSED and UPSTREAM_TRIES: each kind of failure has
# its word.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $slow = Up::Scripts->obedient('A', rcvbuf => 8192);
my $refused = Up::Backend->closed(sub { });
my $stuck = Up::Backend->stuck;

my $s = Up::Server->start(A => $A->addr, B => $B->addr, R => $refused->addr,
    S => $stuck->addr, L => $slow->addr, conf => <<'END');
<If "%{HTTP:X-A} == 'silent'">
    UpstreamReadTimeout 300ms
</If>
<If "%{HTTP:X-Total} == '1'">
    UpstreamTotalTimeout 300ms
</If>
UpstreamNextUpstream error timeout http_503
<Upstream ab>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @B@ max_fails=0 backup
</Upstream>
<Upstream ra>
    UpstreamServer @R@ max_fails=0
    UpstreamServer @A@ max_fails=0 backup
</Upstream>
<Upstream down>
    UpstreamServer @A@ down
</Upstream>
UpstreamPass /ab/ http://ab
UpstreamPass /ra/ http://ra
UpstreamPass /a/ http://@A@
UpstreamPass /refused/ http://@R@
UpstreamPass /no-socket/ http://unix:/nowhere/socket:/
UpstreamPass /down/ http://down
<Location /stuck/>
    UpstreamPass http://@S@
    UpstreamConnectTimeout 300ms
</Location>
<Location /slow/>
    UpstreamPass http://@L@
    UpstreamSocketSndbuf 16k
    UpstreamSendTimeout 300ms
</Location>
<Location /bind/>
    UpstreamPass http://@A@
    UpstreamBind 192.0.2.1
</Location>
<Location /to/>
    UpstreamPass http://@R@
    ErrorDocument 502 /ra/error
</Location>
END

my $k = $s->client;

sub entry {
    my ($method, $target, @fields) = @_;
    my $res = $k->ask($method, $target, \@fields,
        $method eq 'PUT' ? 'b' x 3_000_000 : undef);
    $k = $s->client if $res->closes;
    return $s->logged($target);
}

# target, fields => errors, tries
my $n = 0;
my @ROWS = (
    ['/a/', [] => '-', 1],
    ['/refused/', [] => 'connection_refused', 1],
    ['/no-socket/', [] => 'destination_unavailable', 1],
    ['/down/', [] => 'destination_unavailable', 1],
    ['/stuck/', [] => 'connection_timeout', 1],
    ['/slow/', ['X-A' => 'no-read'] => 'connection_write_timeout', 1],
    ['/bind/', [] => 'proxy_internal_error', 1],
    ['/a/', ['X-A' => 'silent'] => 'connection_read_timeout', 1],
    ['/a/', ['X-A' => 'silent', 'X-Total' => 1] => 'http_response_timeout',
        1],
    ['/a/', ['X-A' => 'close'] => 'connection_terminated', 1],
    ['/a/', ['X-A' => 'reset'] => 'connection_terminated', 1],
    ['/a/', ['X-A' => 'part'] => 'http_response_incomplete', 1],
    ['/a/', ['X-A' => 'cut'] => 'http_response_incomplete', 1],
    ['/a/', ['X-A' => 'garbage'] => 'http_protocol_error', 1],
    ['/a/', ['X-A' => 'big'] => 'http_response_header_section_size', 1],
    ['/ab/', ['X-A' => 'say:503'] => 'http_503, -', 2],
    ['/ra/', [] => 'connection_refused, -', 2],
    ['/to/', [] => 'connection_refused : connection_refused, -', 3],
);
for my $row (@ROWS) {
    my ($path, $fields, $want, $tries) = @$row;
    my $target = $path . ++$n;
    my $line = entry($path eq '/slow/' ? 'PUT' : 'GET', $target, @$fields);
    is $line->{UPSTREAM_ERROR}, $want, "$path @$fields: $want";
    is $line->{UPSTREAM_TRIES}, $tries, "and $tries tries";
}

entry(GET => '/ab/warm');
is entry(GET => '/ab/kept')->{UPSTREAM_REUSED}, 1, 'a kept connection';
is entry(GET => '/ra/new')->{UPSTREAM_REUSED}, '-, 1',
    'no connection, and a kept one';
my $line = entry(GET => '/ab/stale', 'X-A-again' => 'close');
is $line->{UPSTREAM_REUSED}, '1, 0', 'a stale one, then a new one';
is $line->{UPSTREAM_ERROR}, 'connection_terminated, -', 'and why';

ok $s->stop, 'no crash, nothing left';
done_testing;
