# Licensed under the Apache License, Version 2.0; see LICENSE.

# TLS connections in a loop: what a record holds need not be what a request
# is, and what has been decrypted is not announced by the socket.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Bulk;
use Up::Crowd;
use Up::Server ();
use Up::TLS ();
use Up::TLSClient ();

only_loop;

plan skip_all => 'needs mod_ssl and openssl' if !Up::TLSClient->usable;

my ($port, $host) = Up::TLS::host();
my $b = Up::Backend->http(sub {
    my ($req) = @_;
    sleep $1 if $req->{target} =~ m{/late/([\d.]+)};
    return [200, [], "$req->{method} $req->{target} " . length $req->{body}];
});
my $crowd = Up::Crowd->start;
my $s = Up::Server->start(driver => 'loop', A => $b->addr,
    C => $crowd->addr, conf => $host . <<'END');
KeepAliveTimeout 3
UpstreamPass /p/ http://@A@
UpstreamPass /big/ http://@C@
<Location /streamed/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
END

sub head_of { return "GET /p/$_[0] HTTP/1.1\r\nHost: x\r\n\r\n" }

sub adopted {
    my @options = @_;
    my $k = Up::TLSClient->new(port => $port, options => \@options);
    $k->get('/p/first')->body eq 'GET /p/first 0' or die 'no first answer';
    return $k;
}

sub answers {
    my ($k, $n) = @_;
    return join ' ', map {
        my $res = $k->response;
        ($res->status // $res->end) ne '200' ? $res->status // $res->end
            : $res->body =~ m{^\S+ /\w+/(\S+)};
    } 1 .. $n;
}

for my $version (qw(-tls1_2 -tls1_3)) {
    subtest $version => sub {
        my $k = adopted($version);
        is scalar(grep { $k->get("/p/$_")->body eq "GET /p/$_ 0" } 1 .. 50),
            50, 'kept alive for 50 requests';
        $k->send(join '', map { head_of($_) } 1 .. 20);
        is answers($k, 20), "@{[ 1 .. 20 ]}", '20 in one record';
        $k->send(join '', map { head_of($_ % 2 ? $_ : "late/0.0$_") }
            1 .. 6);
        is answers($k, 6), '1 late/0.02 3 late/0.04 5 late/0.06',
            'slow ones among them';

        my $next = head_of('next');
        for my $at (1, 10, length($next) - 1) {
            $k->send(substr $next, 0, $at);
            sleep 0.2;
            my $other = adopted($version);
            is answers($other, 0), '', 'another one';
            $k->send(substr $next, $at);
            is answers($k, 1), 'next', "$at bytes of a head, and the rest";
        }
        my $three = head_of('1') . head_of('2') . head_of('3');
        for my $at (20, 40, 60, 80) {
            $k->send(substr $three, 0, $at);
            sleep 0.05;
            $k->send(substr $three, $at);
            is answers($k, 3), '1 2 3', "three in two records, at $at";
        }
        $k->send_slow($next, 1, 0.002);
        is answers($k, 1), 'next', 'a record for each byte';
    };
}

subtest 'bodies' => sub {
    my $k = adopted();
    my $put = sub { "PUT /$_[0]/$_[1] HTTP/1.1\r\nHost: x\r\n"
        . "Content-Length: $_[2]\r\n\r\n" . 'x' x $_[2] };
    $k->send($put->('p', 'a', 100) . head_of('b') . $put->('streamed', 'c',
        100) . head_of('d'));
    is answers($k, 4), 'a b c d', 'in one record with others';
    $k->send($put->('p', 'a', 12_000) . head_of('b'));
    is answers($k, 2), 'a b', 'a record that is nearly full';
    for my $location (qw(p streamed)) {
        my $bytes = $put->($location, 'slow', 40);
        $k->send(substr $bytes, 0, length($bytes) - 30);
        sleep 0.2;
        $k->send(substr $bytes, length($bytes) - 30);
        is answers($k, 1), 'slow', "$location, in two records";
        $k->send($put->($location, 'large', 3_000_000) . head_of('next'));
        is answers($k, 2), 'large next', "$location, 3 MB";
    }
    my $res = $k->get('/big/big/20000000');
    is length($res->body), 20_000_000, '20 MB down';
    is $k->get('/p/x')->status, 200, 'and on';

    my $slow = adopted();
    $slow->request(GET => '/big/big/20000000');
    sleep 1;
    cmp_ok quickly($s, '/p/q', 'GET /p/q 0'), '<', 0.5,
        'nobody waits for a slow client';
    is length($slow->response->body), 20_000_000, 'it gets all of it';
};

subtest 'the end' => sub {
    my $k = adopted();
    my $began = time;
    is $k->wait_close(5), 'eof', 'KeepAliveTimeout';
    my $took = time - $began;
    ok $took > 2.5 && $took < 4.5, "when it is over ($took)";
    $k = adopted();
    $k->send("GARBAGE\r\n\r\n");
    is answers($k, 1), 400, 'no request';
    is $k->wait_close(2), 'eof', 'closed';
    # openssl prints the messages of the protocol.
    my $last = head_of('late/0.2') =~ s/\r\n\z/Connection: close\r\n\r\n/r;
    for my $request ($last,
        head_of('late/0.1') . "GARBAGE\r\n\r\n") {
        open my $fh, '>', "$ENV{UP_RUN}/ask" or die;
        print $fh $request;
        close $fh;
        my $said = qx{openssl s_client -connect 127.0.0.1:$port -msg \\
            -ign_eof < $ENV{UP_RUN}/ask 2>&1};
        like $said, qr/^<<<.*Alert.*close_notify/m, 'says goodbye';
    }
};

ok $s->stop, 'no crash, nothing left';
done_testing;
