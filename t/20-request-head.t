# Licensed under the Apache License, Version 2.0; see LICENSE.

# The request head that a backend gets: Host, order, what is set, what is
# dropped, framing.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $b = Up::Backend->http(sub { [200, [], 'ok'] });
my $addr = $b->addr;

my $s = Up::Server->start(A => $addr, conf => <<'END');
<Upstream Group>
    UpstreamServer @A@
</Upstream>
UpstreamPass /p/ http://@A@
UpstreamPass /group/ http://Group
<Location /client-host/>
    UpstreamPass http://@A@
    UpstreamSetHeader Host %{HTTP_HOST}
</Location>
<Location /two-hosts/>
    UpstreamPass http://@A@
    UpstreamSetHeader X-First 1
    UpstreamSetHeader Host first.example
    UpstreamSetHeader host last.example
</Location>
<Location /no-host/>
    UpstreamPass http://@A@
    UpstreamSetHeader Host ""
</Location>
<Location /no-host-10/>
    UpstreamPass http://@A@
    UpstreamHTTPVersion 1.0
    UpstreamSetHeader Host ""
</Location>
<Location /v10/>
    UpstreamPass http://@A@
    UpstreamHTTPVersion 1.0
</Location>
<Location /set/>
    UpstreamPass http://@A@
    UpstreamSetHeader X-Z last
    UpstreamSetHeader X-Real-IP %{REMOTE_ADDR}
    UpstreamSetHeader X-Drop ""
    UpstreamSetHeader X-Maybe %{HTTP:X-Nothing}
    UpstreamSetHeader X-Twice 1
    UpstreamSetHeader X-Twice 2
    UpstreamSetHeader User-Agent proxy
    UpstreamSetHeader X-Own %{UPSTREAM_HOST}/%{UPSTREAM_PORT}
</Location>
<Location /forwarded/>
    UpstreamPass http://@A@
    UpstreamSetHeader X-Forwarded-For %{UPSTREAM_ADD_X_FORWARDED_FOR}
</Location>
<Location /none/>
    UpstreamPass http://@A@
    UpstreamPassRequestHeaders off
    UpstreamSetHeader X-Set 1
</Location>
<Location /no-body/>
    UpstreamPass http://@A@
    UpstreamPassRequestBody off
</Location>
<Location /no-length/>
    UpstreamPass http://@A@
    UpstreamPassRequestBody off
    UpstreamSetHeader Content-Length ""
</Location>
<Location /body/>
    UpstreamPass http://@A@
    UpstreamSetBody "ip=%{REMOTE_ADDR}"
</Location>
<Location /framing/>
    UpstreamPass http://@A@
    UpstreamSetHeader Content-Length ""
    UpstreamSetHeader Transfer-Encoding ""
</Location>
<Location /method/>
    UpstreamPass http://@A@
    UpstreamMethod %{HTTP:X-Method}
</Location>
<Location /upgrade/>
    UpstreamPass http://@A@
    UpstreamSetHeader Connection te
    UpstreamSetHeader TE trailers
</Location>
RewriteEngine On
<Location /value/>
    UpstreamPass http://@A@
    UpstreamSetHeader X-Path %{REQUEST_URI}
</Location>
END

# Sends a request; returns the one that the backend got.
sub seen {
    my ($method, $target, @more) = @_;
    $b->clear;
    my $res = $s->ask($method, $target, @more);
    is $res->status, 200, "$method $target answered";
    my @requests = $b->requests;
    is scalar @requests, 1, 'one request';
    is_deeply [$b->problems], [], 'well-formed';
    return $requests[0];
}

sub values_of {
    my ($req, $name) = @_;
    return map { $_->[1] } grep { lc $_->[0] eq lc $name }
        @{ $req->{headers} };
}

sub value {
    my @values = values_of(@_);
    return @values ? join '|', @values : undef;
}

sub names { return join ' ', map { $_->[0] } @{ $_[0]{headers} } }

my @host = (Host => 'Front.Example:8080');

subtest 'Host' => sub {
    is value(seen(GET => '/p/a', [@host]), 'Host'), $addr,
        'RB10 the address of the backend, as configured';
    is value(seen(GET => '/group/a', [@host]), 'Host'), 'Group',
        'the name of a group';
    is value(seen(GET => '/client-host/a', [@host]), 'Host'),
        'Front.Example:8080', "RB11 the client's, as sent";
    my $req = seen(GET => '/two-hosts/a', [@host]);
    is value($req, 'Host'), 'last.example', 'the last one set wins';
    is names($req), 'host X-First' =~ s/host/Host/r, 'and stands first';
    is value(seen(GET => '/no-host/a', [@host]), 'Host'), $addr,
        'set empty: as if not set';
    is value(seen(GET => '/no-host-10/a', [@host]), 'Host'), undef,
        'set empty towards HTTP/1.0: none';
    is value(seen(GET => '/v10/a', [@host]), 'Host'), $addr,
        'HTTP/1.0 has a Host too';
};

