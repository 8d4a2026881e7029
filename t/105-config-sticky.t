#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamSticky and its parameters.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $modules = $ENV{UP_LIBEXECDIR} // qx{apxs -q LIBEXECDIR} =~ s/\n//r;
my $load = join '', map { "LoadModule socache_${_}_module "
    . "\"$modules/mod_socache_$_.so\"\n" } qw(shmcb redis memcache dbm);
my $learn = 'learn create=%{upstream_cookie:SID} lookup=%{HTTP:X-Sid}';

for my $words ('cookie srv', 'cookie srv domain=.example.com path=/',
    'cookie srv expires=1h', 'cookie srv expires=max', 'cookie srv expires=0',
    'cookie srv httponly secure samesite=strict',
    'cookie srv samesite=LAX', 'cookie srv samesite=%{HTTP:X-Site}',
    'cookie srv "domain=%{HTTP_HOST}" secure expires=1d2h path=/a httponly',
    'route %{HTTP:X-Route}', 'route %{env:A} %{env:B} %{HTTP:C}',
    $learn, "$learn zone=sessions:32k", "$learn timeout=1s header",
    "$learn lookup=%{HTTP:B} create=%{HTTP:C}",
    "$learn provider=shmcb", "$learn provider=shmcb:sessions(65536)",
    "$learn provider=redis:127.0.0.1:6379", "$learn provider=dbm:sessions",
    "$learn provider=memcache:127.0.0.1:11211 timeout=1h",
    'learn header zone=z:1m timeout=5m lookup=%{HTTP:A} create=%{HTTP:B}') {
    row $words, $load . group("UpstreamSticky $words");
    row "$words and a method",
        $load . group("UpstreamSticky $words\nUpstreamLeastConn");
    row "$words behind a method", $load . "<Upstream g>\nUpstreamIPHash\n"
        . "UpstreamServer 127.0.0.1 route=a\nUpstreamSticky $words\n"
        . "UpstreamServer 127.0.0.2 route=b drain\n</Upstream>";
}

my $wants = 'UpstreamSticky wants cookie, route or learn';
my $name = 'UpstreamSticky cookie wants the cookie\'s name, as in "cookie '
    . 'srv_id expires=1h path=/"';
my $takes = 'UpstreamSticky takes domain= path= expires= httponly secure '
    . 'samesite= here';
my $takes_learn = 'UpstreamSticky takes create= lookup= zone= provider= '
    . 'timeout= header here';
my $both = 'UpstreamSticky learn wants create= and lookup=, expressions that '
    . 'name a session';
my $zone = 'UpstreamSticky: zone= wants a name and a size of 32k or more, such '
    . 'as sessions:1m';
my $expression = 'wants an expression such as %{upstream_cookie:SID}';
my @bad = (
    '' => "$wants, not \"\"",
    'header' => "$wants, not \"header\"",
    'cookie' => "$name, not \"\"",
    'cookie ""' => "$name, not \"\"",
    'cookie a=b' => "$name, not \"a=b\"",
    'cookie a;b' => "$name, not \"a;b\"",
    'cookie a b' => "$takes, not \"b\"",
    'cookie a header' => "$takes, not \"header\"",
    'cookie a domain=' => 'UpstreamSticky: domain= wants a domain or an '
        . 'expression, not ""',
    'cookie a domain=a;b' => 'UpstreamSticky: domain= wants a domain or an '
        . 'expression, not "a;b"',
    'cookie a path=' => 'UpstreamSticky: path= wants a path such as /, not ""',
    'cookie a path=/;x' => 'UpstreamSticky: path= wants a path such as /, not '
        . '"/;x"',
    'cookie a expires=5ms' => 'UpstreamSticky: expires= wants max or a time '
        . 'in whole seconds such as 10s, 1m30s or 2h, not "5ms"',
    'cookie a samesite=never' => 'UpstreamSticky: samesite= wants strict, '
        . 'lax, none or an expression, not "never"',
    'cookie a secure secure' => 'UpstreamSticky: parameter "secure" is '
        . 'duplicate: keep one of them',
    'cookie a path=/ path=/b' => 'UpstreamSticky: parameter "path=/b" is '
        . 'duplicate: keep one of them',
    'route' => 'UpstreamSticky route wants expressions, as in '
        . '"route %{env:ROUTE}"',
    'route $cookie_a' => "UpstreamSticky route $expression, not "
        . '"$cookie_a"',
    'learn' => $both,
    'learn create=%{HTTP:A} zone=z:1m' => $both,
    'learn lookup=%{HTTP:A}' => $both,
    'learn create=sid lookup=%{HTTP:A}' => "UpstreamSticky: create= $expression"
        . ', not "sid"',
    "$learn zone=z" => "$zone, not \"z\"",
    "$learn zone=:1m" => "$zone, not \":1m\"",
    "$learn zone=z:8k" => "$zone, not \"z:8k\"",
    "$learn zone=z:1x" => "$zone, not \"z:1x\"",
    "$learn timeout=500ms" => 'UpstreamSticky: timeout= wants a time of one '
        . 'second or more, not "500ms"',
    "$learn timeout=x" => 'UpstreamSticky: timeout= wants a time such as 60s, '
        . '1m30s or 500ms, not "x"',
    "$learn secure" => "$takes_learn, not \"secure\"",
    "$learn sync" => 'UpstreamSticky: sync is not there: take a table that '
        . 'machines share, such as provider=redis:10.0.0.1:6379',
    "$learn provider=" => 'UpstreamSticky: provider= wants a table such as '
        . 'shmcb, redis:10.0.0.1:6379 or memcache:10.0.0.1:11211, not ""',
    "$learn provider=nosuch:x" => 'UpstreamSticky: provider= needs a table '
        . '"nosuch" that is not there: write LoadModule for mod_socache_nosuch '
        . 'in front of the <Upstream>',
    "$learn provider=shmcb:a(1)" => 'UpstreamSticky: provider= shmcb: Invalid '
        . 'argument: size has to be >= 8192 bytes',
    "$learn zone=z:1m provider=redis:h:1" => 'UpstreamSticky learn has zone= '
        . 'and provider=: keep one of them',
    "$learn provider=shmcb zone=z:1m" => 'UpstreamSticky learn has zone= '
        . 'and provider=: keep one of them',
);
while (my ($words, $message) = splice @bad, 0, 2) {
    row "UpstreamSticky $words", $load . group("!! UpstreamSticky $words"),
        $message;
}
row 'learn without a table', group("!! UpstreamSticky $learn"),
    'UpstreamSticky learn needs a table "shmcb" that is not there: write '
    . 'LoadModule for mod_socache_shmcb in front of the <Upstream>';
row 'two of them', group("UpstreamSticky cookie a\n!! UpstreamSticky cookie b"),
    '"UpstreamSticky" directive is duplicate: keep one of them in this '
    . '<Upstream>';
my (undef, $said) = Up::Config::check($load
    . group("UpstreamSticky $learn zone=z:1m") . "\n<Upstream h>\n"
    . "UpstreamServer 127.0.0.1\nUpstreamSticky $learn zone=z:1m\n"
    . '</Upstream>');
like $said, qr{zone=\ "z"\ is\ the\ table\ of\ group\ g\ already,\ at
    \ TMP/httpd\.conf:14:\ give\ it\ another\ name}x,
    'a zone of two groups';
row 'outside', 'UpstreamSticky cookie a', 'UpstreamSticky belongs inside '
    . '<Upstream name> ... </Upstream>';

done_testing;
