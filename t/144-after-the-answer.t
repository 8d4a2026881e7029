# Licensed under the Apache License, Version 2.0; see LICENSE.

# What a backend sends when nobody has asked it: none of it may become the
# answer to a request.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep);

use Up::Answers;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $EVIL = "${H}Content-Length: 4\r\n\r\nevil";

my $b = Up::Answers->start({
    plain => "${H}Content-Length: 2\r\n\r\nok",
    # whole answers, and more a moment later
    (map { my ($name, $answer) = @$_;
        ($name => [$answer, pause(0.1), $EVIL,
            sub { $_[0]->signal($_[1]{target} =~ tr{/}{-}r) }]) }
        ['length', "${H}Content-Length: 4\r\n\r\ngood"],
        ['chunks', "${H}Transfer-Encoding: chunked\r\n\r\n"
            . "4\r\ngood\r\n0\r\n\r\n"],
        ['none', "HTTP/1.1 204 No\r\n\r\n"],
        ['same', "HTTP/1.1 304 No\r\nContent-Length: 4\r\n\r\n"]),
    # in the same write as the answer
    together => ["${H}Content-Length: 4\r\n\r\ngood$EVIL"],
    headed => ["${H}Content-Length: 4\r\n\r\n$EVIL"],
    interims => ["${H}Content-Length: 4\r\n\r\ngood"
        . "HTTP/1.1 103 Early\r\n\r\n"],
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
END

for my $where (qw(p off)) {
    subtest "bytes while it is idle ($where)" => sub {
        for my $name (qw(length chunks none same)) {
            $b->clear;
            my $k = $s->client;
            my $res = $k->get("/$where/$name");
            like $res->body, qr/^(?:good)?\z/, "UP08 RF05 $name";
            $b->wait_for("-$where-$name");
            sleep 0.02;
            for (1 .. 2) {
                is $k->get("/$where/plain")->body, 'ok', 'the next is clean';
            }
            ok !same_connection($b), 'on another connection';
        }
    };
    subtest "bytes behind the answer ($where)" => sub {
        for (['together', 'GET'], ['headed', 'HEAD'], ['interims', 'GET']) {
            my ($name, $method) = @$_;
            $b->clear;
            my $k = $s->client;
            my $res = $k->ask($method, "/$where/$name");
            is $res->body, $method eq 'HEAD' ? '' : 'good', "RF19 C07 $name";
            is $k->get("/$where/plain")->body, 'ok', 'the next is clean';
            ok !same_connection($b), 'on another connection';
        }
    };
}

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
