# Licensed under the Apache License, Version 2.0; see LICENSE.

# Where a response body ends, with the backend and with the client, buffered
# (/on/) and unbuffered (/off/).

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n\r\n";

sub cl { return "${H}Content-Length: $_[0]\r\n\r\n" }

# A body in chunks of odd sizes.
sub chunks {
    my ($body) = @_;
    my ($out, $n) = ('', 1);
    for (my $at = 0; $at < length $body; $at += $n, $n = $n * 7 % 40_009) {
        my $part = substr $body, $at, $n;
        $out .= sprintf "%x\r\n%s\r\n", length $part, $part;
    }
    return "${out}0\r\n\r\n";
}

my $BIG = filler(3_000_000);
my $OLD = "HTTP/1.0 200 OK\r\n\r\n";

my %answer = (
    plain => cl(2) . 'ok',
    # whole bodies: what the client must get, and is the connection kept?
    length => cl(5) . 'hello', zero => cl(0),
    chunked => $CH . "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    nochunk => $CH . "0\r\n\r\n",
    leading => $CH . "0000000000000005\r\nhello\r\n00\r\n\r\n",
    hex => $CH . "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
    ext => $CH . "5;a=b\r\nhello\r\n1;q=\"x;y\"\r\n!\r\n0;end\r\n\r\n",
    blanks => $CH . "5 \r\nhello\r\n1\t;x\r\n!\r\n0  \r\n\r\n",
    trailer => $CH . "5\r\nhello\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n",
    close => ["${H}Connection: close\r\n\r\n", 'old', pause(0.05), 'style',
        hang_up()],
    old => [$OLD, 'old', pause(0.05), 'style', hang_up()],
    oldempty => [$OLD, hang_up()],
    oldlength => ["HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"],
    biglength => cl(length $BIG) . $BIG,
    bigchunks => $CH . chunks($BIG),
    bigclose => [$OLD, $BIG, hang_up()],
    # cut ones
    cutlen => [cl(500) . '7 bytes', hang_up()],
    cuthead => ["HTTP/1.1 500 No\r\nContent-Length: 500\r\n\r\n", hang_up()],
    cutnone => [$CH, hang_up()],
    cutchunk => [$CH . "5\r\nhello\r\n", hang_up()],
    cutinside => [$CH . "a\r\nhello", hang_up()],
    cutsize => [$CH . "5\r\nhello\r\n5", hang_up()],
    cutlast => [$CH . "5\r\nhello\r\n0\r\n", hang_up()],
    cuttrailer => [$CH . "5\r\nhello\r\n0\r\nX-T: 1\r\n", hang_up()],
    huge => [cl('9' x 18) . 'hello', hang_up()],
    # more than there should be
    more => cl(5) . 'helloEXTRA', morezero => cl(0) . 'EXTRA',
    morechunks => $CH . "5\r\nhello\r\n0\r\n\r\nJUNK",
    more204 => "HTTP/1.1 204 No\r\n\r\nEXTRA",
    more304 => "HTTP/1.1 304 No\r\n\r\nEXTRA",
    morelate => [cl(5) . 'hello', pause(0.05), 'EXTRA'],
    morenext => [cl(5) . 'hello', cl(6) . 'SECRET'],
    # no bodies
    e304 => "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n"
        . "Cache-Control: max-age=1\r\nContent-Length: 500\r\n\r\n",
    n304 => "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n"
        . "Cache-Control: max-age=1\r\n\r\n",
    c204 => "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
    l204 => "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
    h500 => cl(500), hte => $CH,
    h404 => "HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n",
    hnone => $H . "\r\n",
    # what a gateway does not touch
    lists => "HTTP/1.1 401 No\r\n" . join('', map { "$_\r\n" }
        'WWW-Authenticate: Basic', 'Set-Cookie: a=1; Path=/',
        'Link: </a>; rel=x', 'WWW-Authenticate: Digest realm="r"',
        'Set-Cookie: b=2', 'Link: </b>; rel=y', 'Set-Cookie: c=3, 4')
        . "Content-Length: 4\r\n\r\nnope",
    gzip => "${H}Content-Encoding: gzip\r\nETag: \"strong\"\r\n"
        . "X-Odd: a\tb\xe9\xff\r\nContent-Length: 200\r\n\r\n"
        . filler(200, 77),
);
$answer{"app$_"} = "HTTP/1.1 $_ App\r\nX-App: 1\r\nContent-Length: 12\r\n\r\n"
    . "app says $_" for 403, 404, 500, 503;

# RF16 what must not be taken for the next chunk behind "hello".
my @BAD = ("zz\r\n", "-5\r\n", "0x5\r\n", "\r\n5\r\n", " 5\r\n", "5\n", "5\r",
    "5;a\n", "fffffffffffffffff\r\n", "8000000000000000\r\n", "G\r\n",
    "5\r\nhell\r\n", "5\r\nhelloo\r\n", "5\r\nhello\n", "5\r\nhello0",
    "0\r\n\n", "0\n\r\n", "0\r\nX-T: 1\n", "0\r\n" . 'X-T: ' . 'a' x 70_000,
    '5;' . 'a' x 5000);
