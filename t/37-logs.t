# Licensed under the Apache License, Version 2.0; see LICENSE.

# What an operator reads: one line a failed try, with where, who, why and what
# to change; nothing for what went well, and never a secret.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $slow = Up::Scripts->obedient('A', rcvbuf => 8192);
my $refused = Up::Backend->closed(sub { });
my $stuck = Up::Backend->stuck;

my $s = Up::Server->start(A => $A->addr, B => $B->addr, R => $refused->addr,
    S => $stuck->addr, L => $slow->addr,
    loglevel => 'info upstream_proxy:trace8', conf => <<'END');
<If "%{HTTP:X-A} == 'silent'">
    UpstreamReadTimeout 300ms
</If>
UpstreamNextUpstream error timeout invalid_header http_503
<Upstream ab>
    UpstreamServer @A@ max_fails=0
    UpstreamServer @B@ max_fails=0 backup
</Upstream>
<Upstream ra>
    UpstreamServer @R@ max_fails=0
    UpstreamServer @A@ max_fails=0 backup
</Upstream>
<Upstream one>
    UpstreamServer @A@ fail_timeout=60s
    UpstreamServer @R@ backup down
</Upstream>
<Upstream down>
    UpstreamServer @A@ down
</Upstream>
UpstreamPass /ab/ http://ab
UpstreamPass /ra/ http://ra
UpstreamPass /one/ http://one
UpstreamPass /a/ http://@A@
UpstreamPass /refused/ http://@R@
<Location /stuck/>
    UpstreamPass http://@S@
    UpstreamConnectTimeout 300ms
</Location>
UpstreamPass /down/ http://down
UpstreamPass /nowhere/ http://nowhere.invalid
<Location /tries/>
    UpstreamPass http://ab
    UpstreamNextUpstreamTries 1
</Location>
<Location /slow/>
    UpstreamPass http://@L@
    UpstreamSocketSndbuf 16k
    UpstreamSendTimeout 300ms
</Location>
<Location /off/>
    UpstreamPass http://ab
    UpstreamNextUpstream off
</Location>
<Location /time/>
    UpstreamPass http://ab
    UpstreamNextUpstreamTimeout 300ms
</Location>
<Location /stream/>
    UpstreamPass http://ab
    UpstreamRequestBuffering off
    UpstreamRequestBufferSize 1k
</Location>
END

my $k = $s->client;

# Lines at warn or above that follow from a request, and those at info.
sub lines {
    my ($method, $target, $fields, $body) = @_;
    $s->mark;
    my $res = $k->ask($method, $target, $fields, $body);
    $k = $s->client if $res->closes;
    my @all = grep { /upstream_proxy:/ } $s->error_log;
    return ($res, [grep { /:(?:warn|error|crit|alert|emerg)\]/ } @all],
        [grep { /:info\]/ } @all]);
}

my $CONNECTING = 'while connecting to upstream';
my $READING = 'while reading response header from upstream';

# method, target, what A does => level, reason, phase, server, what now
my @FAILURES = (
    [GET => '/refused/', 'ok', error =>
        'Connection refused.*connect\(\) failed', $CONNECTING, $refused,
        'no other server is left to try'],
    [GET => '/ra/', 'ok', warn => 'Connection refused.*connect\(\) failed',
        $CONNECTING, $refused, 'trying the next server'],
    [GET => '/stuck/', 'ok', error =>
        'upstream timed out \(UpstreamConnectTimeout\)', $CONNECTING, $stuck,
        'no other server is left to try'],
    [GET => '/a/', 'close', error => 'upstream prematurely closed connection',
        $READING, $A, 'no other server is left to try'],
    [GET => '/ab/', 'reset', warn => 'Connection reset.*recv\(\) failed',
        $READING, $A, 'trying the next server'],
    [GET => '/ab/', 'silent', warn =>
        'upstream timed out \(UpstreamReadTimeout\)', $READING, $A,
        'trying the next server'],
    [GET => '/ab/', 'garbage', warn =>
        'upstream sent no valid status line: .+', $READING, $A,
        'trying the next server'],
    [GET => '/a/', 'field', error => 'upstream sent invalid header: .+',
        $READING, $A, 'no other server'],
    [GET => '/a/', 'big', error =>
        'upstream sent too big header: .*\(UpstreamMaxHeaderSize\)', $READING,
        $A, 'no other server'],
    [GET => '/ab/', 'say:503', warn => 'upstream answered 503', $READING, $A,
        'trying the next server'],
    [GET => '/off/', 'close', error => 'prematurely closed', $READING, $A,
        'UpstreamNextUpstream does not name this failure'],
    [POST => '/ab/', 'close', error => 'prematurely closed', $READING, $A,
        'the request may not be repeated \(UpstreamNextUpstream '
        . 'non_idempotent\)'],
    [PUT => '/stream/', 'body-reset', error => 'failed|closed',
        'while (?:sending request to|reading response header from) upstream',
        $A, 'the streamed body is gone \(UpstreamRequestBuffering on\)'],
    [GET => '/time/', 'late-close', error => 'prematurely closed', $READING,
        $A, 'UpstreamNextUpstreamTimeout is over'],
    [GET => '/tries/', 'close', error => 'prematurely closed', $READING, $A,
        'UpstreamNextUpstreamTries allows no other try'],
    [PUT => '/slow/', 'no-read', error =>
        'upstream timed out \(UpstreamSendTimeout\)',
        'while sending request to upstream', $slow, 'no other server'],
);
for my $row (@FAILURES) {
    my ($method, $target, $do, $level, $reason, $phase, $server, $now) =
        @$row;
    subtest "$method $target $do" => sub {
        my ($res, $lines) = lines($method, "${target}x", ['X-A' => $do],
            $method eq 'PUT' ? 'b' x 3_000_000 : undef);
        is scalar @$lines, 1, 'one line' or diag @$lines;
        my $line = $lines->[0] // '';
        my $addr = $server->addr;
        like $line, qr/:$level\]/, "level $level";
        like $line, qr/ UP0427: /, 'a number of its own';
        like $line, qr/$reason/, 'the reason';
        like $line, qr/ $phase, /, 'the phase';
        like $line, qr{, upstream: "http://\Q$addr$target\Ex", group \S+, },
            'where';
        like $line, qr{ try 1, new connection, after \d+\.\d{3} s: $now},
            'what now';
    };
}

