# Licensed under the Apache License, Version 2.0; see LICENSE.

# X-Accel-Redirect: to a file, to another proxied location, to a named one.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Backend ();
use Up::Backend::Conn ();
use Up::Bulk;
use Up::Server ();

my $FILE = join '', map { "line $_\n" } 1 .. 40_000;

# Sends the request where X-To says, with the fields of X-Add ("a=b|c=d").
my $b = Up::Backend->http(sub {
    my ($req, $c) = @_;
    my ($to) = Up::Backend::Conn::values_of($req, 'X-To');
    my ($add) = Up::Backend::Conn::values_of($req, 'X-Add');
    my ($status) = Up::Backend::Conn::values_of($req, 'X-Say');
    my @fields = map { split /=/, $_, 2 } split /\|/, $add // '';
    return [$status // 200, [defined $to ? ('X-Accel-Redirect' => $to) : (),
        'X-App' => 1, ETag => '"app"', @fields], $c->n];
});
my $other = Up::Backend->http(sub {
    my ($req) = @_;
    my ($length) = Up::Backend::Conn::values_of($req, 'Content-Length');
    return [200, ['X-Other' => 1, 'Content-Type' => 'text/x-other'],
        "$req->{method} $req->{target} "
        . (defined $length ? length $req->{body} : 'no')];
});

my $s = Up::Server->start(B => $b->addr, O => $other->addr, conf => <<'END');
Protocols h2c http/1.1
UpstreamRequestBufferSize 4k
UpstreamTempPath @TMP@
ErrorDocument 404 "not here"
AddType text/plain .txt
<Location /app/>
    UpstreamPass http://@B@
</Location>
<Location /ignored/>
    UpstreamPass http://@B@
    UpstreamIgnoreHeaders X-Accel-Redirect
    UpstreamPassHeader X-Accel-Redirect
</Location>
<Location /stream/>
    UpstreamPass http://@B@
    UpstreamRequestBuffering off
</Location>
<Location /kept/>
    UpstreamPass http://@B@
    UpstreamInterceptErrors 404
</Location>
<Location /files/>
    Require env REDIRECT_STATUS
</Location>
Alias /scripts/ @ROOT@/scripts/
<Directory @ROOT@/scripts>
    Options +ExecCGI
    SetHandler cgi-script
    Require all granted
</Directory>
<Location /other/>
    UpstreamPass http://@O@
</Location>
<Location /@named/>
    UpstreamPass http://@O@/
</Location>
<Location /@half/>
    UpstreamPass http://@O@
</Location>
<Location /hide/>
    UpstreamPass http://@B@
    UpstreamHideHeader Set-Cookie
    UpstreamHideHeader Cache-Control
</Location>
END
$s->write_file('files/a b.txt', $FILE);
$s->write_file('files/50%.html', 'half');
$s->write_file('files/run.cgi', "no script\n");

