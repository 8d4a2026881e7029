# Licensed under the Apache License, Version 2.0; see LICENSE.

# Requests on a loop's connection that are not for a backend, or that block
# on their way: they work as ever, and nobody else waits for them.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Crowd;
use Up::Server ();

only_loop;

my $b = Up::Crowd->start;
my $refused = Up::Server::free_port();

# Hooks and filters that sleep: mod_lua's, mod_ratelimit's.
my $lua = -e "$ENV{UP_LIBEXECDIR}/mod_lua.so";

my $s = Up::Server->start(driver => 'loop', A => $b->addr, R => $refused,
    main => <<'MAIN' . ($lua ? <<'LUA' : '') . <<'MORE', conf => <<'END');
ExtendedStatus On
Timeout 5
AsyncRequestWorkerFactor 40
MAIN
LoadModule lua_module "@MODULES@/mod_lua.so"
<LocationMatch ^/(guarded|p/guarded)>
    LuaHookAccessChecker @HTDOCS@/guard.lua check
</LocationMatch>
LUA
<Upstream none>
    UpstreamServer 127.0.0.1:1 down
</Upstream>
MORE
ScriptAlias /cgi/ @HTDOCS@/cgi/
UpstreamPass /p/ http://@A@
UpstreamPass /refused/ http://127.0.0.1:@R@
<Location /refused/>
    ErrorDocument 502 /error.txt
</Location>
<Location /refused-slowly/>
    UpstreamPass http://127.0.0.1:@R@
    ErrorDocument 502 /cgi/slow
</Location>
<Location /none/>
    UpstreamPass http://none
    ErrorDocument 502 /cgi/slow
</Location>
<Location /forbidden/>
    Require all denied
    ErrorDocument 403 /cgi/slow
</Location>
<Location /paced/>
    UpstreamPass http://@A@
    UpstreamBuffering off
    SetOutputFilter RATE_LIMIT
    SetEnv rate-limit 20
</Location>
<Location /late/>
    UpstreamPass http://@A@
    UpstreamReadTimeout 300ms
    ErrorDocument 504 /cgi/slow
</Location>
<Location /proxied-page/>
    UpstreamPass http://127.0.0.1:@R@
    ErrorDocument 502 /p/wait/0.3
</Location>
<Location /sync/>
    UpstreamPass http://@A@
    UpstreamAsync off
</Location>
<Location /server-status>
    SetHandler server-status
</Location>
<LocationMatch ^/(secret|p/secret)>
    AuthType Basic
    AuthName x
    AuthBasicProvider file
    AuthUserFile @HTDOCS@/users
    Require valid-user
</LocationMatch>
RewriteEngine on
RewriteRule ^/to-backend$ /p/quick [PT]
END

sub script {
    my ($name, $text) = @_;
    chmod 0755, $s->write_file($name, "#!/usr/bin/perl\n$text");
    return;
}

my $big = join '', map { chr($_ % 251) x 1000 } 1 .. 20_000;
$s->write_file('guard.lua', "require 'apache2'\nfunction check(r)\n"
    . "os.execute('sleep 1') return apache2.DECLINED end\n");
$s->write_file($_, 'small') for qw(small.txt guarded/small.txt);
$s->write_file('error.txt', 'an error page');
$s->write_file('big.bin', $big);
$s->write_file('secret.txt', 'secret');
$s->write_file('users', 'u:' . crypt('p', '$1$salt$') . "\n");
script('cgi/slow', 'sleep 2; print "Content-Type: text/plain\n\nslow";');
script('cgi/echo', 'local $/; my $b = <STDIN>; '
    . 'print "Content-Type: text/plain\n\ngot ", length $b;');

# A connection that a loop has.
sub adopted {
    my (%opt) = @_;
    my $k = $s->client(%opt);
    $k->get('/p/quick')->body eq 'quick' or die 'no first answer';
    return $k;
}

# Each of n connections sends the request; meanwhile 50 others get answers.
# Returns the seconds of the slowest of those, and the responses.
sub beside {
    my ($n, @request) = @_;
    our @others;
    @others = map { adopted() } 1 .. 50 if !@others;
    my @all = map { adopted() } 1 .. $n;
    $_->request(@request) for @all;
    sleep 0.1;
    my $most = 0;
    for my $k (@others) {
        my $took = quickly($s, '/p/quick', 'quick', $k);
        $most = $took if $took > $most;
    }
    return ($most, map { $_->response(method => $request[0]) } @all);
}

