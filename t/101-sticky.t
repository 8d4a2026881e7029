# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamSticky cookie and route: who asks for a server gets it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Digest::MD5 qw(md5_hex);
use Time::HiRes qw(time);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B, $D, $G) = map { Up::Scripts->obedient($_) } qw(A B D G);
my $refused = Up::Backend->closed(sub { });

# group => its content
my %GROUPS = (
    cookie => "UpstreamSticky cookie srv\nUpstreamServer \@A\@\n"
        . "UpstreamServer \@B\@\nUpstreamServer \@D\@ drain\n",
    named => "UpstreamServer \@A\@ route=a.1\nUpstreamServer \@B\@ route=b_2\n"
        . "UpstreamSticky cookie srv path=/named secure expires=1h httponly "
        . 'samesite=lax "domain=%{HTTP_HOST}"' . "\n",
    max => "UpstreamLeastConn\nUpstreamServer \@A\@ route=a\n"
        . "UpstreamServer \@B\@ route=b\nUpstreamSticky cookie m "
        . "samesite=%{HTTP:X-Site} expires=max\n",
    going => "UpstreamHash x consistent\nUpstreamServer \@A\@ route=a\n"
        . "UpstreamServer \@G\@ route=g fail_timeout=60s\n"
        . "UpstreamSticky cookie srv\n",
    backup => "UpstreamServer \@A\@ route=a\n"
        . "UpstreamServer \@B\@ route=b backup\nUpstreamSticky cookie srv\n",
    failing => "UpstreamServer \@A\@ max_fails=0\n"
        . "UpstreamServer \@B\@ max_fails=0\nUpstreamSticky cookie srv\n",
    error => "UpstreamServer \@R\@\nUpstreamSticky cookie srv\n",
    full => "UpstreamServer \@A\@ route=a max_conns=1\n"
        . "UpstreamServer \@B\@ route=b\nUpstreamSticky cookie srv\n",
    route => "UpstreamServer \@A\@ route=a\nUpstreamServer \@B\@ route=b\n"
        . "UpstreamServer \@D\@ route=d drain\n"
        . "UpstreamSticky route %{env:ROUTE} %{HTTP:X-Route}\n",
    # every method
    (map { ("with$_->[0]" => "$_->[1]\nUpstreamServer \@A\@ route=a\n"
        . "UpstreamServer \@B\@ route=b\nUpstreamSticky cookie srv\n") }
        ([1 => 'UpstreamLeastConn'], [2 => 'UpstreamIPHash'],
        [3 => 'UpstreamHash x'], [4 => 'UpstreamRandom two'],
        [5 => 'UpstreamLeastTime header inflight'],
        [6 => 'UpstreamPeakEWMA'])),
);
my $conf = 'SetEnvIf Cookie "JSESSIONID=[^;]*\.(\w+)" ROUTE=$1' . "\n"
    . "<Location /errors/>\nUpstreamInterceptErrors on\n"
    . "ErrorDocument 404 /none.html\n"
    . "UpstreamPass http://named/\n</Location>\n"
    . join '', map { "<Upstream $_>\n$GROUPS{$_}</Upstream>\n"
    . "UpstreamPass /$_/ http://$_/\n" } sort keys %GROUPS;
my $s = Up::Server->start(A => $A->addr, B => $B->addr, D => $D->addr,
    G => $G->addr, R => $refused->addr, conf => $conf);
my $k = $s->client;

sub ask {
    my ($target, @fields) = @_;
    my $res = $k->get($target, [@fields]);
    $k = $s->client if $res->closes;
    return $res;
}

# All of Set-Cookie, in one text.
sub cookie { return join ' | ', $_[0]->field('Set-Cookie') }

sub who {
    my $res = ask(@_);
    return $res->status == 200 ? $res->body : "($res->{status})";
}

subtest 'a cookie' => sub {
    my $res = ask('/cookie/x');
    my ($id) = cookie($res) =~ /\Asrv=([0-9a-f]{32})\z/;
    my %of = (A => md5_hex($A->addr), B => md5_hex($B->addr));
    is $id, $of{ $res->body }, 'nginx\'s: MD5 of the address';
    for my $name (qw(A B)) {
        is join('', map { who('/cookie/x', Cookie => "srv=$of{$name}") }
            1 .. 5), $name x 5, "$name is asked for";
    }
    is cookie(ask('/cookie/x', Cookie => "srv=$of{B}")),
        "srv=$of{B}", 'said with every answer';
    is who('/cookie/x', Cookie => "a=b; srv=$of{B}; c=d"), 'B',
        'among other cookies';
    is who('/cookie/x', Cookie => "xsrv=1;srv=$of{B}"), 'B',
        'not that of another name';
    for my $wrong ('nobody', '', 'a' x 5000, md5_hex($A->addr) . '0',
        "\xe4;=") {
        like who('/cookie/x', Cookie => "srv=$wrong"), qr/\A[AB]\z/,
            'no server: any';
    }
    is join('', sort map { who('/cookie/x') } 1 .. 6), 'AAABBB',
        'without it: in turn';
};

