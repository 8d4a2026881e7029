# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamForceRanges: a range out of a whole response.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $MB = 1024 * 1024;
my $BODY = filler(100_000);

my $b = Up::Answers->start({
    plain => ["${H}Accept-Ranges: none\r\nETag: \"e\"\r\nLast-Modified: "
        . "Tue, 01 Sep 2026 10:00:00 GMT\r\nDate: Tue, 01 Dec 2026 10:00:00 "
        . "GMT\r\nContent-Type: text/x\r\nContent-Length: 100000\r\n\r\n",
        $BODY],
    chunked => "${H}Accept-Ranges: none\r\nTransfer-Encoding: chunked\r\n\r\n"
        . "5\r\nhello\r\n0\r\n\r\n",
    partial => "HTTP/1.1 206 Some\r\nAccept-Ranges: bytes\r\n"
        . "Content-Range: bytes 1-2/5\r\nContent-Length: 2\r\n\r\nel",
    error => "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nhello",
    empty => "${H}Content-Length: 0\r\n\r\n",
    big => [bulk_head(64 * $MB), send_bulk(64 * $MB)],
    cut => ["${H}Content-Length: 100000\r\n\r\n", filler(50_000), hang_up()],
    waits => ["${H}Content-Length: 100000\r\n\r\n", filler(50_000), pause(3),
        filler(50_000, 50_000)],
    head => "${H}Content-Length: 100000\r\n\r\n",
});
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamTempPath @TMP@
UpstreamForceRanges on
UpstreamPassHeader Date
UpstreamPass /p/ http://@A@
<Location /unbuffered/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBuffers 2 1k
    UpstreamBufferSize 1k
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamForceRanges off
</Location>
END

sub part {
    my ($target, $range, @fields) = @_;
    return $s->get($target, [Range => $range, @fields]);
}

sub is_part {
    my ($res, $first, $last, $name, $size) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    $size //= 100_000;
    return is_deeply([$res->status, $res->header('Content-Range'),
        $res->header('Content-Length'), $res->complete,
        $res->body eq filler($last - $first + 1, $first)],
        [206, "bytes $first-$last/$size", $last - $first + 1, 1, 1], $name);
}

subtest 'one range' => sub {
    for my $where (qw(p unbuffered small)) {
        is_part(part("/$where/plain", 'bytes=0-0'), 0, 0, "$where: a byte");
        is_part(part("/$where/plain", 'bytes=5000-69999'), 5000, 69_999,
            'the middle');
        is_part(part("/$where/plain", 'bytes=99999-'), 99_999, 99_999,
            'the last byte');
        is_part(part("/$where/plain", 'bytes=-70000'), 30_000, 99_999,
            'the end');
        is_part(part("/$where/plain", 'bytes=0-'), 0, 99_999, 'all');
    }
    my $res = part('/p/plain', 'bytes=1-2');
    is join(',', $res->field('Accept-Ranges')), 'bytes',
        'our Accept-Ranges, not the one of the backend';
    is $res->header('Content-Type'), 'text/x', 'the other fields are there';
    is $res->reason, 'Partial Content', 'and the reason';
    my ($entry) = $s->logged('/p/plain');
    is $entry->{UPSTREAM_STATUS}, 200, 'the backend has said 200';
    my ($req) = $b->requests;
    is join(',', Up::Backend::Conn::values_of($req, 'Range')), 'bytes=0-0',
        'the backend sees the range';
};

subtest 'If-Range' => sub {
    is_part(part('/p/plain', 'bytes=1-2', 'If-Range' => '"e"'), 1, 2, 'met');
    is_part(part('/p/plain', 'bytes=1-2',
        'If-Range' => 'Tue, 01 Sep 2026 10:00:00 GMT'), 1, 2, 'as a date');
    for ('"f"', 'W/"e"', 'Tue, 01 Sep 2026 10:00:01 GMT') {
        my $res = part('/p/plain', 'bytes=1-2', 'If-Range' => $_);
        is $res->status, 200, "$_: all of it";
        is length $res->body, 100_000, 'indeed';
    }
};

