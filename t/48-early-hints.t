# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamEarlyHints: a backend's 103 goes on to the client, at once and with
# nothing in it that is not for the client.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Answers;
use Up::Server ();
use Up::TLS ();

my $STEP = 0.3;
my $LINE = "HTTP/1.1 103 Early Hints\r\n";
my $LINK = "Link: </style.css>; rel=preload\r\n";
my $OK = "HTTP/1.1 200 OK\r\nX-Final: 1\r\nLink: </final>\r\n"
    . "Set-Cookie: a=1\r\nContent-Length: 2\r\n\r\nok";
my $HOPS = join '', map { "$_\r\n" } 'Connection: keep-alive, X-Mine',
    'Keep-Alive: timeout=5', 'Upgrade: h2c', 'TE: trailers', 'X-Mine: 1',
    'Transfer-Encoding: chunked', 'Content-Length: 7', 'Trailer: X-T',
    'Proxy-Connection: keep-alive';
my $HIDDEN = "X-Hidden: 1\r\nX-Accel-Buffering: no\r\nServer: b\r\n"
    . "Date: now\r\n";

sub fat { return $LINE . 'X-Fat: ' . 'f' x $_[0] . "\r\n\r\n" }

my $b = Up::Answers->start({
    plain => $OK,
    hints => ["$LINE$LINK\r\n", pause($STEP), $OK],
    hops => [$LINE . $LINK . $HOPS . "\r\n", pause(0.1), $OK],
    onlyhops => [$LINE . $HOPS . $HIDDEN . "\r\n", $OK],
    empty => ["$LINE\r\n", $OK],
    hidden => [$LINE . $LINK . $HIDDEN . "\r\n", $OK],
    several => ["$LINE$LINK\r\n", pause(0.05), "${LINE}Link: </b>\r\n"
        . "Link: </c>\r\nX-Odd\x40: 1\r\nX-Text: a\tb\xe9\r\n\r\n" . $OK],
    bytewise => [bytewise("$LINE$LINK\r\n" . $OK)],
    mixed => "HTTP/1.1 100 Continue\r\n\r\n$LINE$LINK\r\n"
        . "HTTP/1.1 102 Processing\r\nX-Interim: 1\r\n\r\n"
        . "HTTP/1.1 204 No\r\nX-Final: 1\r\n\r\n",
    fat => [fat(3000), fat(3000), $OK],
    big => [fat(5000), "$LINE$LINK\r\n", $OK],
    only => ["$LINE$LINK\r\n", pause(0.1), hang_up()],
    notfound => ["$LINE$LINK\r\n", "HTTP/1.1 404 No\r\nContent-Length: 4\r\n"
        . "\r\nnone"],
    redirect => ["$LINE$LINK\r\n", "HTTP/1.1 200 OK\r\nX-Accel-Redirect: "
        . "/on/several\r\nContent-Length: 0\r\n\r\n"],
});
# Answers when it has the whole body.
my $slow = Up::Answers->start({
    upload => { head => ["$LINE$LINK\r\n",
        sub { length($_[0]->read_bytes(5)) == 5 }, $OK] },
});

