# Licensed under the Apache License, Version 2.0; see LICENSE.

# A try fails: at every point, in every way, with every word of
# UpstreamNextUpstream; which requests are repeated, and how often.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B, $C) = map { Up::Scripts->obedient($_) } qw(A B C);
my $refused = Up::Backend->closed(sub { });
my $refused2 = Up::Backend->closed(sub { });
my $stuck = Up::Backend->stuck;

# A is asked first, B and C only when it has failed; no failure counts.
my @WORDS = qw(error timeout invalid_header http_500 http_502 http_503
    http_504 http_403 http_404 http_429 off);
my @LOCATIONS = (
    (map { [$_, "UpstreamNextUpstream $_"] } @WORDS),
    [default => ''],
    [any => 'UpstreamNextUpstream ' . join ' ', @WORDS[0 .. 9]],
    [non_idempotent => 'UpstreamNextUpstream error timeout non_idempotent'],
    [both => 'UpstreamNextUpstream error off'],
    [stream => "UpstreamRequestBuffering off\nUpstreamRequestBufferSize 1k"],
);

my $conf = join '', map { <<"END" } @LOCATIONS;
<Location /$_->[0]/>
    UpstreamPass http://ab/
    $_->[1]
</Location>
END

my $s = Up::Server->start(conf => <<"END", A => $A->addr, B => $B->addr,
<Upstream ab>
    UpstreamServer \@A\@ max_fails=0
    UpstreamServer \@B\@ max_fails=0 backup
    UpstreamKeepalive 0
</Upstream>
<Upstream abc>
    UpstreamServer \@A\@ max_fails=0 weight=900
    UpstreamServer \@B\@ max_fails=0 weight=30
    UpstreamServer \@C\@ max_fails=0
    UpstreamKeepalive 0
</Upstream>
<Upstream refused>
    UpstreamServer \@R1\@ max_fails=0
    UpstreamServer \@B\@ max_fails=0 backup
</Upstream>
<Upstream stuck>
    UpstreamServer \@S\@ max_fails=0
    UpstreamServer \@B\@ max_fails=0 backup
</Upstream>
<Upstream nobody>
    UpstreamServer \@R1\@
    UpstreamServer \@R2\@
</Upstream>
<Upstream gone>
    UpstreamServer \@A\@ max_fails=0
    UpstreamServer \@R1\@ fail_timeout=60s backup
</Upstream>
<Upstream downs>
    UpstreamServer \@A\@ max_fails=0
    UpstreamServer \@B\@ down
    UpstreamServer \@C\@ down backup
</Upstream>
$conf
<If "%{HTTP:X-A} =~ /silent|trickle/">
    UpstreamReadTimeout 400ms
</If>
<Location /tries2/>
    UpstreamPass http://abc/
    UpstreamNextUpstreamTries 2
    UpstreamNextUpstream error http_503
</Location>
<Location /tries0/>
    UpstreamPass http://abc/
    UpstreamNextUpstream error http_503
</Location>
<Location /time/>
    UpstreamPass http://abc/
    UpstreamNextUpstream error http_503
    UpstreamNextUpstreamTimeout 800ms
</Location>
UpstreamPass /refused/ http://refused/
UpstreamPass /stuck/ http://stuck/
<Location /stuck/>
    UpstreamConnectTimeout 300ms
</Location>
<Location /refused-stream/>
    UpstreamPass http://refused/
    UpstreamRequestBuffering off
    UpstreamRequestBufferSize 1k
</Location>
UpstreamPass /nobody/ http://nobody/
UpstreamPass /downs/ http://downs/
<Location /gone/>
    UpstreamPass http://gone/
    UpstreamNextUpstream error http_503
</Location>
END
    C => $C->addr, R1 => $refused->addr, R2 => $refused2->addr,
    S => $stuck->addr);

# One exchange; returns the response, and what the access log has of it.
my $serial = 0;

sub try {
    my ($method, $target, $fields, $body) = @_;
    $_->clear for $A, $B, $C;
    $target .= '?' . ++$serial;
    my $res = $s->ask($method, $target, $fields, $body);
    return ($res, $s->logged($target));
}

sub asked { return Up::Scripts::asked(A => $A, B => $B, C => $C) }

# what A does => [the word that covers it, what the client gets without]
my %FAILURES = (
    reset => ['error', 502], close => ['error', 502],
    'head-reset' => ['error', 502], part => ['error', 502],
    'part-reset' => ['error', 502], interim => ['error', 502],
    silent => ['timeout', 504], trickle => ['timeout', 504],
    garbage => ['invalid_header', 502], field => ['invalid_header', 502],
    big => ['invalid_header', 502],
    map { ("say:$_" => ["http_$_", $_]) } 500, 502 .. 504, 403, 404, 429,
);

