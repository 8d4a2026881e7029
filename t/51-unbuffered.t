# Licensed under the Apache License, Version 2.0; see LICENSE.

# Unbuffered responses: everything as it comes, and no faster than the client
# reads.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Socket qw(SOL_SOCKET SO_SNDBUF);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Bulk;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n";
my $MB = 1024 * 1024;
my $STEP = 0.3;

my $EVENT = 'data: ' . 'e' x 239 . "\n\n";
my $CHUNK = "f7\r\n$EVENT\r\n";

sub note_sent { return sub { $_[0]->note(type => 'sent'); 1 } }

# Each part is noted when it is sent.
sub paced {
    my (@parts) = @_;
    return map { ($_, note_sent(), pause($STEP)) } @parts;
}

sub small_sndbuf {
    return sub { setsockopt $_[0]->socket, SOL_SOCKET, SO_SNDBUF, 65_536 };
}

my $b = Up::Answers->start({
    length => [paced("${H}Content-Length: 11\r\n\r\n", qw(one two three))],
    events => [paced("${CH}Content-Type: text/event-stream\r\n\r\n",
        ($CHUNK) x 3), "0\r\n\r\n"],
    close => [paced("HTTP/1.0 200 OK\r\n\r\n", qw(one two)), hang_up()],
    bytes => [paced("$CH\r\n", "1", "\r\n", "x\r", "\n0\r\n"), "\r\n"],
    late => [pause(0.5), paced("${H}Content-Length: 2\r\n\r\n", 'ok')],
    both => [paced("${H}Content-Length: 6\r\n\r\none", 'two')],
    big => [bulk_head(32 * $MB), send_bulk(32 * $MB)],
    less => [bulk_head(2 * $MB), send_bulk(2 * $MB)],
    held => [small_sndbuf(), bulk_head(16 * $MB), send_bulk(16 * $MB)],
    stream => [small_sndbuf(), "HTTP/1.0 200 OK\r\n\r\n", send_bulk(16 * $MB),
        hang_up()],
    drip => sub {
        my ($c) = @_;
        $c->send("$CH\r\n");
        for (1 .. 200) {
            $c->send($CHUNK) or last;
            sleep 0.02;
        }
        $c->note(type => 'stopped');
        return 0;
    },
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
<Upstream fresh>
    UpstreamServer @A@
    UpstreamKeepalive 0
</Upstream>
SendBufferSize 65536
UpstreamBuffering off
UpstreamTempPath @TMP@
UpstreamReadTimeout 1s
UpstreamPass /off/ http://@A@
<Location /slow/>
    UpstreamPass http://fresh
    UpstreamSocketRcvbuf 65536
</Location>
<Location /tiny/>
    UpstreamPass http://@A@
    UpstreamBufferSize 64
</Location>
END

# Do head and pieces arrive as they were noted? The pieces, joined.
sub in_step {
    my ($res, $what) = @_;
    my @sent = map { $_->{t} } $b->events('sent');
    my @came = ($res->t_head, map { $_->[0] } @{ $res->pieces });
    my $late = grep { !defined $came[$_] || $came[$_] - $sent[$_] > 0.25 }
        0 .. $#sent;
    is @came, @sent, "$what: as many pieces";
    is $late, 0, "$what: each within 0.25 s";
    return join '|', map { $_->[1] } @{ $res->pieces };
}

subtest 'as it comes' => sub {
    for (['events', 'BS02 events', join '|', ($EVENT) x 3],
        ['length', 'BS03 a known length', 'one|two|three'],
        ['close', 'until the end', 'one|two']) {
        my ($name, $what, $want) = @$_;
        $b->clear;
        my $res = $s->get("/off/$name", ['Accept-Encoding' => 'gzip']);
        is in_step($res, $what), $want, "$what: in the same pieces";
        ok $res->complete, 'complete';
    }
    $b->clear;
    my $res = $s->get('/off/both');
    is join('|', map { $_->[1] } @{ $res->pieces }), 'one|two',
        'head and a piece in one write';
    ok $res->pieces->[0][0] - ($b->events('sent'))[0]{t} < 0.25,
        'both at once';
    $b->clear;
    $res = $s->get('/off/bytes', [], timeout => 10);
    is $res->body, 'x', 'chunk framing alone is nothing to pass on';
    is scalar @{ $res->pieces }, 1, 'so one piece';
    ok $res->t_head - ($b->events('sent'))[0]{t} < 0.25, 'the head at once';
    $b->clear;
    $res = $s->get('/off/late');
    in_step($res, 'a backend that thinks first');
    my $old = $s->client;
    $b->clear;
    $old->send("GET /off/events HTTP/1.0\r\n\r\n");
    $res = $old->response(version => '1.0');
    is in_step($res, 'HTTP/1.0 client'), join('|', ($EVENT) x 3), 'events';
};

for (['/off/big', 32], ['/tiny/less', 2]) {
    my ($target, $size) = @$_;
    my $k = $s->client(timeout => 20);
    $k->request(GET => $target);
    read_head($k);
    is read_bulk($k, $size * $MB), $size * $MB, "$target as sent";
    ok $k->idle, 'and the client connection is kept';
}

# Bytes of the stream in the chunks of a body, up to the last chunk.
sub read_chunks {
    my ($k) = @_;
    my $got = 0;
    while (1) {
        my $line = '';
        while ($line !~ /\n/) {
            my $byte = $k->read_bytes(1);
            return "ended at $got" if $byte eq '';
            $line .= $byte;
        }
        my $size = hex $line =~ s/\s//gr;
        my $part = $k->read_bytes($size + 2);
        return $got if $size == 0;
        return "wrong at $got"
            if $part ne Up::Bulk::piece($got, $size) . "\r\n";
        $got += $size;
    }
}

# Longer than UpstreamReadTimeout: it must not run while nothing is read.
for my $name (qw(held stream)) {
    subtest "back-pressure: $name" => sub {
        $b->clear;
        my $k = $s->client(rcvbuf => 65_536, timeout => 20);
        $k->request(GET => "/slow/$name");
        my $early = -1;
        for (1 .. 20) { # until the sockets are full
            sleep 0.5;
            my $sent = sent_by($b);
            last if $sent == $early;
            $early = $sent;
        }
        sleep 0.6;
        my $late = sent_by($b);
        ok $late < 2 * $MB, "the backend waits ($late)";
        # a kernel may make room for another piece, not for more
        cmp_ok $late, '<=', $early + $MB / 4, 'all the time';
        is_deeply [deleted_files($s, $s->tmp)], [], 'there is no file';
        my $head = read_head($k);
        if ($name eq 'held') {
            like $head, qr/Content-Length/, 'then the head';
            is read_bulk($k, 16 * $MB), 16 * $MB, 'all of it arrives';
        }
        else {
            like $head, qr/chunked/, 'then the head';
            is read_chunks($k), 16 * $MB, 'all of it arrives';
        }
        ok scalar($b->events('all')) || $b->wait_count(1, 'all'),
            'the backend is done';
    };
}

subtest 'a client that leaves' => sub {
    for my $how (qw(close reset)) {
        $b->clear;
        my $k = $s->client;
        $k->request(GET => '/off/drip');
        $k->read_some(10);
        my $left = time;
        $k->$how;
        is $b->wait_count(1, 'stopped', 3), 1, "$how: the backend is told";
        my ($stopped) = $b->events('stopped');
        ok $stopped && $stopped->{t} - $left < 0.5, 'within 0.5 s';
    }
};

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
