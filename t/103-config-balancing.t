#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The directives that name a balancing method.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my @good = ('UpstreamLeastConn', 'UpstreamIPHash',
    'UpstreamHash %{REQUEST_URI}',
    'UpstreamHash constant', 'UpstreamHash "%{HTTP_HOST}%{REQUEST_URI}"',
    'UpstreamHash %{REQUEST_URI} consistent',
    'UpstreamHash %{REQUEST_URI} Consistent balance=101',
    'UpstreamHash %{REQUEST_URI} consistent balance=100000',
    'UpstreamRandom', 'UpstreamRandom two', 'UpstreamRandom two least_conn',
    'UpstreamLeastTime header', 'UpstreamLeastTime last_byte',
    'UpstreamLeastTime header inflight', 'UpstreamLeastTime LAST_BYTE inflight',
    'UpstreamPeakEWMA', 'UpstreamPeakEWMA decay=30s',
    'UpstreamPeakEWMA choices=3', 'UpstreamPeakEWMA choices=100 decay=500ms');
row $_, group($_) for @good;
row "$_ before its servers", "<Upstream g>\n$_\nUpstreamServer 127.0.0.1:81\n"
    . "UpstreamServer 127.0.0.1:82 weight=3\n</Upstream>" for @good;

my $balance = 'UpstreamHash: balance= wants a whole number from 101 to 100000';
my $choices = 'UpstreamPeakEWMA: choices= wants a whole number from 2 to 100';
my @bad = (
    'UpstreamLeastConn x' => 'UpstreamLeastConn stands alone, not "x"',
    'UpstreamIPHash x' => 'UpstreamIPHash stands alone, not "x"',
    'UpstreamHash' => 'UpstreamHash wants a key and, if need be, '
        . '"consistent" and balance=, as in "%{REQUEST_URI} consistent '
        . 'balance=150"',
    'UpstreamHash a consistent balance=150 b' => 'UpstreamHash wants a key '
        . 'and, if need be, "consistent" and balance=, as in "%{REQUEST_URI} '
        . 'consistent balance=150"',
    'UpstreamHash a ketama' => 'UpstreamHash wants nothing but "consistent" '
        . 'after the key, not "ketama"',
    'UpstreamHash a consistent x' => 'UpstreamHash wants nothing but '
        . 'balance= after "consistent", not "x"',
    'UpstreamHash a consistent balance=100' => "$balance, not \"100\"",
    'UpstreamHash a consistent balance=' => "$balance, not \"\"",
    'UpstreamHash a consistent balance=150%' => "$balance, not \"150%\"",
    'UpstreamHash a balance=150' => 'UpstreamHash wants nothing but '
        . '"consistent" after the key, not "balance=150"',
    'UpstreamRandom three' => 'UpstreamRandom wants "two" or nothing, not '
        . '"three"',
    'UpstreamRandom two least_time' => 'UpstreamRandom wants nothing but '
        . '"least_conn" after "two", not "least_time"',
    'UpstreamRandom two least_conn x' => 'UpstreamRandom wants nothing more '
        . 'after "least_conn", not "x"',
    'UpstreamLeastTime' => 'UpstreamLeastTime wants header or last_byte, not '
        . '""',
    'UpstreamLeastTime inflight' => 'UpstreamLeastTime wants header or '
        . 'last_byte, not "inflight"',
    'UpstreamLeastTime header x' => 'UpstreamLeastTime wants nothing but '
        . '"inflight" after header or last_byte, not "x"',
    'UpstreamLeastTime header inflight x' => 'UpstreamLeastTime wants nothing '
        . 'but "inflight" after header or last_byte, not "x"',
    'UpstreamPeakEWMA decay=0' => 'UpstreamPeakEWMA: decay= wants a time that '
        . 'is longer than 0, not "0"',
    'UpstreamPeakEWMA decay=x' => 'UpstreamPeakEWMA: decay= wants a time such '
        . 'as 60s, 1m30s or 500ms, not "x"',
    'UpstreamPeakEWMA choices=1' => "$choices, not \"1\"",
    'UpstreamPeakEWMA choices=101' => "$choices, not \"101\"",
    'UpstreamPeakEWMA decay=1s decay=2s' => 'UpstreamPeakEWMA takes decay= '
        . 'and choices=, once each, not "decay=2s"',
    'UpstreamPeakEWMA fast' => 'UpstreamPeakEWMA takes decay= and choices=, '
        . 'once each, not "fast"',
);
while (my ($line, $message) = splice @bad, 0, 2) {
    row $line, group("!! $line"), $message;
}
my (undef, $said) = Up::Config::check(group('UpstreamHash %{NONSENSE'));
like $said, qr/UpstreamHash wants a value or an expression such as/,
    'an expression that is none';

row 'the same method twice', group("UpstreamLeastConn\n!! UpstreamLeastConn"),
    '"UpstreamLeastConn" directive is duplicate: keep one of them in this '
    . '<Upstream>';
row 'two methods', group("UpstreamLeastConn\n!! UpstreamIPHash"),
    'UpstreamIPHash: the group has a balancing method already, '
    . 'UpstreamLeastConn at TMP/httpd.conf:10: keep one of them';
row 'two groups with two methods', group('UpstreamLeastConn') . "\n"
    . "<Upstream h>\nUpstreamIPHash\nUpstreamServer 127.0.0.1\n</Upstream>";
for my $method ('UpstreamIPHash', 'UpstreamHash a',
    'UpstreamHash a consistent', 'UpstreamRandom two') {
    my ($name) = split / /, $method;
    my $message = "$name knows no backup servers: leave \"backup\" of "
        . 'UpstreamServer 127.0.0.1:82 out, or take another method';
    row "$method before a backup",
        group("!! $method\nUpstreamServer 127.0.0.1:82 backup"), $message;
    row "$method behind a backup",
        group("UpstreamServer 127.0.0.1:82 backup\n!! $method"), $message;
}
for my $method ('UpstreamLeastConn', 'UpstreamLeastTime header',
    'UpstreamPeakEWMA') {
    row "$method with a backup",
        group("$method\nUpstreamServer 127.0.0.1:82 backup");
}
row "$_ outside", $_, (split)[0]
    . ' belongs inside <Upstream name> ... </Upstream>'
    for 'UpstreamLeastConn', 'UpstreamIPHash', 'UpstreamHash a',
    'UpstreamRandom', 'UpstreamLeastTime header', 'UpstreamPeakEWMA';

done_testing;
