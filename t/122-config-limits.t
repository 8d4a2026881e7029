#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# What a group does when its servers are busy or fail: the directives.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $from_1 = 'wants a whole number from 1 up';
my $time = 'wants a time such as 60s, 1m30s or 500ms';

# directive => [good values], [bad value => message]
my @directives = (
    UpstreamQueue => ['1', '100', '100 timeout=30s', '5 timeout=500ms'], [
        '' => 'UpstreamQueue wants a number of requests and, if need be, '
            . 'timeout=, as in "100 timeout=30s"',
        '0' => qq{UpstreamQueue $from_1, not "0"},
        'x' => qq{UpstreamQueue $from_1, not "x"},
        '5 10s' => 'UpstreamQueue takes nothing but timeout= after the '
            . 'number, not "10s"',
        '5 timeout=' => qq{UpstreamQueue: timeout= $time, not ""},
        '5 timeout=0' => 'UpstreamQueue: timeout= wants a time that is longer '
            . 'than 0, not "0"',
        '5 timeout=1 x' => 'UpstreamQueue wants a number of requests and, if '
            . 'need be, timeout=, as in "100 timeout=30s"',
    ],
);
while (my ($name, $good, $bad) = splice @directives, 0, 3) {
    row("$name $_", group("$name $_")) for @$good;
    while (my ($value, $message) = splice @$bad, 0, 2) {
        row("$name $value", group("!! $name $value"), $message);
    }
    row("$name twice", group("$name $good->[0]\n!! $name $good->[0]"),
        qq{"$name" directive is duplicate: keep one of them in this }
        . '<Upstream>');
    row("$name outside", "!! $name $good->[0]",
        "$name belongs inside <Upstream name> ... </Upstream>");
}

done_testing;
