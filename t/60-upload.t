# Licensed under the Apache License, Version 2.0; see LICENSE.

# Request bodies: how they are framed, where they are kept, when they go.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use IO::Select ();
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Server ();

my $MB = 1024 * 1024;
my $OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

# Answers each piece of the body as it comes.
sub echo {
    my ($c, $req) = @_;
    $c->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (1 .. 3) {
        my $line = $c->read_line // return 0;
        my $part = $c->read_bytes(hex($line =~ s/\s//gr) + 2);
        $part =~ s/\r\n\z//;
        $c->send(sprintf "%x\r\n<%s>\r\n", 2 + length $part, $part);
    }
    $c->read_line;
    $c->read_line;
    return $c->send("0\r\n\r\n");
}

my $b = Up::Answers->start({
    take => $OK,
    echo => { head => [\&echo] },
    idle => { head => [pause(0.8), sub {
        my ($c) = @_;
        return length $c->read_bytes(16 * $MB) == 16 * $MB && $c->send($OK);
    }] },
}, rcvbuf => 65_536);
# The kernel's buffers grow as large as they are let: how much they hold must
# not decide what is seen.
my $s = Up::Server->start(A => $b->addr, main => 'ReceiveBufferSize 65536',
    conf => <<'END');
UpstreamTempPath @TMP@
<Location /on/>
    UpstreamPass http://@A@
    UpstreamRequestBufferSize 16k
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
    UpstreamBuffering off
    UpstreamSocketSndbuf 65536
</Location>
<Location /old/>
    UpstreamPass http://@A@
    UpstreamHTTPVersion 1.0
    UpstreamRequestBuffering off
</Location>
<Location /set/>
    UpstreamPass http://@A@
    UpstreamSetBody "%{REQUEST_METHOD} instead"
</Location>
<Location /empty/>
    UpstreamPass http://@A@
    UpstreamSetBody ""
    UpstreamRequestBuffering off
</Location>
<Location /nobody/>
    UpstreamPass http://@A@
    UpstreamPassRequestBody off
    UpstreamRequestBuffering off
</Location>
<Location /nohead/>
    UpstreamPass http://@A@
    UpstreamPassRequestHeaders off
    UpstreamSetHeader X-Set 1
</Location>
<Location /method/>
    UpstreamPass http://@A@
    UpstreamMethod PUT
</Location>
END

sub value {
    my ($req, $name) = @_;
    return join '|', Up::Backend::Conn::values_of($req, $name);
}

# Content-Length / Transfer-Encoding of the only request, `-` for none.
sub framing {
    my ($req) = @_;
    return join '/', map { length ? $_ : '-' } map { value($req, $_) }
        'Content-Length', 'Transfer-Encoding';
}

sub chunked {
    my (@parts) = @_;
    return join '', map({ sprintf "%x\r\n%s\r\n", length $_, $_ } @parts),
        "0\r\n\r\n";
}

# Sends one request and returns the response and what the backend got.
sub ask {
    my (@request) = @_;
    $b->clear;
    my $res = $s->ask(@request);
    $b->wait_count(1);
    my @requests = $b->requests;
    return ($res, $requests[0] // { body => '', headers => [] });
}

my @TE = ('Transfer-Encoding' => 'chunked');

# In one segment with the head: the body is whole when the request is built.
subtest 'framing' => sub {
    for (['on', 'PUT', ['Content-Length' => 0], '', '0/-', 'C22 length 0'],
        ['off', 'PUT', ['Content-Length' => 0], '', '0/-', 'C22 length 0'],
        ['on', 'POST', [], undef, '-/-', 'C22 neither'],
        ['off', 'POST', [], undef, '-/-', 'C22 neither'],
        ['on', 'GET', [], undef, '-/-', 'C22 GET'],
        ['on', 'GET', ['Content-Length' => 2], 'hi', '2/-', 'GET with one'],
        ['on', 'DELETE', [], 'hello', '5/-', 'a length'],
        ['off', 'POST', [], 'hello', '5/-', 'a length'],
        ['on', 'POST', [@TE], chunked(qw(some body)), '8/-', 'chunks'],
        ['off', 'POST', [@TE], chunked(qw(some body)), '8/-',
            'chunks that are all there'],
        ['on', 'POST', [@TE], chunked(), '0/-', 'no chunk but the last'],
        ['old', 'POST', [@TE], chunked(qw(some body)), '8/-', 'HTTP/1.0'],
        ['old', 'POST', [], 'hello', '5/-', 'HTTP/1.0 and a length'],
        ['set', 'POST', [], 'hello', '12/-', 'UpstreamSetBody'],
        ['set', 'GET', [], undef, '11/-', 'UpstreamSetBody for GET'],
        ['empty', 'POST', [], 'hello', '0/-', 'UpstreamSetBody ""'],
        ['nobody', 'POST', [], 'hello', '-/-', 'UpstreamPassRequestBody off'],
        ['nobody', 'POST', [@TE], chunked('hello'), '-/-', 'chunks likewise'],
        ['nohead', 'POST', ['X-A' => 1], 'hello', '5/-',
            'UpstreamPassRequestHeaders off'],
        ['method', 'POST', [], 'hello', '5/-', 'UpstreamMethod']) {
        my ($where, $method, $fields, $body, $want, $what) = @$_;
        my ($res, $req) = ask($method, "/$where/take", $fields, $body);
        is $res->body, 'ok', "$what ($where $method)";
        is framing($req), $want, "$what: framing";
        my $sent = !defined $body || $where =~ /empty|nobody/ ? ''
            : $where eq 'set' ? "$method instead"
            : "@$fields" =~ /chunked/ ? join '', $body =~ /[a-z]{4,}/g : $body;
        $sent = 'GET instead' if $where eq 'set' && $method eq 'GET';
        is $req->{body}, $sent, "$what: body";
        is $req->{method}, $where eq 'method' ? 'PUT' : $method, 'method';
        is value($req, 'X-A') . value($req, 'X-Set'), 1, 'no client fields'
            if $where eq 'nohead';
        is $req->{version}, $where eq 'old' ? '1.0' : '1.1', 'version';
    }
};

# UP04: 60 chunks of up to 9000 bytes, some with extensions, in odd segments.
subtest 'UP04 a body in many chunks' => sub {
    srand 1;
    my ($text, $raw) = ('', '');
    for (1 .. 60) {
        my $n = 1 + int rand 9000;
        my $part = filler($n, length $text);
        $raw .= sprintf "%x%s\r\n%s\r\n", $n, rand() < .3 ? ';a="b"' : '',
            $part;
        $text .= $part;
    }
    $raw .= "0\r\nX-Trailer: 1\r\n\r\n";
    for my $where (qw(on off old)) {
        $b->clear;
        my $k = $s->client;
        $k->send("POST /$where/take HTTP/1.1\r\nHost: x\r\n"
            . "Transfer-Encoding: chunked\r\n\r\n");
        $k->send_slow($raw, 7000, 0.002);
        is $k->response->body, 'ok', "$where: answered";
        my ($req) = $b->requests;
        ok $req->{body} eq $text, "UP04 $where: identical";
        is framing($req), $where eq 'off' ? '-/chunked'
            : length($text) . '/-', 'with one framing';
        is_deeply $req->{trailers}, [], 'trailers are dropped';
        ok $k->idle, 'the client connection is kept';
    }
};

subtest 'where it is kept' => sub {
    for my $size (16_384, 16_385, 5 * $MB) {
        $s->mark;
        my ($res, $req) = ask(PUT => '/on/take', [], filler($size));
        ok $req->{body} eq filler($size), "$size bytes arrive";
        is scalar(grep { /UP0211: .* temporary file/ } $s->error_log),
            $size > 16_384 ? 1 : 0, 'in a file if it is too big';
        is_deeply [files_below($s->tmp)], [], 'which has no name';
    }
    my ($res, $req) = ask(PUT => '/off/take', [], filler(5 * $MB));
    ok $req->{body} eq filler(5 * $MB), 'UP05 5 MB, streamed';
    is framing($req), 5 * $MB . '/-', 'UP05 with the length';
    my $k = $s->client;
    $k->send("PUT /on/take HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n"
        . "\r\n", filler(100_000));
    sleep 0.1;
    is scalar(my @open = deleted_files($s, $s->tmp)), 1, 'an open file';
    ok $open[0] > 80_000, 'holds what has come';
    $k->send(filler(100_000, 100_000));
    is $k->response->body, 'ok', 'and is sent';
    sleep 0.05;
    is scalar(@open = deleted_files($s, $s->tmp)), 0, 'then it is gone';
};

# Two parts with a pause: does the backend hear of the first in between?
sub two_parts {
    my ($where, $fields, @parts) = @_;
    $b->clear;
    my $k = $s->client;
    $k->send("POST /$where/take HTTP/1.1\r\nHost: x\r\n$fields\r\n\r\n");
    $k->send($parts[0]);
    sleep 0.5;
    my $seen = 0;
    $seen += $_->{size} for $b->events('data');
    $k->send($parts[1]);
    my $res = $k->response;
    my ($req) = $b->requests;
    return ($seen, $req, $res);
}

subtest 'when it goes' => sub {
    my ($a, $z) = (filler(30_000), filler(30_000, 30_000));
    for my $where (qw(off on)) {
        my $what = $where eq 'off' ? 'UP06' : 'UP07';
        my ($seen, $req, $res) =
            two_parts($where, 'Content-Length: 60000', $a, $z);
        is $seen > 30_000, $where eq 'off',
            "$what with a length, $where";
        is $seen, 0, "$what not a byte" if $where eq 'on';
        ok $req->{body} eq "$a$z", "$what whole in the end";
        is $res->body, 'ok', 'and answered';
        ($seen, $req) = two_parts($where, 'Transfer-Encoding: chunked',
            sprintf("%x\r\n%s\r\n", length $a, $a),
            sprintf("%x\r\n%s\r\n0\r\n\r\n", length $z, $z));
        is $seen > 30_000, $where eq 'off',
            "$what with chunks, $where";
        ok $req->{body} eq "$a$z", "$what whole in the end";
    }
};

subtest 'both directions at once' => sub {
    $b->clear;
    my $k = $s->client;
    $k->send("POST /off/echo HTTP/1.1\r\nHost: x\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n");
    sleep 0.1;
    my $said = '';
    for my $word (qw(one two three)) {
        $k->send(sprintf "%x\r\n%s\r\n", length $word, $word);
        $said = '';
        $said .= $k->read_some(undef, 2) // last until $said =~ /<\w+>/;
        like $said, qr/<$word>/, "$word comes back before the next is sent";
    }
    $k->send("0\r\n\r\n");
    sleep 0.1;
    $said .= $k->read_some(undef, 2) if $said !~ /\r\n0\r\n/;
    like $said, qr/\r\n0\r\n\r\n\z/, 'and the end';
    ok $k->idle, 'the client connection is kept';
};

# As much as is taken within half a second.
sub push_bytes {
    my ($k, $bytes) = @_;
    my $sent = 0;
    while ($sent < length $bytes
        && IO::Select->new($k->socket)->can_write(0.5)) {
        $sent += syswrite($k->socket, $bytes, 65_536, $sent) // 0;
    }
    return $sent;
}

subtest 'a backend that does not read' => sub {
    my $body = filler(16 * $MB);
    my $k = $s->client(timeout => 20);
    $k->send("PUT /off/idle HTTP/1.1\r\nHost: x\r\nContent-Length: "
        . length($body) . "\r\n\r\n");
    my $sent = push_bytes($k, $body);
    ok $sent < 12 * $MB, "streamed, the client waits, too ($sent)";
    $k->send(substr $body, $sent);
    is $k->response->body, 'ok', 'until the backend takes it all';
    $k->send("PUT /on/take HTTP/1.1\r\nHost: x\r\nContent-Length: "
        . length($body) . "\r\n\r\n");
    is push_bytes($k, $body), length $body, 'buffered, it does not wait';
    is $k->response->body, 'ok', 'and the backend takes it all';
};

subtest 'Expect: 100-continue' => sub {
    for my $where (qw(on off old)) {
        $b->clear;
        my $k = $s->client;
        $k->send("PUT /$where/take HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n");
        is $k->read_bytes(length "HTTP/1.1 100 Continue\r\n\r\n", 2),
            "HTTP/1.1 100 Continue\r\n\r\n", "$where: we say 100 ourselves";
        $k->send(filler(100_000));
        is $k->response->body, 'ok', 'and take the body';
        my ($req) = $b->requests;
        ok $req->{body} eq filler(100_000), 'which arrives';
        is value($req, 'Expect'), '', 'without the expectation';
    }
};

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
