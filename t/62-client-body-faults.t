# Licensed under the Apache License, Version 2.0; see LICENSE.

# Clients whose request bodies are wrong, too big, too slow or break off. A
# backend must never take such a request for a whole one.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Server ();

# Reads what comes, to its end; a request is recorded only when it is whole.
my $b = Up::Backend->start(sub {
    my ($c) = @_;
    $c->timeout(4);
    while (my $req = $c->read_request) {
        $c->respond($req, 200, [], "got $req->{body}") or last;
    }
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
<Upstream fresh>
    UpstreamServer @A@
    UpstreamKeepalive 0
</Upstream>
Timeout 2
UpstreamTempPath @TMP@
UpstreamPass /on/ http://fresh
<Location /off/>
    UpstreamPass http://fresh
    UpstreamRequestBuffering off
</Location>
<Location /limit/on/>
    UpstreamPass http://fresh
    LimitRequestBody 1000
</Location>
<Location /limit/off/>
    UpstreamPass http://fresh
    UpstreamRequestBuffering off
    LimitRequestBody 1000
</Location>
END

my $CHUNKED = "Transfer-Encoding: chunked\r\n\r\n";

sub post {
    my ($target, @pieces) = @_;
    my $k = $s->client(timeout => 5);
    $k->send("POST $target HTTP/1.1\r\nHost: x\r\n$pieces[0]");
    $k->send($_) for @pieces[1 .. $#pieces];
    return $k;
}

# A mark between cases: neither connections nor requests before it count.
sub fresh {
    $b->clear;
    $s->mark;
    return;
}

my $serial = 0;

# What a backend that was not to get a whole request has got. A body that was
# wrong from the start may have been refused before it was asked.
sub not_whole {
    my ($where, $what, $line) = @_;
    is scalar(my @r = $b->requests), 0, "$what: no whole request";
    if ($where eq 'on') {
        is scalar(my @c = $b->connections), 0, "$what: no connection at all";
        return;
    }
    my $asked = ($line->{UPSTREAM_ADDR} // '-') eq '-' ? 0 : 1;
    my $until = time + 2;
    sleep 0.02 while ended() < $asked && time < $until;
    is ended(), $asked, "$what: the backend sees the end";
    unlike join('', map { $_->{data} } $b->connections), qr/\r\n0\r\n\r\n\z/,
        "$what: and no last chunk";
    return;
}

sub ended {
    return scalar grep { $_->{eof} || $_->{reset} } $b->connections;
}

for my $where (qw(on off)) {
    subtest "request buffering $where: clients that break off" => sub {
        for (["${CHUNKED}5\r\nhello\r\n", 'C16 UP03 between chunks'],
            ["${CHUNKED}5\r\nhel", 'C16 inside a chunk'],
            ["${CHUNKED}5\r\nhello\r\n0\r\n", 'C16 behind the last size'],
            [$CHUNKED, 'C16 before the first chunk'],
            ["Content-Length: 9\r\n\r\nhello", 'short of its length'],
            ["Content-Length: 9\r\n\r\n", 'before the first byte']) {
            my ($body, $what) = @$_;
            for my $how (qw(close reset)) {
                fresh();
                my $target = "/$where/" . ++$serial;
                my $k = post($target, $body);
                sleep 0.15;
                $k->$how;
                my $line = $s->logged($target);
                like $line->{status}, qr/^(?:400|499)\z/,
                    "$what, $how: logged as it is";
                not_whole($where, "$what, $how", $line);
            }
        }
        fresh();
        my $k = post("/$where/x", "${CHUNKED}5\r\nhello\r\n0\r\n\r\n");
        $k->shutdown_write;
        is $k->response->body, 'got hello',
            'a client that has only finished sending gets its answer';
    };

    subtest "request buffering $where: bad chunks" => sub {
        for my $bad ("zz\r\n", "-1\r\n", "5\r\nhello6\r\n", "\r\n",
            'f' x 20 . "\r\n", "5\r\nhelloX\r\n0\r\n\r\n") {
            (my $what = substr $bad, 0, 20) =~ s/\s+/ /g;
            for my $first ('', "3\r\nabc\r\n") {
                fresh();
                my $target = "/$where/" . ++$serial;
                my $k = post($target, $CHUNKED . $first, $bad);
                my $res = $k->response;
                my $status = $bad =~ /^f/ ? 413 : 400;
                is $res->status, $status, "$status for chunk \"$what\"";
                ok defined $k->wait_close(2), 'and the connection ends';
                my $line = $s->logged($target);
                is $line->{status}, $status, 'as logged';
                not_whole($where, $what, $line);
            }
        }
    };

    subtest "request buffering $where: too large" => sub {
        fresh();
        my $k = post("/limit/$where/x", "Content-Length: 1001\r\n\r\n",
            'x' x 1001);
        is $k->response->status, 413, '413 for the length';
        is scalar(my @c = $b->connections), 0, 'no connection at all';
        fresh();
        $k = post("/limit/$where/x", "Content-Length: 1001\r\n"
            . "Expect: 100-continue\r\n\r\n");
        my $res = $k->response;
        is $res->status, 413, '413 instead of 100 Continue';
        is scalar @{ $res->interim }, 0, 'no 100';
        fresh();
        $k = post("/limit/$where/much", "${CHUNKED}3e8\r\n" . 'x' x 1000
            . "\r\n");
        sleep 0.1;
        $k->send("1\r\nx\r\n0\r\n\r\n");
        is $k->response->status, 413, '413 for one byte too many';
        not_whole($where, 'too large', $s->logged("/limit/$where/much"));
        fresh();
        $k = post("/limit/$where/x", "${CHUNKED}3e8\r\n" . 'x' x 1000
            . "\r\n0\r\n\r\n");
        is $k->response->body, 'got ' . 'x' x 1000, 'not one too many';
    };

    subtest "request buffering $where: too slow" => sub {
        fresh();
        my $began = time;
        my @k = (post("/$where/x", "${CHUNKED}5\r\nhello\r\n"),
            post("/$where/x", "Content-Length: 9\r\n\r\nhello"));
        my $slow = post("/$where/slow", "Content-Length: 7\r\n\r\n");
        for (1 .. 7) {
            sleep 0.4;
            $slow->send($_);
        }
        for my $k (@k) {
            my $res = $k->response;
            is $res->status, 408, '408 for silence';
            ok $res->complete, 'complete';
        }
        is $slow->response->body, 'got 1234567',
            'slow is not silent, however long it takes';
        my @whole = $b->requests;
        is scalar @whole, 1, 'one request was whole';
        $s->logged("/$where/slow");
        my @times = map { $_->{us} / 1e6 } grep { $_->{status} == 408 }
            $s->access_log;
        is scalar(grep { $_ > 1.8 && $_ < 3.2 } @times), 2,
            'after that time';
    };

    subtest "request buffering $where: length and chunks" => sub {
        fresh();
        my $k = post("/$where/x", "Content-Length: 13\r\n$CHUNKED"
            . "0\r\n\r\nGET /$where/smug HTTP/1.1\r\nHost: x\r\n\r\n");
        my $res = $k->response;
        ok defined $k->wait_close(2), 'C14 the connection ends';
        is $k->rest, '', 'C14 with one answer';
        my @requests = $b->requests;
        ok $res->status == 400 ? !@requests
            : @requests == 1 && $requests[0]{body} eq '',
            'C14 400, or one request without a body';
        is_deeply [grep { $_->{target} =~ /smug/ } @requests], [],
            'C14 the second never arrives';
        fresh();
        $k = post("/$where/x", "Content-Length: 5\r\nContent-Length: 6\r\n"
            . "\r\nhello!");
        is $k->response->status, 400, 'two lengths';
        is scalar(my @c = $b->connections), 0, 'are nothing for a backend';
    };
}

is_deeply [grep { !/ended inside|timeout reading/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
