# Licensed under the Apache License, Version 2.0; see LICENSE.

# What nginx does not have of retries: `reused`, a key that makes a request
# repeatable, the time of one try.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $s = Up::Server->start(A => $A->addr, B => $B->addr, conf => <<'END');
<Upstream ab>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @B@ backup
</Upstream>
UpstreamPass /plain/ http://ab/
<Location /reused/>
    UpstreamPass http://ab/
    UpstreamNextUpstream error timeout reused
</Location>
<Location /reused/stream/>
    UpstreamRequestBuffering off
    UpstreamRequestBufferSize 1k
</Location>
<Location /key/>
    UpstreamPass http://ab/
    UpstreamRetryKey Idempotency-Key
</Location>
<Location /key/off/>
    UpstreamRetryKey off
</Location>
<Location /try/>
    UpstreamPass http://ab/
    UpstreamNextUpstreamTryTimeout 300ms
    UpstreamTotalTimeout 20s
</Location>
<Location /try/stream/>
    UpstreamRequestBuffering off
</Location>
<Location /try/error/>
    UpstreamNextUpstream error
</Location>
END
my $k = $s->client;

sub ask {
    my (@ask) = @_;
    my $res = $k->ask(@ask);
    $k = $s->client if $res->closes;
    return $res;
}

# On a kept connection of A's.
sub again {
    my ($method, $target, $do, $body, @more) = @_;
    is ask(GET => $target)->body, 'A', 'a first request';
    $_->clear for $A, $B;
    return ask($method => $target, ['X-A-again' => $do, @more], $body);
}

sub asked { return Up::Scripts::asked(A => $A, B => $B) }

subtest 'reused' => sub {
    for my $method (qw(POST PATCH LOCK)) {
        is again($method => '/plain/x', 'close', 'abc')->status, 502,
            "$method: not without it";
        is again($method => '/reused/x', 'close', 'abc')->body, 'A',
            'with it: answered';
        is asked(), 'A:2', 'by the same server';
        is_deeply [map { $_->{body} } $A->requests], ['abc', 'abc'],
            'which gets the body again';
    }
    is again(POST => '/reused/x', 'part', 'abc')->status, 502,
        'not when an answer has begun';
    is asked(), 'A:1', 'sent once';
    is ask(POST => '/reused/x', ['X-A' => 'close'], 'abc')->status, 502,
        'nor on a new connection';
    is again(POST => '/reused/stream/x', 'reset', 'b' x 200_000)->status, 502,
        'nor without the body';
};

subtest 'UpstreamRetryKey' => sub {
    my @key = ('Idempotency-Key' => 'a7');
    $_->clear for $A, $B;
    is ask(POST => '/key/x', ['X-A' => 'close', @key], 'abc')->body, 'B',
        'the next server';
    is asked(), 'A:1 B:1', 'is asked';
    is_deeply [map { $_->{body} } $A->requests, $B->requests],
        ['abc', 'abc'], 'with the body';
    is again(POST => '/key/x', 'close', 'abc', @key)->body, 'A',
        'a dead kept connection';
    is ask(POST => $_->[0], ['X-A' => 'close', @{ $_->[1] }], 'abc')->status,
        502, $_->[2] for ['/key/x', [], 'no key'],
        ['/key/x', ['Idempotency-Key' => ''], 'an empty one'],
        ['/key/off/x', \@key, 'off'], ['/plain/x', \@key, 'not asked for'];
};

subtest 'UpstreamNextUpstreamTryTimeout' => sub {
    my $begin = time;
    my $res = ask(GET => '/try/x?1', ['X-A' => 'silent']);
    my $took = time - $begin;
    is $res->body, 'B', 'the next server answers';
    ok $took > 0.25 && $took < 10, "when time is up ($took)";
    is $s->logged('/try/x?1')->{UPSTREAM_STATUS}, '504, 200', 'a timeout';
    is ask(GET => '/try/x', ['X-A' => 'trickle'])->body, 'B',
        'a head that comes in pieces, too';
    is ask(GET => '/try/x', ['X-A' => 'silent', 'X-B' => 'silent'])->status,
        504, 'each server has that time';
    is ask(GET => '/try/error/x', ['X-A' => 'silent'])->status, 504,
        'other tries as UpstreamNextUpstream says';
    like join('', $s->error_log),
        qr/timed out \(UpstreamNextUpstreamTryTimeout\)/, 'the log says so';
};

subtest 'a slow upload is not the server\'s fault' => sub {
    $k->send("PUT /try/stream/x HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n"
        . "\r\n");
    for my $part ('ab', 'cd', 'ef') {
        select undef, undef, undef, 0.2;
        $k->send($part);
    }
    my $res = $k->response;
    is $res->status . $res->body, '200A', 'answered by the first';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
