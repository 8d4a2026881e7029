# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamPassTrailers: fields behind a body in chunks, both ways.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n";
my $GRPC = "${CH}Trailer: grpc-status\r\n\r\n2\r\nok\r\n0\r\n"
    . "grpc-status: 0\r\nX-Second: two words\r\nX-Second: 2\r\n\r\n";
my $MB = 1024 * 1024;
my $BIG = filler(4 * $MB);

sub with { return "$CH\r\n2\r\nok\r\n0\r\n$_[0]\r\n" }

my %bad = (
    colon => with("no colon\r\n"), blank => with("A b: 1\r\n"),
    control => with("A: b\x01c\r\n"), noname => with(": 1\r\n"),
    folded => with("A: 1\r\n 2\r\n"), barelf => with("A: 1\n"),
    barecr => with("A: 1\rB: 2\r\n"), nul => with("A: \x00\r\n"),
    toobig => with('A: ' . 'x' x 17_000 . "\r\n"),
    toomany => with(join '', map { "A$_: 1\r\n" } 1 .. 1100),
);
my $b = Up::Answers->start({
    grpc => $GRPC,
    bytewise => [bytewise($GRPC)],
    split => [split_at($GRPC)],
    large => with('A: ' . 'x' x 16_000 . "\r\n"),
    none => with(''),
    odd => with("X-Hidden: 1\r\nContent-Length: 9\r\nTransfer-Encoding: x\r\n"
        . "Connection: X-Good\r\nSet-Cookie: a=b\r\nServer: s\r\n"
        . "X-G\xe9: 1\r\nX-Accel-Redirect: /x\r\nX-Good: 1\r\n"),
    length => "${H}Trailer: A\r\nContent-Length: 2\r\n\r\nok",
    big => ["$CH\r\n", (map { sprintf "%x\r\n%s\r\n", length, $_ }
        unpack '(a60000)*', $BIG), "0\r\nX-End: yes\r\n\r\n"],
    empty => "$CH\r\n0\r\nX-End: yes\r\n\r\n",
    text => "${CH}Content-Type: text/plain\r\n\r\n3e8\r\n" . 'a' x 1000
        . "\r\n0\r\nX-End: yes\r\n\r\n",
    early => [$CH . "\r\n2\r\nok\r\n0\r\nX-End: y", hang_up()],
    %bad,
});
my $u = Up::Backend->http(sub { [200, [], 'taken'] });
my $s = Up::Server->start(A => $b->addr, U => $u->addr, conf => <<'END');
Protocols h2c http/1.1
UpstreamTempPath @TMP@
UpstreamPassTrailers on
UpstreamHideHeader X-Hidden
UpstreamPass /p/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamPassTrailers off
</Location>
<Location /unbuffered/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBuffers 2 1k
    UpstreamBufferSize 1k
</Location>
<Location /deflate/>
    UpstreamPass http://@A@
    SetOutputFilter DEFLATE
</Location>
UpstreamPass /up/ http://@U@
<Location /stream/>
    UpstreamPass http://@U@
    UpstreamRequestBuffering off
    UpstreamSetHeader X-Secret ours
</Location>
<Location /updeaf/>
    UpstreamPass http://@U@
    UpstreamPassTrailers off
    UpstreamRequestBuffering off
</Location>
<Location /te/>
    UpstreamPass http://@U@
    UpstreamSetHeader TE ""
</Location>
<Location /old/>
    UpstreamPass http://@U@
    UpstreamHTTPVersion 1.0
</Location>
CustomLog logs/trailed "%U" "expr=%{upstream_trailer:grpc_status} == '0'"
END

sub pairs { return join ' ', map { "$_->[0]=$_->[1]" } @_ }

sub trailers { return pairs(@{ $_[0]->trailers }) }

my $ALL = 'grpc-status=0 X-Second=two words X-Second=2';

