# Licensed under the Apache License, Version 2.0; see LICENSE.

# UPSTREAM_* in the environment and in expressions, upstream_http and
# upstream_cookie: nginx's forms, over tries and over internal redirects.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $refused = Up::Backend->closed(sub { });
my $unix = Up::Scripts->obedient('U', unix => 1);
my $six = Up::Backend::has_ipv6() && Up::Scripts->obedient('6', host => '::1');

# Exact bytes: head and raw body.
my %RAW = (
    length => ["HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", 'twelve bytes'],
    chunks => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "6\r\ntwelve\r\n6;x=y\r\n bytes\r\n0\r\nX-Trailer: 1\r\n\r\n"],
    close => ["HTTP/1.0 200 OK\r\n\r\n", 'until the end'],
    none => ["HTTP/1.1 204 None\r\nX-A: 1\r\n\r\n", ''],
    interim => ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        . "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", 'ok'],
    short => ["HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", 'twelve'],
    fields => ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: s/1\r\n"
        . "X-Many: one\r\nx-many: two\r\nX-Accel-Expires: 7\r\n"
        . "Content-Type: text/first\r\nContent-Type: text/second\r\n"
        . "Keep-Alive: timeout=9\r\nX-Empty:\r\n"
        . "Set-Cookie: sid=one; path=/; flag=no\r\n"
        . "Set-Cookie: lang = en;HttpOnly\r\n"
        . "Set-Cookie: SID=two\r\n\r\n", ''],
);
my $raw = Up::Backend->start(sub {
    my ($c) = @_;
    while (my $req = $c->read_request) {
        my ($what) = $req->{target} =~ m{(\w+)\z};
        $c->send(@{ $RAW{$what} });
        return if $what =~ /close|short/;
    }
});

my $LISTS = join '|', map { "%{UPSTREAM_$_}" } qw(ADDR STATUS CONNECT_TIME
    HEADER_TIME RESPONSE_TIME RESPONSE_LENGTH BYTES_RECEIVED BYTES_SENT);
my $s = Up::Server->start(A => $A->addr, B => $B->addr, R => $refused->addr,
    U => $unix->addr, X => $six ? $six->addr : $A->addr, W => $raw->addr,
    conf => <<"END");
<Upstream ab>
    UpstreamServer \@A\@ max_fails=0
    UpstreamServer \@B\@ max_fails=0 backup
</Upstream>
<Upstream refused>
    UpstreamServer \@R\@ max_fails=0
    UpstreamServer \@B\@ max_fails=0 backup
</Upstream>
<Upstream arb>
    UpstreamServer \@A\@ max_fails=0 weight=1000
    UpstreamServer \@R\@ max_fails=0 weight=10
    UpstreamServer \@B\@ max_fails=0 backup
</Upstream>
<Upstream nobody>
    UpstreamServer \@A\@ down
</Upstream>
UpstreamNextUpstream error timeout http_503
<If "%{HTTP:X-A} == 'silent'">
    UpstreamReadTimeout 300ms
</If>
UpstreamPass /a/ http://\@A\@
UpstreamPass /ab/ http://ab
UpstreamPass /arb/ http://arb
UpstreamPass /refused/ http://refused
UpstreamPass /nobody/ http://nobody
UpstreamPass /unix/ http://\@U\@:/
UpstreamPass /six/ http://\@X\@
UpstreamPass /raw/ http://\@W\@
<Location /expr/>
    UpstreamPass http://ab
    Header set X-Lists "expr=$LISTS"
    Header set X-Lower "expr=%{upstream_addr}|%{Upstream_Http:x-BY}"
    Header set X-More "expr=%{UPSTREAM_HOST}|%{UPSTREAM_PORT}"
</Location>
<Location /raw/fields>
    Header set X-Got "expr=\\
%{upstream_http:x_many}|%{upstream_http:X-Many}|%{upstream_http:server}|\\
%{upstream_http:x_accel_expires}|%{upstream_http:content_type}|\\
%{upstream_http:x-empty}|%{upstream_http:absent}"
    Header set X-Cookies "expr=%{upstream_cookie:sid}|\\
%{upstream_cookie:LANG}|%{upstream_cookie:flag}|%{upstream_cookie:absent}"
</Location>
<Location /file>
    Header set X-None "expr=<$LISTS|%{UPSTREAM_HOST}%{upstream_http:x_by}>"
</Location>
<Location /to-proxy/>
    UpstreamPass http://arb
    ErrorDocument 502 /unix/error
</Location>
<Location /unix/error>
    Header always set X-Last "expr=%{UPSTREAM_ADDR}|%{upstream_http:x_by}"
