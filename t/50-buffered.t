# Licensed under the Apache License, Version 2.0; see LICENSE.

# Buffered responses: what is passed on when, how much is kept where, and
# that the backend does not wait for the client.

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

sub small_sndbuf {
    return sub { setsockopt $_[0]->socket, SOL_SOCKET, SO_SNDBUF, 65_536 };
}

sub random_pieces {
    my ($n) = @_;
    return sub {
        my ($c) = @_;
        srand 4711;
        for (my $at = 0; $at < $n;) {
            my $size = 1 + int rand 20_000;
            $size = $n - $at if $size > $n - $at;
            $c->send(filler($size, $at)) or return 0;
            sleep 0.01 if rand() < 0.1;
            $at += $size;
        }
        return 1;
    };
}

my $EVENT = 'data: ' . 'e' x 239 . "\n\n";
my $CHUNK = "f7\r\n$EVENT\r\n";

my $b = Up::Answers->start({
    lines => ["${H}Content-Length: 12\r\n\r\n", pause(0.3), "one\n",
        pause(0.3), "two\n", pause(0.3), "end\n"],
    tail => ["${H}Connection: close\r\nContent-Length: 12\r\n\r\n", pause(0.3),
        "one\ntwo\nend\n", pause(0.3), hang_up()],
    untilclose => ["HTTP/1.0 200 OK\r\n\r\n", "one\n", pause(0.3), "two\n",
        pause(0.3), hang_up()],
    nobody => ["${H}Connection: close\r\nContent-Length: 0\r\n\r\n",
        pause(0.5), hang_up()],
    chunks => ["$CH\r\n", pause(0.3), "4\r\none\n\r\n", pause(0.3),
        "4\r\ntwo\n\r\n", pause(0.3), "0\r\n\r\n"],
    halves => ["$CH\r\na\r\n01234", pause(0.3), '567', pause(0.3),
        "89\r\n0\r\n\r\n"],
    full => ["${H}Content-Length: 30000\r\n\r\n", filler(18_000), pause(0.4),
        filler(12_000, 18_000)],
    yes => ["${H}X-Accel-Buffering: yes\r\nContent-Length: 6\r\n\r\none",
        pause(0.3), 'two'],
    no => ["${H}X-Accel-Buffering: NO\r\nContent-Length: 6\r\n\r\none",
        pause(0.3), 'two'],
    odd => ["${H}X-Accel-Buffering: maybe\r\nContent-Length: 6\r\n\r\none",
        pause(0.3), 'two'],
    events => ["${CH}Content-Type: text/event-stream\r\n"
        . "X-Accel-Buffering: no\r\n\r\n", map { (pause(0.3), $CHUNK) }
        1 .. 3],
    random => ["HTTP/1.0 200 OK\r\n\r\n", random_pieces($MB), hang_up()],
    fits => [bulk_head(100_000), send_bulk(100_000)],
    big => [bulk_head(32 * $MB), send_bulk(32 * $MB)],
    cut => [bulk_head(9 * $MB), send_bulk(8 * $MB), hang_up()],
    held => [small_sndbuf(), bulk_head(32 * $MB), send_bulk(32 * $MB)],
});

my $gone = "$ENV{UP_RUN}/gone-$$";
mkdir $gone;
chmod 01777, $gone;
my $s = Up::Server->start(A => $b->addr, GONE => $gone, conf => <<'END');
<Upstream fresh>
    UpstreamServer @A@
    UpstreamKeepalive 0
</Upstream>
SendBufferSize 65536
UpstreamTempPath @TMP@ 1 2
UpstreamPass /on/ http://@A@
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBuffers 4 4k
    UpstreamBufferSize 4k
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
<Location /nofile/>
    UpstreamPass http://fresh
    UpstreamMaxTempFileSize 0
    UpstreamReadTimeout 500ms
    UpstreamSocketRcvbuf 65536
</Location>
<Location /limit/>
    UpstreamPass http://fresh
    UpstreamMaxTempFileSize 2m
    UpstreamReadTimeout 500ms
    UpstreamSocketRcvbuf 65536
</Location>
<Location /badpath/>
    UpstreamPass http://@A@
    UpstreamTempPath @GONE@
</Location>
END

rmdir $gone;

# When head and body came, in units of 0.1 s since the request.
sub rhythm {
    my ($res) = @_;
    my $from = $res->started;
    return map { [int(($_->[0] - $from) * 10 + 0.4), $_->[1]] }
        [$res->t_head, 'head'], @{ $res->pieces };
}

# As text, what came together joined.
sub shape {
    my ($res) = @_;
    my @shape;
    for (rhythm($res)) {
        my ($at, $what) = @$_;
        $what =~ s/\n//g;
        if (@shape && $shape[-1][0] >= $at - 1) {
            $shape[-1][1] .= "+$what";
        }
        else {
            push @shape, [$at, $what];
        }
    }
    return join ' ', map { $_->[1] } @shape;
}

