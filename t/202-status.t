# Licensed under the Apache License, Version 2.0; see LICENSE.

# SetHandler upstream-status: its page, its JSON, and the section in
# mod_status. t/203 looks at the page with a browser.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Digest::SHA qw(sha256_base64);
use JSON::PP ();
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my $A = Up::Scripts->obedient('A');
my $s = Up::Server->start(A => $A->addr, conf => q{
    ExtendedStatus On
    <Upstream app>
        UpstreamServer @A@ max_fails=1 fail_timeout=60s
        UpstreamServer @A@ down weight=5
        UpstreamServer 127.0.0.1:1 backup
    </Upstream>
    UpstreamPass /app/ http://app/
    <Location /status>
        SetHandler upstream-status
    </Location>
    <Location "/admin/api">
        SetHandler upstream-api
        Require ip 127.0.0.1
    </Location>
    <Location /server-status>
        SetHandler server-status
    </Location>
});

sub now {
    my ($query) = @_;
    my $res = $s->get('/status?format=json' . ($query // ''));
    is $res->header('Content-Type'), 'application/json', 'JSON';
    return JSON::PP::decode_json($res->body);
}

subtest 'the page' => sub {
    my $res = $s->get('/status');
    my $page = $res->body;
    is $res->status, 200, 'it answers';
    is $res->header('Content-Type'), 'text/html; charset=utf-8', 'its type';
    is $res->header('Cache-Control'), 'no-store', 'nobody keeps it';
    is $res->header('X-Content-Type-Options'), 'nosniff', 'or guesses';
    unlike $page, qr{(?:src|href)\s*=\s*["']?(?:https?:)?//}i,
        'nothing from elsewhere';
    unlike $page, qr{url\(|\@import|\bon[a-z]+=["']}i,
        'nor from the styles, nor in attributes';
    my $policy = $res->header('Content-Security-Policy');
    for my $part (qw(script style)) {
        my ($text) = $page =~ m{<$part>(.*?)</$part>}s;
        my $hash = sha256_base64($text);
        $hash .= '=' while length($hash) % 4;
        like $policy, qr/$part-src 'sha256-\Q$hash\E'/,
            "the policy allows its $part and no other";
    }
    like $policy, qr/default-src 'none'/, 'and nothing else';
    is $s->ask('HEAD', '/status')->body, '', 'HEAD has no body';
    is $s->ask('POST', '/status', [], 'x')->status, 405, 'only to be read';
};

subtest 'its JSON' => sub {
    is $s->get('/app/x')->body, 'A', 'a request';
    my $json = now();
    my $until = time + 5;
    while ($json->{upstreams}[0]{peers}[0]{active} && time < $until) {
        $json = now();
    }
    is $json->{api}, '/admin/api', 'where the API is';
    is $json->{children}, $s->{mpm} eq 'prefork' ? $json->{children} : 1,
        'how many children';
    my ($app) = @{ $json->{upstreams} };
    is $app->{upstream}, 'app', 'a group';
    is $app->{zone}, undef, 'without a zone';
    my ($peer, $backup) = @{ $app->{peers} };
    is scalar @{ $app->{peers} }, 2, 'the same address is one server';
    is $peer->{peer}, $A->addr, 'a server';
    is $peer->{answers}{'2xx'}, 1, 'its answers';
    is scalar @{ $peer->{seconds}{header}{buckets} },
        1 + @{ $json->{bounds} }, 'a bucket more than bounds';
    my $n = 0;
    $n += $_ for @{ $peer->{seconds}{header}{buckets} };
    is $n, 1, 'with one time';
    ok $backup->{backup}, 'the backup is one';
    is_deeply now('&upstream=none')->{upstreams}, [], 'a filter';
};

subtest 'a server that fails' => sub {
    Test::More::plan(skip_all => 'each child has seen something else')
        if $s->{mpm} eq 'prefork';
    is $s->get('/app/x', ['X-A' => 'close'])->status, 502, 'it does';
    my ($peer) = @{ now()->{upstreams}[0]{peers} };
    is $peer->{state}, 'failed', 'its state';
    is $peer->{reason}, '1 failed in a row (max_fails 1)', 'why';
    is $peer->{failures}{closed}, 1, 'counted';
};

subtest 'mod_status' => sub {
    my $page = $s->get('/server-status')->body;
    like $page, qr{<h1>Upstream groups</h1>}, 'has a section';
    like $page, qr{<td>app</td><td>\Q@{[ $A->addr ]}\E</td><td>\w+</td>},
        'with the server';
    like $s->get('/server-status?auto')->body,
        qr{^Upstream\ app\ \Q@{[ $A->addr ]}\E:\ \w+\ active=0\ idle=\d+
            \ requests=\d+\ 5xx=0$}mx, 'and for machines';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