$answer{"bad$_"} = [$CH . "5\r\nhello\r\n$BAD[$_]" . "world\r\n0\r\n\r\n",
    hang_up()] for 0 .. $#BAD;

my $b = Up::Answers->start(\%answer);
my $other = Up::Backend->http(sub { [200, [], 'other'] });
my $s = Up::Server->start(A => $b->addr, B => $other->addr, conf => <<'END');
<Upstream two>
    UpstreamServer @A@ weight=100
    UpstreamServer @B@
</Upstream>
UpstreamPass /on/ http://@A@
UpstreamPass /two/ http://two
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
END

# [name, what, framing where it is sure, body, connection kept]. httpd gives a
# length to what it has whole in one piece.
my @WHOLE = (
    ['length', 'a length', 'length', 'hello', 1],
    ['zero', 'length 0', 'length', '', 1],
    ['chunked', 'chunks', undef, 'hello world', 1],
    ['nochunk', 'no chunk but the last', undef, '', 1],
    ['leading', 'leading zeroes', undef, 'hello', 1],
    ['hex', 'hexadecimal in any case', undef, '0123456789' x 2, 1],
    ['ext', 'RF17 extensions', undef, 'hello!', 1],
    ['blanks', 'blanks behind the size', undef, 'hello!', 1],
    ['trailer', 'trailers, which are dropped', undef, 'hello', 1],
    ['close', 'until the end, HTTP/1.1', undef, 'oldstyle', ''],
    ['old', 'RF08 C11 until the end, HTTP/1.0', undef, 'oldstyle', ''],
    ['oldempty', 'RF08 nothing until the end', undef, '', ''],
    ['oldlength', 'RF28 HTTP/1.0 with a length', 'length', 'ok', ''],
    ['biglength', 'RF24 3 MB', 'length', $BIG, 1],
    ['bigchunks', 'RF24 3 MB in chunks of odd sizes', undef, $BIG, 1],
    ['bigclose', '3 MB until the end', undef, $BIG, ''],
);

my @CUT = (
    ['cutlen', 'RF07 C09 short of its length', 200, '7 bytes'],
    ['cuthead', 'RF07 C09 no body at all', 500, ''],
    ['cutnone', 'no chunk at all', 200, ''],
    ['cutchunk', 'RF06 C09 no last chunk', 200, 'hello'],
    ['cutinside', 'inside a chunk', 200, 'hello'],
    ['cutsize', 'inside a chunk size', 200, 'hello'],
    ['cutlast', 'behind the last chunk size', 200, 'hello'],
    ['cuttrailer', 'inside the trailers', 200, 'hello'],
    ['huge', 'far short of its length', 200, 'hello'],
);

my @MORE = (
    ['more', 'RF05 C07 behind a length', 'GET', 'hello'],
    ['morezero', 'RF05 C07 behind length 0', 'GET', ''],
    ['morechunks', 'RF19 behind the last chunk', 'GET', 'hello'],
    ['more204', 'behind a 204', 'GET', ''],
    ['more304', 'behind a 304', 'GET', ''],
    ['more', 'behind the head for HEAD', 'HEAD', ''],
    ['morelate', 'C07 a moment later', 'GET', 'hello'],
    ['morenext', 'C07 that look like a response', 'GET', 'hello'],
);

for my $mode (qw(on off)) {
    subtest "buffering $mode" => sub {
        whole($mode, @$_) for @WHOLE;
        cut($mode, @$_) for @CUT;
        cut($mode, "bad$_", 'RF16 bad chunk ' . substr($BAD[$_], 0, 20)
            =~ s/([^!-~])/sprintf '\\x%02x', ord $1/ger, 200, 'hello', 1)
            for 0 .. $#BAD;
        more($mode, @$_) for @MORE;
        bodiless($mode);
    };
}

sub whole {
    my ($mode, $name, $what, $framing, $body, $kept) = @_;
    my $k = $s->client;
    $b->clear;
    my $res = $k->get("/$mode/$name");
    ok $res->complete, "$what: complete";
    is $res->framing, $framing, 'framing' if $framing;
    ok $res->body eq $body, 'body';
    is_deeply $res->trailers, [], 'no trailers';
    is $k->get("/$mode/plain")->body, 'ok', 'the client connection is kept';
    is same_connection($b), $kept, 'the backend connection, too, if it can';
    my $old = $s->client;
    $old->send("GET /$mode/$name HTTP/1.0\r\n\r\n");
    $res = $old->response(version => '1.0');
    ok $res->body eq $body, 'RF23 body for an HTTP/1.0 client';
    ok !$res->field('Transfer-Encoding'), 'without chunks';
    is $old->wait_close(2), 'eof', 'and the end';
    return;
}

