# Licensed under the Apache License, Version 2.0; see LICENSE.

# The response head that a client gets, and what the variables say of it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

# A backend that answers /name with the bytes of that name.
my %answer = (
    plain => "200 OK\r\nContent-Length: 2\r\n\r\nok",
    fields => "200 OK\r\nX-B: 2\r\nX-A: 1\r\nx-b: 3\r\nX-Empty:\r\n"
        . "Content-Disposition: inline\r\nPublic: GET\r\n"
        . "Proxy-Authenticate: Basic\r\nAccept-Ranges: bytes\r\n"
        . "Content-Length: 2\r\n\r\nok",
    lists => "401 No\r\nWWW-Authenticate: Basic realm=a\r\n"
        . "WWW-Authenticate: Digest realm=b\r\nSet-Cookie: a=1\r\n"
        . "Set-Cookie: b=2; Path=/\r\nSet-Cookie: c=3\r\n"
        . "Link: </a>; rel=x\r\nLink: </b>; rel=y\r\n"
        . "Cache-Control: no-store\r\nCache-Control: private\r\n"
        . "Content-Length: 4\r\n\r\nnope",
    single => "200 OK\r\nContent-Type: text/a\r\nContent-Type: text/b\r\n"
        . "ETag: \"1\"\r\nETag: \"2\"\r\nLast-Modified: x\r\n"
        . "Last-Modified: y\r\nLocation: /a\r\nLocation: /b\r\n"
        . "Refresh: 1\r\nRefresh: 2\r\nExpires: 0\r\nExpires: 1\r\n"
        . "Status: 1\r\nStatus: 2\r\nContent-Length: 2\r\n\r\nok",
    hops => "200 OK\r\nConnection: X-Internal, keep-alive\r\n"
        . "X-Internal: secret\r\nKeep-Alive: timeout=9\r\n"
        . "Proxy-Connection: x\r\nTE: trailers\r\nUpgrade: foo/2\r\n"
        . "Trailer: X-T\r\nX-Public: 1\r\nContent-Length: 2\r\n\r\nok",
    essential => "200 OK\r\nConnection: Content-Type, Set-Cookie, "
        . "Content-Length, Cache-Control\r\nContent-Type: a/b\r\n"
        . "Set-Cookie: a=1\r\nCache-Control: no-store\r\n"
        . "Content-Length: 2\r\n\r\nok",
    hidden => "200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        . "Server: Backend/1\r\nX-Pad: avoid\r\nX-Accel-Expires: 1\r\n"
        . "X-Accel-Limit-Rate: 0\r\nX-Accel-Charset: utf-8\r\n"
        . "X-Accel-Buffering: no\r\nX-Powered-By: me\r\nX-Kept: 1\r\n"
        . "Content-Length: 2\r\n\r\nok",
    opaque => "200 OK\r\nContent-Encoding: gzip\r\nETag: \"s\"\r\n"
        . "X-Odd: a\tb\xe9\xff\r\nContent-Length: 4\r\n\r\n\x00\x01\xfe\xff",
    type => "200 OK\r\nContent-Type: TEXT/html;charset=\"X\" ; q\r\n"
        . "Content-Length: 2\r\n\r\nok",
    html => "200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n"
        . "\r\nok",
    names => "200 OK\r\nX\@Odd(: 1\r\nX_Under: 2\r\nX.Dot: 3\r\n"
        . "Content-Length: 2\r\n\r\nok",
    'h500' => "200 OK\r\nContent-Length: 500\r\n\r\n",
    'h404' => "404 Gone Fishing\r\nContent-Length: 9\r\n\r\n",
    'n304' => "304 Not Modified\r\nETag: \"e\"\r\n"
        . "Cache-Control: max-age=1\r\nContent-Length: 500\r\n\r\n",
    'n204' => "204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
    'l204' => "204 No Content\r\nContent-Length: 5\r\n\r\n",
    noreason => "200\r\nContent-Length: 2\r\n\r\nok",
    blank => "404 \r\nContent-Length: 2\r\n\r\nok",
    old => "200 OK\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        . "ETag: \"e\"\r\nAccept-Ranges: bytes\r\nContent-Length: 10\r\n"
        . "\r\n0123456789",
    vary => "200 OK\r\nVary: Accept\r\nVary: Cookie\r\n"
        . "Content-Length: 2\r\n\r\nok",
    chunked => "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        . "2\r\nok\r\n0\r\n\r\n",
    both => "200 OK\r\nx-both: 2\r\nX-Both: 3\r\n"
        . "Content-Length: 2\r\n\r\nok",
    cookie => "200 OK\r\nSet-Cookie: other=1\r\n"
        . "Set-Cookie: Session = a b; Path=/\r\nX-Two: 1\r\nX-Two: 2\r\n"
        . "Server: Backend/1\r\nETag: \"1\"\r\nETag: \"2\"\r\n"
        . "Content-Length: 2\r\n\r\nok",
);
for my $code (299, 418, 599, 600, 799, 999) {
    $answer{"s$code"} = "$code Odd One\r\nContent-Length: 2\r\n\r\nok";
}

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    while (my $req = $c->read_request) {
        my ($name) = $req->{target} =~ m{(\w+)(?:\.\w+)*(?:\?|\z)};
        $c->send("HTTP/1.1 " . ($answer{$name} // die "no $name\n"))
            or return;
    }
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamPass /p/ http://@A@
AddType text/x-guess .html
AddEncoding x-gzip .gz
AddLanguage de .de
<Location /date/>
    UpstreamPass http://@A@
    UpstreamPassHeader Date
    UpstreamPassHeader Server
    UpstreamPassHeader X-Pad
    UpstreamHideHeader X-Powered-By
</Location>
<Location /charset/>
    UpstreamPass http://@A@
    AddDefaultCharset utf-8
</Location>
Header set X-Both early early
Header set X-Early early early
<Location /earlier/>
    UpstreamPass http://@A@
    Header always set X-Always 1
    Header setifempty X-A late
    Header merge X-Late 1
</Location>
<Location /head/>
    UpstreamPass http://@A@
    UpstreamMethod HEAD
</Location>
<Location /head-unbuffered/>
    UpstreamPass http://@A@
    UpstreamMethod HEAD
    UpstreamBuffering off
</Location>
<Location /vars/>
    UpstreamPass http://@A@
    Header set X-Addr expr=%{UPSTREAM_ADDR}
    Header set X-Status expr=%{upstream_status}
    Header set X-Name expr=%{UPSTREAM_HOST}|%{UPSTREAM_PORT}
    Header set X-Server expr=%{upstream_http:Server}
    Header set X-Joined expr=%{upstream_http:x_two}
    Header set X-Tag expr=%{upstream_http:etag}
    Header set X-Session expr=%{upstream_cookie:SESSION}
    Header set X-None expr=<%{upstream_http:nothing}%{upstream_cookie:no}>
    Header set X-Times expr=%{UPSTREAM_CONNECT_TIME}|%{UPSTREAM_HEADER_TIME}
    <If "%{upstream_http:server} == 'Backend/1'">
        Header set X-If wrong
    </If>
</Location>
<Location /static>
    Header set X-Addr expr=<%{UPSTREAM_ADDR}%{UPSTREAM_HOST}>
</Location>
<Location /intercept/>
    UpstreamPass http://@A@
    UpstreamInterceptErrors on
    ErrorDocument 401 /static
    ErrorDocument 404 /p/plain
</Location>
END
$s->write_file(static => 'static');

sub get {
    my ($target, @more) = @_;
    my $res = $s->get($target, @more);
    ok $res->complete, "$target complete";
    return $res;
}

sub names {
    my ($res) = @_;
    return join ' ', map { $_->[0] } grep {
        $_->[0] !~ /^(?:Date|Server|Content-Length|X-Early|X-Both)\z/
    } @{ $res->fields };
}

subtest 'fields and order' => sub {
    my $res = get('/p/fields');
    is names($res), 'X-B X-A x-b X-Empty Content-Disposition Public '
        . 'Proxy-Authenticate Accept-Ranges', 'as received';
    is join('|', $res->field('X-B')), '2|3', 'both';
    is $res->header('X-Empty'), '', 'empty';
    is $res->header('Content-Length'), 2, 'length';
    is scalar(my @date = $res->field('Date')), 1, 'one Date';
    is scalar(my @server = $res->field('Server')), 1, 'one Server';
    like $res->header('Server'), qr/^Apache/, "httpd's";
};

subtest 'lists' => sub {
    my $res = get('/p/lists');
    is $res->line, 'HTTP/1.1 401 No', 'status line';
    is $res->body, 'nope', 'body';
    is join('|', $res->field('WWW-Authenticate')),
        'Basic realm=a|Digest realm=b', 'WWW-Authenticate';
    is join('|', $res->field('Set-Cookie')), 'a=1|b=2; Path=/|c=3',
        'Set-Cookie';
    is join('|', $res->field('Link')), '</a>; rel=x|</b>; rel=y', 'Link';
    is join('|', $res->field('Cache-Control')), 'no-store|private',
        'Cache-Control';
    is get('/p/vary')->header('Vary') =~ s/\s//gr, 'Accept,Cookie', 'Vary';
};

subtest 'one of a kind' => sub {
    $s->mark;
    my $res = get('/p/single');
    my %want = ('Content-Type' => 'text/a', ETag => '"1"',
        'Last-Modified' => 'x', Location => '/a', Refresh => '1',
        Expires => '0', Status => '1');
    for my $name (sort keys %want) {
        is join('|', $res->field($name)), $want{$name}, $name;
    }
    is scalar(my @lines = $s->error_log(qr/duplicate header line/)), 7,
        'warned about';
};

subtest 'of this hop only' => sub {
    my $res = get('/p/hops');
    is names($res), 'X-Public', 'the rest is gone';
    $res = get('/p/essential');
    is $res->header($_->[0]), $_->[1], "$_->[0] cannot be nominated"
        for ['Content-Type', 'a/b'], ['Set-Cookie', 'a=1'],
        ['Cache-Control', 'no-store'], ['Content-Length', 2];
};

subtest 'hidden' => sub {
    my $res = get('/p/hidden');
    is names($res), 'X-Powered-By X-Kept', 'by default';
    unlike $res->header('Date'), qr/1970/, "httpd's Date";
    $res = get('/date/hidden');
    is names($res), 'X-Pad X-Kept', 'passed and hidden by name';
    is join('|', $res->field('Date')), 'Thu, 01 Jan 1970 00:00:00 GMT',
        "the backend's Date";
    is join('|', $res->field('Server')), 'Backend/1', "the backend's Server";
    $res = get('/date/plain');
    like $res->header('Server'), qr/^Apache/, 'which it need not send';
};

subtest 'byte for byte' => sub {
    my $res = get('/p/opaque', ['Accept-Encoding' => 'gzip']);
    is $res->header('Content-Encoding'), 'gzip', 'Content-Encoding';
    is $res->header('ETag'), '"s"', 'strong ETag';
    is $res->header('X-Odd'), "a\tb\xe9\xff", 'TAB and 8-bit bytes';
    is $res->header('Content-Type'), undef, 'no Content-Type';
    is $res->body, "\x00\x01\xfe\xff", 'body';
    for my $where (qw(p charset)) {
        is get("/$where/type")->header('Content-Type'),
            'TEXT/html;charset="X" ; q', 'Content-Type';
        is get("/$where/html")->header('Content-Type'), 'text/html',
            'no charset added';
    }
    $res = get('/p/plain.de.html.gz');
    is names($res), '', 'nothing guessed from the name';
};

subtest 'odd names' => sub {
    $s->mark;
    my $res = get('/p/names');
    is $res->status, 200, 'passed';
    is names($res), 'X_Under X.Dot', 'what is no token is left out';
    is scalar(my @lines = $s->error_log(qr/odd name.*X\@Odd/)), 1, 'logged';
};

subtest 'status' => sub {
    is get('/p/noreason')->line, 'HTTP/1.1 200 ', 'no reason';
    is get('/p/blank')->line, 'HTTP/1.1 404 ', 'empty reason';
    for my $code (299, 418, 599, 600, 799, 999) {
        my $res = get("/p/s$code");
        is $res->line, "HTTP/1.1 $code Odd One", "status $code";
        is $res->body, 'ok', 'body';
    }
    is +($s->access_log)[-1]{status}, 999, 'logged as it is';
};

subtest 'no body' => sub {
    my $k = $s->client;
    $b->clear;
    my $res = $k->get('/p/n304', ['If-None-Match' => '"e"']);
    is $res->status, 304, 'status 304';
    is $res->header('ETag'), '"e"', 'ETag';
    is $res->header('Cache-Control'), 'max-age=1', 'Cache-Control';
    is $k->get('/p/n204')->status, 204, '204 that claims to be chunked';
    is $k->get('/p/l204')->status, 204, '204 with a length';
    $res = $k->ask('HEAD', '/p/h500');
    is $res->status, 200, 'HEAD';
    is $res->header('Content-Length'), 500, 'with its length';
    $res = $k->ask('HEAD', '/p/h404');
    is $res->line, 'HTTP/1.1 404 Gone Fishing', 'HEAD of nothing';
    is $res->header('Content-Length'), 9, 'with its length';
    is $k->get('/p/plain')->body, 'ok', 'the client connection lives';
    my %conn = map { $_->{conn} => 1 } $b->requests;
    is scalar keys %conn, 1, 'one backend connection';
    for my $where (qw(head head-unbuffered)) {
        $res = $k->get("/$where/h500");
        is $res->status, 200, 'UpstreamMethod HEAD for a GET';
        is $res->body, '', 'no body';
        is $res->header('Content-Length') // 0, 0, 'and none announced';
    }
    is $k->get('/p/plain')->body, 'ok', 'the client connection lives';
};

subtest 'nothing is done to a 200' => sub {
    my $res = get('/p/old', ['If-None-Match' => '"e"',
        'If-Modified-Since' => 'Fri, 02 Jan 1970 00:00:00 GMT']);
    is $res->status, 200, 'no 304 of our own';
    $res = get('/p/old', [Range => 'bytes=0-3']);
    is $res->status, 200, 'no range of our own';
    is $res->body, '0123456789', 'all of it';
};

subtest 'other modules' => sub {
    my $res = get('/earlier/fields');
    is $res->header('X-Always'), 1, 'always set';
    is $res->header('X-A'), 1, "the backend's";
    is $res->header('X-Late'), 1, 'added';
    is $res->header('X-Early'), 'early', 'set before, and not sent';
    $res = get('/p/both');
    is join('|', $res->field('X-Both')), '2|3', 'set before, and sent';
};

subtest 'variables' => sub {
    $s->mark;
    my $res = get('/vars/cookie');
    is $res->header('X-Addr'), $b->addr, 'UPSTREAM_ADDR';
    is $res->header('X-Status'), 200, 'in any case';
    is $res->header('X-Name'), $b->addr . '|' . $b->port,
        'UPSTREAM_HOST, UPSTREAM_PORT';
    is $res->header('X-Server'), 'Backend/1', 'a hidden field';
    is $res->header('X-Joined'), '1, 2', 'two lines';
    is $res->header('X-Tag'), '"1"', 'not the ignored one';
    is $res->header('X-Session'), 'a b', 'upstream_cookie';
    is $res->header('X-None'), '<>', 'nothing';
    like $res->header('X-Times'), qr/^\d+\.\d{3}\|\d+\.\d{3}\z/, 'times';
    is $res->header('X-If'), undef, 'unset while the request goes out';
    my ($line) = $s->access_log(1);
    is $line->{UPSTREAM_ADDR}, $b->addr, 'in the log: addr';
    is $line->{UPSTREAM_STATUS}, 200, 'status';
    is $line->{UPSTREAM_RESPONSE_LENGTH}, 2, 'length';
    like $line->{UPSTREAM_RESPONSE_TIME}, qr/^\d+\.\d{3}\z/, 'time';
    is get('/static')->header('X-Addr'), '<>', 'empty without a backend';
    is $s->logged('/static')->{UPSTREAM_ADDR}, '-', 'and in the log';
};

subtest 'variables after an internal redirect' => sub {
    $s->mark;
    my $res = get('/intercept/lists');
    is $res->status, 401, 'an error page';
    is $res->header('X-Addr'), '<' . $b->addr x 2 . '>', 'knows the backend';
    is +($s->access_log(1))[0]{UPSTREAM_STATUS}, 401, 'status';
    $res = get('/intercept/blank');
    is $res->line, 'HTTP/1.1 404 Not Found', 'one that a backend makes';
    is $res->body, 'ok', 'its body';
    is +($s->access_log(2))[1]{UPSTREAM_STATUS}, '404 : 200', 'both legs';
};

ok $s->stop, 'httpd ended well';

subtest 'what earlier phases thought of the body' => sub {
    $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamPass /p/ http://@A@
Header set Content-Length 77 early
Header set Content-Type x/early early
END
    my $res = get('/p/chunked');
    is $res->body, 'ok', 'body';
    is $res->header('Content-Length') // 2, 2, 'no other length';
    is $res->header('Content-Type'), undef, 'no type';
    $res = $s->ask('HEAD', '/p/h500');
    is join('|', $res->field('Content-Length')), 500, 'length for HEAD';
    ok $s->stop, 'httpd ended well';
};

done_testing;
