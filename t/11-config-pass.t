#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamPass: its URL and its place; and the places of all other directives.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

# --- UpstreamPass -----------------------------------------------------------

my $hint = 'wants a host name or an address, such as 127.0.0.1:8080, '
    . '[::1]:8080 or unix:/run/a.sock';
my $port = 'wants a port from 1 to 65535 after the colon';
my $prefix = 'has an invalid URL prefix: write http://host:port, '
    . 'http://group or http://unix:/path, or https:// instead';
my $uri = 'wants a URI in which blanks, #, quotes, braces and bytes outside '
    . 'ASCII are written as %XX';
my $no_uri = 'cannot have a URI part inside <LocationMatch>, <If> or a '
    . '<Location> with a pattern, where no prefix could be replaced: write '
    . 'the URL without it';

for my $url (qw(http://127.0.0.1 http://127.0.0.1:8080 HTTP://127.0.0.1/
    http://127.0.0.1/base http://127.0.0.1:8080/a/b?c=d http://127.0.0.1?k=1
    http://[::1]:8080/x http://[::1] http://unix:/tmp/a.sock
    http://unix:/tmp/a.sock:/uri http://unix:/tmp/a.sock: http://group_1
    http://127.0.0.1/a%20b http://127.0.0.1/$x
    https://127.0.0.1 HTTPS://[::1]:8443/x https://unix:/tmp/a.sock:/uri
    off OFF !)) {
    row("UpstreamPass $url", location("UpstreamPass $url"));
}

my $deep = '/tmp/' . 'a' x 120;
my $dollar = 'has a variable of nginx in its URL: write an expression of '
    . 'httpd, such as %{HTTP_HOST}';
my $login = 'cannot log in with a name in the URL: write UpstreamSetHeader '
    . 'Authorization "Basic ..."';
my @urls = (
    'ftp://127.0.0.1' => $prefix,
    '127.0.0.1:8080' => $prefix,
    'on' => $prefix,
    'http://' => $hint,
    'http:///x' => $hint,
    'http://a_b@c/' => $login,
    'http://a:b@c/' => $login,
    'http://a;b/' => $hint,
    'http://127.0.0.1:0' => $port,
    'http://127.0.0.1:65536/' => $port,
    'http://127.0.0.1:/' => $port,
    'http://127.0.0.1:80x' => $port,
    'http://::1/' => 'wants an IPv6 address in brackets, such as [::1]:8080',
    'http://[::1' => 'has no ] after the IPv6 address',
    'http://[abc]/' => 'wants an IPv6 address between the brackets, such as '
        . '[::1]',
    'http://[127.0.0.1]/' => 'wants an IPv6 address between the brackets, '
        . 'such as [::1]',
    'http://[::1]80' => 'wants nothing but :port after the ]',
    'http://unix:' => 'wants an absolute path after unix:, such as '
        . 'unix:/run/a.sock',
    'http://unix:a.sock' => 'wants an absolute path after unix:, such as '
        . 'unix:/run/a.sock',
    "http://unix:$deep" => 'has a socket path that is longer than the system '
        . 'allows (107 bytes): use a shorter one',
    'http://$backend/' => $dollar,
    'http://app$request_uri' => $dollar,
    'http://127.0.0.1:80/x?${args}' => $dollar,
);
while (my ($url, $why) = splice @urls, 0, 2) {
    row("UpstreamPass $url", location("!! UpstreamPass $url"),
        qq{UpstreamPass $why, not "$url"});
}
row("UpstreamPass with the URI $_", location(qq{!! UpstreamPass "http://h$_"}),
    qq{UpstreamPass $uri, not "$_"}) for '/a b', '/a#b', '/{a}', '/a^';
