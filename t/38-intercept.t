# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamInterceptErrors: an ErrorDocument takes the place of a backend's
# answer, for the statuses that have one.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Backend::Conn ();
use Up::Server ();

# Answers as the request says; the body is the number of the connection.
my $b = Up::Backend->http(sub {
    my ($req, $c) = @_;
    my ($status) = Up::Backend::Conn::values_of($req, 'X-Say');
    my ($empty) = Up::Backend::Conn::values_of($req, 'X-Empty');
    $status //= 200;
    return [$status, ['X-App' => 'app', 'WWW-Authenticate' => 'Basic realm=a',
        'WWW-Authenticate' => 'Bearer', 'Set-Cookie' => 'a=1',
        'Set-Cookie' => 'b=2; Path=/', 'Retry-After' => 7,
        'Cache-Control' => 'max-age=60', 'Content-Type' => 'text/app',
        'Content-Encoding' => 'x-app', ETag => '"app"',
        $status =~ /^3/ ? (Location => 'http://other.example/') : ()],
        $empty ? '' : $c->n];
});
my $page = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['X-Page' => 'backend'], "page for $req->{method} "
        . "$req->{target}"];
});

my $s = Up::Server->start(B => $b->addr, P => $page->addr, conf => <<'END');
<Location /on/>
    UpstreamPass http://@B@
    UpstreamInterceptErrors on
    ErrorDocument 301 /page.html
    ErrorDocument 401 /page.html
    ErrorDocument 404 /page.html
    ErrorDocument 502 /page.html
    ErrorDocument 503 "in short"
    ErrorDocument 410 http://elsewhere.example/gone
    ErrorDocument 500 /pages/500
    ErrorDocument 429 /on/429
</Location>
<Location /on/hidden/>
    UpstreamHideHeader set-cookie
    UpstreamHideHeader Retry-After
</Location>
<Location /on/inner/>
    UpstreamInterceptErrors off
</Location>
<Location /off/>
    UpstreamPass http://@B@
    ErrorDocument 404 /page.html
</Location>
<Location /next/>
    UpstreamPass http://@B@
    UpstreamInterceptErrors on
    UpstreamNextUpstream http_404
    ErrorDocument 404 /page.html
</Location>
UpstreamPass /pages/ http://@P@
END
$s->write_file('page.html', 'the page');

my $k = $s->client;

sub try {
    my ($target, $status, @more) = @_;
    my $res = $k->ask('GET', $target, [$status ? ('X-Say' => $status) : (),
        @more]);
    $k = $s->client if $res->closes;
    return $res;
}

# What is the application's alone must be gone.
sub is_page {
    my ($res, $status, $body, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is $res->status, $status, "$name: the status stays";
    is $res->body, $body, 'the page';
    ok $res->complete, 'whole';
    is $res->header($_), undef, "no $_ of the backend"
        for qw(X-App Content-Encoding);
    isnt $res->header('ETag') // '', '"app"', 'no ETag of the backend';
    return;
}

subtest 'a status with a page' => sub {
    for my $status (301, 401, 404) {
        my $res = try('/on/x', $status);
        is_page($res, $status, 'the page', $status);
        is_deeply [$res->field('WWW-Authenticate')],
            ['Basic realm=a', 'Bearer'], 'every WWW-Authenticate is kept';
        is_deeply [$res->field('Set-Cookie')], ['a=1', 'b=2; Path=/'],
            'every Set-Cookie is kept';
        is_deeply [$res->field('Retry-After')], [7], 'Retry-After is kept';
    }
    my $res = try('/on/x', 503);
    is $res->status, 503, 'a text: the status stays';
    like $res->body, qr/in short/, 'the text';
    is $res->header('Retry-After'), 7, 'Retry-After is kept';
};

subtest 'what is hidden' => sub {
    my $res = try('/on/hidden/x', 404);
    is_page($res, 404, 'the page', 'hidden fields');
    is_deeply [$res->field('WWW-Authenticate')], ['Basic realm=a', 'Bearer'],
        'one that is not hidden is kept';
    is_deeply [$res->field($_)], [], "a hidden $_ does not come back"
        for qw(Set-Cookie Retry-After);
};

subtest 'a page elsewhere' => sub {
    my $res = try('/on/x', 410);
    is $res->status, 302, 'a redirect';
    is $res->header('Location'), 'http://elsewhere.example/gone', 'to it';
    $page->clear;
    $res = try('/on/x', 500);
    is_page($res, 500, 'page for GET /pages/500', 'a proxied page');
    is $res->header('X-Page'), 'backend', 'with its own fields';
    is_deeply [$page->problems], [], 'nothing wrong in how it was asked for';
    my $post = $k->ask(POST => '/on/x', ['X-Say' => 500], 'body');
    is $post->body, 'page for GET /pages/500', 'with GET, whatever failed';
    $k = $s->client;
};

subtest 'a page that fails the same way' => sub {
    my $res = try('/on/x', 429);
    is $res->status, 429, 'no endless round';
    ok $res->complete, 'an answer';
};

subtest 'what passes' => sub {
    for my $row (['/on/x', 403, 'no page for it'], ['/on/x', 200, 'no error'],
        ['/on/x', 302, 'a redirect'], ['/on/x', 460, 'not in httpd\'s list'],
        ['/on/x', 799, 'beyond all lists'], ['/off/x', 404, 'not switched on'],
        ['/on/inner/x', 404, 'switched off']) {
        my ($target, $status, $name) = @$row;
        my $res = try($target, $status);
        is $res->status, $status, "$name: status";
        like $res->body, qr/^\d+\z/, "the application's body";
        is $res->header('X-App'), 'app', 'and fields';
    }
};

subtest 'errors of the proxy itself' => sub {
    my $s2 = Up::Server->start(R => Up::Backend->closed(sub { })->addr,
        conf => <<'END');
ErrorDocument 502 /page.html
UpstreamPass /p/ http://@R@
END
    $s2->write_file('page.html', 'my page');
    my $res = $s2->get('/p/x');
    is $res->status . ' ' . $res->body, '502 my page', 'need no switch';
    ok $s2->stop, 'stopped';
};

subtest 'HEAD' => sub {
    my $res = $k->ask(HEAD => '/on/x', ['X-Say' => 404]);
    is $res->status, 404, 'status';
    ok $res->complete && $res->body eq '', 'no body';
    is scalar($res->field('WWW-Authenticate')), 2, 'fields are kept';
    ok $k->idle, 'and the connection';
};

subtest 'the next server comes first' => sub {
    my $res = try('/next/x', 404);
    is_page($res, 404, 'the page', 'but there is none');
};

subtest 'the backend connection' => sub {
    my $first = try('/on/x', 200)->body;
    try('/on/x', 404, 'X-Empty' => 1);
    is try('/on/x', 200)->body, $first, 'is kept when nothing was to be read';
    try('/on/x', 404);
    is try('/on/x', 200)->body, $first, 'and when it was there already';
    is_deeply [$b->problems], [], 'nothing wrong at the backend';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
