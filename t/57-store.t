# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamStore: which responses become files, and that they do so whole.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Bulk;
use Up::Server ();

my $H = "HTTP/1.1 200 OK\r\n";
my $MB = 1024 * 1024;
my $PLAIN = "${H}Last-Modified: Tue, 01 Sep 2026 10:00:00 GMT\r\n"
    . "X-Name: %2e%2e\r\nContent-Length: 5\r\n\r\nhello";

my $b = Up::Answers->start({
    plain => $PLAIN,
    chunked => "${H}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        . "6\r\n world\r\n0\r\n\r\n",
    closed => ["HTTP/1.0 200 OK\r\n\r\nhello", hang_up()],
    empty => "${H}Content-Length: 0\r\n\r\n",
    head => "${H}Content-Length: 5\r\n\r\n",
    e404 => "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nhello",
    created => "HTTP/1.1 201 Yes\r\nContent-Length: 5\r\n\r\nhello",
    unbuffered => "${H}X-Accel-Buffering: no\r\nContent-Length: 5\r\n\r\nhello",
    cut => ["${H}Content-Length: 9\r\n\r\nhello", hang_up()],
    cutchunk => ["${H}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        hang_up()],
    silent => ["${H}Content-Length: 9\r\n\r\nhello", pause(2)],
    name => [sub { my ($c, $req) = @_;
        my ($to) = $req->{target} =~ /to=(\S*)/;
        $c->send("${H}X-To: $to\r\nContent-Length: 5\r\n\r\nhello") }],
    big => [bulk_head(24 * $MB), send_bulk(24 * $MB)],
    slow => [bulk_head($MB), sub {
        my ($c) = @_;
        for (0 .. 15) {
            $c->send(filler($MB / 16, $_ * $MB / 16)) or return 0;
            sleep 0.06;
        }
        $c->note(type => 'all');
        1;
    }],
    late => [pause(0.4), $PLAIN],
});
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
Protocols h2c http/1.1
SendBufferSize 65536
UpstreamMaxTempFileSize 0
UpstreamReadTimeout 600ms
<Location /on/>
    UpstreamPass http://@A@
    UpstreamStore on
    UpstreamStoreAccess group:r all:r
</Location>
<Location /path/>
    UpstreamPass http://@A@
    UpstreamStore "@TMP@/store/%{upstream_http:X-To}"
</Location>
<Location /relative/>
    UpstreamPass http://@A@
    UpstreamStore tmp/relative
</Location>
<Location /never/>
    UpstreamPass http://@A@
    UpstreamStore "%{HTTP:X-Store}"
</Location>
<Location /ranges/>
    UpstreamPass http://@A@
    UpstreamStore on
    UpstreamForceRanges on
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamStore on
    UpstreamBuffering off
</Location>
END
chmod 01777, $s->htdocs;
my ($www, $tmp) = ($s->htdocs, $s->tmp);

sub slurp {
    my ($file) = @_;
    open my $fh, '<:raw', $file or return;
    local $/;
    return <$fh> // '';
}

sub mode { return sprintf '%04o', (stat $_[0])[2] & 07777 }

sub leftovers {
    return grep { m{/\.upstream-} } files_below($www), files_below($tmp);
}

# Waits until something is so.
sub soon {
    my ($test) = @_;
    my $until = time + 5;
    while (time < $until) {
        return 1 if $test->();
        sleep 0.02;
    }
    return 0;
}

subtest 'what is stored' => sub {
    for (['plain', 'hello'], ['chunked', 'hello world'], ['closed', 'hello'],
        ['empty', '']) {
        my ($name, $body) = @$_;
        my $res = $s->get("/on/$name");
        is $res->body, $body, "$name: the client has it";
        is slurp("$www/on/$name"), $body, 'and the file';
    }
    is((stat "$www/on/plain")[9], 1788256800, 'Last-Modified is its time');
    is mode("$www/on/plain"), '0644', 'UpstreamStoreAccess';
    is mode("$www/on"), '0755', 'and of the directory';
    ok $s->error_log(qr/UP0644.*stored as/), 'the log says so';
    is $s->get('/on/plain/deep/er')->body, 'hello', 'a file in the way';
    ok $s->error_log(qr/:error\].*UP0643/), 'is an error in the log only';
    is slurp("$www/on/plain"), 'hello', 'and stays';
    my $ino = (stat "$www/on/plain")[1];
    $s->get('/on/plain');
    isnt +(stat "$www/on/plain")[1], $ino, 'another response replaces it';
};

