# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamResolver, UpstreamResolverTimeout, resolve and service=, and what
# an expression in UpstreamPass may look like.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $ip = 'wants IP addresses of name servers, such as 127.0.0.1 or '
    . '[::1]:5353';
my $params = 'has an invalid parameter: it takes addresses and valid= ipv4= '
    . 'ipv6=';

my $time = 'wants a time such as 60s, 1m30s or 500ms';

# --- UpstreamResolver -------------------------------------------------------

my @good = ('127.0.0.1', '127.0.0.1:5353', '[::1]', '[::1]:53 127.0.0.1',
    '127.0.0.1 valid=30s', 'valid=1m', '127.0.0.1 ipv6=off', 'ipv4=off',
    '127.0.0.1 valid=200ms ipv4=on ipv6=off', 'off', 'OFF',
    join ' ', map { "127.0.0.$_" } 1 .. 8);
my @bad = (
    'dns.example' => qq{UpstreamResolver $ip, not "dns.example"},
    '::1' => qq{UpstreamResolver $ip, not "::1"},
    'unix:/x' => qq{UpstreamResolver $ip, not "unix:/x"},
    '127.0.0.1:0' => qq{UpstreamResolver $ip, not "127.0.0.1:0"},
    '127.0.0.1 off' => qq{UpstreamResolver $ip, not "off"},
    '127.0.0.1 valid=x' => qq{UpstreamResolver: valid= $time, not "x"},
    '127.0.0.1 valid=0' => 'UpstreamResolver: valid= wants a time that is '
        . 'longer than 0, not "0"',
    '127.0.0.1 ipv6=no' => 'UpstreamResolver: ipv6= wants on or off, '
        . 'not "no"',
    '127.0.0.1 ipv4=off ipv6=off' => 'UpstreamResolver: with ipv4=off and '
        . 'ipv6=off nothing is left: leave one of them out',
    '127.0.0.1 status_zone=x' => 'UpstreamResolver does not count look-ups '
        . 'yet: leave status_zone= out, not "status_zone=x"',
    '127.0.0.1 ttl=1' => qq{UpstreamResolver $params, not "ttl=1"},
    join(' ', map { "127.0.0.$_" } 1 .. 9) => 'UpstreamResolver takes at '
        . 'most 8 name servers, not "127.0.0.9"',
);
row("UpstreamResolver $_", "UpstreamResolver $_") for @good;
row("UpstreamResolver $_ in a location", location("UpstreamResolver $_"))
    for @good[0, 3, 9];
row("UpstreamResolver $_ in a group",
    group("UpstreamServer h.invalid\nUpstreamResolver $_")) for @good[4, 9];
while (my ($words, $why) = splice @bad, 0, 2) {
    row("UpstreamResolver $words", "!! UpstreamResolver $words", $why);
}
row('UpstreamResolver without words', '!! UpstreamResolver',
    'UpstreamResolver wants addresses of name servers and valid=, ipv4=off, '
    . 'ipv6=off; or off');
row('UpstreamResolver with a bad word in a group',
    group("UpstreamServer h.invalid\n!! UpstreamResolver x.y"),
    qq{UpstreamResolver $ip, not "x.y"});

row('UpstreamResolverTimeout', 'UpstreamResolverTimeout 5s');
row('UpstreamResolverTimeout in a group',
    group("UpstreamServer h.invalid\nUpstreamResolverTimeout 500ms"));
row('UpstreamResolverTimeout 0', '!! UpstreamResolverTimeout 0',
    'UpstreamResolverTimeout wants a time that is longer than 0, such as 60s, '
    . 'not "0"');
row('UpstreamResolverTimeout in a group, bad',
    group("UpstreamServer h.invalid\n!! UpstreamResolverTimeout soon"),
    "UpstreamResolverTimeout $time, not \"soon\"");

# --- resolve, service= ------------------------------------------------------

row("UpstreamServer $_", group("UpstreamServer $_")) for
    'h.invalid resolve', '127.0.0.1:80 resolve', 'h.invalid service=http',
    'h.invalid service=_http._tcp resolve weight=2', 'localhost resolve';
my @servers = (
    'unix:/run/a resolve' => 'UpstreamServer cannot resolve a socket: leave '
        . '"resolve" out, not "unix:/run/a"',
    '127.0.0.1 service=http' => 'UpstreamServer wants a host name where '
        . 'service= stands, not "127.0.0.1"',
    'localhost service=http' => 'UpstreamServer wants a host name where '
        . 'service= stands, not "localhost"',
    'h.invalid:80 service=http' => 'UpstreamServer takes its ports from the '
        . 'service: leave the port out, not "h.invalid:80"',
    'h.invalid service=' => 'UpstreamServer: service= wants a name, not ""',
    'h.invalid service=a/b' => 'UpstreamServer wants a service such as http '
        . 'or _http._tcp, not "a/b"',
    'h.invalid resolve resolve' => 'UpstreamServer: parameter "resolve" is '
        . 'duplicate: keep one of them',
);
while (my ($words, $why) = splice @servers, 0, 2) {
    row("UpstreamServer $words", group("!! UpstreamServer $words"), $why);
}

# --- expressions in UpstreamPass --------------------------------------------

row("UpstreamPass $_", location("UpstreamPass $_")) for
    'http://%{HTTP_HOST}', 'http://%{HTTP_HOST}:8080/x', '%{reqenv:URL}',
    'http://127.0.0.1/%{REQUEST_URI}', 'http://127.0.0.1%{REQUEST_URI}',
    'http://127.0.0.1/x?%{QUERY_STRING}', 'http://unix:/tmp/x:%{REQUEST_URI}',
    'http://127.0.0.1/%{HTTP:X-A}b%{HTTP:X-C}';
row("UpstreamPass with an expression in <$_>",
    "<$_>\nUpstreamPass http://127.0.0.1/%{REQUEST_URI}\n</"
    . (split)[0] . '>') for 'LocationMatch "^/a(?<B>.*)"',
    'If "true"';
row('UpstreamPass with a broken expression',
    location('!! UpstreamPass http://127.0.0.1/%{nosuch:x}'),
    'UpstreamPass wants a value or an expression such as %{HTTP_HOST}, and '
    . q{"%{nosuch:x}" is neither: Function 'nosuch' does not exist});
row('UpstreamPass with an expression and a bad host',
    location(q{!! UpstreamPass http://a;b/%{REQUEST_URI}}),
    'UpstreamPass wants a host name or an address, such as 127.0.0.1:8080, '
    . '[::1]:8080 or unix:/run/a.sock, not "http://a;b"');

done_testing;
