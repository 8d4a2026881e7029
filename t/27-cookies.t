# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamCookieDomain, -Path and -Flags.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Backend::Conn ();
use Up::Server ();

# Sets the cookies that the request names in X-Say, with | between them.
my $b = Up::Backend->http(sub {
    my ($req) = @_;
    my ($status) = Up::Backend::Conn::values_of($req, 'X-Status');
    my ($to) = Up::Backend::Conn::values_of($req, 'X-To');
    return [$status // 200, [(map { ('Set-Cookie' => $_) }
        map { split / \| / } Up::Backend::Conn::values_of($req, 'X-Say')),
        (map { (Location => $_) }
            Up::Backend::Conn::values_of($req, 'X-Location')),
        defined $to ? ('X-Accel-Redirect' => $to) : ()], ''];
});

my $s = Up::Server->start(B => $b->addr, conf => <<'END');
UpstreamCookiePath /outer/ /server/
<Location /path/>
    UpstreamPass http://@B@/
    UpstreamCookiePath /app/ /c/
    UpstreamCookiePath /app /never/
    UpstreamCookiePath ~^/([a-z]+)/re/(.*)$ /re-$1/$2
    UpstreamCookiePath ~*^/CASE /case
    UpstreamCookiePath /gone ""
    UpstreamCookiePath /%{HTTP:X-Part}/ /%{HTTP:X-Put}/
</Location>
<Location /path/off/>
    UpstreamCookiePath off
</Location>
<Location /server/>
    UpstreamPass http://@B@/
</Location>
<Location /domain/>
    UpstreamPass http://@B@/
    UpstreamCookieDomain .app.example .front.example
    UpstreamCookieDomain ~\.?([a-z]+)\.re\.example$ $1.example
    UpstreamCookieDomain gone.example ""
</Location>
<Location /flags/>
    UpstreamPass http://@B@/
    UpstreamCookieFlags one secure httponly samesite=strict
    UpstreamCookieFlags ~^o nosecure
    UpstreamCookieFlags two nosecure nohttponly nosamesite
    UpstreamCookieFlags dyn samesite=%{HTTP:X-Part}
</Location>
<Location /all/>
    UpstreamPass http://@B@/
    UpstreamCookiePath / /all/
    UpstreamCookieDomain app.example front.example
    UpstreamCookieFlags ~. secure
    UpstreamInterceptErrors on
    ErrorDocument 404 "a page"
</Location>
<Location /c33/>
    UpstreamPass http://@B@/app/
    UpstreamCookiePath /app/ /c33/
</Location>
END
my $k = $s->client;

sub cookies {
    my ($target, $say, @more) = @_;
    my $res = $k->ask('GET', $target, ['X-Say' => join(' | ', @$say), @more]);
    $k = $s->client if $res->closes;
    return $res->field('Set-Cookie');
}

