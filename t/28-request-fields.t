# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamForwarded, UpstreamDestination, UpstreamFixDeflateETag, UpstreamURI,
# and the one Connection field: what a backend is told besides.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Backend::Conn ();
use Up::Server ();

# Any answer; the tests ask what arrived.
my $b = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['Content-Type' => 'text/plain', ETag => '"a"'],
        'x' x 2000];
});
my $B = $b->addr;

my $main = join '', map { "LoadModule ${_}_module \"\@MODULES\@/mod_$_.so\"\n" }
    qw(remoteip deflate filter);

my $s = Up::Server->start(B => $B, main => $main, conf => <<'END');
UseCanonicalName Off
UpstreamForwarded on
<Location /on/>
    UpstreamPass http://@B@
</Location>
<Location /legacy/>
    UpstreamPass http://@B@
    UpstreamForwarded legacy
</Location>
<Location /rfc/>
    UpstreamPass http://@B@
    UpstreamForwarded rfc7239
</Location>
<Location /off/>
    UpstreamPass http://@B@
    UpstreamForwarded off
</Location>
<Location /set/>
    UpstreamPass http://@B@
    UpstreamSetHeader X-Forwarded-For mine
    UpstreamSetHeader Forwarded ""
</Location>
<Location /alone/>
    UpstreamPass http://@B@
    UpstreamPassRequestHeaders off
</Location>
<Location /dav/>
    UpstreamPass http://@B@/base/
    UpstreamDestination on
    UpstreamForwarded off
</Location>
<Location /dav/host/>
    UpstreamSetHeader Host %{HTTP_HOST}
</Location>
<Location /davraw/>
    UpstreamPass http://@B@
    UpstreamDestination on
</Location>
<Location /davoff/>
    UpstreamPass http://@B@/base/
</Location>
<Location /tag/>
    UpstreamPass http://@B@
    UpstreamFixDeflateETag on
    SetOutputFilter DEFLATE
</Location>
<Location /tag/type/>
    SetOutputFilter NONE
    AddOutputFilterByType DEFLATE text/plain
</Location>
<Location /tag/off/>
    UpstreamFixDeflateETag off
</Location>
<Location /plain/>
    UpstreamPass http://@B@
    UpstreamFixDeflateETag on
</Location>
<Location /raw/>
    UpstreamPass http://@B@/base/
</Location>
<Location /norm/>
    UpstreamPass http://@B@/base/
    UpstreamURI normalized
</Location>
<Location /normall/>
    UpstreamPass http://@B@
    UpstreamURI normalized
</Location>
<Location /te/>
    UpstreamPass http://@B@
    UpstreamPassTrailers on
</Location>
<Location /te/more/>
    UpstreamSetHeader Connection close
    UpstreamSetHeader X-Behind 1
    UpstreamSetHeader Connection X-Behind
</Location>
<Location /te/said/>
    UpstreamSetHeader Connection TE
</Location>
END
my $A = '127.0.0.1:' . $s->port;

