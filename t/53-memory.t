# Licensed under the Apache License, Version 2.0; see LICENSE.

# A transfer of any size takes as much memory as a small one. UP_BIG is the
# size in MB (256).

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Bulk;
use Up::Server ();

plan skip_all => 'a sanitizer keeps memory that was freed'
    if $ENV{UP_PRELOAD};

my $MB = 1024 * 1024;
my $BIG = ($ENV{UP_BIG} // 256) * $MB;
my $SMALL = 24 * $MB;
my $OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

# Takes a body and tells how long it was.
sub take {
    my ($c, $req) = @_;
    my $left = (Up::Backend::Conn::values_of($req, 'Content-Length'))[0];
    while ($left > 0) {
        my $size = $left < 4 * $MB ? $left : 4 * $MB;
        my $part = $c->read_bytes($size);
        last if length $part < $size;
        $left -= $size;
    }
    return $c->send($left == 0 ? $OK : "HTTP/1.1 500 No\r\n\r\n");
}

my $b = Up::Answers->start({
    big => [bulk_head($BIG), send_bulk($BIG)],
    small => [bulk_head($SMALL), send_bulk($SMALL)],
    take => { head => [\&take] },
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamTempPath @TMP@
UpstreamPass /on/ http://@A@
<Location /bits/>
    UpstreamPass http://@A@
    UpstreamBufferSize 4k
    UpstreamBuffers 2 4k
    SetOutputFilter INFLATE
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
    UpstreamRequestBuffering off
</Location>
END

sub download {
    my ($target, $size, $watch) = @_;
    my $k = $s->client(timeout => 30);
    $k->request(GET => $target);
    sleep 0.5 if $target =~ /bits/; # so that most is in the file
    read_head($k);
    my $got = read_bulk($k, $size, $watch);
    return $got == $size ? "$size" : "$got of $size";
}

sub upload {
    my ($target, $size, $watch) = @_;
    my $k = $s->client(timeout => 30);
    $k->send("PUT $target HTTP/1.1\r\nHost: x\r\nContent-Length: $size\r\n"
        . "\r\n");
    put_bulk($k, $size, $watch);
    $watch->() if $watch;
    my $res = $k->response(timeout => 60);
    return ($res->body // '') eq 'ok' ? "$size" : 'refused';
}

# Growth during the big transfer against what the small one has left.
sub growth {
    my ($how, $small, $big) = @_;
    $how->(@$small) for 1 .. 2;
    my $child = child_of($s);
    my $before = anonymous_memory($child);
    my $most = 0;
    my $watch = sub {
        my $now = anonymous_memory($child);
        $most = $now if $now > $most;
    };
    my $done = $how->(@$big, $watch);
    $watch->();
    return ($done, $most - $before);
}

for (['buffered download', \&download, '/on/small', '/on/big'],
    ['from the file in small parts through a filter', \&download,
        '/bits/small', '/bits/big'],
    ['unbuffered download', \&download, '/off/small', '/off/big'],
    ['buffered upload', \&upload, '/on/take', '/on/take'],
    ['streamed upload', \&upload, '/off/take', '/off/take']) {
    my ($what, $how, $small, $big) = @$_;
    my $began = time;
    my ($done, $grown) = growth($how, [$small, $SMALL], [$big, $BIG]);
    my $took = time - $began;
    is $done, $BIG, "$what: all of it, as sent";
    ok $grown < 2 * $MB, "$what: memory is that of a small one"
        or diag "$grown bytes more";
    note sprintf '%s: %d MB/s, %d bytes more', $what, $BIG / $MB / $took,
        $grown;
}

# Two slow clients of big responses keep files, not memory.
subtest 'slow clients' => sub {
    my $child = child_of($s);
    my $before = anonymous_memory($child);
    my @k = map { $s->client(rcvbuf => 65_536, timeout => 30) } 1 .. 4;
    $b->clear;
    $_->request(GET => '/on/big') for @k;
    $b->wait_count(4, 'all', 20);
    is scalar(my @all = $b->events('all')), 4, 'the backend is done';
    my $grown = anonymous_memory($child) - $before;
    ok $grown < 4 * $MB, "memory of four ($grown)";
    $_->reset for @k;
};

ok $s->stop, 'httpd ended well';
done_testing;