subtest 'where' => sub {
    $s->get('/path/name?to=a/b/c');
    is slurp("$tmp/store/a/b/c"), 'hello', 'an expression';
    is mode("$tmp/store/a/b/c"), '0600', 'mode by default';
    is mode("$tmp/store/a"), '0700', 'and of its directories';
    $s->get('/relative/plain');
    is slurp("$tmp/relative"), 'hello', 'relative to ServerRoot';
    $s->mark;
    for my $to ('../../evil', 'a/../../evil', '..', 'a/', '', '.htaccess',
        'a/.htpasswd/b', '.HTx') {
        my $res = $s->get("/path/name?to=$to");
        is $res->body, 'hello', "\"$to\": the client has it";
    }
    is scalar(my @refused = $s->error_log(qr/UP0642/)), 8, 'all refused';
    ok !-e "$tmp/evil" && !-e $s->root . '/evil', 'none got out';
    ok !-e "$tmp/store/.htaccess", 'nor did httpd get new configuration';
    $s->mark;
    $s->get('/never/plain');
    is scalar(grep { /UP064/ } $s->error_log), 0, 'an empty path: not stored';
    $s->get('/on/%2e%2e%2f%2e%2e/plain');
    ok !-e $s->root . '/plain', 'an encoded way up is none';
};

subtest 'what is not' => sub {
    for my $name (qw(e404 created unbuffered cut cutchunk silent)) {
        $s->get("/on/$name");
        ok !-e "$www/on/$name", $name;
    }
    $s->ask(HEAD => '/on/head');
    ok !-e "$www/on/head", 'HEAD';
    $s->ask(POST => '/on/plain/post', [], 'x');
    $s->get('/off/plain');
    ok !-e "$www/off", 'UpstreamBuffering off';
    ok soon(sub { !leftovers() }), 'nothing is left of them';
};

subtest 'a range is not stored for all' => sub {
    my $res = $s->get('/ranges/plain', [Range => 'bytes=1-2']);
    is $res->status . $res->body, '200hello', 'all of it is served';
    is slurp("$www/ranges/plain"), 'hello', 'and stored';
};

subtest 'a large one, a slow client' => sub {
    $b->clear;
    my $before = anonymous_memory(child_of($s));
    my $k = $s->client(rcvbuf => 65_536, timeout => 20);
    $k->request(GET => '/on/big');
    ok soon(sub { -e "$www/on/big" }), 'stored while the client waits';
    is -s "$www/on/big", 24 * $MB, 'all of it';
    ok $ENV{UP_PRELOAD}
        || anonymous_memory(child_of($s)) - $before < 4 * $MB,
        'not in memory';
    read_head($k);
    is read_bulk($k, 24 * $MB), 24 * $MB, 'and the client gets it';
    ok $k->idle, 'on a connection that is kept';
};

subtest 'a client that leaves' => sub {
    for my $how (qw(close reset)) {
        unlink "$www/on/slow";
        $b->clear;
        my $k = $s->client;
        $k->request(GET => '/on/slow');
        $k->read_some(1);
        $k->$how;
        ok soon(sub { -e "$www/on/slow" }), "$how: the file comes";
        ok slurp("$www/on/slow") eq filler($MB), 'whole';
        unlink "$www/on/late";
        $k = $s->client;
        $b->clear;
        $k->request(GET => '/on/late');
        $b->wait_count(1, 'request', 5);
        $k->$how;
        ok soon(sub { -e "$www/on/late" }), 'also when it left early';
    }
    $s->mark;
    my $k = $s->client;
    $k->request(GET => '/on/silent');
    $k->reset;
    ok $s->error_log(qr{UP0426.*/on/silent}), 'a cut one';
    is_deeply [leftovers()], [], 'is deleted';
    is $s->get('/on/plain')->body, 'hello', 'and all is well';
};

subtest 'HTTP/2' => sub {
    Test::More::plan(skip_all => 'needs mod_http2 and a curl that speaks it')
        if !-e "$ENV{UP_LIBEXECDIR}/mod_http2.so" || $ENV{UP_MPM} eq 'prefork'
        || qx{curl -V 2>&1} !~ /HTTP2/;
    unlink "$www/on/big";
    my $curl = 'curl -s -m 10 --http2-prior-knowledge';
    is length qx{$curl @{[ $s->url('/on/big') ]}}, 24 * $MB, 'passed';
    is -s "$www/on/big", 24 * $MB, 'stored';
};

subtest 'no place' => sub {
    my $gone = "$tmp/store";
    rename $gone, "$gone.away" or die "rename: $!";
    open my $fh, '>', $gone or die "$gone: $!";
    $s->mark;
    is $s->get('/path/name?to=x')->body, 'hello', 'the client has it';
    like +($s->error_log(qr/UP0643/))[0], qr/:error\].*\(UpstreamStore\)/,
        'the log says what could not be made';
};

ok $s->stop, 'httpd ended well';
done_testing;
