# Licensed under the Apache License, Version 2.0; see LICENSE.

# Other modules between us and the client: compression, headers.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Compress::Zlib ();
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Bulk;
use Up::Server ();

my $MB = 1024 * 1024;
my $H = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n\r\n";
my $TEXT = join '', map { "line $_ of a text\n" } 1 .. 60_000;
my $EVENT = "data: something\n\n";
my $CHUNK = "11\r\n$EVENT\r\n";

my $b = Up::Answers->start({
    text => ["${H}ETag: \"e\"\r\nContent-Length: " . length($TEXT)
        . "\r\n\r\n", $TEXT],
    chunks => [$CH, (map { sprintf("%x\r\n%s\r\n", length, $_) }
        unpack '(a30000)*', $TEXT), "0\r\n\r\n"],
    short => "${H}Content-Length: 5\r\n\r\nshort",
    events => [$CH, map({ ($CHUNK, sub { $_[0]->note(type => 'sent') },
        pause(0.3)) } 1 .. 3), "0\r\n\r\n"],
    gzipped => "${H}Content-Encoding: gzip\r\nContent-Length: 200\r\n\r\n"
        . filler(200),
    cutlen => ["${H}Content-Length: " . 2 * length($TEXT) . "\r\n\r\n",
        $TEXT, hang_up()],
    cutchunk => [$CH . sprintf("%x\r\n", 2 * length $TEXT) . $TEXT,
        hang_up()],
    n204 => "HTTP/1.1 204 No\r\nETag: \"e\"\r\n\r\n",
    n304 => "HTTP/1.1 304 No\r\nETag: \"e-gzip\"\r\n\r\n",
    e404 => "HTTP/1.1 404 No\r\nContent-Type: text/plain\r\n"
        . "Content-Length: 700\r\n\r\n" . 'nothing' x 100,
    fields => "${H}X-A: 1\r\nX-B: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        . "Content-Length: 2\r\n\r\nok",
    big => [bulk_head(32 * $MB, 'Content-Type: text/plain'),
        send_bulk(32 * $MB)],
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamTempPath @TMP@
SendBufferSize 65536
<Location /gz/>
    UpstreamPass http://@A@
    SetOutputFilter DEFLATE
</Location>
<Location /gzoff/>
    UpstreamPass http://@A@
    UpstreamBuffering off
    SetOutputFilter DEFLATE
</Location>
<Location /plain/>
    UpstreamPass http://@A@
</Location>
<Location /fields/>
    UpstreamPass http://@A@
    Header set X-A set
    Header append X-B more
    Header unset Set-Cookie
    Header always set X-Always 1
    Header set X-Own expr=%{UPSTREAM_ADDR}
    RequestHeader set X-Request told
    RequestHeader unset X-Secret
</Location>
END

my @GZIP = ('Accept-Encoding' => 'gzip');

subtest 'compression' => sub {
    for my $where (qw(gz gzoff)) {
        for my $name (qw(text chunks)) {
            my $k = $s->client;
            my $res = $k->get("/$where/$name", [@GZIP]);
            is $res->header('Content-Encoding'), 'gzip', "$where $name";
            is $res->framing, 'chunked', 'the length is not known any more';
            ok $res->complete, 'complete';
            ok Compress::Zlib::memGunzip($res->body) eq $TEXT, 'the text';
            ok $k->get("/$where/short", [@GZIP])->complete, 'and another';
            $res = $k->get("/$where/$name");
            ok $res->body eq $TEXT, 'not for those who do not ask';
            is $res->framing, $name eq 'text' ? 'length' : 'chunked',
                'then with its framing';
        }
        my $res = $s->get("/$where/text", [@GZIP]);
        is $res->header('ETag'), '"e-gzip"', 'mod_deflate marks the ETag';
        is $s->get("/$where/gzipped", [@GZIP])->body, filler(200),
            'what is compressed stays as it is';
        for my $status (204, 304) {
            my $k = $s->client;
            is $k->get("/$where/n$status", [@GZIP])->status, $status,
                "status $status";
            ok $k->idle, 'without a body';
        }
        $res = $s->get("/$where/e404", [@GZIP]);
        is $res->status, 404, 'status 404';
        is Compress::Zlib::memGunzip($res->body), 'nothing' x 100,
            'with its body';
        for my $name (qw(cutlen cutchunk)) {
            $res = $s->get("/$where/$name", [@GZIP]);
            is $res->status, 200, "$name";
            ok $res->cut, 'a cut is still a cut';
        }
    }
};

# What can be read of a compressed stream so far, and when it came.
sub inflated {
    my ($res) = @_;
    my ($z) = Compress::Zlib::inflateInit(-WindowBits => 31);
    my @out;
    for (@{ $res->pieces }) {
        my $in = $_->[1];
        my ($text) = $z->inflate($in);
        push @out, [$_->[0], $text] if length $text;
    }
    return @out;
}

subtest 'compressed events' => sub {
    $b->clear;
    my $res = $s->get('/gzoff/events', [@GZIP]);
    is $res->header('Content-Encoding'), 'gzip', 'compressed';
    my @got = inflated($res);
    my @sent = $b->events('sent');
    is join('', map { $_->[1] } @got), $EVENT x 3, 'what was sent';
    is scalar @got, 3, 'three pieces';
    is scalar(grep { $got[$_] && $got[$_][0] - $sent[$_]{t} < 0.25 } 0 .. 2),
        3, 'each at once';
};

subtest 'a slow client of a compressed response' => sub {
    $b->clear;
    my $k = $s->client(rcvbuf => 65_536, timeout => 30);
    $k->request(GET => '/gz/big', [@GZIP]);
    sleep 1.2;
    is scalar(my @all = $b->events('all')), 1, 'the backend does not wait';
    my $res = $k->response;
    ok $res->complete, 'the client gets all of it';
    my ($n, $good) = (0, 1);
    my ($z) = Compress::Zlib::inflateInit(-WindowBits => 31);
    for my $part (unpack '(a1000)*', $res->body) {
        my ($text) = $z->inflate($part);
        $good &&= $text eq Up::Bulk::piece($n, length $text);
        $n += length $text;
    }
    is $n, 32 * $MB, 'as much as was sent';
    ok $good, 'and the same';
};

subtest 'headers' => sub {
    $b->clear;
    my $res = $s->get('/fields/fields', ['X-Secret' => 1]);
    is $res->header('X-A'), 'set', 'set';
    is $res->header('X-B'), '2, more', 'appended';
    is $res->header('Set-Cookie'), undef, 'unset';
    is $res->header('X-Always'), 1, 'always';
    is $res->header('X-Own'), $b->addr, 'with a value of ours';
    is $res->body, 'ok', 'body';
    my ($req) = $b->requests;
    is_deeply [map { Up::Backend::Conn::values_of($req, $_) }
        'X-Request', 'X-Secret'], ['told'], 'in the request, too';
    $res = $s->get('/fields/e404');
    is $res->header('X-Always'), 1, 'always is always';
};

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