subtest 'C35 BS07 to the client' => sub {
    $b->clear;
    my $res = $s->get('/p/grpc', [TE => 'trailers', Connection => 'TE']);
    is $res->body, 'ok', 'C35 the body';
    is trailers($res), $ALL, 'C35 and the trailers';
    is $res->header('Trailer'), 'grpc-status', 'C35 announced';
    is $res->framing, 'chunked', 'in chunks';
    my ($req) = $b->requests;
    is join(',', Up::Backend::Conn::values_of($req, 'TE')), 'trailers',
        'BS07 the backend sees TE: trailers';
    is_deeply [$b->problems], [], 'named in Connection';
    is trailers($s->get("/$_/grpc")), $ALL, $_ for 'unbuffered', 'small';
    is trailers($s->get('/p/bytewise')), $ALL, 'byte for byte';
    like slurp($s->root . '/logs/trailed'), qr{^/p/grpc$}m,
        'upstream_trailer in a log condition';
    unlike slurp($s->root . '/logs/trailed'), qr{/p/none}, 'and only then';
    my $k = $s->client;
    is trailers($k->get('/p/grpc')), $ALL, 'the client connection';
    is $k->get('/p/none')->body, 'ok', 'is kept';
    $b->clear;
    $k->get('/p/grpc') for 1 .. 3;
    ok same_connection($b), 'as is the one of the backend';
};

subtest 'off' => sub {
    $b->clear;
    my $res = $s->get('/off/grpc', [TE => 'trailers', Connection => 'TE']);
    is $res->body, 'ok', 'the body';
    ok $res->complete, 'whole';
    is trailers($res), '', 'no trailers';
    ok !defined $res->header('Trailer'), 'nor any announced';
    my ($req) = $b->requests;
    is_deeply [Up::Backend::Conn::values_of($req, 'TE')], [], 'no TE';
};

subtest 'C35 split at every byte' => sub {
    my $k = $s->client;
    my @bad = grep {
        my $res = $k->get("/p/split/$_");
        $res->body ne 'ok' || trailers($res) ne $ALL;
    } index($GRPC, "\r\n\r\n") + 4 .. length($GRPC) - 1;
    is "@bad", '', 'makes no difference';
};

subtest 'who gets none' => sub {
    my $res = $s->ask(GET => '/p/grpc', [], undef, version => '1.0');
    is $res->body, 'ok', 'a client of HTTP/1.0 gets the body';
    ok !defined $res->header('Trailer'), 'and nothing announced';
    $res = $s->get('/p/length');
    ok $res->body eq 'ok' && $res->complete, 'a body with a length';
    ok !defined $res->header('Trailer'), 'has none to announce';
    $res = $s->ask(HEAD => '/p/grpc');
    is $res->status, 200, 'HEAD';
};

is trailers($s->get('/p/odd')), 'X-Good=1',
    'hidden, framing and control fields are left out';
is scalar($s->error_log(qr/UP0641/)) > 0, 1, 'the log says so';
is trailers($s->get('/p/none')), '', 'an empty section';
is trailers($s->get('/p/empty')), 'X-End=yes', 'behind an empty body';
is length(($s->get('/p/large')->trailers)->[0][1]), 16_000, 'a large one';

subtest 'behind a large body' => sub {
    my $res = $s->get('/p/big', [], timeout => 20);
    ok $res->body eq $BIG, 'all of it';
    is trailers($res), 'X-End=yes', 'and the trailer';
    my $k = $s->client(rcvbuf => 65_536, timeout => 20);
    $k->request(GET => '/p/big');
    select undef, undef, undef, 0.7;
    $res = $k->response;
    ok $res->body eq $BIG, 'all of it through a file';
    is trailers($res), 'X-End=yes', 'and the trailer';
};

subtest 'behind a body that a filter changes' => sub {
    my $res = $s->get('/deflate/text', ['Accept-Encoding' => 'gzip']);
    is $res->header('Content-Encoding'), 'gzip', 'compressed';
    is trailers($res), 'X-End=yes', 'the trailer';
};

subtest 'bad ones cut the response' => sub {
    for my $name (sort keys %bad) {
        $s->mark;
        my $res = $s->get("/p/$name");
        ok !$res->complete, "$name: cut";
        is trailers($res), '', 'none of it is passed on';
        like +($s->error_log(qr/UP0426/))[0],
            $name eq 'toobig' ? qr/sent too big trailers/
            : $name eq 'toomany' ? qr/sent too many header fields/
            : qr/sent invalid trailer/, 'the log says why';
        ok $s->get("/off/$name")->complete, 'nobody looks at it when off'
            if $name !~ /^bare/;
    }
    ok !$s->get('/p/early')->complete, 'the end inside: cut';
};

