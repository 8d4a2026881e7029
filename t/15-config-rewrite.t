# Licensed under the Apache License, Version 2.0; see LICENSE.

# The values of the directives that rewrite redirects and cookies, and of
# those about what a request says.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $flags = 'UpstreamCookieFlags wants flags out of secure nosecure httponly '
    . 'nohttponly samesite=strict samesite=lax samesite=none nosamesite, not ';

for my $good ('Redirect default', 'Redirect OFF', 'Redirect http://b/ /',
    'Redirect http://b/ ""', 'Redirect http://%{HTTP_HOST}/ %{CONTEXT_PREFIX}',
    'Redirect ~^http://[^/]+/(.*)$ /$1', 'Redirect ~*^HTTP: https:',
    'Redirect ~ ^http:(.*) https:$1', 'Redirect ~* ^http:(.*) https:$1',
    "Redirect default\nUpstreamRedirect http://b/ /\nUpstreamRedirect ~a b",
    'CookieDomain off', 'CookieDomain localhost example.org',
    'CookieDomain ~\.?([a-z]+\.org)$ $1', 'CookieDomain localhost ""',
    'CookiePath off', 'CookiePath /app/ /', 'CookiePath ~*^/app/(.+) /$1',
    "CookiePath /a/ /b/\nUpstreamCookiePath / /c/",
    'CookieFlags off', 'CookieFlags sid secure',
    'CookieFlags ~ . secure HttpOnly samesite=lax',
    'CookieFlags ~^s nosecure nohttponly nosamesite',
    'CookieFlags sid samesite=%{reqenv:SAME}') {
    row "Upstream$good", "Upstream$good";
    row "Upstream$good in a section", location("Upstream$good");
}

my %usage = (
    Redirect => 'default, off, or what is to be replaced and its replacement',
    CookieDomain => 'off, or a domain and its replacement',
    CookiePath => 'off, or a path and its replacement',
    CookieFlags => "off, or a cookie's name and one to three flags",
);
for my $name (sort keys %usage) {
    my $directive = "Upstream$name";
    my $pair = $name eq 'CookieFlags' ? 'a secure' : 'a b';
    row "$directive $_", "$directive $_", "$directive wants $usage{$name}"
        for '', 'x', '~ x', 'off x';
    row "$directive twice off", "$directive off\n!! $directive off",
        qq{"$directive" directive is duplicate: keep one of them in this }
        . 'section' ;
    my $mixed = "$directive off cannot stand in one section with other "
        . "$directive: remove one of them";
    row "$directive off behind a rule", "$directive $pair\n!! $directive off",
        $mixed;
    row "a rule behind $directive off", "$directive off\n!! $directive $pair",
        $mixed;
    row "$directive off in an inner section",
        "$directive $pair\n" . location("$directive off");
    row "$directive of a bad regex", "$directive ~a( secure",
        qq{$directive wants a regular expression that can be compiled, not }
        . '"a("';
    row "$directive of an empty regex", qq{$directive ~ "" secure},
        qq{$directive wants a regular expression behind ~, not ""};
    row "$directive of no pattern", qq{$directive "" secure},
        qq{$directive wants a pattern that is not empty, not ""};
    row "$directive of nginx's variables", qq{$directive \$host secure},
        qq{$directive at "\$host": \$host is nginx's: write %{HTTP_HOST}};
}

row @$_ for (
    (map { my ($name, $what, $bad, @good) = @$_;
        (map { ["Upstream$name $_", "Upstream$name $_"] } @good),
        ["Upstream$name $bad", "Upstream$name $bad",
            "Upstream$name wants $what, not \"$bad\""],
        ["Upstream$name twice",
            "Upstream$name $good[0]\n!! Upstream$name $good[0]",
            qq{"Upstream$name" directive is duplicate: keep one of them in }
            . 'this section'] }
        ['Forwarded', 'off, on, legacy or rfc7239', 'yes', 'off', 'ON',
            'legacy', 'rfc7239'],
        ['URI', 'raw or normalized', 'decoded', 'raw', 'Normalized'],
        ['Destination', 'on or off', 'yes', 'on', 'off'],
        ['FixDeflateETag', 'on or off', 'gzip', 'on', 'off'],
        ['RetryKey', 'the name of a header field such as Idempotency-Key, or '
            . 'off', 'a:b', 'Idempotency-Key', 'off']),
    ['three words', 'UpstreamRedirect a b c',
        "UpstreamRedirect wants $usage{Redirect}"],
    ['default and a rule', "UpstreamRedirect default\nUpstreamRedirect a b"],
    ['default and more', 'UpstreamRedirect default off',
        "UpstreamRedirect wants $usage{Redirect}"],
    ['off and default', "UpstreamRedirect off\n!! UpstreamRedirect default",
        'UpstreamRedirect off cannot stand in one section with other '
        . 'UpstreamRedirect: remove one of them'],
    ['four flags', 'UpstreamCookieFlags a secure httponly samesite=lax secure',
        "UpstreamCookieFlags wants $usage{CookieFlags}"],
    (map { ["the flag $_", "UpstreamCookieFlags a $_", qq{$flags"$_"}] }
        'safe', 'samesite', 'samesite=maybe', 'nosamesite=lax'),
);
logged 'a bad expression', 'UpstreamRedirect a %{NO_SUCH', 0,
    qr/UpstreamRedirect wants a value or an expression such as .* "%\{NO_SUCH"/;

done_testing;
