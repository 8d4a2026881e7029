# Licensed under the Apache License, Version 2.0; see LICENSE.

# Clients that stop between the last chunk of a body and the end of its
# trailers, where httpd's input filter reads without asking whether there is
# anything: nobody else may wait for them.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use List::Util ();
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();
use Up::TLS ();

my $LOOP = ($ENV{UP_DRIVER} // '') eq 'loop'
    && ($ENV{UP_MPM} // 'event') eq 'event';
my $N = 40;

my $b = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['X-Trailers' => join ' ', map { "$_->[0]=$_->[1]" }
        @{ $req->{trailers} // [] }], "got $req->{body}"];
});
my ($port, $host) = Up::TLS::usable() ? Up::TLS::host() : ();
my $s = Up::Server->start(A => $b->addr, main => <<'MAIN',
ServerLimit 2
StartServers 1
ThreadsPerChild 8
MaxRequestWorkers 8
AsyncRequestWorkerFactor 100
MAIN
    conf => ($host // '') . <<'END');
UpstreamTempPath @TMP@
Timeout 30
UpstreamPass /on/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /trailers/>
    UpstreamPass http://@A@
    UpstreamPassTrailers on
</Location>
<VirtualHost *:*>
    ServerName hasty
    Timeout 1
    UpstreamPass /on/ http://@A@
    <Location /off/>
        UpstreamPass http://@A@
        UpstreamRequestBuffering off
    </Location>
</VirtualHost>
END

sub post {
    my ($target, $rest, %opt) = @_;
    my $k = $s->client(timeout => 8, %opt);
    $k->send("POST $target HTTP/1.1\r\nHost: x\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n$rest");
    return $k;
}

# Where a client may stop, and what it says when it goes on.
my @STOPS = (["0\r\n", "\r\n"], ['0', "\r\n\r\n"], ["0\r", "\n\r\n"],
    ["0\r\n\r", "\n"], ["000;a=1\r\n", "\r\n"], ["0 ; a\r\nX-T: 1\r\n",
    "\r\n"], ["0\r\nX-T:", " 1\r\n\r\n"], ["0\r\nX-T: 1\r", "\n\r\n"],
    ["0\r\nX-T: 1\r\n\r", "\n"]);

for my $where (qw(on off)) {
    subtest "UpstreamRequestBuffering $where" => sub {
        for my $stop (@STOPS) {
            my ($first, $rest) = @$stop;
            my $k = post("/$where/x", $first);
            sleep 0.03;
            $k->send($rest . "GET /$where/y HTTP/1.1\r\nHost: x\r\n\r\n");
            my $name = $first =~ s/\r/\\r/gr =~ s/\n/\\n/gr;
            is $k->response->body, 'got hello', "stopped behind $name";
            is $k->response->body, 'got ', 'a pipelined request';
        }
        my $k = post("/$where/x", "10\r\n" . '0' x 16 . "\r\n0a\r\n"
            . "0\r\n0\r\n0\r\n\r\r\n0\r\n\r\n");
        is $k->response->body, 'got hello' . '0' x 16 . "0\r\n0\r\n0\r\n\r",
            'bytes that look like it';
        ok $k->idle, 'no more';
        $k = post("/$where/x", "0\r\n");
        $k->shutdown_write;
        is $k->response->status, 400, 'an end instead of trailers';
    };
}

subtest 'trailers' => sub {
    for my $pieces (["0\r\nX-T: 1\r\nX-U: two words\r\n\r\n"],
        ["0\r\nX-T: 1\r\n", "X-U: two words\r\n\r\n"],
        [split //, "0\r\nX-T: 1\r\nX-U: two words\r\n\r\n"]) {
        my ($first, @rest) = @$pieces;
        my $k = post('/trailers/x', $first);
        for (@rest) {
            sleep 0.01;
            $k->send($_);
        }
        my $res = $k->response;
        is $res->body, 'got hello', scalar(@$pieces) . ' pieces';
        is $res->header('X-Trailers'), 'X-T=1 X-U=two words',
            'trailers pass';
    }
    my $k = post('/trailers/x', "0\r\n");
    $k->send('X-T: ' . 'x' x 7000 . "\r\n") for 1 .. 20;
    is $k->response->status, 413, 'more than is kept';
    ok defined $k->wait_close, 'and the end';
};

subtest TLS => sub {
    Test::More::plan(skip_all => 'needs mod_ssl and IO::Socket::SSL')
        if !$port;
    for my $stop (@STOPS) {
        my $k = post('/on/x', $stop->[0], port => $port, tls => 1);
        sleep 0.03;
        $k->send($stop->[1]);
        is $k->response->body, 'got hello', 'goes on';
    }
};

subtest 'a client that does not go on' => sub {
    for my $where (qw(on off)) {
        my $k = $s->client(timeout => 8);
        my $began = time;
        $k->send("POST /$where/late HTTP/1.1\r\nHost: hasty\r\n"
            . "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n");
        is $k->response->status, 408, "$where: 408";
        my $took = time - $began;
        ok $took > 0.9 && $took < 3, "after Timeout ($took)";
    }
};

subtest 'many of them' => sub {
    Test::More::plan(skip_all => 'of the loop alone') if !$LOOP;
    my %threads = map { threads_of($_) => $_ } $s->children;
    my $pid = $threads{ List::Util::max(keys %threads) };
    quickly($s, '/on/y', 'got ');
    my $threads = threads_of($pid);
    for my $where (qw(on off)) {
        my @all = map { post("/$where/x", "0\r\nX-T:") } 1 .. $N;
        my @took = map { quickly($s, '/on/y', 'got ') } 1 .. 10;
        cmp_ok List::Util::max(@took), '<', 0.5, 'other requests meanwhile';
        cmp_ok threads_of($pid), '<=', $threads + 3, 'no threads for them';
        $_->send(" 1\r\n\r\n") for @all;
        is tally(map { $_->response } @all), "$N x 200 got hello",
            'all are answered';
    }
};

is_deeply [grep { !/ended inside/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
