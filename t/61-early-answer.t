# Licensed under the Apache License, Version 2.0; see LICENSE.

# Backends that answer before they have read the request.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Server ();

my $MB = 1024 * 1024;
my $TOOBIG = "HTTP/1.1 413 Too Large\r\nConnection: close\r\n"
    . "Content-Length: 7\r\n\r\ntoo big";

# Reads n bytes of the body.
sub reading {
    my ($n) = @_;
    return sub { length $_[0]->read_bytes($n) };
}

# Reads the rest, and notes how much that was, when it all came.
sub rest_of_body {
    my ($had) = @_;
    return sub {
        my ($c, $req) = @_;
        my ($length) = Up::Backend::Conn::values_of($req, 'Content-Length');
        my $want = ($length // 0) - $had;
        my $got = length $c->read_bytes($want);
        $c->note(type => 'body', whole => $got == $want ? 1 : 0);
        return $got == $want;
    };
}

my %answer = (
    plain => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nclean",
    # C19, UP02
    toobig => { head => [reading(10_000), $TOOBIG, pause(0.05),
        break_off()] },
    orderly => { head => [reading(10_000), $TOOBIG, pause(0.05),
        hang_up()] },
    atonce => { head => [$TOOBIG, break_off()] },
    lingering => { head => [reading(10_000), $TOOBIG,
        sub { $_[0]->shutdown_write }, sub { $_[0]->wait_eof(3); 0 }] },
    chunked => { head => [reading(10_000), "HTTP/1.1 413 Too Large\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n7\r\ntoo big\r\n0\r\n\r\n",
        pause(0.05), hang_up()] },
    # C18, UP01
    refused => { head => ["HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
        rest_of_body(0)] },
    # a backend that reads on
    early => { head => ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
        rest_of_body(0)] },
    between => { head => [reading(10_000), "HTTP/1.1 200 OK\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n", pause(0.2),
        rest_of_body(10_000), "0\r\n\r\n"] },
    invited => { head => [reading(1000), "HTTP/1.1 100 Continue\r\n\r\n",
        rest_of_body(1000), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        . 'good'] },
    # and some that say nothing
    gone => { head => [reading(10_000), break_off()] },
    nonsense => { head => ['too big', hang_up()] },
    half => { head => [reading(10_000), 'HTTP/1.1 41', break_off()] },
    garbage => { head => [reading(10_000), 'too big', break_off()] },
);

my $b = Up::Answers->start(\%answer);
my $deaf = Up::Answers->start({
    plain => $answer{plain},
    # UP08
    ignored => { head => ["HTTP/1.1 200 OK\r\nContent-Length: 320\r\n\r\n",
        'i' x 320, pause(1), hang_up()] },
});
my $s = Up::Server->start(A => $b->addr, D => $deaf->addr, conf => <<'END');
UpstreamTempPath @TMP@
UpstreamPass /deafon/ http://@D@
<Location /deafoff/>
    UpstreamPass http://@D@
    UpstreamRequestBuffering off
</Location>
UpstreamPass /on/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
END

# Several clients at once, each with a body of `size` bytes.
sub uploads {
    my ($target, $n, $size) = @_;
    return map { $s->ask(POST => $target, [], filler($size), timeout => 5) }
        1 .. $n;
}

for my $where (qw(on off)) {
    subtest "request buffering $where: refused with 413" => sub {
        for (['toobig', 'C19 UP02 413 and a reset'],
            ['orderly', 'C19 UP02 413 and the end'],
            ['atonce', 'C19 413 for the head alone'],
            ['lingering', '413 and half a close'],
            ['chunked', '413 in chunks, without saying close']) {
            my ($name, $what) = @$_;
            $b->clear;
            my @res = uploads("/$where/$name", 3, 8_000_000);
            is join(' ', map { ($_->status // 'none') . ' ' . $_->body }
                @res), join(' ', ('413 too big') x 3),
                "$what, three times";
            is scalar(my @r = $b->requests), 3, 'each tried once';
            my %conn = map { $_ => 1 } conns_of($b);
            is scalar keys %conn, 3, 'each on a connection of its own';
        }
        is $s->get("/$where/plain")->body, 'clean', 'the next is clean';
    };

    subtest "request buffering $where: refused, then read on" => sub {
        $b->clear;
        my $k = $s->client(timeout => 5);
        $k->send("PUT /$where/refused HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
        my $head = $k->read_bytes(25, 2);
        is $head, "HTTP/1.1 100 Continue\r\n\r\n", 'C18 UP01 a 100 first';
        $k->send(filler(1_000_000));
        my $res = $k->response;
        is $res->status, 401, 'C18 UP01 401 reaches the client';
        ok $res->complete, 'complete';
        is $s->get("/$where/plain")->body, 'clean', 'the next is clean';
        $b->wait_count(1, 'body');
        ok +($b->events('body'))[0]{whole} || !same_connection($b),
            'C18 a connection is used again only if the body went whole';
    };

    subtest "request buffering $where: not read at all" => sub {
        my $k = $s->client(timeout => 5);
        my $res = $k->ask(POST => "/deaf$where/ignored", [], filler($MB));
        is $res->status, 200, 'UP08 answered';
        is $res->body, 'i' x 320, 'UP08 with the whole body';
        ok $res->finished - $res->started < 0.9, 'UP08 at once';
        is $s->get("/deaf$where/plain")->body, 'clean',
            'UP08 the next is clean';
    };

    subtest "request buffering $where: answered, then read on" => sub {
        for my $name (qw(early between invited)) {
            $s->get("/$where/plain");
            $b->clear;
            my $k = $s->client(timeout => 5);
            my $res = $k->ask(POST => "/$where/$name", [],
                filler(4_000_000));
            is $res->body, 'good', "$name: answered";
            ok $res->complete, 'complete';
            $b->wait_count(1, 'body');
            my ($body) = $b->events('body');
            if ($name eq 'early') {
                next; # how much of it still went is a matter of luck
            }
            ok $body && $body->{whole}, 'the backend got all of the body';
            is $k->get("/$where/plain")->body, 'clean',
                'the client connection is kept';
            ok same_connection($b), 'and that to the backend, too';
        }
    };

    subtest "request buffering $where: nothing said" => sub {
        for my $name (qw(gone half garbage)) {
            $b->clear;
            my ($res) = uploads("/$where/$name", 1, 4_000_000);
            is $res->status, 502, "$name: 502";
            ok $res->complete, 'complete';
            is scalar(my @r = $b->requests), 1, 'POST is not tried again';
        }
    };
}

# Clients that never send what they have announced.
subtest 'answered before the client has sent anything' => sub {
    for (['refused', 401], ['early', 200], ['nonsense', 502]) {
        my ($name, $status) = @$_;
        my $k = $s->client(timeout => 5);
        $k->send("PUT /off/$name HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: 1000000\r\n\r\n");
        my $res = $k->response;
        is $res->status, $status, "$status does not wait for the body";
        ok $res->complete, 'complete';
        like $res->header('Connection') // '', qr/close/, 'and says close'
            if $status == 401;
        my $began = time;
        ok defined $k->wait_close(4), 'nobody waits for the rest';
        ok time - $began < 1, 'not even for a while';
    }
};

is_deeply [grep { !/ended inside/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