subtest 'its attributes' => sub {
    my $res = ask('/named/x', Cookie => 'srv=b_2', Host => 'h.example');
    is $res->body, 'B', 'route= is the name';
    my $now = time;
    my ($date, $rest) = cookie($res)
        =~ /\Asrv=b_2; expires=(\w{3}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT)(.*)/;
    is $rest, '; max-age=3600; domain=h.example; httponly; secure; '
        . 'samesite=lax; path=/named', 'in nginx\'s order';
    require Time::Local;
    my %month = do { my $n = 0; map { $_ => $n++ } qw(Jan Feb Mar Apr May Jun
        Jul Aug Sep Oct Nov Dec) };
    my ($d, $m, $y, $h, $min, $sec) = ($date // '')
        =~ /(\d\d)-(\w{3})-(\d\d) (\d\d):(\d\d):(\d\d)/;
    my $expires = Time::Local::timegm($sec, $min, $h, $d, $month{$m},
        2000 + $y);
    cmp_ok abs($expires - $now - 3600), '<', 10, 'an hour from now';
    is cookie(ask('/max/x', Cookie => 'm=a', 'X-Site' => 'none')),
        'm=a; expires=Thu, 31-Dec-37 23:55:55 GMT; '
        . 'max-age=315360000; samesite=none', 'max';
    like cookie(ask('/max/x', 'X-Site' => 'whatever')),
        qr/; samesite=strict\z/, 'an odd samesite is strict';
    unlike cookie(ask('/max/x')), qr/samesite/,
        'an empty one is none';
};

subtest 'a server that goes' => sub {
    is who('/going/x', Cookie => 'srv=g'), 'G', 'is there';
    $G->stop;
    my $res = ask('/going/x', Cookie => 'srv=g');
    is $res->status . ' ' . $res->body, '200 A', 'another one answers';
    is cookie($res), 'srv=a', 'and is who to stick to';
    is who('/going/x', Cookie => 'srv=g'), 'A', 'while it rests, too';
    is who('/backup/x', Cookie => 'srv=b'), 'A',
        'a backup has its turn when it is one';
    $res = ask('/backup/x', Cookie => 'srv=b', 'X-A' => 'close');
    is $res->body . ' ' . cookie($res), 'B srv=b', 'as now';
};

subtest 'a server that drains' => sub {
    my $d = md5_hex($D->addr);
    is scalar(grep { $_ eq 'D' } map { who('/cookie/x') } 1 .. 9), 0,
        'is not asked';
    is join('', map { who('/cookie/x', Cookie => "srv=$d") } 1 .. 3), 'DDD',
        'but by those who are there';
    like who('/cookie/x', Cookie => "srv=$d", 'X-D' => 'close'),
        qr/\A[AB]\z/, 'and falls to others when it fails';
    is who('/route/x', 'X-Route' => 'd'), 'D', 'by a route';
};

subtest 'a server that is full' => sub {
    Test::More::plan(skip_all => 'counted per process')
        if $s->{mpm} eq 'prefork';
    $A->clear;
    my $busy = $s->client;
    $busy->request(GET => '/full/x', ['X-A' => 'late:0.6', Cookie => 'srv=a']);
    ok $A->wait_count(1), 'a request is under way';
    is who('/full/x', Cookie => 'srv=a'), 'B', 'another one';
    is $busy->response->body, 'A', 'the answer';
    is who('/full/x', Cookie => 'srv=a'), 'A', 'and back';
};

subtest 'answers of ours' => sub {
    my $res = ask('/error/x');
    is $res->status, 502, 'no server';
    is cookie($res), '', 'no cookie';
    $res = ask('/failing/x', 'X-A' => 'close', 'X-B' => 'close');
    is $res->status, 502, 'all have failed';
    is cookie($res), '', 'no cookie';
    for my $do ('say:404', 'say:500', 'say:304') {
        $res = ask('/named/x', 'X-A' => $do, 'X-B' => $do);
        like cookie($res), qr/\Asrv=(?:a\.1|b_2);/,
            "$do: one with what a server says";
    }
    $res = ask('/errors/x', 'X-A' => 'say:404', 'X-B' => 'say:404');
    is $res->status, 404, 'an error page in its place';
    like cookie($res), qr/\Asrv=(?:a\.1|b_2);/, 'too';
};

subtest 'a route' => sub {
    is who('/route/x', Cookie => 'JSESSIONID=123.b'), 'B', 'of a cookie';
    is who('/route/x', 'X-Route' => 'a'), 'A', 'of another expression';
    is who('/route/x', 'X-Route' => 'a', Cookie => 'JSESSIONID=1.b'), 'B',
        'the first one counts';
    my $res = ask('/route/x', 'X-Route' => 'b');
    is cookie($res), '', 'no cookie';
    like join('', map { who('/route/x') } 1 .. 6), qr/ABAB|BABA/,
        'none: in turn';
    like who('/route/x', 'X-Route' => 'z'), qr/\A[AB]\z/, 'unknown';
};

subtest 'with every method' => sub {
    for my $n (1 .. 6) {
        is join('', map { who("/with$n/x", Cookie => 'srv=b') } 1 .. 4),
            'BBBB', "method $n";
        like who("/with$n/x", Cookie => 'srv=b', 'X-B' => 'close'), qr/\AA\z/,
            'and another server when it fails';
        is who("/with$n/x", Cookie => 'srv=a'), 'A', 'or the other';
    }
};

ok $s->stop, 'no crash, nothing left';
done_testing;
