# Licensed under the Apache License, Version 2.0; see LICENSE.

# X-Accel-Limit-Rate: how fast the client gets a response. X-Accel-Expires:
# what a mod_cache in front makes of it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Answers;
use Up::Server ();

my $KB = 1024;
my $BODY = filler(72 * $KB);

sub note_sent { return sub { $_[0]->note(type => 'sent'); 1 } }

# 72 KB with further fields.
sub body {
    my (@fields) = @_;
    return [join("\r\n", 'HTTP/1.1 200 OK', @fields,
        'Content-Length: ' . length $BODY, '', '') . $BODY, note_sent()];
}

# The body is the number of the answer.
my $n = 0;

sub counted {
    my (@fields) = @_;
    return sub {
        my ($c, $req) = @_;
        my $body = $c->n . '.' . ++$n;
        return $c->send(join "\r\n", 'HTTP/1.1 200 OK',
            'Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT', @fields,
            'Content-Length: ' . length $body, '', $body);
    };
}

my $now = int time;
my $b = Up::Answers->start({
    plain => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    rate => body('X-Accel-Limit-Rate: 50000'),
    chunks => ["HTTP/1.1 200 OK\r\nX-Accel-Limit-Rate: 50000\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n"
        . sprintf("%x\r\n", length $BODY) . $BODY . "\r\n0\r\n\r\n",
        note_sent()],
    zero => body('X-Accel-Limit-Rate: 0'),
    bad => body('X-Accel-Limit-Rate: 5k'),
    unbuffered => body('X-Accel-Limit-Rate: 50000', 'X-Accel-Buffering: no'),
    tiny => ["HTTP/1.1 200 OK\r\nX-Accel-Limit-Rate: 4\r\n"
        . "Content-Length: 8\r\n\r\nsomebody"],
    file => ["HTTP/1.1 200 OK\r\nX-Accel-Limit-Rate: 51200\r\n"
        . "X-Accel-Redirect: /file\r\nContent-Length: 0\r\n\r\n"],
    again => ["HTTP/1.1 200 OK\r\nX-Accel-Limit-Rate: 50000\r\n"
        . "X-Accel-Redirect: /p/zero\r\nContent-Length: 0\r\n\r\n"],
    hour => counted('X-Accel-Expires: 3600', 'Cache-Control: max-age=0'),
    none => counted('X-Accel-Expires: 0', 'Cache-Control: max-age=3600'),
    at => counted('X-Accel-Expires: @' . ($now + 3600)),
    past => counted('X-Accel-Expires: @' . ($now - 10),
        'Cache-Control: max-age=3600'),
    badtime => counted('X-Accel-Expires: soon', 'Cache-Control: max-age=0'),
    private => counted('X-Accel-Expires: 3600', 'Cache-Control: private'),
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
LoadModule cache_module @MODULES@/mod_cache.so
LoadModule cache_socache_module @MODULES@/mod_cache_socache.so
LoadModule socache_shmcb_module @MODULES@/mod_socache_shmcb.so
CacheSocache shmcb
CacheEnable socache /cached/
CacheEnable socache /ignored/
CacheQuickHandler off
CacheDefaultExpire 1
UpstreamTempPath @TMP@
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBuffers 2 4k
</Location>
<Location /ignore/>
    UpstreamPass http://@A@
    UpstreamIgnoreHeaders X-Accel-Limit-Rate
</Location>
<Location /cached/>
    UpstreamPass http://@A@
</Location>
<Location /ignored/>
    UpstreamPass http://@A@
    UpstreamIgnoreHeaders X-Accel-Expires
</Location>
END
$s->write_file('file', $BODY);

# Seconds until the whole body was there.
sub seconds {
    my ($target) = @_;
    my $res = $s->get($target);
    ok $res->complete && $res->body eq $BODY, "$target: whole";
    return ($res->finished - $res->started, $res);
}

subtest 'the rate' => sub {
    for my $target ('/p/rate', '/small/rate', '/small/chunks') {
        $b->clear;
        my $began = time;
        my ($took, $res) = seconds($target);
        # about 32,000 at once, the rest at 50,000 a second
        ok $took > 0.7 && $took < 3, "about a second ($took)";
        ok $res->pieces->[0][0] - $began < 0.5, 'the beginning at once';
        my ($sent) = $b->events('sent');
        ok $sent->{t} - $began < 0.7, 'the backend is not held back';
        is $res->header('X-Accel-Limit-Rate'), undef, 'the field is not shown';
    }
    my $res = $s->get('/p/tiny');
    is $res->body, 'somebody', 'four bytes a second';
    is join('|', map { $_->[1] } @{ $res->pieces }), 'some|body', 'each';
};

subtest 'many at a time' => sub {
    my @k = map { $s->client } 1 .. 8;
    my $began = time;
    $_->request(GET => '/p/rate') for @k;
    ok $_->response->body eq $BODY, 'whole' for @k;
    ok time - $began < 5, 'do not wait for each other';
};

subtest 'no limit' => sub {
    for my $target ('/p/zero', '/p/bad', '/p/unbuffered', '/ignore/rate') {
        my ($took) = seconds($target);
        ok $took < 1, 'at once';
    }
};

subtest 'the backend connection' => sub {
    my $k = $s->client;
    $b->clear;
    $k->request(GET => '/p/rate');
    $k->read_some(1);
    is $s->get('/p/plain')->body, 'ok', 'another request meanwhile';
    ok same_connection($b), 'on the same connection';
    $k->close;
};

subtest 'with X-Accel-Redirect' => sub {
    for my $name (qw(file again)) {
        my ($took) = seconds("/p/$name");
        ok $took > 0.7 && $took < 4, "$name: about a second ($took)";
    }
};

subtest 'a client that leaves' => sub {
    my $k = $s->client;
    $k->request(GET => '/p/rate');
    $k->read_some(1);
    $k->reset;
    is $s->logged('/p/rate')->{UPSTREAM_STATUS}, 200, 'ends the exchange';
};

# Is the second answer that of the first request?
sub is_cached {
    my ($target) = @_;
    my $first = $s->get($target);
    return ($s->get($target)->body eq $first->body ? 1 : 0, $first);
}

subtest 'X-Accel-Expires' => sub {
    for (['cached/hour', 1, 's-maxage=3600, max-age=0'],
        ['cached/none', 0, 'max-age=3600'],
        ['cached/at', 1, qr/^s-maxage=3[56]\d\d$/],
        ['cached/past', 0, 'max-age=3600'],
        ['cached/private', 0, 's-maxage=3600, private'],
        ['cached/badtime', 0, 'max-age=0'],
        ['ignored/hour', 0, 'max-age=0'], ['ignored/none', 1, 'max-age=3600'],
        ['p/hour', 0, 'max-age=0']) {
        my ($target, $cached, $control) = @$_;
        my ($was, $res) = is_cached("/$target");
        is $was, $cached, "$target: " . ($cached ? 'stored' : 'not stored');
        ref $control ? like $res->header('Cache-Control') // '', $control
            : is $res->header('Cache-Control'), $control, 'Cache-Control';
        is $res->header('X-Accel-Expires'), undef, 'the field is not shown';
    }
};

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
