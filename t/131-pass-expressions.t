# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamPass with expressions: groups by name, hosts, sockets, the URI part
# alone; and that nothing a client sent encoded leaves the request line.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $b = Up::Backend->http(sub { [200, [], 'ok'] });
my $other = Up::Backend->http(sub { [200, [], 'other'] });
my $local = Up::Backend->http(sub { [200, [], 'socket'] }, unix => 1);
my $gone = Up::Backend->http(sub { [200, [], 'back'] }, closed => 1);

my $s = Up::Server->start(A => $b->addr, B => $other->addr,
    G => $gone->addr, U => $local->addr, conf => <<'END');
<Upstream Two>
    UpstreamServer @G@
    UpstreamServer @B@
</Upstream>
UpstreamPass /static/ http://@B@
<LocationMatch "^/cap/(?<NAME>.*)">
    UpstreamPass http://@A@/got/%{reqenv:MATCH_NAME}
</LocationMatch>
<LocationMatch "^/all/(?<ALL>.*)">
    UpstreamPass http://%{reqenv:MATCH_ALL}
</LocationMatch>
<LocationMatch "^/args/(?<NAME>.*)">
    UpstreamPass http://@A@/x?name=%{reqenv:MATCH_NAME}&%{QUERY_STRING}
</LocationMatch>
UpstreamPass /uri/ http://@A@%{REQUEST_URI}
UpstreamPass /empty/ http://@A@%{reqenv:NOBODY}
UpstreamPass /question/ http://@A@?q=%{QUERY_STRING}
UpstreamPass /host/ http://%{HTTP:X-Host}
UpstreamPass /url/ %{HTTP:X-URL}
UpstreamPass /sock/ http://@U@:/s%{REQUEST_URI}
UpstreamPass /env/ http://@A@/e/%{HTTP:X-Path}
<If "%{REQUEST_URI} =~ m#^/if/#">
    UpstreamPass http://@A@/if?%{QUERY_STRING}
</If>
<Location /named/>
    UpstreamPass http://%{HTTP:X-Host}
    UpstreamSetHeader X-Name %{UPSTREAM_HOST}
    UpstreamSetHeader X-Port %{UPSTREAM_PORT}
</Location>
END

# The target that the backend got for one of the client's; or the status.
sub sent {
    my ($target, $fields, $to) = @_;
    $to //= $b;
    $to->clear;
    my $res = $s->get($target, $fields);
    my @requests = $to->requests;
    is_deeply [$to->problems], [], "well-formed for $target";
    return @requests == 1 ? $requests[0]{target}
        : @requests ? scalar(@requests) . ' requests' : $res->status;
}

# --- the URI part (C28, RB15) -------------------------------------------------

my @cases = (
    'a/b' => '/got/a/b',
    '' => '/got/',
    'a%20b' => '/got/a%20b',
    'a%25b' => '/got/a%25b',
    'a%2520b' => '/got/a%2520b',
    'a%2Fb' => '/got/a%2Fb',
    'a%3Fb%23c' => '/got/a%3Fb%23c',
    'a;b|c' => '/got/a;b%7Cc',
    'caf%C3%A9' => '/got/caf%C3%A9',
    '%22%3C%3E%5C%5E%60%7B%7D' => '/got/%22%3C%3E%5C%5E%60%7B%7D',
    'x?a=b' => '/got/x',
    'x%20HTTP/1.1%0d%0aFoo:%20bar%0d%0a%0d%0aGET%20/evil'
        => '/got/x%20HTTP/1.1%0D%0AFoo:%20bar%0D%0A%0D%0AGET%20/evil',
    'y%0ahdr:1' => '/got/y%0Ahdr:1',
    'y%0dhdr:1' => '/got/y%0Dhdr:1',
    'z%01%7f' => '/got/z%01%7F',
    'z%00' => 404,
    'z%00%0d%0aGET%20/' => 404,
);
while (my ($name, $want) = splice @cases, 0, 2) {
    is sent("/cap/$name"), $want, "C28, RB15: /cap/$name";
}
is sent('/cap/a%252e%252e/b'), '/got/a%252e%252e/b',
    'a doubly escaped dot stays one';
is sent('/cap/%252e%252e%252fb'), '/got/%252e%252e%252fb',
    'and so does a doubly escaped slash';
is sent('/cap/a/../b'), '/got/b', 'a capture is of the normalised path';

is sent('/args/a%26b%20c?d=%20e'), '/x?name=a&b%20c&d=%20e',
    'captures and arguments in the arguments';