subtest 'no live upstreams' => sub {
    my ($res, $lines) = lines(GET => '/down/x');
    is scalar @$lines, 1, 'one line';
    like $lines->[0], qr{:error\].*UP0427: no live upstreams while choosing },
        'what';
    like $lines->[0], qr{"http://down/down/x", group down, try 1, after },
        'where, and no connection';
    like $lines->[0], qr{: all are down, full or resting \(max_conns, },
        'and why';
    ($res, $lines) = lines(GET => '/nowhere/x');
    is scalar @$lines, 1, 'one line of a group that no name leads to';
    like $lines->[0], qr{UP0427:\ no\ live\ upstreams\ while\ .*,\ group
        \ nowhere\.invalid,\ try\ 1,\ after\ \S+\ s:\ no\ server\ of\ the
        \ group\ has\ an\ address,\ see\ UP0105}x, 'says so';
};

subtest 'a server is taken out' => sub {
    my ($res, $lines) = lines(GET => '/one/x', ['X-A' => 'part']);
    is scalar @$lines, 2, 'two lines';
    my $addr = $A->addr;
    like $lines->[1], qr/:warn\].*UP0424: upstream server \Q$addr\E/,
        'who it is';
    like $lines->[1], qr/\(max_fails, fail_timeout of UpstreamServer\)/,
        'and what to change';
};

subtest 'several tries' => sub {
    my ($res, $lines) = lines(GET => '/ab/x', ['X-A' => 'part',
        'X-B' => 'part']);
    is scalar @$lines, 2, 'a line each';
    like $lines->[0], qr/:warn\].*, try 1, .*trying the next server/,
        'a warning';
    like $lines->[1], qr/:error\].*, try 2, .*no other server is left/,
        'then an error';
};

subtest 'a stale connection' => sub {
    lines(GET => '/a/x');
    my ($res, $lines, $info) = lines(GET => '/a/x', ['X-A-again' => 'close']);
    is scalar @$lines, 0, 'nothing to worry about';
    is scalar @$info, 1, 'one line';
    like $info->[0], qr/pooled connection.*trying again on a new connection/,
        'at info';
};

subtest 'a response is cut' => sub {
    my ($res, $lines) = lines(GET => '/a/x', ['X-A' => 'cut']);
    is scalar @$lines, 1, 'one line';
    my $addr = $A->addr;
    like $lines->[0], qr{:error\].*UP0426:\ upstream\ prematurely\ closed
        \ connection\ while\ reading\ upstream,\ upstream:\ "http://\Q$addr\E
        /a/x",\ 1000\ body\ bytes\ received,\ group\ \Q$addr\E,\ try\ 1,
        \ \w+\ connection,\ after\ \d+\.\d{3}\ s:\ the\ client\ got\ a
        \ truncated\ response}x, 'all of it';
};

subtest 'nothing is said of what went well' => sub {
    for my $do ('ok', 'say:404', 'say:500') {
        my ($res, $lines, $info) = lines(GET => '/a/x', ['X-A' => $do]);
        is scalar @$lines + @$info, 0, $do;
    }
};

subtest 'no secret is written' => sub {
    for my $do (qw(ok close garbage say:503)) {
        lines(POST => '/ab/x', ['X-A' => $do, Cookie => 'sid=SeCrEt1',
            Authorization => 'Basic SeCrEt2'], 'SeCrEt3');
        is scalar(grep { /SeCrEt/ } $s->error_log), 0,
            "no cookie, credential or body: $do";
    }
    cmp_ok scalar(grep { /:trace\d\]/ } $s->error_log), '>', 3,
        'although much is';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