# Each backend's cookie and the one that the client gets; one value: the same.
sub are_changed {
    my ($target, $more, @pairs) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is_deeply [cookies($target, [$_->[0]], @$more)], [$_->[1] // $_->[0]],
        "$target: $_->[0]" for @pairs;
    return;
}

subtest 'paths' => sub {
    are_changed('/path/x', ['X-Part' => 'mine', 'X-Put' => 'yours'],
        ['sid=1; fakepath=/app/; Path=/app/x; HttpOnly',
            'sid=1; fakepath=/app/; Path=/c/x; HttpOnly'],
        ['a=/app/; path="/app/"', 'a=/app/; path="/c/"'],
        ['path=/app/; Domain=/app/; xpath=/app/; path'],
        ['b=2;Path=/application', 'b=2; Path=/never/lication'],
        ['b=2;Path=/APP/'],
        ['b="x; Path=/app/y"; Path=/app/z', 'b="x; Path=/app/y"; Path=/c/z'],
        ['b=1;path=/a/re/x ;  Secure', 'b=1; path=/re-a/x; Secure'],
        ['b=1; Path=/Case/x', 'b=1; Path=/case'],
        ['b=1; Path=/gone; Secure', 'b=1; Secure'],
        ['b=1; Path=/mine/1', 'b=1; Path=/yours/1'],
        ['b=1; Path=/app/1; Path=/app/2', 'b=1; Path=/c/1; Path=/c/2'],
        ['b=1;Expires=Thu, 01 Jan 1970 00:00:00 GMT;Path=/app/',
            'b=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/c/'],
        ['no cookie; Path=/app/'], ['b=;Path=/other ;;x']);
    is_deeply [cookies('/path/x', ['a=1; Path=/app/1', 'b=2; Path=/app/2'])],
        ['a=1; Path=/c/1', 'b=2; Path=/c/2'], 'each of several';
};

subtest 'inheritance' => sub {
    are_changed('/path/off/x', [], ['a=1; Path=/app/'],
        ['a=1; Path=/outer/']);
    are_changed('/path/x', [], ['a=1; Path=/outer/']);
    are_changed('/server/x', [], ['a=1; Path=/outer/x',
        'a=1; Path=/server/x']);
};

subtest 'an evaluated value' => sub {
    for my $evil ("a; Domain=evil.example", "a\tb") {
        are_changed('/path/x', ['X-Part' => 'mine', 'X-Put' => $evil],
            ['b=1; Path=/mine/1']);
    }
    like join('', $s->error_log), qr/UP0600: expression .* semicolon/,
        'adds no attribute';
};

subtest 'domains' => sub {
    are_changed('/domain/x', [],
        ['a=1; Domain=app.example', 'a=1; Domain=front.example'],
        ['a=1; domain=.APP.example', 'a=1; domain=.front.example'],
        ['a=1; Domain="app.example"', 'a=1; Domain="front.example"'],
        ['a=1; Domain=www.app.example'],
        ['Domain=app.example; xDomain=app.example'],
        ['a=1; Domain=.Ab.re.example', 'a=1; Domain=Ab.example'],
        ['a=1; Domain=gone.example; Secure', 'a=1; Secure'],
        ['a=1; Domain=']);
};

subtest 'flags' => sub {
    are_changed('/flags/x', ['X-Part' => 'Lax'],
        ['one=1', 'one=1; Secure; HttpOnly; SameSite=Strict'],
        ['ONE=1;secure; SameSite=None;x',
            'ONE=1; secure; SameSite=Strict; x; HttpOnly'],
        ['one="a; Secure"',
            'one="a; Secure"; Secure; HttpOnly; SameSite=Strict'],
        ['other=1; Secure', 'other=1'], ['other=1; Insecure'],
        ['two=1; Path=/; Secure;HttpOnly; samesite=lax; x=y',
            'two=1; Path=/; x=y'],
        ['three=1'], ['dyn=1', 'dyn=1; SameSite=Lax']);
    are_changed('/flags/x', ['X-Part' => 'what'], ['dyn=1;Secure']);
};

subtest 'all of them, wherever the answer ends' => sub {
    my @from = ('a=1; Path=/x; Domain=app.example', 'b=2');
    my @to = ('a=1; Path=/all/x; Domain=front.example; Secure',
        'b=2; Secure');
    is_deeply [cookies('/all/x', \@from)], \@to, 'relayed';
    is_deeply [cookies('/all/x', \@from, 'X-Status' => 304)], \@to, 'of a 304';
    is_deeply [cookies('/all/x', \@from, 'X-Status' => 404)], \@to,
        'beside an ErrorDocument';
    my $res = $k->ask(GET => '/all/x', ['X-Say' => join(' | ', @from),
        'X-To' => '/nowhere']);
    is $res->status, 404, 'X-Accel-Redirect';
    is_deeply [$res->field('Set-Cookie')], \@to, 'its cookies';
};

subtest 'C33 RB16 paths and Location mapped back' => sub {
    my $res = $k->ask(GET => '/c33/a', ['X-Say' =>
        'sid=1; fakepath=/app/; Path=/app/x; HttpOnly | a=/app/; path="/app/"'
        . ' | b=2;Path=/application',
        'X-Location' => 'http://' . $b->addr . '/app/y', 'X-Status' => 302]);
    is_deeply [$res->field('Set-Cookie')],
        ['sid=1; fakepath=/app/; Path=/c33/x; HttpOnly',
        'a=/app/; path="/c33/"', 'b=2;Path=/application'], 'the cookies';
    is $res->header('Location'), 'http://127.0.0.1:' . $s->port . '/c33/y',
        'Location, with the port';
};

is_deeply [$b->problems], [], 'nothing wrong at the backend';
ok $s->stop, 'no crash, nothing left';
done_testing;