</Location>
<Location /to-file/>
    UpstreamPass http://ab
    ErrorDocument 502 /page.html
</Location>
<Location /page.html>
    Header always set X-Page "expr=%{UPSTREAM_STATUS}|%{UPSTREAM_HOST}"
</Location>
<Location /to-nobody/>
    UpstreamPass http://ab
    ErrorDocument 502 /nobody/page
</Location>
CustomLog \@ROOT\@/logs/chosen_log "%r" \\
    "expr=%{UPSTREAM_STATUS} =~ /502, 200/"
END
$s->write_file('page.html', 'the page');
$s->write_file('file', 'a file');

my $k = $s->client;
my $serial = 0;

# Response and entry of the access log.
sub try {
    my ($method, $target, $fields, $body) = @_;
    $target .= '?' . ++$serial if $target !~ m{^/raw/};
    $s->mark if $target =~ m{^/raw/};
    my $res = $k->ask($method, $target, $fields, $body);
    $k = $s->client if $res->closes;
    return ($res, $s->logged($target));
}

my @NAMES = qw(ADDR STATUS CONNECT_TIME HEADER_TIME RESPONSE_TIME
    RESPONSE_LENGTH BYTES_RECEIVED BYTES_SENT);

sub list { my ($line, $name) = @_; return $line->{"UPSTREAM_$name"} }

# Lists of the same number of entries, times with three decimals.
sub well_formed {
    my ($line, $entries) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    for my $name (@NAMES) {
        my @entries = split /, | : /, list($line, $name), -1;
        is scalar(@entries), $entries, "$name: $entries";
        like $_, $name =~ /TIME/ ? qr/^(?:-|\d+\.\d{3})\z/
            : $name eq 'ADDR' ? qr/\S/ : qr/^(?:-|\d+)\z/, "entry $_"
            for @entries;
    }
    return;
}

subtest 'one try' => sub {
    my ($res, $line) = try(GET => '/a/x');
    well_formed($line, 1);
    is list($line, 'ADDR'), $A->addr, 'its address';
    is list($line, 'STATUS'), 200, 'its status';
    is list($line, 'BYTES_SENT'), length +($A->requests)[-1]{raw}, 'sent';
    ($res, $line) = try(GET => '/a/x');
    is list($line, 'CONNECT_TIME'), '0.000', 'a pooled connection';
    ($res, $line) = try(PUT => '/a/x', [], 'b' x 50_000);
    is list($line, 'BYTES_SENT'), 50_000 + length +($A->requests)[-1]{raw},
        'with a body';
    ($res, $line) = try(GET => '/a/x', ['X-A' => 'late:0.15']);
    cmp_ok list($line, $_), '>=', 0.149, "$_ has the time it took"
        for qw(HEADER_TIME RESPONSE_TIME);
};

subtest 'bytes' => sub {
    for my $what (sort keys %RAW) {
        my ($res, $line) = try(GET => "/raw/$what");
        my ($head, $body) = @{ $RAW{$what} };
        is list($line, 'RESPONSE_LENGTH'), length $body,
            "$what: the body with its framing";
        is list($line, 'BYTES_RECEIVED'), length $head . $body,
            'all that came';
        is list($line, 'BYTES_SENT'), length +($raw->requests)[-1]{raw},
            'all that went';
        is list($line, 'STATUS'), $what eq 'none' ? 204 : 200, 'status';
    }
};

subtest 'addresses' => sub {
    my (undef, $line) = try(GET => '/unix/x');
    is list($line, 'ADDR'), $unix->addr, 'unix:/path';
    SKIP: {
        skip 'no IPv6', 1 if !$six;
        (undef, $line) = try(GET => '/six/x');
        is list($line, 'ADDR'), $six->addr, '[address]:port';
    }
    (undef, $line) = try(GET => '/nobody/x');
    is list($line, 'ADDR'), 'nobody', 'no live upstreams: the group';
    is list($line, 'STATUS'), 502, 'with a status';
    is list($line, 'CONNECT_TIME'), '-', 'and no times';
};

