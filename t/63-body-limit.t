# Licensed under the Apache License, Version 2.0; see LICENSE.

# LimitRequestBody, met in the middle of a body without a length: httpd's
# input filter answers by itself, and the access log says what it said.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    $c->timeout(4);
    while (my $req = $c->read_request) {
        $c->respond($req, 200, [], 'ok') or last;
    }
});

my $piece = 'x' x 65536;
my $chunk = sprintf "%x\r\n%s\r\n", length $piece, $piece;

for my $driver (qw(loop sync)) {
    my $s = Up::Server->start(driver => $driver, A => $b->addr,
        conf => <<'END');
UpstreamTempPath @TMP@
LimitRequestBody 3000000
UpstreamPass /on/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /thread/>
    UpstreamPass http://@A@
    UpstreamAsync off
</Location>
END
    for my $where (qw(on off thread)) {
        for my $n (1 .. 4) {
            $s->mark;
            $b->clear;
            my $target = "/$where/$n";
            # Two of them on a connection that has had a request already.
            my $k = $s->client(timeout => 10);
            $k->get("/$where/first") if $n > 2;
            $k->send("POST $target HTTP/1.1\r\nHost: x\r\n"
                . "Transfer-Encoding: chunked\r\n\r\n");
            # One piece too many, and nothing that could be left unread.
            $k->send($chunk) for 1 .. 46;
            is $k->response->status, 413, "$driver, $target: the client's";
            is $s->logged($target)->{status}, 413, 'and the log\'s status';
            my ($line) = $s->error_log(qr/UP042[13]/);
            like $line, qr/:info\].*UP042[13]: .*body/, 'a line at info';
            is scalar(grep { $_->{method} eq 'POST' } $b->requests), 0,
                'no backend has got a whole request';
        }
    }
    ok $s->stop, 'no crash, nothing left';
}

done_testing;