subtest 'RB08 order and duplicates' => sub {
    my $req = seen(GET => '/p/a', [@host, 'X-A' => 1, Accept => '*/*',
        'X-A' => 2, 'X-Odd.x' => 'v', 'X-Empty' => '']);
    like join('|', values_of($req, 'X-A')), qr/^1(?:\||, )2\z/,
        'values in order';
    is value($req, 'X-Odd.x'), 'v', 'a dot in a name';
    is value($req, 'X-Empty'), '', 'an empty value';
    is names($req) =~ s/X-A\K X-A//r, 'Host X-A Accept X-Odd.x X-Empty',
        'the order received';
    is $req->{line}, 'GET /p/a HTTP/1.1', 'request line';
};

subtest 'nothing is added' => sub {
    my $req = seen(GET => '/p/a', [@host]);
    is names($req), 'Host', 'only Host';
    $req = seen(GET => '/v10/a', [@host]);
    is $req->{line}, 'GET /v10/a HTTP/1.0', 'UpstreamHTTPVersion 1.0';
    is names($req), 'Host', 'only Host';
};

subtest 'RB12 set fields' => sub {
    my $req = seen(POST => '/set/a', [@host, 'X-Drop' => 1,
        'x-real-ip' => '6.6.6.6', 'X-Keep' => 'k', 'x-maybe' => 'm',
        'USER-AGENT' => 'client', 'X-Dropped' => 'no'], 'hello');
    is value($req, 'X-Drop'), undef, 'an empty one removes';
    is value($req, 'X-Maybe'), undef, 'so does one that comes out empty';
    is value($req, 'X-Real-IP'), '127.0.0.1', 'a set one replaces';
    is value($req, 'User-Agent'), 'proxy', 'whatever the case';
    is value($req, 'X-Dropped'), 'no', 'the whole name counts';
    is value($req, 'X-Own'), "$addr/" . $b->port, 'UPSTREAM_HOST, _PORT';
    is names($req), 'Host X-Z X-Real-IP X-Twice X-Twice User-Agent X-Own '
        . 'Content-Length X-Keep X-Dropped',
        'Host, set fields in order, framing, the rest';
    is join('|', values_of($req, 'X-Twice')), '1|2', 'set twice, sent twice';
};

subtest 'RB09 X-Forwarded-For' => sub {
    is value(seen(GET => '/forwarded/a', [@host,
        'X-Forwarded-For' => '192.0.2.1', 'X-Forwarded-For' => '192.0.2.2']),
        'X-Forwarded-For'), '192.0.2.1, 192.0.2.2, 127.0.0.1',
        'appended to the whole list';
    is value(seen(GET => '/forwarded/a', [@host]), 'X-Forwarded-For'),
        '127.0.0.1', 'alone';
    is value(seen(GET => '/forwarded/a', [@host,
        'X-Forwarded-For' => '192.0.2.1', Connection => 'X-Forwarded-For']),
        'X-Forwarded-For'), '192.0.2.1, 127.0.0.1',
        'cannot be nominated away';
};

subtest 'HH08 of this hop only' => sub {
    my $req = seen(GET => '/p/a', [@host, 'Keep-Alive' => 'timeout=99',
        'Proxy-Connection' => 'keep-alive', TE => 'gzip',
        Upgrade => 'foo/2', Trailer => 'X-T', Expect => '100-continue',
        Connection => 'keep-alive, Upgrade, TE, X-Named',
        'X-Named' => 'z', 'X-Kept' => 1]);
    is names($req), 'Host X-Kept', 'all gone, the nominated one too';
    $req = seen(GET => '/p/a', [@host, Upgrade => 'h2c',
        Connection => 'Upgrade, HTTP2-Settings', 'HTTP2-Settings' => 'AA']);
    is names($req), 'Host', 'C31b HH14 no h2c upgrade';
    $req = seen(POST => '/p/a', [@host, Authorization => 'Basic eA==',
        Cookie => 'a=b', 'Content-Type' => 'text/x', Via => '1.1 x',
        Connection => 'Host, Content-Length, Content-Type, Authorization, '
            . 'Cookie, close'], 'hello');
    is names($req), 'Host Content-Length Authorization Cookie Content-Type '
        . 'Via', 'what is for the far end stays';
    is $req->{body}, 'hello', 'with its body';
    $req = seen(GET => '/p/a', [@host, 'Proxy-Authorization' => 'x',
        Forwarded => 'for=1.2.3.4']);
    is names($req), 'Host Proxy-Authorization Forwarded', 'passed on';
    $req = seen(GET => '/upgrade/a', [@host]);
    is names($req), 'Host Connection TE', 'set by hand they are sent';
};