for my $do (sort keys %FAILURES) {
    my ($word, $status) = @{ $FAILURES{$do} };
    subtest "A does $do: $word" => sub {
        my ($res, $line) = try(GET => "/$word/x", ['X-A' => $do]);
        is $res->status . ' ' . $res->body, '200 B', 'B answers';
        is $line->{UPSTREAM_STATUS}, "$status, 200", 'status of both tries';
        is $line->{UPSTREAM_ADDR}, $A->addr . ', ' . $B->addr, 'both servers';
        is asked(), 'A:1 B:1', 'each asked once';

        my ($other) = grep { $_ ne $word } qw(error timeout);
        ($res, $line) = try(GET => "/$other/x", ['X-A' => $do]);
        is $res->status, $status, "with $other alone: the failure's status";
        is $line->{UPSTREAM_STATUS}, $status, 'one try';
        is asked(), 'A:1', 'B is left alone';
        is $res->body, "A says $status", "the application's own page"
            if $word =~ /http/;
        ok $res->complete, 'a whole response';
    };
}

subtest 'every word at once' => sub {
    for my $do (grep { !/trickle|part/ } sort keys %FAILURES) {
        my ($res) = try(GET => '/any/x', ['X-A' => $do]);
        is $res->status . ' ' . $res->body, '200 B', $do;
    }
};

subtest 'other statuses are answers' => sub {
    for my $status (200, 204, 301, 400, 401, 405, 410, 501, 505) {
        my ($res) = try(GET => '/any/x', ['X-A' => "say:$status"]);
        is $res->status, $status, "say:$status";
        is asked(), 'A:1', 'from A alone';
    }
};

subtest 'RT08 503 is listed' => sub {
    my ($res) = try(GET => '/http_503/x', ['X-A' => 'say:503']);
    is $res->body, 'B', 'B answers';
};

subtest 'RT09 off' => sub {
    for my $location ('off', 'both') {
        for my $do (qw(close reset garbage silent)) {
            my ($res) = try(GET => "/$location/x", ['X-A' => $do]);
            is $res->status, $FAILURES{$do}[1], "$location: $do";
            is asked(), 'A:1', 'B is left alone';
        }
    }
};

subtest 'RT16 an invalid head is listed' => sub {
    my ($res) = try(GET => '/invalid_header/x', ['X-A' => 'field']);
    is $res->status . ' ' . $res->body, '200 B', 'B answers';
};

subtest 'which methods are repeated' => sub {
    for my $method (qw(GET HEAD OPTIONS PUT DELETE PROPFIND PROPPATCH MKCOL
        COPY MOVE UNLOCK SEARCH REPORT)) {
        my ($res) = try($method => '/default/x', ['X-A' => 'close']);
        is $res->status, 200, "$method is";
        is asked(), 'A:1 B:1', 'by B';
    }
    for my $method (qw(POST LOCK PATCH FROB get)) {
        my ($res) = try($method => '/default/x', ['X-A' => 'close']);
        is $res->status, 502, "$method is not";
        is asked(), 'A:1', 'B is left alone';
        ($res) = try($method => '/non_idempotent/x', ['X-A' => 'close']);
        is $res->status, 200, '... but for non_idempotent';
        is asked(), 'A:1 B:1', 'by B';
    }
    my ($res) = try(POST => '/http_503/x', ['X-A' => 'say:503'], 'abc');
    is $res->body, 'A says 503', 'nor after an answer';
};

subtest 'RT02 C23 a body is sent again, from memory or a file' => sub {
    for my $size (0, 3, 16_000, 100_000, 3_000_000) {
        my $body = substr join('', 'a' .. 'zzz') x ($size / 50_000 + 1), 0,
            $size;
        my ($res) = try(PUT => '/default/x', ['X-A' => 'close'], $body);
        is $res->status, 200, "$size bytes";
        my @got = map { ($_->requests)[0]{body} } $A, $B;
        ok $got[0] eq $body && $got[1] eq $body, 'all of them at both';
        is_deeply [$B->problems], [], 'well-formed';
        ($res) = try(PUT => '/default/x', ['X-A' => 'body-reset'], $body)
            if $size > 100_000;
        is $res->status, 200, 'A resets in the middle of it';
    }
    my ($res) = try(PUT => '/default/x', ['X-A' => 'close',
        'Transfer-Encoding' => 'chunked'], "3\r\nabc\r\n0\r\n\r\n");
    is $res->status, 200, 'in chunks';
    is +($B->requests)[0]{body}, 'abc', 'all of them';
};

subtest 'RT15 POST with non_idempotent' => sub {
    my ($res) = try(POST => '/non_idempotent/x', ['X-A' => 'close'], 'abc');
    is $res->body, 'B', 'B answers';
    is +($B->requests)[0]{body}, 'abc', 'and has the body';
};