sub upload {
    my ($target, $trailers, $body) = @_;
    $u->clear;
    my $k = $s->client(timeout => 20);
    $k->send("PUT $target HTTP/1.1\r\nHost: x\r\nTrailer: X-Sum\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n"
        . sprintf("%x\r\n%s\r\n", length $body, $body));
    select undef, undef, undef, 0.05;
    $k->send("0\r\n$trailers\r\n");
    my $res = $k->response(method => 'PUT');
    my ($req) = $u->requests;
    return ($res, $req);
}

subtest 'to the backend' => sub {
    for my $target ('/stream/x', '/up/x') {
        my ($res, $req) = upload($target, "X-Sum: 17\r\nX-Other: a b\r\n",
            'body');
        is $res->body, 'taken', $target;
        is $req->{body}, 'body', 'the body';
        is pairs(@{ $req->{trailers} }), 'X-Sum=17 X-Other=a b',
            'and the trailers';
        is join(',', Up::Backend::Conn::values_of($req, 'Trailer')), 'X-Sum',
            'announced';
        is_deeply [$u->problems], [], 'well-formed';
    }
    my ($res, $req) = upload('/up/big', "X-Sum: 1\r\n", $BIG);
    ok $req->{body} eq $BIG, 'behind a body in a file';
    is pairs(@{ $req->{trailers} }), 'X-Sum=1', 'the trailer';
    ($res, $req) = upload('/up/none', '', 'body');
    is join(',', Up::Backend::Conn::values_of($req, 'Content-Length')), 4,
        'without trailers the length is told';
    ($res, $req) = upload('/stream/x', "Content-Length: 1\r\nHost: evil\r\n"
        . "X-Secret: theirs\r\nAuthorization: a\r\nX-Forwarded-For: 1\r\n"
        . "X-Good: 1\r\n", 'body');
    is pairs(@{ $req->{trailers} }), 'X-Good=1',
        'what frames, routes, authenticates, or is set, does not go on';
    ($res, $req) = upload('/updeaf/x', "X-Sum: 17\r\n", 'body');
    is pairs(@{ $req->{trailers} }), '', 'off: dropped';
    is $req->{body}, 'body', 'the body is fine';
    is_deeply [Up::Backend::Conn::values_of($req, 'Trailer')], [],
        'nothing announced';
    ($res, $req) = upload('/old/x', "X-Sum: 17\r\n", 'body');
    is $req->{body}, 'body', 'HTTP/1.0 has no trailers';
    $s->get('/te/x');
    ($req) = reverse $u->requests;
    is_deeply [Up::Backend::Conn::values_of($req, 'TE')], [],
        'UpstreamSetHeader TE "" overrules';
};

# curl shows trailers behind the fields.
subtest 'C35 HTTP/2' => sub {
    Test::More::plan(skip_all => 'needs mod_http2 and a curl that speaks it')
        if !-e "$ENV{UP_LIBEXECDIR}/mod_http2.so" || $ENV{UP_MPM} eq 'prefork'
        || qx{curl -V 2>&1} !~ /HTTP2/;
    my $curl = 'curl -s -m 10 --http2-prior-knowledge -D -';
    my $said = qx{$curl @{[ $s->url('/p/grpc') ]}};
    like $said, qr/^HTTP\/2 200.*^trailer: grpc-status\r$/ms, 'announced';
    like $said, qr/grpc-status: 0\r\n/, 'the trailer';
    like $said, qr/x-second: two words/i, 'the other one';
    $said = qx{$curl @{[ $s->url('/off/grpc') ]}};
    unlike $said, qr/grpc-status/, 'off: none';
    $said = qx{$curl -o /dev/null @{[ $s->url('/p/big') ]}};
    like $said, qr/x-end: yes/i, 'behind a large body';
};

sub slurp {
    my ($file) = @_;
    open my $fh, '<', $file or return '';
    local $/;
    return <$fh> // '';
}

is $s->get('/p/grpc')->body, 'ok', 'and all is well';
ok $s->stop, 'httpd ended well';
done_testing;
