# Licensed under the Apache License, Version 2.0; see LICENSE.

# The life of a connection that a loop has taken over, from its second
# request to its end.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Crowd;
use Up::Server ();

only_loop;

my $b = Up::Backend->http(sub {
    my ($req) = @_;
    sleep $1 if $req->{target} =~ m{/late/([\d.]+)};
    return [200, [], "$req->{method} $req->{target} " . length $req->{body}];
});
my $big = Up::Crowd->start;

my $s = Up::Server->start(driver => 'loop', A => $b->addr,
    B => $big->addr, P => my $port = Up::Server::free_port(),
    L => my $limited = Up::Server::free_port(),
    N => my $closing = Up::Server::free_port(), conf => <<'END');
KeepAliveTimeout 2
Timeout 3
LimitRequestFieldSize 1000
LimitRequestLine 2000
LimitRequestFields 50
UpstreamPass /p/ http://@A@
UpstreamPass /big/ http://@B@
<Location /small/>
    UpstreamPass http://@A@
    LimitRequestBody 1000
</Location>
<Location /streamed/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
Listen 127.0.0.1:@P@
<VirtualHost 127.0.0.1:@P@>
    KeepAliveTimeout 500ms
    LimitRequestFieldSize 8000
</VirtualHost>
Listen 127.0.0.1:@L@
<VirtualHost 127.0.0.1:@L@>
    MaxKeepAliveRequests 5
</VirtualHost>
Listen 127.0.0.1:@N@
<VirtualHost 127.0.0.1:@N@>
    KeepAlive Off
</VirtualHost>
END

# A connection that a loop has.
sub adopted {
    my (%opt) = @_;
    my $k = $s->client(%opt);
    $k->get('/p/first')->body eq 'GET /p/first 0' or die 'no first answer';
    return $k;
}

sub head_of {
    my ($target, @fields) = @_;
    return join "\r\n", "GET $target HTTP/1.1", 'Host: x', @fields, '', '';
}

