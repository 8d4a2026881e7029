#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The values of the directives about how a response is relayed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $rate = 'bytes a second such as 500k, 0 for no limit, or an expression';
my $access = 'wants words such as user:rw group:r all:r';
my $time = 'wants a time such as 60s, 1m30s or 500ms';

# A directive that stands once in a section: good values, then bad ones with
# the reason.
my @once = (
    [LimitRate => ['0', '500k', '1m', '2g', '"%{HTTP:X-Rate}"'],
        [['fast', qq{wants $rate, not "fast"}],
         ['10k/s', qq{wants $rate, not "10k/s"}],
         ['-1', qq{wants $rate, not "-1"}],
         ['""', qq{wants $rate, not ""}],
         ['1k 2k', "wants $rate"], ['', "wants $rate"]]],
    [Store => ['on', 'OFF', '/var/store/x', 'store/a..b/..c/...',
        '"%{DOCUMENT_ROOT}/x"'],
        [['""', 'wants on, off or a path, not ""'],
         ['a b', 'wants on, off or a path'], ['', 'wants on, off or a path'],
         ['/a/../b', 'wants a path without "..", not "/a/../b"'],
         ['..', 'wants a path without "..", not ".."'],
         ['/a/..', 'wants a path without "..", not "/a/.."'],
         ['/a/', 'wants the path of a file, which does not end in "/", '
            . 'not "/a/"'],
         ['$document_root/x', 'wants a path ($document_root is nginx\'s: '
            . 'write %{DOCUMENT_ROOT}), not "$document_root/x"']]],
    [StoreAccess => ['user:rw', 'group:r all:r', 'user:r group:rw all:r'],
        [['user:x', "$access, not \"user:x\""],
         ['user', "$access, not \"user\""],
         ['user:rw other:r', "$access, not \"other:r\""],
         ['0644', "$access, not \"0644\""],
         ['user:rw user:r', 'wants each of user, group and all once, not '
            . '"user:r"'],
         ['', 'wants permissions such as user:rw group:r all:r']]],
    [ForceRanges => ['on', 'off'],
        [['single', 'wants on or off, not "single"']]],
    [PassTrailers => ['on', 'OFF'],
        [['yes', 'wants on or off, not "yes"']]],
    [TotalTimeout => ['0', '30s', '1m 30s', '500ms'],
        [['soon', qq{$time, not "soon"}], ['-1', qq{$time, not "-1"}]]],
);

for my $case (@once) {
    my ($name, $good, $bad) = @$case;
    my $directive = "Upstream$name";
    for my $value (@$good) {
        my $word = $value =~ /^\d\w* / ? qq{"$value"} : $value;
        row("$directive $value", "$directive $word");
    }
    row("$directive '$_->[0]'", "$directive $_->[0]",
        "$directive $_->[1]") for @$bad;
    row("$directive twice in a section",
        location("$directive $good->[0]\n!! $directive $good->[0]"),
        qq{"$directive" directive is duplicate: keep one of them in this }
            . 'section');
    row("$directive again in an inner section",
        "$directive $good->[0]\n" . location("$directive $good->[1]"));
}
row('an expression that is none', 'UpstreamLimitRate "%{HTTP:X"',
    'UpstreamLimitRate wants a value or an expression such as %{HTTP_HOST}, '
    . 'and "%{HTTP:X" is neither: Unterminated string or variable');

done_testing;
