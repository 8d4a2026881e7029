# Licensed under the Apache License, Version 2.0; see LICENSE.

# What a client and a Header directive can be told of the backend:
# Proxy-Status (RFC 9209), and UPSTREAM_* in the environment while the
# response's head is made.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my $A = Up::Scripts->obedient('A');
my $refused = Up::Backend->closed(sub { });
my $b = Up::Backend->http(sub {
    return [200, ['Proxy-Status' => 'cdn.example; hit'], 'ok'];
});

my $CONF = <<'END';
UpstreamProxyStatus on
<If "%{HTTP:X-A} == 'silent'">
    UpstreamReadTimeout 300ms
</If>
<Upstream down>
    UpstreamServer @A@ down
</Upstream>
<Upstream ar>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @R@ max_fails=0 backup
</Upstream>
<Upstream ra>
    UpstreamServer @R@ max_fails=0
    UpstreamServer @A@ max_fails=0 backup
</Upstream>
UpstreamNextUpstream error timeout http_503
UpstreamPass /a/ http://@A@
UpstreamPass /ar/ http://ar
UpstreamPass /ra/ http://ra
UpstreamPass /b/ http://@B@
UpstreamPass /down/ http://down
UpstreamPass /refused/ http://@R@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamProxyStatus off
</Location>
<Location /page/>
    UpstreamPass http://@A@
    UpstreamInterceptErrors on
    ErrorDocument 404 "none such"
</Location>
END
my %ADDR = (A => $A->addr, B => $b->addr, R => $refused->addr);
my $s = Up::Server->start(%ADDR, conf => $CONF . <<'END');
Header always set X-Tries "%{UPSTREAM_ADDR}e %{UPSTREAM_STATUS}e"
Header always set X-Error %{UPSTREAM_ERROR}e
END

# path, what A does => status, Proxy-Status, UPSTREAM_STATUS
my ($a, $r) = ($A->addr, $refused->addr);
my @ROWS = (
    ['/a/', ok => 200, 'localhost; received-status=200', "$a 200"],
    ['/a/', 'say:404' => 404, 'localhost; received-status=404', "$a 404"],
    ['/ar/', 'say:503' => 502, 'localhost; error=connection_refused',
        "$a, $r 503, 502"],
    ['/ra/', ok => 200, 'localhost; received-status=200', "$r, $a 502, 200"],
    ['/b/', ok => 200, 'cdn.example; hit, localhost; received-status=200',
        $b->addr . ' 200'],
    ['/refused/', ok => 502, 'localhost; error=connection_refused',
        "$r 502"],
    ['/down/', ok => 502, 'localhost; error=destination_unavailable',
        'down 502'],
    ['/a/', silent => 504, 'localhost; error=connection_read_timeout',
        "$a 504"],
    ['/a/', garbage => 502, 'localhost; error=http_protocol_error',
        "$a 502"],
    ['/page/', 'say:404' => 404, 'localhost; received-status=404', "$a 404"],
    ['/off/', ok => 200, undef, "$a 200"],
    ['/off/', garbage => 502, undef, "$a 502"],
);
for my $row (@ROWS) {
    my ($path, $do, $status, $want, $tries) = @$row;
    my $res = $s->get("${path}x", ['X-A' => $do]);
    is $res->status, $status, "$path $do: $status";
    is $res->header('Proxy-Status'), $want,
        'Proxy-Status';
    is $res->header('X-Tries'), $tries, 'UPSTREAM_ADDR and _STATUS';
}
is $s->get('/refused/x')->header('X-Error'), 'connection_refused',
    'UPSTREAM_ERROR of an error page';
is $s->get('/none')->header('X-Tries'), '(null) (null)', 'not proxied';
ok $s->stop, 'no crash, nothing left';

my $named = Up::Server->start(%ADDR, conf => $CONF . <<'END');
<VirtualHost *>
    ServerName 1.example.com
</VirtualHost>
END
is $named->get('/a/x')->header('Proxy-Status'),
    '"1.example.com"; received-status=200', 'a name that is no token';
ok $named->stop, 'no crash, nothing left';
done_testing;