is sent('/uri/a%20b/c%25?x=y'), '/uri/a%20b/c%25',
    'the path alone: arguments are dropped, as in nginx';
is sent('/empty/%61?x=%41'), '/empty/%61?x=%41',
    'an empty URI part: the bytes of the client';
is sent('/question/?a=1'), '/?q=a=1', 'a ? gets a slash in front';
is sent('/if/x?a=1'), '/if?a=1', 'inside <If>';
is sent('/env/', ['X-Path' => 'a b"c']), '/e/a%20b%22c',
    'a field of the client, escaped';
is sent('/env/', ['X-Path' => 'a%20b%zz']), '/e/a%20b%25zz',
    'escapes stay, what is none gets one';
is sent('/env/', ['X-Path' => '../x']), 400, '.. out of an expression';
is sent('/env/', ['X-Path' => 'a/%2e%2E/x']), 400, 'escaped, too';
is sent('/env/', ['X-Path' => "caf\xc3\xa9"]), '/e/caf%C3%A9',
    'bytes outside ASCII';

# --- the host -----------------------------------------------------------------

is $s->get('/host/x', ['X-Host' => $b->addr])->body, 'ok', 'host:port';
is sent('/host/a%20b?c', ['X-Host' => $b->addr]), '/host/a%20b?c',
    'without a URI part the bytes of the client';
is sent('/host/x', ['X-Host' => $b->addr . '/y?z']), '/y?z', 'with a URI';
is sent('/all/' . $b->addr . '/d%20e'), '/d%20e', 'host and path captured';
is $s->get('/all/' . $b->addr . '%0d%0aX:1/d')->status, 400,
    'RB15: a line end in the host';
is $s->get('/all/' . $b->addr . '%20/d')->status, 400, 'a blank in the host';
is $s->get('/host/x', ['X-Host' => 'two'])->body, 'other',
    'a group by name, in any case; it moves to the next server';
is $s->get('/host/x', ['X-Host' => $local->addr])->status, 400,
    'no socket, unless the configuration says that it is one';
is sent('/sock/x', [], $local), '/s/sock/x', 'a socket and its URI part';
is $s->get('/url/x', ['X-URL' => 'http://' . $b->addr])->body, 'ok',
    'a whole URL';

my @bad = (
    ['/url/x', 'X-URL' => '', 'has an invalid URL prefix'],
    ['/url/x', 'X-URL' => 'ftp://h/', 'has an invalid URL prefix'],
    ['/host/x', 'X-Host' => '', 'wants a host name or an address'],
    ['/host/x', 'X-Host' => 'a@b', 'cannot log in with a name'],
    ['/host/x', 'X-Host' => 'a;b', 'wants a host name or an address'],
    ['/host/x', 'X-Host' => '127.0.0.1:0', 'wants a port from 1 to 65535'],
    ['/host/x', 'X-Host' => '127.0.0.1:99999', 'wants a port from 1 to'],
    ['/host/x', 'X-Host' => '[::1', 'has no ] after the IPv6 address'],
    ['/host/x', 'X-Host' => 'unix:rel', 'wants an absolute path after unix:'],
);
for (@bad) {
    my ($target, $name, $value, $why) = @$_;
    $s->mark;
    is $s->get($target, [$name => $value])->status, 500,
        qq{500 for $name "$value"};
    is scalar(grep { /UP0760/ } $s->error_log(quotemeta $why)), 1,
        'and one line says why';
}

$b->clear;
$s->get('/named/x', ['X-Host' => $b->addr]);
my ($request) = $b->requests;
my %field = map { lc $_->[0] => $_->[1] } @{ $request->{headers} // [] };
is $field{host}, $b->addr, 'Host is the evaluated host';
is $field{'x-name'}, $b->addr, 'UPSTREAM_HOST, too';
is $field{'x-port'}, $b->port, 'and UPSTREAM_PORT';

# --- what an unnamed host keeps ---------------------------------------------

my $fresh = Up::Backend->http(sub { [200, [], 'fresh'] });
$s->get('/host/x', ['X-Host' => $fresh->addr]) for 1 .. 4;
is scalar($fresh->connections), 1, 'connections to it are kept'
    if ($ENV{UP_MPM} // 'event') ne 'prefork';
is $s->get('/host/x', ['X-Host' => $gone->addr])->status, 502,
    'nobody there: 502';
$gone->open;
is $s->get('/host/x', ['X-Host' => $gone->addr])->status, 200,
    'a lone server is not taken out';

ok $s->stop, 'no crash, nothing left';
done_testing;