# The request that arrives.
sub sent {
    my ($target, $fields, %arg) = @_;
    my $server = $arg{server} // $s;
    $b->clear;
    $server->client->ask($arg{method} // 'GET', $target, $fields // []);
    my ($req) = $b->requests;
    return $req;
}

my @FORWARDED = qw(Forwarded X-Forwarded-For X-Forwarded-Host
    X-Forwarded-Proto X-Forwarded-Port);

# Its fields of that kind: "name: value".
sub forwarded {
    my ($req) = @_;
    return [map { my $name = $_; map { "$name: $_" }
        Up::Backend::Conn::values_of($req, $name) } @FORWARDED];
}

my @legacy = ('X-Forwarded-For: 127.0.0.1', "X-Forwarded-Host: $A",
    'X-Forwarded-Proto: http', 'X-Forwarded-Port: ' . $s->port);
my $rfc = qq{Forwarded: for=127.0.0.1;host="$A";proto=http};
my @forged = ('X-Forwarded-For' => '192.0.2.9', Forwarded => 'for=192.0.2.9',
    'X-Forwarded-Host' => 'evil', 'X-Forwarded-Proto' => 'https',
    'X-Forwarded-Port' => 1);

subtest 'which' => sub {
    for my $fields ([], \@forged, [@forged, Connection =>
        'X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Port']) {
        is_deeply forwarded(sent('/on/x', $fields)), [$rfc, @legacy], 'on';
        is_deeply forwarded(sent('/legacy/x', $fields)), \@legacy, 'legacy';
        is_deeply forwarded(sent('/rfc/x', $fields)), [$rfc], 'rfc7239';
        is_deeply forwarded(sent('/alone/x', $fields)), [$rfc, @legacy],
            'without other fields of the client';
        is_deeply forwarded(sent('/set/x', $fields)),
            ['X-Forwarded-For: mine', @legacy[1 .. 3]],
            'UpstreamSetHeader has the last word';
    }
    my $req = sent('/on/x', ['X_Forwarded_For' => '192.0.2.9']);
    is_deeply [Up::Backend::Conn::values_of($req, 'X_Forwarded_For')], [],
        'nor what a CGI program takes for one of them';
    is_deeply forwarded(sent('/off/x')), [], 'off';
    is_deeply forwarded(sent('/off/x', \@forged)), ['Forwarded: for=192.0.2.9',
        'X-Forwarded-For: 192.0.2.9', 'X-Forwarded-Host: evil',
        'X-Forwarded-Proto: https', 'X-Forwarded-Port: 1'],
        'off: the client says what it likes';
};

subtest 'host and port' => sub {
    for my $row (['h.example', '80'], ['h.example:8080', '8080'],
        ['[::1]', '80'], ['[::1]:81', '81']) {
        my ($host, $port) = @$row;
        is_deeply forwarded(sent('/on/x', [Host => $host])),
            [qq{Forwarded: for=127.0.0.1;host="$host";proto=http},
            'X-Forwarded-For: 127.0.0.1', "X-Forwarded-Host: $host",
            'X-Forwarded-Proto: http', "X-Forwarded-Port: $port"], $host;
    }
};

subtest 'with mod_remoteip' => sub {
    my $r = Up::Server->start(B => $B, main => $main, conf => <<'END');
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
UpstreamForwarded on
UpstreamPass /x/ http://@B@
END
    my @host = (Host => 'h.example');
    is_deeply forwarded(sent('/x/x', [@host, 'X-Forwarded-For' =>
        '10.9.9.9, 2001:db8::1', 'X-Forwarded-Host' => 'front.example',
        'X-Forwarded-Proto' => 'https'], server => $r)),
        ['Forwarded: for="[2001:db8::1]";host="front.example";proto=https, '
        . 'for=127.0.0.1', 'X-Forwarded-For: 2001:db8::1, 127.0.0.1',
        'X-Forwarded-Host: front.example', 'X-Forwarded-Proto: https',
        'X-Forwarded-Port: 443'], 'what a trusted proxy says';
    is_deeply forwarded(sent('/x/x', [@host, 'X-Forwarded-For' => '192.0.2.1',
        'X-Forwarded-Host' => 'a, b', 'X-Forwarded-Proto' => 'http;x',
        'X-Forwarded-Port' => '1x'], server => $r)),
        ['Forwarded: for=192.0.2.1;host="h.example";proto=http, '
        . 'for=127.0.0.1', 'X-Forwarded-For: 192.0.2.1, 127.0.0.1',
        'X-Forwarded-Host: h.example', 'X-Forwarded-Proto: http',
        'X-Forwarded-Port: 80'], 'but no nonsense';
    is_deeply forwarded(sent('/x/x', [@host, 'X-Forwarded-Proto' => 'https'],
        server => $r)), ['Forwarded: for=127.0.0.1;host="h.example";'
        . 'proto=http', 'X-Forwarded-For: 127.0.0.1',
        'X-Forwarded-Host: h.example', 'X-Forwarded-Proto: http',
        'X-Forwarded-Port: 80'], 'and not who names no client';
    ok $r->stop, 'stopped';
};

# The Destination that arrives.
sub destination {
    my ($target, $value, @more) = @_;
    my $req = sent($target, [Destination => $value, @more], method => 'MOVE');
    return join '|', Up::Backend::Conn::values_of($req, 'Destination');
}

subtest 'Destination' => sub {
    is destination('/dav/a', $_->[0]), $_->[1], $_->[0] for
        ["http://$A/dav/b%20c?d", "http://$B/base/b%20c?d"],
        ["HTTPS://$A/dav/b", "http://$B/base/b"],
        ['/dav/b', '/base/b'],
        ["http://$A/else/b", "http://$A/else/b"],
        ["http://other.example/dav/b", "http://other.example/dav/b"],
        ["http://${A}0/dav/b", "http://${A}0/dav/b"],
        ["//$A/dav/b", "//$A/dav/b"],
        ["http://$A/dav/../b", "http://$A/dav/../b"],
        ["http://$A/dav/%2e%2E/b", "http://$A/dav/%2e%2E/b"];
    is destination('/dav/host/a', "http://$A/dav/host/b"),
        "http://$A/base/host/b", 'the Host that is sent';
    is destination('/davraw/a', "http://$A/any/b"), "http://$B/any/b",
        'without a URI part';
    is destination('/davoff/a', "http://$A/davoff/b"), "http://$A/davoff/b",
        'off';
};

subtest 'entity tags' => sub {
    my @tag = ('Accept-Encoding' => 'gzip', 'If-None-Match' =>
        '"a-gzip", W/"b-gzip"', 'If-Match' => '"c-gzip"');
    my $tags = sub {
        my ($target) = @_;
        my $req = sent($target, \@tag);
        return join '|', map { Up::Backend::Conn::values_of($req, $_) }
            qw(If-None-Match If-Match);
    };
    my ($bare, $same) = ('"a", W/"b"|"c"', '"a-gzip", W/"b-gzip"|"c-gzip"');
    is $tags->('/tag/x'), $bare, 'as the backend has made them';
    is $tags->('/tag/type/x'), $bare, 'by type';
    is $tags->('/tag/off/x'), $same, 'off';
    is $tags->('/plain/x'), $same, 'nobody compresses';
};

subtest 'UpstreamURI' => sub {
    is sent('/raw/a%2Fb%7b')->{target}, '/base/a%2Fb%7b', 'raw';
    is sent("/norm/$_->[0]")->{target}, "/base/$_->[1]", $_->[0] for
        ['a%2Fb', 'a/b'], ['a%7bb%7D%20c%25d', 'a%7Bb%7D%20c%25d'],
        ['%61?x=%2F', 'a?x=%2F'], ['a%3Fb%23c', 'a%3Fb%23c'],
        ['a%252Fb', 'a%252Fb'];
    is sent('/normall/a%2Fb')->{target}, '/normall/a%2Fb',
        'no URI part, no change';
    is $s->get($_)->status, 400, $_
        for '/norm/a%2F..%2Fb', '/norm/..%2Fb', '/norm/a%2F..';
};

subtest 'one Connection field' => sub {
    my $lines = sub {
        return [Up::Backend::Conn::values_of(sent(@_), 'Connection')];
    };
    is_deeply $lines->('/te/x'), ['TE'], 'TE';
    is_deeply $lines->('/te/more/x'), ['close, X-Behind, TE'],
        'with two of UpstreamSetHeader';
    is_deeply $lines->('/te/said/x'), ['TE'], 'once';
    is_deeply $lines->('/te/x', [Connection => 'upgrade',
        Upgrade => 'websocket']), ['Upgrade'], 'an upgrade, without TE';
    is_deeply $lines->('/te/more/x', [Connection => 'upgrade',
        Upgrade => 'websocket']), ['close, X-Behind, TE'], 'or without';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