subtest 'RT03 nothing was sent: every request may move on' => sub {
    for my $where (qw(refused stuck)) {
        for my $ask (['GET'], ['POST', 'abc'], ['FROB', 'abc']) {
            my ($method, $body) = @$ask;
            my ($res, $line) = try($method => "/$where/x", [], $body);
            is $res->body, 'B', "$where, $method";
            is asked(), 'B:1', 'B got it once';
            is +($B->requests)[0]{body}, $body // '', 'with its body';
            is $line->{UPSTREAM_STATUS}, $where eq 'stuck' ? '504, 200'
                : '502, 200', 'status of both tries';
        }
    }
};

subtest 'a streamed body' => sub {
    my $body = 'b' x 200_000;
    my ($res) = try(PUT => '/stream/x', ['X-A' => 'reset'], $body);
    is $res->status, 502, 'is not sent twice';
    is asked(), 'A:1', 'B is left alone';
    ($res) = try(PUT => '/refused-stream/x', [], $body);
    is $res->status, 200, 'but may move on while nothing was sent';
    is length +($B->requests)[0]{body}, 200_000, 'all of it at B';
    ($res) = try(GET => '/stream/x', ['X-A' => 'close']);
    is $res->body, 'B', 'no body: nothing in the way';
};

subtest 'RT07 two tries' => sub {
    my ($res, $line) = try(GET => '/tries2/x',
        [map { ("X-$_" => 'close') } qw(A B C)]);
    is $res->status, 502, 'none is left';
    is asked(), 'A:1 B:1', 'the first counts';
    is $line->{UPSTREAM_STATUS}, '502, 502', 'both in the log';
    ($res) = try(GET => '/tries0/x', [map { ("X-$_" => 'close') } qw(A B C)]);
    is $res->status, 502, 'no limit';
    is asked(), 'A:1 B:1 C:1', 'each server once';
};

subtest 'the last real answer is kept' => sub {
    my ($res, $line) = try(GET => '/tries2/x',
        [map { ("X-$_" => 'say:503') } qw(A B C)]);
    is $res->status . ' ' . $res->body, '503 B says 503', 'of the last try';
    is $line->{UPSTREAM_STATUS}, '503, 503', 'two tries';
    my $k = $s->client; # one child
    $res = $k->get('/gone/x', ['X-A' => 'part']);
    is $res->status, 502, 'the backup refuses, and rests from now on';
    $res = $k->get('/gone/kept', ['X-A' => 'say:503']);
    $line = $s->logged('/gone/kept');
    is $res->body, 'A says 503', 'no server is left to try: no 502';
    is $line->{UPSTREAM_STATUS}, '503', 'and no empty try';
    ($res, $line) = try(GET => '/downs/x', ['X-A' => 'close']);
    is $line->{UPSTREAM_STATUS}, '502', 'a server that is down is no try';
};

subtest 'RT06 no server' => sub {
    my $k = $s->client; # one child
    my $res = $k->get('/nobody/1');
    is $res->status, 502, 'both refuse';
    ok $res->complete, 'a whole response';
    is $s->logged('/nobody/1')->{UPSTREAM_STATUS}, '502, 502',
        'both were tried';
    is $k->get('/nobody/2')->status, 502, 'both rest';
    my $line = $s->logged('/nobody/2');
    is $line->{UPSTREAM_ADDR}, 'nobody', 'no live upstreams: the group';
    is $line->{UPSTREAM_STATUS}, '502', 'one entry';
    ok $k->idle, 'a 502 keeps the client connection';
};

subtest 'UpstreamNextUpstreamTimeout' => sub {
    my ($res) = try(GET => '/time/x', ['X-A' => 'close']);
    is $res->body, 'B', 'not over yet';
    ($res) = try(GET => '/time/x', ['X-A' => 'late:1']);
    is $res->body, 'A', 'it does not end a try that runs';
    ($res) = try(GET => '/time/x', ['X-A' => 'late-close']);
    is $res->status, 502, 'over: no further try';
    is asked(), 'A:1', 'B is left alone';
};

subtest 'RT14 after the head there is no other try' => sub {
    for my $do (qw(cut cut-reset)) {
        my ($res, $line) = try(GET => '/any/x', ['X-A' => $do]);
        is $res->status, 200, "$do: the head has gone out";
        is length $res->body, 1000, 'what came';
        ok $res->cut, 'and a cut';
        is asked(), 'A:1', 'B is left alone';
        is $line->{UPSTREAM_STATUS}, 200, 'status stays';
    }
};

ok $s->stop, 'no crash, nothing left';
done_testing;
