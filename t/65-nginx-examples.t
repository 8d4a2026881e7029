# Licensed under the Apache License, Version 2.0; see LICENSE.

# What nginx users know: the configurations and observations of a well-known
# series of articles on nginx's proxy, in our words and with our directives.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Server ();

my $MB = 1024 * 1024;
my $H = "HTTP/1.1 200 OK\r\n";
my $STEP = 0.3;

# Gives the request line and the fields back as a body.
my $echo = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['Server' => 'BaseHTTP/0.6', 'X-Backend' => 'echo',
        'Date' => 'Sat, 07 Nov 2026 03:05:06 GMT',
        'Content-Type' => 'text/plain'], $req->{raw} =~ s/\r//gr];
});
my $alive = Up::Backend->http(sub { [200, [], 'alive'] });
my $slow = Up::Backend->start(sub {
    my ($c) = @_;
    $c->read_request;
    $c->wait_eof(3);
});
my $down = Up::Backend->closed(sub { });
my $stream = Up::Answers->start({
    stream => ["${H}Content-Type: text/plain\r\nContent-Length: 12\r\n\r\n",
        "one\n", pause($STEP), "two\n", pause($STEP), "end\n"],
    big => [bulk_head(32 * $MB), send_bulk(32 * $MB)],
});

my $s = Up::Server->start(E => $echo->addr, A => $alive->addr,
    S => $slow->addr, D => $down->addr, B => $stream->addr, conf => <<'END');
UseCanonicalName Off
UpstreamTempPath @TMP@

# 1: the URI, the table of fields
<Location /plain/>
    UpstreamPass http://@E@
</Location>
<Location /api/>
    UpstreamPass http://@E@/v1/
</Location>
<Location /hdr/>
    UpstreamPass http://@E@
    UpstreamSetHeader Host %{SERVER_NAME}
    UpstreamSetHeader X-Real-IP %{REMOTE_ADDR}
</Location>

# 3: failures
<Upstream pair>
    UpstreamServer @D@
    UpstreamServer @A@
</Upstream>
<Upstream pair_nonext>
    UpstreamServer @D@
    UpstreamServer @A@
</Upstream>
<Location /down/>
    UpstreamPass http://@D@
</Location>
<Location /slow/>
    UpstreamPass http://@S@
    UpstreamReadTimeout 1s
</Location>
<Location /next/>
    UpstreamPass http://pair
</Location>
<Location /nonext/>
    UpstreamPass http://pair_nonext
    UpstreamNextUpstream off
</Location>

# 4: buffering
<Location /buf/>
    UpstreamPass http://@B@
</Location>
<Location /nobuf/>
    UpstreamPass http://@B@
    UpstreamBuffering off
</Location>
<Location /small/>
    UpstreamPass http://@B@
    UpstreamBufferSize 4k
    UpstreamBuffers 2 4k
    UpstreamBusyBuffersSize 4k
</Location>
END

my @CURL = ('User-Agent' => 'curl/7.88.1', Accept => '*/*');

subtest '1: URI, fields, Host' => sub {
    is $s->get('/plain/a?x=1', [@CURL])->body, "GET /plain/a?x=1 HTTP/1.1\n"
        . 'Host: ' . $echo->addr . "\nUser-Agent: curl/7.88.1\n"
        . "Accept: */*\n\n", 'no URI part: the target as sent';
    is $s->get('/api/users?id=7', [@CURL])->body,
        "GET /v1/users?id=7 HTTP/1.1\nHost: " . $echo->addr
        . "\nUser-Agent: curl/7.88.1\nAccept: */*\n\n",
        'with a URI part: the prefix is replaced';
    my $res = $s->get('/hdr/', [Host => 'shop.example', @CURL,
        Connection => 'keep-alive', 'Keep-Alive' => 'timeout=5']);
    is $res->body, "GET /hdr/ HTTP/1.1\nHost: shop.example\n"
        . "X-Real-IP: 127.0.0.1\nUser-Agent: curl/7.88.1\nAccept: */*\n\n",
        'fields set, hop-by-hop fields removed';
    is $res->line, 'HTTP/1.1 200 Status 200', 'the response';
    like $res->header('Server'), qr/^Apache/, 'Server is our own';
    unlike $res->header('Date'), qr/Nov 2026 03:05:06/, 'Date, too';
    is $res->header('Content-Type'), 'text/plain', 'Content-Type';
    is $res->header('X-Backend'), 'echo', 'X-Backend';
    is $res->header('Content-Length'), length $res->body, 'Content-Length';
};