# Targets that the next responses tell of.
sub answers {
    my ($k, $n) = @_;
    my @found;
    for (1 .. $n) {
        my $res = $k->response;
        push @found, ($res->status // $res->end) ne '200'
            ? $res->status // $res->end
            : $res->body =~ m{^\S+ (?:/p/)?(\S+)};
    }
    return "@found";
}

subtest 'keep-alive' => sub {
    $s->mark;
    my $k = $s->client;
    my $good = grep { $k->get("/p/$_")->body eq "GET /p/$_ 0" } 1 .. 300;
    is $good, 300, '300 requests';
    my $bodies = 0;
    for my $n (0, 1, 100, 70_000, 3) {
        for my $location (qw(p streamed)) {
            my $res = $k->ask(POST => "/$location/x", [], 'b' x $n);
            $bodies++ if $res->body eq "POST /$location/x $n";
        }
    }
    is $bodies, 10, 'bodies of all sizes between them';
    $k->send("POST /p/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
        . "\r\n\r\n", "3\r\nabc\r\n", "0\r\n\r\n", head_of('/p/after'));
    is answers($k, 2), 'c after', 'chunked and pipelined behind';
    my %conn = map { $_->{conn} => 1 } $s->access_log(312);
    is "@{[ keys %conn ]}", '+', 'all logged as kept alive';
    is $k->ask(HEAD => '/p/head')->status, 200, 'HEAD';
    is $k->get('/p/x')->status, 200, 'and after it';
};

subtest 'pipelining' => sub {
    my $k = adopted();
    $k->send(join '', map { head_of("/p/$_") } 1 .. 20);
    is answers($k, 20), "@{[ 1 .. 20 ]}", '20 in one segment, in order';
    $k->send(join '', map { head_of($_ % 3 ? "/p/$_" : "/p/late/0.0$_") }
        1 .. 9);
    is answers($k, 9), '1 2 late/0.03 4 5 late/0.06 7 8 late/0.09',
        'slow ones among them';
    my $put = sub { "PUT /p/$_[0] HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: $_[1]\r\n\r\n" . 'x' x $_[1] };
    $k->send($put->('a', 10) . head_of('/p/b') . $put->('c', 20_000)
        . $put->('d', 0) . head_of('/p/e'));
    is answers($k, 5), 'a b c d e', 'with bodies among them';

    my $two = head_of('/p/1') . $put->('2', 3) . head_of('/p/3');
    my $wrong = '';
    for my $at (1 .. length($two) - 1) {
        $k->send(substr $two, 0, $at);
        sleep 0.002;
        $k->send(substr $two, $at);
        my $got = answers($k, 3);
        $wrong .= " $at: $got" if $got ne '1 2 3';
    }
    is $wrong, '', 'cut in two at every byte';
    ok $k->send_slow($two, 1, 0.001), 'byte by byte';
    is answers($k, 3), '1 2 3', 'answered';
};

subtest 'half a head' => sub {
    my $next = head_of('/p/next');
    for my $at (1, 4, 20, length($next) - 2, length($next) - 1) {
        my $k = adopted();
        my $other = adopted();
        $k->send(substr $next, 0, $at);
        sleep 0.3;
        cmp_ok quickly($s, '/p/q', 'GET /p/q 0', $other), '<', 0.25,
            "$at bytes: the others do not wait";
        $k->send(substr $next, $at);
        is answers($k, 1), 'next', 'answered when it is whole';
    }
    my $k = adopted();
    $k->send("\r\n", "\r\n\r\n", head_of('/p/1') . "\r\n\n",
        "\r\n" . head_of('/p/2'));
    is answers($k, 2), '1 2', 'blank lines between requests';

    # 12 heads that stay halves: more than there are threads to stand in.
    my @halves = map { my $h = adopted(); $h->send(substr $next, 0, 30); $h }
        1 .. 12;
    my $began = time;
    cmp_ok quickly($s, '/p/q', 'GET /p/q 0', $k), '<', 0.5,
        'a dozen of them hold nobody up';
    my @ends = map { $_->wait_close(6) // 'open' } @halves;
    is scalar(grep { $_ eq 'eof' } @ends), 12, 'closed';
    my $took = time - $began;
    ok $took > 2 && $took < 5, "when Timeout is over ($took)";
};

# Bigger than what is read ahead, and it breaks off.
subtest 'an endless head' => sub {
    my @all = map { adopted(port => $port) } 1 .. 25;
    $_->send("GET /p/long HTTP/1.1\r\n"
        . ('X-' . 'y' x 7900 . ": z\r\n") x 9) for @all;
    sleep 0.2;
    my $k = $s->client;
    my $most = 0;
    for (1 .. 5) {
        my $took = quickly($s, '/p/q', 'GET /p/q 0', $k);
        $most = $took if $took > $most;
    }
    cmp_ok $most, '<', 0.5, 'holds nobody up';
    $all[-1]->send("Host: x\r\n\r\n");
    is answers($all[-1], 1), 'long', 'one is answered';
    is answers($all[0], 1), 408, 'one times out';

    my $long = adopted();
    $long->send(head_of('/p/x', map { "X-$_: 1" } 1 .. 60));
    is answers($long, 1), 400, 'too many fields';
};

subtest 'the end of a connection' => sub {
    my $k = $s->client(port => $port);
    is $k->get('/p/x')->status, 200, 'kept alive';
    my $began = time;
    is $k->wait_close(3), 'eof', 'closed by the server';
    my $took = time - $began;
    ok $took > 0.35 && $took < 1.2, "after KeepAliveTimeout ($took)";

    $k = adopted();
    $k->get('/p/x');
    $k->send("\r\n");
    sleep 1;
    is $k->get('/p/y')->status, 200, 'a blank line and a long pause';

    $k = $s->client(port => $limited);
    my @how = map { join '/', map { lc } $k->get('/p/x')->field('Connection') }
        1 .. 6;
    is "@how", 'keep-alive keep-alive keep-alive keep-alive keep-alive close',
        'MaxKeepAliveRequests' if @how && $how[0];
    is $k->wait_close(1), 'eof', 'MaxKeepAliveRequests ends it';

    $k = $s->client(port => $closing);
    is $k->get('/p/late/0.1')->header('Connection'), 'close',
        'KeepAlive Off';
    is $k->wait_close(1), 'eof', 'closed';

    $k = adopted();
    my $res = $k->get('/p/x', [Connection => 'close']);
    is $res->header('Connection'), 'close', 'Connection: close';
    is $k->wait_close(1), 'eof', 'closed';

    $k = adopted();
    $res = $k->get('/p/x', [], version => '1.0');
    is $res->body, 'GET /p/x 0', 'HTTP/1.0';
    is $k->wait_close(1), 'eof', 'closed';
    $k = adopted();
    $res = $k->get('/p/x', [Connection => 'keep-alive'], version => '1.0');
    like $res->header('Connection'), qr/keep-alive/i,
        'HTTP/1.0 with keep-alive';
    is $k->get('/p/y')->status, 200, 'kept';

    $k = adopted();
    $k->shutdown_write;
    is $k->wait_close(1), 'eof', 'the client ends it';
    $k = adopted();
    $k->send(head_of('/p/1') . head_of('/p/2'));
    $k->shutdown_write;
    is answers($k, 2), '1 2', 'the client ends it behind two requests';
    is $k->wait_close(1), 'eof', 'and is told the end';
};

subtest 'what is no request' => sub {
    for (['a bad line' => "GARBAGE\r\n\r\n", 400],
        ['no host' => "GET /p/x HTTP/1.1\r\n\r\n", 400],
        ['a bad field' => head_of('/p/x', "Bad Name: x"), 400],
        ['a long line' => head_of('/p/' . 'x' x 3000), 414],
        ['a long field' => head_of('/p/x', 'X-A: ' . 'x' x 3000), 400],
        ['a length' => "POST /p/x HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: -1\r\n\r\n", 400],
        ['its end' => "GET /p/x HTTP/1.1\r\nHost: x\r\n", 400, 1]) {
        my ($name, $bytes, $status, $ends) = @$_;
        my $k = adopted();
        $k->send($bytes);
        $k->shutdown_write if $ends;
        is answers($k, 1), $status, "$name: $status";
        is $k->wait_close(1), 'eof', 'closed';
    }
    my $k = adopted();
    $k->send(head_of('/p/late/0.2') . "GARBAGE\r\n\r\n");
    is answers($k, 2), 'late/0.2 400', 'behind a good one';
    my $res = $s->client->get('/p/x');
    is $res->status, 200, 'the server goes on';
};

subtest 'a refused body' => sub {
    my $k = adopted();
    $k->send("PUT /small/x HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: 5000000\r\n\r\n");
    my $res = $k->response;
    is $res->status, 413, 'early';
    my $sent = 0;
    for (1 .. 50) {
        $k->send('x' x 100_000) or last;
        $sent++;
    }
    is $sent, 50, 'the rest is taken, not reset';
    is $k->wait_close(1), 'eof', 'then closed';

    $k = adopted();
    $k->request(PUT => '/small/x', [], 'x' x 5000);
    is $k->response->status, 413, 'all of it there';

    my @all = map { adopted() } 1 .. 10;
    $_->send("PUT /p/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
        for @all;
    my $began = time;
    cmp_ok quickly($s, '/p/q', 'GET /p/q 0', adopted()), '<', 0.5,
        'bodies that do not come: nobody waits';
    is join(' ', map { $_->response->status // 'none' } @all),
        join(' ', (408) x 10), 'timed out';
    my $took = time - $began;
    ok $took > 2 && $took < 5.5, "after Timeout ($took)";
};

subtest 'a client that does not read' => sub {
    my $size = 8_000_000;
    my @all = map { adopted(rcvbuf => 4096) } 1 .. 10;
    $_->request(GET => "/big/big/$size") for @all;
    sleep 0.2;
    cmp_ok quickly($s, '/p/q', 'GET /p/q 0', adopted()), '<', 0.5,
        'nobody else waits';
    sleep 4.5;
    my $cut = 0;
    for my $k (@all) {
        my $res = $k->response;
        $cut++ if !$res->complete && ($res->end // '') ne 'timeout';
    }
    is $cut, 10, 'given up after Timeout';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
