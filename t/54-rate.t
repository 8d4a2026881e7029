# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamLimitRate: how fast a backend is read. What is compared are shapes:
# how much has come at a moment, and that nothing is late for a good reason.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Bulk;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $KB = 1024;

my $b = Up::Answers->start({
    body => [bulk_head(100 * $KB), send_bulk(100 * $KB)],
    asked => [bulk_head(100 * $KB, 'X-Rate: 100k'), send_bulk(100 * $KB)],
    odd => [bulk_head(100 * $KB, 'X-Rate: fast'), send_bulk(100 * $KB)],
    chunked => ["${H}Transfer-Encoding: chunked\r\n\r\n",
        (map { sprintf("%x\r\n%s\r\n", 10 * $KB,
        filler(10 * $KB, $_ * 10 * $KB)) } 0 .. 9), "0\r\n\r\n"],
    closed => ["HTTP/1.0 200 OK\r\n\r\n", filler(100 * $KB), hang_up()],
    big => [bulk_head(16 * $KB * $KB), send_bulk(16 * $KB * $KB)],
    short => ["${H}Content-Length: 2\r\n\r\nok"],
    cut => ["${H}Content-Length: 99999\r\n\r\n", filler(20 * $KB), hang_up()],
});
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamPass /p/ http://@A@
UpstreamReadTimeout 500ms
<Location /slow/>
    UpstreamPass http://@A@
    UpstreamLimitRate 100k
    UpstreamBuffers 4 4k
    UpstreamBufferSize 4k
</Location>
<Location /crawl/>
    UpstreamPass http://@A@
    UpstreamLimitRate 10k
    UpstreamSocketRcvbuf 65536
</Location>
<Location /expr/>
    UpstreamPass http://@A@
    UpstreamLimitRate "%{upstream_http:X-Rate}"
    UpstreamBuffers 4 4k
    UpstreamBufferSize 4k
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamLimitRate 10k
    UpstreamBuffering off
</Location>
END

# Bytes that had come at each tenth of the time.
sub came {
    my ($res) = @_;
    my $all = $res->finished - $res->started;
    return map {
        my $until = $res->started + $all * $_ / 10;
        my $sum = 0;
        $sum += length $_->[1] for grep { $_->[0] <= $until } @{ $res->pieces };
        $sum;
    } 1 .. 10;
}

sub seconds { return $_[0]->finished - $_[0]->started }

my $want = filler(100 * $KB);

subtest 'a rate' => sub {
    ok seconds($s->get('/p/body')) < 0.4, 'none: at once';
    for my $name (qw(body chunked closed)) {
        my $res = $s->get("/slow/$name");
        ok $res->complete && $res->body eq $want, "$name: all of it";
        my $seconds = seconds($res);
        ok $seconds > 0.8 && $seconds < 2.5, "about a second ($seconds)";
        my @came = came($res);
        ok $came[4] > 25 * $KB && $came[4] < 80 * $KB,
            "half of it after half of the time (@came)";
    }
    ok seconds($s->get('/crawl/short')) < 0.4, 'a short one does not wait';
    ok seconds($s->get('/crawl/short')) < 0.4, 'nor does the next';
};

subtest 'an expression' => sub {
    my $res = $s->get('/expr/asked');
    ok $res->complete && seconds($res) > 0.8, 'asks the response';
    $s->mark;
    $res = $s->get('/expr/body');
    ok $res->complete && seconds($res) < 0.4, 'empty: no limit';
    is scalar(grep { /UP0640/ } $s->error_log), 0, 'not worth a word';
    $res = $s->get('/expr/odd');
    ok $res->complete && seconds($res) < 0.4, 'bad: no limit';
    like +($s->error_log(qr/UP0640/))[0], qr/:error\].*gives "fast"/,
        'the log says so';
};

subtest 'unbuffered: no limit' => sub {
    my $res = $s->get('/off/body');
    ok $res->complete && seconds($res) < 0.4, 'at once';
};

# 20 KB at 10 KB a second are one pause after another, each longer than
# UpstreamReadTimeout.
subtest 'a pause is no timeout' => sub {
    $s->mark;
    my $res = $s->get('/crawl/cut');
    is length $res->body, 20 * $KB, 'all that there is comes';
    ok $res->cut, 'the end is seen';
    like +($s->error_log(qr/UP0426/))[0], qr/prematurely closed/,
        'and it is the end that the log names';
};

subtest 'the backend is held up, not our memory' => sub {
    $b->clear;
    my $before = anonymous_memory(child_of($s));
    my $k = $s->client(timeout => 20);
    $k->request(GET => '/crawl/big');
    sleep 1.2;
    ok sent_by($b) < 6 * $KB * $KB, 'it waits: ' . sent_by($b);
    ok $ENV{UP_PRELOAD}
        || anonymous_memory(child_of($s)) - $before < 2 * $KB * $KB,
        'memory is bounded';
    $k->close;
    ok $b->wait_count(1, 'close', 4), 'a client that leaves ends it';
};

ok $s->stop, 'httpd ended well';
done_testing;