subtest 'what is served whole' => sub {
    for ('bytes=0-1,5-6', 'bytes=2-1', 'lines=1-2', 'bytes=x') {
        my $res = part('/p/plain', $_);
        is $res->status, 200, $_;
        ok $res->body eq $BODY, 'all of it';
    }
    my $res = $s->get('/p/plain');
    is $res->status, 200, 'no Range';
    is $res->header('Accept-Ranges'), 'bytes', 'but it could be asked';
    $res = part('/p/chunked', 'bytes=1-2');
    is $res->status . $res->body, '200hello', 'an unknown length';
    is $res->header('Accept-Ranges'), 'none', 'is left alone';
    $res = part('/p/partial', 'bytes=1-2');
    is $res->status . $res->body, '206el', 'a 206 passes';
    is $res->header('Content-Range'), 'bytes 1-2/5', 'as it is';
    is part('/p/error', 'bytes=1-2')->body, 'hello', 'an error, too';
    is part('/p/empty', 'bytes=0-')->status, 200, 'of nothing: nothing';
    $res = $s->ask(HEAD => '/p/head', [Range => 'bytes=1-2']);
    is $res->status . $res->header('Content-Length'), '200100000', 'HEAD';
    $res = $s->ask(POST => '/p/plain', [Range => 'bytes=1-2'], 'x');
    is $res->status, 200, 'POST';
};

subtest 'no such range' => sub {
    my $k = $s->client;
    for my $range ('bytes=100000-', 'bytes=-0') {
        my $res = $k->get('/p/plain', [Range => $range]);
        is $res->status, 416, $range;
        is $res->header('Content-Range'), 'bytes */100000', 'the size';
        ok $res->complete && $res->body !~ /\Q@{[ filler(20) ]}/, 'no body';
    }
    is $k->get('/p/empty')->status, 200, 'the client connection is kept';
};

subtest 'off' => sub {
    for my $target ('/off/plain', '/off/empty') {
        my $res = part($target, 'bytes=1-2');
        is $res->status, 200, "$target: the backend's 200 stays one";
    }
    is $s->get('/off/plain')->header('Accept-Ranges'), 'none',
        'and its field is passed';
};

subtest 'what a part costs' => sub {
    $b->clear;
    part('/p/plain', 'bytes=-10');
    part('/p/plain', 'bytes=0-9') for 1 .. 2;
    ok conns_of($b) >= 3, 'asked';
    my $before = anonymous_memory(child_of($s));
    $b->clear;
    is_part(part('/p/big', 'bytes=1000-1999'), 1000, 1999,
        'of a large response', 64 * $MB);
    ok $b->wait_count(1, 'close', 4), 'the rest is not waited for';
    ok sent_by($b) < 32 * $MB, 'nor read: ' . sent_by($b);
    my $res = part('/p/big', 'bytes=' . 60 * $MB . '-');
    is length $res->body, 4 * $MB, 'the end of it';
    ok $ENV{UP_PRELOAD}
        || anonymous_memory(child_of($s)) - $before < 4 * $MB,
        'in little memory';
    $res = part('/unbuffered/waits', 'bytes=0-49999');
    ok $res->complete && $res->finished - $res->started < 2,
        'does not wait for what nobody wants';
};

subtest 'a response that breaks off' => sub {
    is_part(part('/p/cut', 'bytes=0-49999'), 0, 49_999, 'behind the part');
    my $res = part('/p/cut', 'bytes=40000-59999');
    ok !$res->complete, 'inside of it: cut';
    is length $res->body, 10_000, 'after what there is';
    ok !part('/p/cut', 'bytes=60000-')->complete, 'before it: cut';
};

ok $s->stop, 'httpd ended well';
done_testing;
