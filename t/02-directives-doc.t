#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# docs/directives.md and the source name the same directives, parameters,
# variables and functions, with the same defaults; docs/troubleshooting.md
# explains the tags of the log. Needs no server: perl t/02-directives-doc.t.
# UP_TOP names another tree.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

my $top = $ENV{UP_TOP} // dirname dirname abs_path $0;

sub slurp {
    my ($file) = @_;
    open my $fh, '<', "$top/$file" or die "$file: $!\n";
    local $/;
    return <$fh> // '';
}

# --- the document: the first two cells of each row --------------------------

my @rows;
for (split /\n/, slurp('docs/directives.md')) {
    s/\\\|/\x{1}/g;
    my ($name, $default) = /^\|\s*(`.*?)\s*\|\s*(.*?)\s*\|/ or next;
    push @rows, [$name, $default];
}

# What the names of rows have in common: [default] of each.
sub described {
    my ($pattern) = @_;
    my %found;
    for my $row (@rows) {
        push @{ $found{$1} }, $row->[1] if $row->[0] =~ /^$pattern/;
    }
    return \%found;
}

# --- the source -------------------------------------------------------------

my $settings = join "\n", map { slurp(substr $_, 1 + length $top) }
    glob "$top/config/rows_*.h";
my $tables = join "\n", map { slurp(substr $_, 1 + length $top) }
    glob "$top/config/*.c";

# ROW(type, Name, first, last, least, default, ...): default by directive.
my %default;
while ($settings =~ /\bROW\(\s*[A-Z]+,\s*(\w+),([^"()]*?)(NULL|"([^"]*)"),/gs)
{
    my ($name, $between, $text) = ($1, $2, $4);
    $default{"Upstream$name"} = $text if ($between =~ tr/,//) == 3;
}
my %directive = map { $_ => 1 } keys %default,
    $tables =~ /\bAP_INIT_\w+\(\s*"(<?Upstream\w*)"/g;

my ($params) = slurp('config/server.c') =~ /\bparams\[\] = \{(.*?)\n\};/s;
my %param = map { $_ => 1 }
    ($params // '') =~ /\{\s*"([a-z_]+=?)",\s*(?!NOT_YET)[A-Z]+,/g;

my $variables = slurp('observe/variables.c');
my %variable = map { $_ => 1 } $variables =~ /\{\s*"(UPSTREAM_\w+)",/g;
my %function = map { $_ => 1 } $variables =~ /"(upstream_[a-z]+)"/g;

# --- both -------------------------------------------------------------------

sub same_names {
    my ($what, $in_source, $in_doc, $least) = @_;
    my @source = sort keys %$in_source;
    cmp_ok scalar @source, '>=', $least, "$what are found in the source";
    is_deeply [sort keys %$in_doc], \@source, "$what are those of the source";
    return;
}

my $documented = described('`(<?Upstream\w*)');
same_names('directives', \%directive, $documented, 40);
same_names('parameters', \%param, described('`([a-z_]+=?)`'), 6);
same_names('variables', \%variable, described('`(UPSTREAM_\w+)`'), 11);
same_names('functions', \%function, described('`%\{(upstream_\w+):'), 2);

for my $name (sort grep { defined $default{$_} } keys %default) {
    is_deeply $documented->{$name}, ["`$default{$name}`"],
        "$name has the default of the source";
}

# Kinds of values and contexts, too: what the tool would write is there.
is qx{$^X $top/tools/directives-doc --check}, '',
    'tools/directives-doc has nothing to change';

# Tags that are logged at notice and above are explained.
my %tag;
my $explained = slurp('docs/troubleshooting.md');
for my $file (map { substr $_, 1 + length $top } glob("$top/*.c"),
    glob "$top/*/*.c")
{
    my $text = slurp($file);
    while ($text =~ /ap_log_\w*error\([^;]*?UPLOGNO\((\d+)\)/g) {
        my ($call, $n) = ($&, $1);
        $tag{"UP$n"} = 1 if $call !~ /APLOG_(?:DEBUG|INFO)\b/;
    }
}
cmp_ok scalar(keys %tag), '>=', 30, 'tags are found in the source';
is_deeply [grep { $explained !~ /^\|[^|]*\b$_\b/m } sort keys %tag], [],
    'docs/troubleshooting.md explains each of them';

# What httpd is told, whatever the source looks like. A name is the end of a
# string in the module; a string that is nothing but a name is a directive's.
SKIP: {
    my $module = $ENV{UP_MODULE} // "$top/mod_upstream_proxy.so";
    skip 'no module built', 2 if !-e $module;
    open my $fh, '<:raw', $module or die "$module: $!\n";
    my $bytes = do { local $/; <$fh> };
    is_deeply [grep { $bytes !~ /\Q$_\E\0/ } sort keys %$documented], [],
        'every directive is in the module';
    my %held = map { $_ => 1 }
        $bytes =~ /\0(<?Upstream[A-Z]\w+|<Upstream)(?=\0)/g;
    is_deeply [grep { !$documented->{$_} } sort keys %held], [],
        'and those of the module are all here';
}

done_testing;