my ($port, $host) = Up::TLS::usable() ? Up::TLS::host() : ();
my $s = Up::Server->start(A => $b->addr, S => $slow->addr,
    conf => ($host // '') . <<'END');
ErrorDocument 404 "my page"
Protocols h2c http/1.1
H2EarlyHints on
UpstreamHideHeader X-Hidden
<Location /on/>
    UpstreamPass http://@A@
    UpstreamEarlyHints on
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamEarlyHints off
</Location>
<Location /default/>
    UpstreamPass http://@A@
</Location>
<Location /asked/>
    UpstreamPass http://@A@
    UpstreamEarlyHints %{HTTP:X-Hints}
</Location>
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBufferSize 4k
    UpstreamEarlyHints 1
</Location>
<Location /page/>
    UpstreamPass http://@A@
    UpstreamInterceptErrors on
    UpstreamEarlyHints 1
</Location>
<Location /slow/>
    UpstreamPass http://@S@
    UpstreamEarlyHints 1
    UpstreamRequestBuffering off
</Location>
END

# The interim responses, each as its fields.
sub hints_of {
    my ($res) = @_;
    return [map { join '|', $_->status, map { "$_->[0]: $_->[1]" }
        @{ $_->fields } } @{ $res->interim }];
}

my $HINT = '103|Link: </style.css>; rel=preload';

sub is_final {
    my ($res, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is $res->status . ' ' . $res->body, '200 ok', "$name: the final one";
    is_deeply [map { $res->field($_) } qw(X-Final Link Set-Cookie)],
        [1, '</final>', 'a=1'], 'with all its fields';
    return;
}

subtest 'passed on' => sub {
    for (['hints', 'BL02 one', $HINT], ['hops', 'C02 BL02 no fields of the '
        . 'hop', $HINT], ['onlyhops', 'nothing left of it'],
        ['empty', 'nothing in it'], ['hidden', 'no hidden fields', $HINT],
        ['several', 'two in a row', $HINT,
            "103|Link: </b>|Link: </c>|X-Text: a\tb\xe9"],
        ['bytewise', 'byte by byte', $HINT]) {
        my ($name, $what, @want) = @$_;
        my $k = $s->client;
        $b->clear;
        $s->mark;
        my $res = $k->get("/on/$name");
        is_deeply hints_of($res), \@want, $what;
        is_final($res, $name);
        is $k->get('/on/plain')->body, 'ok', 'the next on that connection';
        is $s->logged("/on/$name")->{UPSTREAM_STATUS}, 200, 'logged';
        ok same_connection($b), 'the backend connection is kept';
    }
    my $res = $s->get('/on/mixed');
    is_deeply hints_of($res), [$HINT], 'BL06 only the 103 of several kinds';
    is $res->status . $res->header('X-Final'), '2041', 'and a 204';
};

subtest 'at once' => sub {
    for my $tls (0, $port ? 1 : ()) {
        my $res = $s->client($tls ? (tls => 1, port => $port) : ())
            ->get('/on/hints');
        is_deeply hints_of($res), [$HINT], $tls ? 'TLS' : 'plain';
        is_final($res, 'then');
        ok $res->t_head - $res->interim->[0]{t} > $STEP - 0.1,
            'the hint came first';
    }
};

subtest 'not passed on' => sub {
    for my $target ('/off/hints', '/default/hints', '/asked/hints') {
        my $res = $s->get($target);
        is_deeply hints_of($res), [], $target;
        is_final($res, $target);
    }
    for (['navigate', 1], ['0', 0], ['1', 1]) {
        my ($value, $want) = @$_;
        my $res = $s->get('/asked/hints', ['X-Hints' => $value]);
        is scalar @{ $res->interim }, $want, "an expression: $value";
    }
    my $k = $s->client;
    $k->send("GET /on/hints HTTP/1.0\r\n\r\n");
    my $res = $k->response(version => '1.0');
    is_deeply hints_of($res), [], 'HTTP/1.0';
    is_final($res, 'HTTP/1.0');
};

subtest 'too much' => sub {
    $s->mark;
    my $res = $s->get('/small/fat');
    is scalar @{ $res->interim }, 1, 'the first of two fits';
    is_final($res, 'fat');
    ok scalar(my @l = $s->error_log(qr/UP0623:\ .*too\ big\ early
        \ hints.*\(UpstreamBufferSize\)/x)), 'and the log says so';
    $res = $s->get('/small/big');
    is_deeply hints_of($res), [], 'none behind one that is too big';
    is_final($res, 'big');
};

subtest 'what follows' => sub {
    my $res = $s->get('/on/only');
    is $res->status, 502, 'BL04 nothing: 502';
    is_deeply hints_of($res), [$HINT], 'behind the hint';
    $res = $s->get('/page/notfound');
    is $res->status . ' ' . $res->body, '404 my page', 'an error page';
    is_deeply hints_of($res), [$HINT], 'behind the hint';
    $res = $s->get('/on/redirect');
    is scalar @{ $res->interim }, 3, 'hints of both locations';
    is_final($res, 'a redirect');
};

subtest 'a client that waits with its body' => sub {
    my $k = $s->client;
    $k->send("POST /slow/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        . "Expect: 100-continue\r\n\r\n");
    my $got = '';
    while ($got !~ /100 Continue\r\n\r\n/ || $got !~ /103 Early/) {
        $got .= $k->read_some // last;
    }
    like $got, qr/100 Continue/, 'is still invited';
    like $got, qr/103 Early/, 'and gets the hint';
    $k->send('hello');
    is_final($k->response(method => 'POST'), 'upload');
};

SKIP: {
    skip 'needs mod_http2 and a curl that speaks HTTP/2', 6
        if !-e "$ENV{UP_LIBEXECDIR}/mod_http2.so"
        || qx{curl -V 2>&1} !~ /HTTP2/ || $ENV{UP_MPM} eq 'prefork';
    my $file = $s->root . '/curl.head';
    for my $name (qw(hops several)) {
        my $url = $s->url("/on/$name");
        my $body =
            join '', qx{curl -s --http2-prior-knowledge -m 10 -D $file $url};
        is $body, 'ok', "HTTP/2, $name";
        open my $fh, '<', $file or die "$file: $!\n";
        my $heads = do { local $/; <$fh> };
        like $heads, qr{^HTTP/2\ 103\ \r?\nlink:\ </style\.css>;
            \ rel=preload\r?\n(?:.*\n)*HTTP/2\ 200}x, 'the hint';
        unlike $heads =~ s/HTTP\/2 200.*//sr, qr/^(?:connection|keep-alive
            |upgrade|te|transfer-encoding|content-length):/mix,
            'without fields of the hop';
    }
}

is_deeply [$b->problems, $slow->problems], [],
    'nothing wrong in what the backends got';
ok $s->stop, 'no crash, nothing left';
done_testing;