sub ask {
    my ($target, $to, $add, %opt) = @_;
    return $s->client->ask($opt{method} // 'GET', $target,
        [defined $to ? ('X-To' => $to) : (),
        defined $add ? ('X-Add' => $add) : (), @{ $opt{fields} // [] }],
        $opt{body});
}

subtest 'a file' => sub {
    my $res = ask('/app/x', '/files/a%20b.txt', 'Content-Disposition='
        . 'attachment|Set-Cookie=a=1|Set-Cookie=b=2|Cache-Control=max-age=9'
        . '|Expires=Thu, 01 Jan 2032 00:00:00 GMT|X-Mine=1');
    is $res->status, 200, 'status';
    ok $res->body eq $FILE, 'the file';
    is $res->header('Content-Length'), length $FILE, 'its length';
    is $res->header('Content-Disposition'), 'attachment', 'disposition';
    is_deeply [$res->field('Set-Cookie')], ['a=1', 'b=2'], 'cookies';
    is $res->header('Cache-Control'), 'max-age=9', 'Cache-Control';
    is $res->header('Expires'), 'Thu, 01 Jan 2032 00:00:00 GMT', 'Expires';
    is $res->header('Accept-Ranges'), 'bytes', 'ranges of the file';
    is $res->header($_), undef, "no $_" for qw(X-App X-Mine X-Accel-Redirect);
    isnt $res->header('ETag'), '"app"', 'nor its ETag';
    like $res->header('Content-Type'), qr{^text/plain}, 'the type of the file';

    $res = ask('/app/x', '/files/a%20b.txt', 'Content-Type=image/x-app; '
        . 'q=1|X-Accel-Charset=utf-8');
    is $res->header('Content-Type'), 'image/x-app; q=1; charset=utf-8',
        'a type of its own';
    $res = ask('/app/x', '/files/a%20b.txt', 'Accept-Ranges=none',
        fields => [Range => 'bytes=0-3']);
    is $res->status, 200, 'no ranges';
    is $res->header('Accept-Ranges'), 'none', 'are announced';
    $res = ask('/app/x', '/files/a%20b.txt', undef,
        fields => [Range => 'bytes=0-3']);
    is $res->status . ' ' . $res->body, '206 line', 'else a range is cut';
    is ask('/app/x', '/files/50%.html')->body, 'half', 'a bare percent sign';
    is ask('/app/x', '/files/50%25.html?x=1')->body, 'half', 'and arguments';
    is ask('/app/x', '/files/a b.txt')->status, 200, 'a blank as it is';
    is ask('/app/x', '/files/run.cgi', 'Content-Type=text/x-app')
        ->header('Content-Type'), 'text/x-app', 'another type';
    $res = ask('/hide/x', '/files/50%.html',
        'Set-Cookie=a=1|Cache-Control=max-age=9');
    ok !$res->field('Set-Cookie') && !$res->field('Cache-Control'),
        'what is hidden stays hidden';
    is $s->get('/files/50%25.html')->status, 403,
        'REDIRECT_STATUS tells a jump from a client';
};

subtest 'methods and statuses' => sub {
    my $res = ask('/app/x', '/files/50%.html', undef, method => 'HEAD');
    ok $res->status == 200 && $res->complete, 'HEAD';
    is $res->header('Content-Length'), 4, 'with the length';
    $res = ask('/app/x', '/files/50%.html', undef, method => 'POST',
        body => 'x' x 9000);
    is $res->status . ' ' . $res->body, '200 half', 'POST becomes GET';
    $res = ask('/app/x', '/files/50%.html', undef, fields => ['X-Say' => 500]);
    is $res->status, 200, 'the status of the answer is gone';
    $res = ask('/app/x', '/files/none');
    is $res->status . ' ' . $res->body, '404 not here', 'no such file';
    $res = ask('/kept/x', '/files/50%.html', undef,
        fields => ['X-Say' => 404]);
    is $res->status . ' ' . $res->body, '404 not here',
        'intercepting comes first';
    $res = ask('/ignored/x', '/files/50%.html');
    like $res->body, qr/^\d+$/, 'ignored: the answer';
    is $res->header('X-Accel-Redirect'), '/files/50%.html', 'which may pass';
};

subtest 'places that cannot be' => sub {
    for my $to ('/files/../x', '/%2e%2e/x', '/files/%00', 'files/x',
        'http://example.com/', '@', '@a/b', '@..', '') {
        $s->mark;
        my $res = ask('/app/x', $to);
        is $res->status . ' ' . $res->body, '404 not here', "\"$to\"";
        ok scalar($s->error_log(qr/UP0620: .*answering 404/)), 'logged';
    }
    is ask('/app/x', '/app/y')->status, 500, 'round and round';
};

subtest 'another location' => sub {
    my $res = ask('/app/x', '/other/y%3Fz?a=1', 'Set-Cookie=a=1|'
        . 'Content-Type=text/x-app|Cache-Control=max-age=9');
    is $res->body, 'GET /other/y%3Fz?a=1 no', 'with GET';
    is $res->header('X-Other'), 1, 'its fields';
    is $res->header('Content-Type'), 'text/x-other', 'its type';
    is $res->header('Cache-Control'), 'max-age=9', 'what is inherited';
    is_deeply [$res->field('Set-Cookie')], ['a=1'], 'a cookie';
    $other->clear;
    $s->mark;
    $res = ask('/app/listed', '/other/y', undef, method => 'POST',
        body => 'body');
    is $res->body, 'GET /other/y no', 'a POST becomes GET without a body';
    my $log = $s->logged('/app/listed');
    is $log->{UPSTREAM_STATUS}, '200 : 200', 'both are in the log';
    is $log->{UPSTREAM_ADDR}, $b->addr . ' : ' . $other->addr, 'by address';
};

subtest 'a named location' => sub {
    is ask('/app/a%2Fb%20c?d=%20', '@named')->body,
        'GET /app/a%2Fb%20c?d=%20 no', 'the request as it was';
    is ask('/app/x', '@half')->body, 'GET /@half/app/x no',
        'below /@name, where no URI part takes that off';
    for my $size (4, 20_000) {
        my $res = ask('/app/x', '@named', undef, method => 'PUT',
            body => 'x' x $size);
        is $res->body, "PUT /app/x $size", "$size bytes of body, too";
    }
    my $res = ask('/stream/x', '@named', undef, method => 'POST',
        body => 'abc');
    is $res->body, 'POST /stream/x 3', 'streamed, but short';
    is ask('/app/x', '@unknown')->status, 404, 'one that is not there';
    my $k = $s->client;
    $k->send("POST /stream/x HTTP/1.1\r\nHost: x\r\nX-To: \@named\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n");
    for (1 .. 5) {
        select undef, undef, undef, 0.05;
        $k->send("3\r\nabc\r\n");
    }
    $k->send("0\r\n\r\n");
    is $k->response->status, 500, 'not a body that has gone by';
};

subtest 'connections' => sub {
    my $k = $s->client;
    $b->clear;
    for my $to (('/files/50%.html', '/other/z', '@named') x 2) {
        my $res = $k->get('/app/x', ['X-To' => $to]);
        is $res->status, 200, "$to on the same connection";
    }
    is scalar(my @c = $b->connections), 0,
        'the backend connections are used again';
};

subtest 'a script that takes its time' => sub {
    my $file = $s->root . '/scripts/slow';
    mkdir $s->root . '/scripts';
    open my $fh, '>', $file or die "$file: $!\n";
    print $fh "#!/bin/sh\nsleep 0.7\nprintf 'Content-Type: text/plain"
        . "\\n\\nslow'\n";
    close $fh or die "$file: $!\n";
    chmod 0755, $s->root . '/scripts', $file;
    my @k = map { $s->client } 1 .. 6;
    my $began = time;
    $_->request(GET => '/app/x', ['X-To' => '/scripts/slow']) for @k;
    select undef, undef, undef, 0.1;
    is ask('/app/x')->status, 200, 'others';
    is ask('/app/x', '/files/50%.html')->body, 'half', 'and jumps';
    ok time - $began < 0.6 || $ENV{UP_MPM} eq 'prefork',
        'do not wait for it'; # prefork makes its processes one by one
    is join(' ', map { $_->response->body } @k), join(' ', ('slow') x 6),
        'all of them end';
    ok time - $began < 2.5, 'side by side';
};

subtest 'a slow reader of a large file' => sub {
    $s->write_file('files/big', $FILE x 20);
    my $k = $s->client(rcvbuf => 65_536);
    $k->request(GET => '/app/x', ['X-To' => '/files/big']);
    select undef, undef, undef, 0.2;
    my $res = $k->response;
    ok $res->complete && $res->body eq $FILE x 20, 'all of it';
    ok $k->idle, 'and the connection';
};

SKIP: {
    skip 'needs mod_http2 and a curl that speaks HTTP/2', 3
        if !-e "$ENV{UP_LIBEXECDIR}/mod_http2.so"
        || qx{curl -V 2>&1} !~ /HTTP2/ || $ENV{UP_MPM} eq 'prefork';
    my ($url, $curl) = ($s->url('/app/x'),
        'curl -s -m 10 --http2-prior-knowledge -w " %{http_version}" -H X-To:');
    is qx{$curl/files/50%25.html $url}, 'half 2', 'HTTP/2: a file';
    is qx{$curl/other/y $url}, 'GET /other/y no 2', 'another location';
    is qx{$curl\@named -d body $url}, 'POST /app/x 4 2', 'a named one';
}

is_deeply [$b->problems, $other->problems], [],
    'nothing wrong in what the backends got';
ok $s->stop, 'no crash, nothing left';
done_testing;