subtest '2: the order of things' => sub {
    $s->mark;
    $s->get('/plain/one', [@CURL]);
    $s->access_log(1);
    my @steps = map { /(?:\): | )\[client [^]]+\] (\w+ -> \w+) \(/ }
        grep { /trace1/ } $s->error_log;
    is join(', ', @steps), 'receive -> select, select -> connect, '
        . 'connect -> send, send -> head, head -> body, body -> finish, '
        . 'finish -> ended', 'read, choose, connect, send, head, body, end';
};

subtest '3: 502, 504, the next server' => sub {
    my $k = $s->client; # one child, and what it knows of the servers
    $s->mark;
    my @got;
    for my $target (qw(/down/ /slow/ /next/a /next/b /next/c /nonext/a
        /nonext/b /nonext/c)) {
        my $began = time;
        my $res = $k->get($target, [], timeout => 4);
        push @got, $res->status;
        my $took = time - $began;
        ok $target eq '/slow/' ? $took > 0.9 && $took < 2.5 : $took < 0.9,
            "$target takes its time";
    }
    is "@got", '502 504 200 200 200 502 200 200', 'what clients get';
    my ($d, $a, $w) = map { $_->addr } $down, $alive, $slow;
    is_deeply [map { "$_->{UPSTREAM_ADDR} = $_->{UPSTREAM_STATUS}" }
        $s->access_log(8)], ["$d = 502", "$w = 504", "$d, $a = 502, 200",
        "$a = 200", "$a = 200", "$d = 502", "$a = 200", "$a = 200"],
        'addresses and status in the access log';
    my @log = $s->error_log;
    is scalar(grep { /:error\].*connect\(\) failed.*\Q$d\E\/(?:down\/|nonext)/
        } @log), 2, 'refused: an error';
    is scalar(grep { /:warn\].*connect\(\) failed.*\Q$d\E\/next\/a/ } @log),
        1, 'a warning when the next server is tried';
    is scalar(grep { /timed out .*while reading response header.*\Q$w\E/ }
        @log), 1, 'the time-out says while doing what';
    is scalar(grep { /:warn\].*temporarily disabled/ } @log), 2,
        'servers that rest';
};

# Seconds after the request at which each line came, in steps.
sub lines_at {
    my ($res) = @_;
    my @at;
    for (@{ $res->pieces }) {
        my ($at, $text) = @$_;
        my $step = int(($at - $res->started) / $STEP + 0.5);
        push @at, "$step:$_" for split /\n/, $text;
    }
    return "@at";
}

subtest '4: buffering' => sub {
    is lines_at($s->get('/buf/stream')), '2:one 2:two 2:end',
        'on: all at once, at the end';
    is lines_at($s->get('/nobuf/stream')), '0:one 1:two 2:end',
        'off: line by line';
    $s->mark;
    $stream->clear;
    my $k = $s->client(rcvbuf => 65_536, timeout => 20);
    $k->send("GET /small/big HTTP/1.0\r\nHost: x\r\n\r\n");
    sleep 1.5;
    is scalar(my @all = $stream->events('all')), 1,
        '32 MB through 2 x 4k: the backend does not wait';
    like read_head($k), qr{^HTTP/1.1 200 OK\r}, 'a client that slept';
    is read_bulk($k, 32 * $MB), 32 * $MB, 'gets all of it';
    is scalar(my @warned = $s->error_log(qr/:warn\].*buffered to a temporary/)),
        1, 'with a warning';
    is_deeply [files_below($s->tmp)], [], 'and leaves no file';
};

ok $s->stop, 'httpd ended well';
done_testing;