row('UpstreamPass with a URI that has no slash',
    location('!! UpstreamPass http://unix:/a:uri'),
    'UpstreamPass wants a URI that begins with / after the '
    . q{socket's path, not "uri"});

my $pass_twice = sub {
    return '"UpstreamPass" directive is duplicate: the other one is at '
        . "TMP/httpd.conf:$_[0], keep one of them";
};
my $needs_path = 'UpstreamPass wants a path before the URL outside '
    . '<Location>, as in "UpstreamPass /app/ http://host:8080", not "%s"';

row @$_ for (
    ['UpstreamPass with two arguments', 'UpstreamPass /x/ http://127.0.0.1/'],
    ['a path that is off',
        "UpstreamPass / http://127.0.0.1\nUpstreamPass /s/ off"],
    ['the same path in two servers',
        "UpstreamPass / http://127.0.0.1\n<VirtualHost *:80>\n"
        . "UpstreamPass / http://127.0.0.2\n</VirtualHost>"],
    ['one argument outside', 'UpstreamPass http://127.0.0.1',
        sprintf $needs_path, 'http://127.0.0.1'],
    ['off alone outside', 'UpstreamPass off', sprintf $needs_path, 'off'],
    ['one argument in a virtual host',
        "<VirtualHost *:80>\n!! UpstreamPass http://127.0.0.1\n"
        . '</VirtualHost>',
        sprintf $needs_path, 'http://127.0.0.1'],
    ['a path without a slash', 'UpstreamPass x http://127.0.0.1',
        'UpstreamPass wants a path that begins with / and a URL here, as in '
        . '"UpstreamPass /app/ http://host:8080", not "x"'],
    ['two arguments inside', location('!! UpstreamPass /x/ http://127.0.0.1'),
        'UpstreamPass wants only a URL inside a section: the section gives '
        . 'the path, not "/x/"'],
    ['two arguments inside <If>',
        "<If true>\n!! UpstreamPass /x/ http://127.0.0.1\n</If>",
        'UpstreamPass wants only a URL inside a section: the section gives '
        . 'the path, not "/x/"'],
    ['three arguments', 'UpstreamPass /x/ http://127.0.0.1 y',
        'UpstreamPass takes 1-2 arguments, an http:// or https:// URL or '
        . 'off, behind a path when it does not stand inside <Location>'],
    ['the same path twice', "UpstreamPass /x http://127.0.0.1\n"
        . '!! UpstreamPass /x off', $pass_twice->(8)],
    ['two in a section', location("UpstreamPass off\n"
        . '!! UpstreamPass http://127.0.0.1'), $pass_twice->(9)],
    ['one in each of two equal sections',
        location('UpstreamPass off') . "\n" . location('UpstreamPass off')],
    ['one in an <If> of the same section', location("UpstreamPass off\n"
        . "<If true>\nUpstreamPass http://127.0.0.1\n</If>")],
    ['a <Location> without a slash',
        "<Location x>\n!! UpstreamPass http://127.0.0.1\n</Location>",
        'UpstreamPass wants a <Location> that begins with /, not "x"'],
);

my @patterns = ('LocationMatch ^/x', 'Location ~ ^/x', 'Location /x/*',
    'If true');
for my $section (@patterns) {
    my ($name) = split / /, $section;
    row("a URL in <$section>",
        "<$section>\nUpstreamPass http://127.0.0.1\n</$name>");
    row("a URI part in <$section>",
        "<$section>\n!! UpstreamPass http://127.0.0.1/\n</$name>",
        qq{UpstreamPass $no_uri, not "http://127.0.0.1/"});
}
row('a URI part in <Else> inside <Location>', location("<If true>\n</If>\n"
    . "<Else>\n!! UpstreamPass http://h?a\n</Else>"),
    qq{UpstreamPass $no_uri, not "http://h?a"});

# --- contexts ---------------------------------------------------------------

my $belongs = 'it belongs in the server configuration, <VirtualHost>, '
    . '<Location>, <LocationMatch> or <If>';
my @samples = ('UpstreamReadTimeout 5s', 'UpstreamSetHeader X-A b',
    'UpstreamHideHeader X-A', 'UpstreamNextUpstream off', 'UpstreamBind off',
    'UpstreamBuffers 2 4k', 'UpstreamTempPath spool', 'UpstreamMethod GET');

for my $sample (@samples) {
    row("$sample in <$_>", "<$_>\n$sample\n</" . (split / /)[0] . '>')
        for 'VirtualHost *:80', 'Location /x', 'LocationMatch x', 'If true';
    my ($directive) = split / /, $sample;
    row("$sample in <Directory>", "<Directory />\n!! $sample\n</Directory>",
        "$directive cannot stand inside <Directory>: $belongs");
}
for my $section ('Files x', 'DirectoryMatch x', 'FilesMatch x') {
    my ($name) = split / /, $section;
    row("UpstreamPass in <$section>",
        "<$section>\n!! UpstreamPass http://127.0.0.1\n</$name>",
        "UpstreamPass cannot stand inside <$name>: $belongs");
}
row('a setting in an <If> of a <Directory>',
    "<Directory />\n<If true>\n!! UpstreamBuffering off\n</If>\n</Directory>",
    "UpstreamBuffering cannot stand inside <Directory>: $belongs");
row('a setting in a <Limit>',
    location("<Limit GET>\n!! UpstreamBuffering off\n</Limit>"),
    "UpstreamBuffering cannot stand inside <Limit>: $belongs");
row('<IfModule> around everything',
    "<IfModule upstream_proxy_module>\nUpstreamPass /x http://g\n" . group()
    . "\n</IfModule>");

done_testing;