sub cut {
    my ($mode, $name, $what, $status, $body, $prefix) = @_;
    my $k = $s->client;
    $b->clear;
    $s->mark;
    my $res = $k->get("/$mode/$name");
    is $res->status, $status, "$what: the status arrives";
    if ($prefix) {
        like $res->body, qr/^hello/, 'what came before';
    }
    else {
        is $res->body, $body, 'and what came';
    }
    ok $res->cut, 'and a cut, not an end';
    is $res->end, 'eof', 'the connection ends orderly';
    like +($s->error_log(qr/UP0426/))[0] // '', qr/:error\].*upstream\ (?:sent
        |prematurely).*\Q@{[ $b->addr ]}\E.*\d+\ body\ bytes/x, 'logged';
    is $s->logged("/$mode/$name")->{UPSTREAM_STATUS}, $status, 'status kept';
    $s->get("/$mode/plain");
    is scalar(my @r = $b->requests), 2, 'not tried again';
    ok !same_connection($b), 'the backend connection is not used again';
    ok $s->get("/$mode/$name", [Connection => 'close'])->cut,
        'a client that wants to close sees the cut, too';
    return;
}

sub more {
    my ($mode, $name, $what, $method, $body) = @_;
    my $k = $s->client;
    $b->clear;
    $s->mark;
    my $res = $k->ask($method, "/$mode/$name");
    ok $res->complete, "surplus $what: complete";
    is $res->body, $body, 'exactly the body';
    sleep 0.1 if $name =~ /late|next/; # two writes of the backend
    $res = $k->get("/$mode/plain");
    is $res->body, 'ok', 'the next one is clean, on the same connection';
    ok !same_connection($b), 'over another backend connection';
    ok scalar($s->error_log(qr/:warn\].*UP0425: .* more data than/)), 'logged'
        if $name !~ /late|next/;
    return;
}

# BL01, BL05, BL07, C05: one client connection, one to the backend.
sub bodiless {
    my ($mode) = @_;
    my $k = $s->client;
    $s->get("/$mode/plain");
    $b->clear;
    my $began = time;
    my $res = $k->get("/$mode/e304");
    is $res->status, 304, 'BL01 C05 304 with a length';
    $res = $k->get("/$mode/c204");
    is $res->status, 204, 'BL01 C05 204 with chunked';
    ok !$res->field('Transfer-Encoding'), 'which it cannot be';
    is $k->get("/$mode/l204")->status, 204, '204 with a length';
    $res = $k->ask('HEAD', "/$mode/h500");
    is $res->header('Content-Length'), 500, 'BL01 C05 HEAD with a length';
    $res = $k->ask('HEAD', "/$mode/hte");
    ok $res->complete && $res->status == 200, 'BL05 HEAD with chunked';
    ok $k->ask('HEAD', "/$mode/hnone")->complete, 'HEAD with nothing';
    $res = $k->get("/$mode/n304", ['If-None-Match' => '"e"']);
    is $res->header('ETag'), '"e"', 'BL07 304 with ETag';
    is $res->header('Cache-Control'), 'max-age=1', 'BL07 Cache-Control';
    $res = $k->ask('HEAD', "/$mode/h404");
    is $res->status, 404, 'BL07 HEAD 404';
    is $res->header('Content-Length'), 9, 'BL07 its length';
    is $k->get("/$mode/plain")->body, 'ok', 'BL01 BL05 then a body';
    ok time - $began < 1, 'none of them waits';
    ok same_connection($b), 'BL01 C05 one backend connection';
    return;
}

subtest 'a gateway does not transform' => sub {
    my $res = $s->get('/on/lists');
    is $res->status, 401, 'RF20 status';
    is $res->body, 'nope', 'body';
    is join('|', $res->field('WWW-Authenticate')),
        'Basic|Digest realm="r"', 'every WWW-Authenticate';
    is join('|', $res->field('Set-Cookie')), 'a=1; Path=/|b=2|c=3, 4',
        'every Set-Cookie';
    is join('|', $res->field('Link')), '</a>; rel=x|</b>; rel=y', 'Link';
    $res = $s->get('/on/gzip', ['Accept-Encoding' => 'gzip']);
    is $res->header('Content-Encoding'), 'gzip', 'RF29 Content-Encoding';
    is $res->header('ETag'), '"strong"', 'ETag';
    is $res->header('Content-Type'), undef, 'no Content-Type invented';
    is $res->header('X-Odd'), "a\tb\xe9\xff", 'TAB and 8-bit bytes';
    ok $res->body eq filler(200, 77), 'body';
    for my $status (403, 404, 500, 503) {
        $res = $s->get("/on/app$status");
        is_deeply [$res->status, $res->header('X-App'), $res->body],
            [$status, 1, "app says $status"], "RF25 $status";
    }
};

$s->mark;
$s->get('/two/cutlen') for 1 .. 2;
is join(' ', map { "$_->{UPSTREAM_ADDR}=$_->{UPSTREAM_STATUS}" }
    $s->access_log(2)), join(' ', ($b->addr . '=200') x 2),
    'a cut response is neither retried nor held against its server';

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
