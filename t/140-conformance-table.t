#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# docs/conformance.md and the tests name the same cases: each case of the
# table has a test of that name in each file that the table gives, and no case
# is in the tests alone. The other table there and docs/security-review.md
# give tests by name. Needs no server.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

my $top = $ENV{UP_TOP} // dirname dirname abs_path $0;
my $ID = qr/\b(?:C|RB|HH|RF|BL|RT|BS|UP|WS)\d\d[a-d]?\b/;

# How many cases of each kind there are: none may get lost.
my %KNOWN = (RB => 20, HH => 14, RF => 29, BL => 8, RT => 24, BS => 7,
    UP => 8, WS => 7);
my @KNOWN = map { my $kind = $_;
    map { sprintf '%s%02d', $kind, $_ } 1 .. $KNOWN{$kind} } sort keys %KNOWN;
push @KNOWN, map { "C$_" } qw(02 04a 04b 04c 04d 05 07 09 11 12 13 14 16 18
    19 22 23 26 27 28 29 31 31b 33 34 35 36 39 40);

sub slurp {
    my ($file) = @_;
    open my $fh, '<', "$top/$file" or return '';
    local $/;
    return <$fh>;
}

# Cases in strings, which are titles of tests, by file.
my %titles;
for my $path (glob "$top/t/*.t") {
    my ($file) = $path =~ m{(t/[^/]+)\z};
    next if $file eq 't/140-conformance-table.t';
    my $text = slurp($file) =~ s/^\s*#.*//mgr;
    for my $string ($text =~ /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g) {
        $titles{$file}{$_} = 1 for $string =~ /($ID)/g;
    }
}

my %table;
for (split /\n/, slurp('docs/conformance.md')) {
    s/\\\|/\x{1}/g;
    my @cells = map { s/^\s+|\s+\z//gr } split /\|/;
    next if @cells < 7 || $cells[1] !~ /^$ID/;
    my @ids = split ' ', $cells[1];
    ok !(grep { $_ eq '' } @cells[2 .. 6]), "$cells[1]: no cell is empty";
    ok !$table{$_}++, "$_ once" for @ids;
    next if $cells[6] =~ /^with \w/; # what is not there yet has no test
    my @files = split ' ', $cells[6];
    for my $id (@ids) {
        ok scalar(grep { $titles{$_}{$id} } @files), "$id: a test of that name";
    }
    for my $file (@files) {
        ok scalar(grep { $titles{$file}{$_} } @ids), "$cells[1]: in $file";
    }
}
is join(' ', grep { !$table{$_} } @KNOWN), '', 'every case is in the table';
my %seen = map { $_ => 1 } map { keys %$_ } values %titles;
is join(' ', grep { !$table{$_} } sort keys %seen), '',
    'no case is in the tests alone';

# --- tables of three columns, the last: t/file.t "name", "another"; fuzz_x ----

my $attacks = 0;
for (map { split /\n/ } map { slurp($_) } 'docs/security-review.md',
    'docs/conformance.md') {
    my ($what, $tests) = /^\| ([^|]*) \|[^|]*\| ([^|]*) \|\z/ or next;
    next if $what =~ /^(?:Attack|Pingora asserts|-+)\z/ || $what =~ /^$ID/;
    $attacks++;
    my $found = 0;
    for my $part (split /; /, $tests) {
        if (my ($file) = $part =~ m{^(t/\S+\.t) }) {
            my $text = slurp($file);
            my @titles = $part =~ /"([^"]+)"/g;
            ok scalar(@titles), "$what: $file, which test";
            ok $found++ >= 0 && index($text, $_) >= 0, "$what: $file \"$_\""
                for @titles;
        }
        for my $fuzzer ($part =~ /\b(fuzz_\w+)/g) {
            $found++;
            ok -e "$top/fuzz/$fuzzer.c", "$what: $fuzzer";
        }
    }
    ok $found, "$what: has a test";
}
cmp_ok $attacks, '>', 60, "attacks and assertions ($attacks)";

done_testing;