subtest 'RB13 framing' => sub {
    is value(seen(PUT => '/p/a', [@host, 'Content-Length' => 0]),
        'Content-Length'), '0', 'PUT keeps a length of 0';
    is value(seen(POST => '/p/a', [@host, 'Content-Length' => 0]),
        'Content-Length'), '0', 'POST keeps a length of 0';
    for my $method (qw(POST GET DELETE)) {
        my $req = seen($method => '/p/a', [@host]);
        is value($req, 'Content-Length'), undef, "$method: no length";
        is value($req, 'Transfer-Encoding'), undef, 'and no chunks';
    }
    my $req = seen(POST => '/p/a', [@host, 'Transfer-Encoding' => 'chunked'],
        "3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n");
    is value($req, 'Content-Length'), 5, 'a chunked body gets its length';
    is $req->{body}, 'abcde', 'body';
    is names($req), 'Host Content-Length', 'request trailers are dropped';
    $req = seen(POST => '/framing/a', [@host], 'hello');
    is value($req, 'Content-Length'), 5, 'framing cannot be unset';
    is $req->{body}, 'hello', 'body';
    $req = seen(PUT => '/framing/a', [@host, 'Content-Length' => 0]);
    is value($req, 'Content-Length'), undef, 'but for a length of 0';
    $req = seen(POST => '/body/a', [@host], 'hello');
    is $req->{body}, 'ip=127.0.0.1', 'UpstreamSetBody';
    is value($req, 'Content-Length'), 12, 'with its length';
};

subtest 'no request body' => sub {
    my $req = seen(POST => '/no-body/a', [@host], 'hello');
    is $req->{body}, '', 'none';
    ok !value($req, 'Content-Length'), 'no stale length';
    $req = seen(POST => '/no-length/a', [@host], 'hello');
    is value($req, 'Content-Length'), undef, 'set empty: none at all';
};

subtest 'no request headers' => sub {
    my $req = seen(POST => '/none/a', [@host, 'X-A' => 1, Cookie => 'x'],
        'hello');
    is names($req), 'Host X-Set Content-Length', 'set ones and framing';
    is $req->{body}, 'hello', 'body';
};

subtest 'RB14 methods' => sub {
    for my $method (qw(PROPFIND PURGE M-SEARCH DELETE OPTIONS)) {
        is seen($method => '/p/a', [@host])->{method}, $method, 'verbatim';
    }
    my $req = seen(PATCH => '/p/a', [@host], 'ab');
    is "$req->{method} $req->{body}", 'PATCH ab', 'PATCH with its body';
    is seen(GET => '/method/a', [@host, 'X-Method' => 'PURGE'])->{method},
        'PURGE', 'UpstreamMethod';
    is seen(GET => '/method/a', [@host])->{method}, 'GET',
        "empty: the client's";
    $b->clear;
    is $s->get('/method/a', [@host, 'X-Method' => 'GET / HTTP/1.1 x'])
        ->status, 500, 'no token';
    is scalar $b->requests, 0, 'not sent';
};

subtest 'RB19 RB20 large and old' => sub {
    my $target = '/p/a?' . 'q' x 6000;
    my $req = seen(GET => $target, [@host, 'X-Long' => 'v' x 7000]);
    is $req->{target}, $target, '6000 bytes of query';
    is value($req, 'X-Long'), 'v' x 7000, '7000 bytes of value';
    $b->clear;
    my $k = $s->client;
    my $res = $k->ask('GET', '/p/a', [], undef, version => '1.0');
    is $res->body, 'ok', 'an HTTP/1.0 request';
    is $k->wait_close(2), 'eof', 'and a close';
    ($req) = $b->requests;
    is $req->{line}, 'GET /p/a HTTP/1.1', 'the hop has its own version';
    is value($req, 'Host'), $addr, 'and a Host';
};

subtest 'what never gets through' => sub {
    my $line = "GET /p/a HTTP/1.1\r\n";
    my %bad = (
        'two Host fields' => "${line}Host: a\r\nHost: b\r\n\r\n",
        'no Host' => "$line\r\n",
        'NUL in a value' => "${line}Host: a\r\nX-A: 1\x002\r\n\r\n",
        'control in a name' => "${line}Host: a\r\nX\x01A: 1\r\n\r\n",
    );
    for my $what (sort keys %bad) {
        $b->clear;
        my $k = $s->client(strict => 0);
        $k->send($bad{$what});
        is $k->response->status, 400, $what;
        is scalar $b->requests, 0, 'not sent';
    }
    for my $raw ("X-A: 1\rTransfer-Encoding: chunked",
        "X-A: 1\r\n Content-Length: 9") {
        $b->clear;
        my $k = $s->client(strict => 0);
        $k->send("${line}Host: a\r\n$raw\r\n\r\n");
        my $res = $k->response;
        like $res->status, qr/^(?:200|400)\z/, 'refused or made harmless';
        is_deeply [$b->problems], [], 'well-formed';
        is scalar(grep { names($_) =~ /Length|Encoding/ } $b->requests), 0,
            'no new field';
    }
    $b->clear;
    my $res = $s->get('/value/x%0d%0aX-New:%201', [@host]);
    my ($req) = $b->requests;
    is scalar(grep { value($_, 'X-New') } $b->requests), 0,
        'no field out of an expression';
    is_deeply [$b->problems], [], 'well-formed';
};

ok $s->stop, 'httpd ended well';
done_testing;