# As `beside`, with the tally that is expected.
sub beside_ok {
    my ($name, $expected, @request) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($most, @res) = beside(20, @request);
    is tally(@res), "20 x $expected", $name;
    cmp_ok $most, '<', 0.5, "$name: the others do not wait";
    return;
}

subtest 'as ever' => sub {
    my $k = adopted();
    is $k->get('/small.txt')->body, 'small', 'a file';
    is $k->get('/p/quick')->body, 'quick', 'a backend';
    is $k->get('/none.txt')->status, 404, 'nothing there';
    ok $k->get('/big.bin')->body eq $big, '20 MB';
    like $k->get('/server-status?auto')->body, qr/^Total\ Accesses:/mx,
        'mod_status';
    is $k->ask(POST => '/cgi/echo', [], 'x' x 50_000)->body, 'got 50000',
        'a CGI with a body';
    is $k->get('/secret.txt')->status, 401, 'no password';
    is $k->get('/secret.txt', [Authorization => 'Basic dTpw'])->body,
        'secret', 'a password';
    is $k->get('/p/secret/quick')->status, 401, 'no password for a backend';
    is $k->get('/p/secret/quick', [Authorization => 'Basic dTpw'])->body,
        'quick', 'a password for a backend';
    is $k->get('/to-backend')->body, 'quick', 'rewritten to a backend';
    my $res = $k->get('/refused/x');
    is $res->status . ' ' . $res->body, '502 an error page',
        'an error page from a file';
    $res = $k->get('/proxied-page/x');
    is $res->status . ' ' . $res->body, '502 waited',
        'an error page from a backend';
    is $k->get('/sync/wait/0.1')->body, 'waited', 'UpstreamAsync off';
    for my $to ('/sync/quick', '/cgi/echo') {
        my $late = adopted(timeout => 4);
        $late->send("POST $to HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: 9\r\n\r\nhel");
        for my $part ('lo ', 'you') {
            sleep 0.3;
            $late->send($part);
        }
        my $res = $late->response;
        is $res->status, 200, "$to: a body that comes in pieces";
        is $res->header('X-Body') // $res->body, $to =~ /cgi/ ? 'got 9' : 9,
            'is read whole';
        ok $late->idle, 'on a connection that is kept';
    }
    $k->send(join '', map { "GET $_ HTTP/1.1\r\nHost: x\r\n\r\n" }
        qw(/small.txt /p/quick /cgi/slow /p/wait/0.1 /small.txt));
    is tally(map { $k->response } 1 .. 5),
        '1 x 200 quick, 1 x 200 slow, 2 x 200 small, 1 x 200 waited',
        'all of it in a pipeline';
    my @conns = map { $_->{conn} } $s->access_log(19);
    is scalar(grep { $_ eq '+' } @conns), scalar @conns, 'one connection';
};

subtest 'slow ones' => sub {
    beside_ok('a CGI of two seconds', '200 slow', GET => '/cgi/slow');
    beside_ok('UpstreamAsync off', '200 waited', GET => '/sync/wait/2');
    beside_ok('an error page for a server that refuses', '502 slow',
        GET => '/refused-slowly/x');
    beside_ok('an error page when no server is there', '502 slow',
        GET => '/none/x');
    beside_ok('an error page for a late one', '504 slow',
        GET => '/late/wait/5');
    beside_ok('an error page from a slow backend', '502 waited',
        GET => '/proxied-page/x');
};

# Nobody knows before that these block: the first ones hold a loop until it
# is seen.
subtest 'what sleeps in a loop' => sub {
    if ($lua) {
        beside_ok('a slow access check', '200 quick',
            GET => '/p/guarded/quick');
        beside_ok('a slow one in front of a file', '200 small',
            GET => '/guarded/small.txt');
    }
    beside_ok('a slow page for what is forbidden', '403 slow',
        GET => '/forbidden/x');
    beside_ok('an output filter', '200 40000 bytes',
        GET => '/paced/big/40000');
};

subtest 'a slow client of a file' => sub {
    my @slow = map { adopted(rcvbuf => 4096) } 1 .. 20;
    $_->request(GET => '/big.bin') for @slow;
    my ($most) = beside(1, GET => '/small.txt');
    cmp_ok $most, '<', 0.5, 'the others do not wait';
    my ($good) = grep { $_->body eq $big } $slow[0]->response;
    ok $good, 'it gets all of it';
    $_->close for @slow;
};

ok $s->stop, 'no crash, nothing left';
done_testing;
