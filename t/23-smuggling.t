# Licensed under the Apache License, Version 2.0; see LICENSE.

# Requests whose end two servers could see in different places, and what
# belongs to one hop only. Whatever a client sends, a backend gets whole,
# singly framed requests, and never one that the client hid in another.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $b = Up::Backend->http(sub {
    my ($req) = @_;
    my @fields = $req->{target} =~ /nominates/ ? (
        Connection => 'X-Internal, keep-alive', 'X-Internal' => 'secret',
        'Keep-Alive' => 'timeout=9', 'Proxy-Connection' => 'x',
        'X-Public' => '1') : ();
    push @fields, Connection => 'close' if $req->{target} =~ /closes/;
    return [200, \@fields, "$req->{target} " . length($req->{body} // '')];
});
my $s = Up::Server->start(A => $b->addr, conf => q{
    <Location /p/>
        UpstreamPass http://@A@
    </Location>
    <Location /s/>
        UpstreamPass http://@A@
        UpstreamRequestBuffering off
    </Location>
});

# Sends raw bytes; the status of the first answer, and whether the connection
# ends after it.
sub sent {
    my ($bytes) = @_;
    $b->clear;
    my $k = $s->client(timeout => 5);
    $k->send($bytes);
    my $res = eval { $k->response };
    return $res ? $res->status : 'none';
}

sub smuggled { return scalar grep { $_->{target} =~ /smug/ } $b->requests }

# Every request that reached the backend is well framed.
sub framed_well {
    for my $req ($b->requests) {
        my %seen;
        $seen{ lc $_->[0] }++ for @{ $req->{headers} };
        return 0 if ($seen{host} // 0) != 1
            || ($seen{'content-length'} // 0) > 1
            || $seen{'content-length'} && $seen{'transfer-encoding'}
            || $req->{raw} =~ /[^\r]\n/;
    }
    return 1;
}

my $hidden = "GET /p/smug HTTP/1.1\r\nHost: x\r\n\r\n";

for my $where ('p', 's') {
    subtest "HH01 C14 a length and chunks ($where)" => sub {
        my $status = sent("POST /$where/ HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\n"
            . "0\r\n\r\n$hidden");
        like $status, qr/^(?:400|200)\z/, "answered ($status)";
        is smuggled(), 0, 'nothing hidden arrives';
        ok framed_well(), 'one framing';
    };

    subtest "HH02 HH03 two lengths ($where)" => sub {
        is sent("POST /$where/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
            . "Content-Length: 6\r\n\r\nhello!"), 400, 'different ones';
        is scalar $b->requests, 0, 'the backend is not asked';
        for my $twice ("Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5, 5\r\n") {
            my $status = sent("POST /$where/ HTTP/1.1\r\nHost: x\r\n$twice"
                . "\r\nhello");
            like $status, qr/^(?:400|200)\z/, "the same twice ($status)";
            ok framed_well(), 'one length at most';
        }
    };

    subtest "HH04 lengths that are none ($where)" => sub {
        for my $length ('+5', '-1', '5x', '0x5', '5 5', '') {
            is sent("POST /$where/ HTTP/1.1\r\nHost: x\r\n"
                . "Content-Length: $length\r\n\r\nhello"), 400,
                "\"$length\"";
            is scalar $b->requests, 0, 'the backend is not asked';
        }
        like sent("POST /$where/ HTTP/1.1\r\nHost: x\r\nContent-Length: "
            . '9' x 30 . "\r\n\r\nhello"), qr/^4(?:00|13)\z/, '30 digits';
        is scalar $b->requests, 0, 'the backend is not asked';
    };

    subtest "HH05 chunks in HTTP/1.0 ($where)" => sub {
        my $status = sent("POST /$where/ HTTP/1.0\r\nHost: x\r\n"
            . "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
            . "0\r\n\r\n$hidden");
        like $status, qr/^(?:400|200)\z/, "answered ($status)";
        is smuggled(), 0, 'nothing hidden arrives';
        ok framed_well(), 'one framing';
    };

    subtest "HH06 HH07 HH13 odd bytes in fields ($where)" => sub {
        for my $field ("X-A: 1\rTransfer-Encoding: chunked\r\n",
            "X-A: 1\r\n Content-Length: 9\r\n", "X-A: a\0b\r\n",
            "X\x01A: 1\r\n") {
            my $status = sent("GET /$where/ HTTP/1.1\r\nHost: x\r\n$field"
                . "\r\n");
            like $status, qr/^(?:400|200)\z/, "answered ($status)";
            ok framed_well(), 'no new field, no bare CR';
            ok !grep({ $_->{raw} =~ /\r(?!\n)|\0|\x01/ } $b->requests),
                'none of the bytes';
        }
    };
}

subtest 'HH09 fields that a backend nominates' => sub {
    my $res = $s->get('/p/nominates');
    is $res->status, 200, 'answered';
    ok !defined $res->header($_), "$_ is gone"
        for qw(X-Internal Proxy-Connection);
    unlike $res->header("Keep-Alive") // "", qr/timeout=9/,
        'Keep-Alive is not the backend\'s';
    is $res->header("X-Public"), 1, 'others are kept';
};

subtest 'HH10 each hop keeps its own connection' => sub {
    $s->get('/p/opens');
    $b->clear;
    my $k = $s->client;
    $k->request(GET => '/p/closes');
    is $k->response->status, 200, 'the backend closes';
    $k->request(GET => '/p/stays');
    is $k->response->status, 200, 'the client stays';
    $k->request(GET => '/p/leaves', [Connection => 'close']);
    is $k->response->status, 200, 'the client leaves';
    is $s->get('/p/new')->status, 200, 'another one comes';
    is scalar $b->connections, 1, 'one more backend connection in all';
};

subtest 'HH11 three requests in one segment' => sub {
    my $k = $s->client;
    $k->send(map { "GET /p/n$_ HTTP/1.1\r\nHost: x\r\n\r\n" } 1 .. 3);
    is $k->response->body, "/p/n$_ 0", "answer $_ in its place" for 1 .. 3;
};

subtest 'HH12 hosts' => sub {
    is sent("GET /p/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400, 'two';
    is scalar $b->requests, 0, 'the backend is not asked';
    is sent("GET /p/ HTTP/1.1\r\n\r\n"), 400, 'none';
    is scalar $b->requests, 0, 'the backend is not asked';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