subtest 'when it is passed on' => sub {
    for (['lines', 'head+onetwoend', 'a length: all at the end'],
        ['untilclose', 'head+onetwo', 'until the end: all at the end'],
        ['chunks', 'head+one two', 'a whole chunk at once'],
        ['halves', 'head+01234 56789', 'half a chunk once'],
        ['yes', 'head+onetwo', 'X-Accel-Buffering: yes'],
        ['no', 'head+one two', 'X-Accel-Buffering: no'],
        ['odd', 'head+onetwo', 'X-Accel-Buffering that says nothing']) {
        my ($name, $want, $what) = @$_;
        my $res = $s->get("/on/$name");
        is shape($res), $want, $what;
        ok $res->complete, 'complete';
        ok $res->t_head - $res->started > 0.7, 'the head waits for the body'
            if $name eq 'lines';
    }
    is shape($s->get('/off/yes')), 'head+onetwo',
        'X-Accel-Buffering: yes where buffering is off';
    my $res = $s->get('/on/tail');
    ok $res->finished - $res->started < 0.55,
        'the end is passed on when the length says so';
    $res = $s->get('/on/nobody');
    ok $res->finished - $res->started < 0.3, 'an empty body does not wait';
    $res = $s->get('/small/full');
    my ($first, $rest) = (0, 0);
    for (@{ $res->pieces }) {
        ($_->[0] - $res->started < 0.3 ? $first : $rest) += length $_->[1];
    }
    ok $first >= 4 * 4096 && $first < 18_000,
        "full buffers are passed on, the rest waits ($first)";
    ok $res->body eq filler(30_000), 'and then comes';
};

subtest 'BS01 event stream' => sub {
    my $res = $s->get('/on/events', ['Accept-Encoding' => 'gzip'],
        timeout => 1.5);
    ok $res->t_head - $res->started < 0.25, 'BS01 the head at once';
    is scalar @{ $res->pieces }, 3, 'three events';
    my $late = grep {
        $res->pieces->[$_ - 1][0] - $res->started > 0.3 * $_ + 0.25 } 1 .. 3;
    is $late, 0, 'BS01 each as it was sent';
    ok !$res->field('X-Accel-Buffering'), 'BS01 the hint is not passed on';
};

ok $s->get('/on/random')->body eq filler($MB), 'BS04 pieces of any size';
ok $s->get('/small/random')->body eq filler($MB), 'BS04 and small buffers';

# A client that asks and then reads nothing for a while.
sub sleeper {
    my ($target, $seconds) = @_;
    $b->clear;
    $s->mark;
    my $k = $s->client(rcvbuf => 65_536, timeout => 20);
    $k->request(GET => $target);
    sleep $seconds;
    return $k;
}

subtest 'a client that reads nothing for a while' => sub {
    my $began = time;
    my $k = sleeper('/on/big', 1.8);
    my ($all) = $b->events('all');
    ok $all && $all->{t} - $began < 1.7, 'BS05 the backend is done meanwhile';
    is_deeply [files_below($s->tmp)], [], 'the temporary file has no name';
    my @sizes = deleted_files($s, $s->tmp);
    is scalar @sizes, 1, 'but it is open';
    ok $sizes[0] > 30 * $MB && $sizes[0] <= 32 * $MB, 'most is in it';
    ok scalar($s->error_log(qr/:warn\].*UP0211: .* temporary file/)),
        'as the log says';
    like read_head($k), qr/\AHTTP\/1.1 200 OK\r\n/, 'then the head';
    is read_bulk($k, 32 * $MB), 32 * $MB, 'BS05 and the body, as sent';
    ok $k->idle, 'and the client connection is kept';
    sleep 0.1;
    is_deeply [deleted_files($s, $s->tmp)], [], 'the file is gone';
};

subtest 'what fits into the buffers' => sub {
    my $k = sleeper('/on/fits', 0.3);
    is scalar(my @all = $b->events('all')), 1, 'the backend is done';
    is scalar(grep { /UP0411/ } $s->error_log), 0, 'without a file';
    read_head($k);
    is read_bulk($k, 100_000), 100_000, 'and the body, as sent';
};

subtest 'a cut one' => sub {
    my $k = sleeper('/on/cut', 0.6);
    read_head($k);
    is read_bulk($k, 9 * $MB), 8 * $MB, 'all that came is passed on';
    is $k->wait_close(2), 'eof', 'then the cut';
};

subtest 'a client that leaves' => sub {
    my $k = sleeper('/on/big', 0.6);
    $k->reset;
    my $until = time + 3;
    sleep 0.02 while time < $until && deleted_files($s, $s->tmp);
    is_deeply [deleted_files($s, $s->tmp)], [], 'no file is kept';
};

# Kernel buffers hold some, too, all of them small here. A backend that waits
# for us is not one that is silent: the sleep is longer than its time.
subtest 'limits of the file' => sub {
    my $k = sleeper('/nofile/held', 0.7);
    my $none = sent_by($b);
    ok $none < 2 * $MB, "UpstreamMaxTempFileSize 0: the backend waits ($none)";
    is_deeply [deleted_files($s, $s->tmp)], [], 'there is no file';
    read_head($k);
    is read_bulk($k, 32 * $MB), 32 * $MB, 'all of it arrives';
    $k = sleeper('/limit/held', 0.7);
    my $some = sent_by($b);
    ok $some - $none > 1.5 * $MB && $some - $none < 2.5 * $MB,
        "2m: it waits later ($none, $some)";
    is join(' ', deleted_files($s, $s->tmp)), 2 * $MB, 'full file';
    read_head($k);
    is read_bulk($k, 32 * $MB), 32 * $MB, 'all of it arrives';
};

subtest 'no place for the file' => sub {
    my $k = sleeper('/badpath/big', 0.4);
    my $got = 0;
    read_head($k);
    $got = read_bulk($k, 32 * $MB);
    ok $got < 32 * $MB, 'the response is cut';
    ok defined $k->wait_close(2), 'and the connection ends';
    ok scalar($s->error_log(qr/:error\].*UpstreamTempPath/)), 'the log says';
};

is $s->get('/on/yes')->body, 'onetwo', 'and all is well';
ok $s->stop, 'httpd ended well';
done_testing;