subtest 'several tries' => sub {
    my (undef, $line) = try(GET => '/refused/x');
    well_formed($line, 2);
    is list($line, 'ADDR'), $refused->addr . ', ' . $B->addr, 'addresses';
    is list($line, 'STATUS'), '502, 200', 'status';
    like list($line, 'CONNECT_TIME'), qr/^-, \d/, 'connected once';
    like list($line, 'HEADER_TIME'), qr/^-, \d/, 'one head';
    like list($line, 'RESPONSE_LENGTH'), qr/^0, 1\z/, 'one body';
    like list($line, 'BYTES_SENT'), qr/^0, [1-9]/, 'sent once';

    (undef, $line) = try(GET => '/ab/x', ['X-A' => 'silent']);
    is list($line, 'STATUS'), '504, 200', 'a timeout';
    like list($line, 'RESPONSE_TIME'), qr/^0\.[3-9]\d\d, /, 'time of each';

    (undef, $line) = try(GET => '/ab/x', ['X-A' => 'say:503']);
    is list($line, 'STATUS'), '503, 200', 'an answer that was given up';
    like list($line, 'HEADER_TIME'), qr/^\d.*, \d/, 'with a head';
    like list($line, 'RESPONSE_LENGTH'), qr/^0, 1\z/, 'and no body';

    (undef, $line) = try(GET => '/arb/x', ['X-A' => 'part']);
    is list($line, 'STATUS'), '502, 502, 200', 'closed, refused, answered';
    like list($line, 'BYTES_SENT'), qr/^(\d+), 0, \1\z/,
        'what one try sent is not of the next one';
    (undef, $line) = try(GET => '/arb/x', ['X-A' => 'say:503']);
    like list($line, 'BYTES_RECEIVED'), qr/^[1-9]\d+, 0, [1-9]/,
        'nor what it received';
    well_formed($line, 3);
};

subtest 'a stale connection' => sub {
    try(GET => '/ab/x');
    my (undef, $line) = try(GET => '/ab/x', ['X-A-again' => 'close']);
    is list($line, 'ADDR'), $A->addr . ', ' . $A->addr, 'twice the same';
    is list($line, 'STATUS'), '502, 200', 'status';
    like list($line, 'CONNECT_TIME'), qr/^0\.000, \d/, 'connected before';
    like list($line, 'HEADER_TIME'), qr/^-, \d\.\d{3}\z/, 'one head';
    is list($line, 'RESPONSE_LENGTH'), '0, 1', 'one body';
};

subtest 'expressions' => sub {
    my ($res, $line) = try(GET => '/expr/x', ['X-A' => 'part']);
    my ($addr, $status, $connect, $header, $response, $length, $received,
        $sent) = split /\|/, $res->header('X-Lists');
    is $addr, list($line, 'ADDR'), 'as in the environment';
    is $status, '502, 200', 'status';
    is $connect, list($line, 'CONNECT_TIME'), 'connect';
    is $header, list($line, 'HEADER_TIME'), 'header';
    like $response, qr/^\d\.\d{3}, (?:-|\d\.\d{3})\z/, 'response';
    is $res->header('X-Lower'), "$addr|B", 'in any case';
    is $res->header('X-More'), 'ab|80', 'host and port';
    open my $fh, '<', $s->root . '/logs/chosen_log' or die "chosen_log: $!";
    is scalar(grep { m{/expr/x} } <$fh>), 1, 'a condition of CustomLog';
};

subtest 'upstream_http, upstream_cookie' => sub {
    my ($res) = try(GET => '/raw/fields');
    is $res->header('X-Got'), 'one, two|one, two|s/1|7|text/first||',
        'joined, hidden ones too, ignored ones not';
    is $res->header('X-Cookies'), 'one|en||', 'the first of that name';
};

subtest 'not proxied' => sub {
    my ($res, $line) = try(GET => '/file');
    is $res->body, 'a file', 'a file';
    is list($line, $_), '-', "no $_" for @NAMES;
    is $res->header('X-None'), '<' . '|' x @NAMES . '>', 'nor here';
};

subtest 'ErrorDocument' => sub {
    my ($res, $line) = try(GET => '/to-proxy/x', ['X-A' => 'part',
        'X-B' => 'part']);
    is $res->status . ' ' . $res->body, '502 U', 'proxied again';
    my $legs = join(', ', $A->addr, $refused->addr, $B->addr) . ' : '
        . $unix->addr;
    is list($line, 'ADDR'), $legs, 'both legs';
    is list($line, 'STATUS'), '502, 502, 502 : 200', 'status of all';
    is $res->header('X-Last'), "$legs|U", 'the last answer counts';
    well_formed($line, 4);

    ($res, $line) = try(GET => '/to-file/x', ['X-A' => 'part',
        'X-B' => 'part']);
    is $res->status . ' ' . $res->body, '502 the page', 'a local page';
    is list($line, 'ADDR'), $A->addr . ', ' . $B->addr, 'logged all the same';
    is $res->header('X-Page'), '502, 502|ab', 'and known to expressions';

    ($res, $line) = try(GET => '/to-nobody/x', ['X-A' => 'part',
        'X-B' => 'part']);
    is list($line, 'ADDR'), $A->addr . ', ' . $B->addr . ' : nobody',
        'no live upstreams for the page';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
