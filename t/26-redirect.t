# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamRedirect: Location, Content-Location and Refresh as the client has
# to read them.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Backend::Conn ();
use Up::Server ();

# Answers with the fields that the request names in X-Say: "Name: value".
my $b = Up::Backend->http(sub {
    my ($req) = @_;
    my @fields = map { /^([^:]+): (.*)/ ? ($1, $2) : () }
        Up::Backend::Conn::values_of($req, 'X-Say');
    my ($status) = Up::Backend::Conn::values_of($req, 'X-Status');
    return [$status // 302, \@fields, ''];
});
my $B = $b->addr;

my $s = Up::Server->start(B => $B, conf => <<'END');
UseCanonicalName Off
<Location /raw/>
    UpstreamPass http://@B@
</Location>
<Location /p/>
    UpstreamPass http://@B@/base/
</Location>
<Location /p/off/>
    UpstreamRedirect off
</Location>
<Location /p/again/>
    UpstreamRedirect off
</Location>
<Location /p/again/on/>
    UpstreamRedirect default
</Location>
<LocationMatch ^/var/>
    UpstreamPass http://%{reqenv:NONE}@B@
</LocationMatch>
<LocationMatch ^/var/said/>
    UpstreamRedirect default
</LocationMatch>
<Location /rules/>
    UpstreamPass http://@B@/base/
    UpstreamRedirect http://first.example/ /one/
    UpstreamRedirect http://first.example/x /two/
    UpstreamRedirect ~^http://([a-z]+)\.re\.example(/.*)$ https://$1.example$2
    UpstreamRedirect ~*^HTTP://CASE\. http://lower/%{HTTP:X-Part}-$0
    UpstreamRedirect http://%{HTTP:X-Part}.example/ http://%{HTTP_HOST}/
    UpstreamRedirect ~^tail$ ""
    UpstreamRedirect default
    UpstreamRedirect http:// never://
</Location>
<Location /rules/inner/>
    UpstreamRedirect http://inner.example/ /inner/
</Location>
<Location /bad/>
    UpstreamPass http://@B@
    UpstreamRedirect http://x/ "%{HTTP:X-Part}%{unescape:%0d%0aX-Evil: 1}"
</Location>
END
my $A = '127.0.0.1:' . $s->port;
my $k = $s->client;

sub answer {
    my ($target, $say, @more) = @_;
    my $res = $k->ask('GET', $target, ['X-Say' => $say, @more]);
    $k = $s->client if $res->closes;
    return $res;
}

# What becomes of a field's value.
sub is_moved {
    my ($target, $name, $value, $want, @more) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is_deeply [answer($target, "$name: $value", @more)->field($name)],
        [$want], "$target $name: $value";
    return;
}

subtest 'RB17 default, with a URI part' => sub {
    is_moved('/p/a', 'Location', @$_) for
        ["http://$B/base/x?q#f", "http://$A/p/x?q#f"],
        ["http://$B/base/", "http://$A/p/"],
        ["http://$B/base", "http://$B/base"],
        ["http://$B/other/", "http://$B/other/"],
        ["HTTP://$B/base/", "HTTP://$B/base/"],
        ["http://${B}0/base/", "http://${B}0/base/"],
        ['/base/rel', '/base/rel'],
        ['rel', 'rel'],
        ["http://other.example/base/z?http://$B/base/",
            "http://other.example/base/z?http://$B/base/"];
};

subtest 'default, without one' => sub {
    is_moved('/raw/a', 'Location', @$_) for
        ["http://$B/any/x", "http://$A/any/x"],
        ["http://$B//x", "http://$A//x"],
        ["http://$B", "http://$B"],
        ["http://$B:80/x", "http://$B:80/x"];
};

subtest 'the fields' => sub {
    is_moved('/p/a', 'Content-Location', "http://$B/base/x", '/p/x');
    is_moved('/p/a', 'Refresh', @$_) for
        ["5; url=http://$B/base/x", '5; url=/p/x'],
        [qq{0;URL="http://$B/base/x"}, '0;URL="/p/x"'],
        ["0;url=x?url=http://$B/base/x", "0;url=x?url=http://$B/base/x"],
        ['5', '5'];
    is_moved('/p/a', $_, "http://$B/base/x", "http://$B/base/x")
        for qw(X-Location Locations Link Referer);
    my $res = $k->ask(GET => '/p/a', ['X-Say' => "location: http://$B/base/1",
        'X-Status' => 201]);
    is $res->header('Location'), "http://$A/p/1", '201, too';
    $res = $k->ask(HEAD => '/p/a', ['X-Say' => "Location: http://$B/base/1"]);
    is $res->header('Location'), "http://$A/p/1", 'HEAD, too';
};

subtest 'off' => sub {
    my $own = "http://$B/base/x";
    is_moved('/p/off/a', 'Location', $own, $own);
    is_moved('/p/again/a', 'Location', $own, $own);
    is_moved('/p/again/on/a', 'Location', $own, "http://$A/p/x");
};

subtest 'expressions in the pass' => sub {
    is_moved('/var/a', 'Location', "http://$B/x", "http://$B/x");
    is_moved('/var/said/a', 'Location', "http://$B/x", "http://$A/x");
};

subtest 'rules' => sub {
    my @part = ('X-Part' => 'mine');
    is_moved('/rules/a', 'Location', @$_, @part) for
        ['http://first.example/x', "http://$A/one/x"],
        ['http://ab.re.example/y?z', 'https://ab.example/y?z'],
        ['http://AB.re.example/y', 'never://AB.re.example/y'],
        ['http://case.', 'http://lower/mine-http://case.'],
        ['http://mine.example/q', "http://$A/q"],
        ['http://yours.example/q', 'never://yours.example/q'],
        ['tail', ''],
        ["http://$B/base/x", "http://$A/rules/x"],
        ['/rel', '/rel'];
    is_moved('/rules/a', 'Refresh', '1;url=http://first.example/',
        '1;url=/one/');
    is_moved('/rules/inner/a', 'Location', @$_) for
        ['http://inner.example/x', "http://$A/inner/x"],
        ['http://first.example/x', 'http://first.example/x'],
        ["http://$B/base/x", "http://$B/base/x"];
};

subtest 'the address of this server' => sub {
    my $res = answer('/p/a', "Location: http://$B/base/x",
        Host => 'front.example:8080');
    is $res->header('Location'), 'http://front.example:8080/p/x',
        'is the one that the client knows';
};

subtest 'a line end in an expression' => sub {
    my $res = answer('/bad/a', 'Location: http://x/y');
    is $res->header('X-Evil'), undef, 'does not get out';
    is $res->header('Location'), 'http://x/y', 'the value stays';
    like join('', $s->error_log), qr/UP0101: .*refused/, 'and is noted';
};

is_deeply [$b->problems], [], 'nothing wrong at the backend';
ok $s->stop, 'no crash, nothing left';
done_testing;
