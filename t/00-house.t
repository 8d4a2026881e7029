#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The rules of the house, checked on the sources: layers, sizes, names, log
# tags. Needs no server: perl t/00-house.t. UP_TOP names another tree.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find ();
use Test::More;

my $top = $ENV{UP_TOP} // dirname dirname abs_path $0;

# Lowest first; a file's own entry wins over its folder's. An include points
# to a lower layer, or sideways in its own one as long as no circle comes of
# it. Layer 0 knows neither httpd nor a socket.
my @LAYERS = (
    [qw(mod_upstream_proxy.h status_parser exchange/body_decoder
        exchange/accel exchange/cookies exchange/error_type exchange/etags
        exchange/fields exchange/framing exchange/pace exchange/range
        exchange/redirects exchange/retry exchange/trail exchange/upgrade
        exchange/uri_map exchange/wsframes
        config/clock config/codes config/dns_ttl config/units
        peers/hash_ring)],
    [qw(config/)],
    [qw(peers/)],
    [qw(transport/)],
    [qw(exchange/ backend_pipe)],
    [qw(upstream_request upstream_machine upstream_count upstream_handshake
        upstream_queue upstream_relay upstream_stick upstream_try
        upstream_tunnel
        upstream_view)],
    [qw(drivers/)],
    [qw(observe/)],
    [qw(mod_upstream_proxy.c)],
    [qw(t/unit/ fuzz/ bench/ tools/ docs/examples/)],
);
my $PURE = 0;
my $TESTS = $#LAYERS;
my %layer = map { my $n = $_; map { $_ => $n } @{ $LAYERS[$n] } } 0 .. $TESTS;

my $LINES_FILE = 600;
my $LINES_FUNCTION = 80;
my $LINES_SMELL = 60;
my $COLUMNS = 80;

sub layer_of {
    my ($file) = @_;
    for my $key ($file, $file =~ s/\.[ch]\z//r, $file =~ s{[^/]+\z}{}r) {
        return $layer{$key} if exists $layer{$key};
    }
    return;
}

sub slurp {
    my ($file) = @_;
    open my $fh, '<:encoding(UTF-8)', "$top/$file" or die "$file: $!\n";
    local $/;
    return <$fh> // '';
}

my @files;
File::Find::find({ no_chdir => 1, wanted => sub {
    return if $_ eq $top;
    my $name = substr $_, 1 + length $top;
    if (-d && $name =~ m{^(?:\.git|build)\z}) {
        $File::Find::prune = 1;
    }
    push @files, $name if -f && !-l && $name !~ m{\.(?:o|d|so)\z|^fuzz/corpus};
} }, $top);
@files = sort @files;
my @sources = grep { /\.[ch]\z/ } @files;
my @scripts = grep { m{\.(?:p[lm]|t|py|sh|mk)\z}
    || m{(?:^|/)(?:TEST|run|Makefile)\z} } @files;
my %text = map { $_ => slurp($_) } @sources, @scripts;

# Source without comments, line for line; strings lose their content, too.
sub bare {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')}{
        my $part = $1;
        my $lines = $part =~ tr/\n//;
        $part =~ /^["']/ ? '""' : "\n" x $lines
    }gesx;
    return $text;
}
my %code = map { $_ => bare($text{$_}) } @sources;

sub clean {
    my ($what, @problems) = @_;
    ok !@problems, $what or diag join "\n", @problems;
    return;
}

# --- layers -----------------------------------------------------------------

# [including file, included own file, line]
my @includes;
for my $file (@sources) {
    my $n = 0;
    for (split /\n/, $text{$file}) {
        $n++;
        push @includes, [$file, $1, $n]
            if /^\s*#\s*include\s*["<]([^">]+)[">]/ && exists $text{$1};
    }
}

clean('every source has a layer',
    grep { !defined layer_of($_) } @sources);

clean('includes point down', map { "$_->[0]:$_->[2]: $_->[1] is above" }
    grep { (layer_of($_->[1]) // 99) > (layer_of($_->[0]) // 99) } @includes);

clean('nothing but tests includes tests',
    map { "$_->[0]:$_->[2]: $_->[1]" } grep { layer_of($_->[1]) == $TESTS
    && layer_of($_->[0]) != $TESTS } grep { defined layer_of($_->[1]) }
    @includes);

sub circles {
    my (%to, %done, @circles);
    $to{ $_->[0] }{ $_->[1] } = 1 for @includes;
    my $visit;
    $visit = sub {
        my ($file, @way) = @_;
        for my $i (0 .. $#way) {
            push @circles, join ' -> ', @way[$i .. $#way], $file
                if $way[$i] eq $file;
        }
        return if $done{$file}++;
        $visit->($_, @way, $file) for sort keys %{ $to{$file} };
    };
    $visit->($_) for sort keys %to;
    return @circles;
}
clean('no circle of includes', circles());

sub impure {
    my @problems;
    for my $file (grep { (layer_of($_) // -1) == $PURE } @sources) {
        while ($text{$file} =~ /^\s*#\s*include\s*["<]([^">]+)[">]/mg) {
            my $name = $1;
            next if $name =~ /^apr_?\w*\.h\z/ || exists $text{$name};
            push @problems, "$file: $name"
                if $name =~ m{^(?:ap_|http|util_|mod_|mpm|scoreboard)|/};
        }
    }
    return @problems;
}
clean('the lowest layer does not know httpd', impure());

# --- functions --------------------------------------------------------------

# Functions: a brace in the first column opens and closes a body, the
# signature stands right above it.
my @functions;
for my $file (grep { /\.c\z/ } @sources) {
    my @lines = split /\n/, $code{$file};
    for my $open (grep { $lines[$_] =~ /^\{/ } 0 .. $#lines) {
        my ($close) = grep { $lines[$_] =~ /^\}/ } $open .. $#lines;
        my $first = $open;
        $first-- while $first > 0 && $lines[$first - 1] =~ /\S/
            && $lines[$first - 1] !~ /^#|[;}]\s*$/;
        my $head = join ' ', @lines[$first .. $open - 1];
        next if $head !~ /([A-Za-z_]\w*)\s*\(/;
        push @functions, { file => $file, line => $first + 1, name => $1,
            head => $head, lines => ($close // $#lines) - $first + 1 };
    }
}

sub where {
    my ($f) = @_;
    return "$f->{file}:$f->{line}: $f->{name}";
}

clean("functions have at most $LINES_FUNCTION lines",
    map { where($_) . " has $_->{lines}" }
    grep { $_->{lines} > $LINES_FUNCTION } @functions);
note where($_) . " has $_->{lines} lines"
    for grep { $_->{lines} > $LINES_SMELL && $_->{lines} <= $LINES_FUNCTION }
    @functions;

clean('functions of more than one file start with up_', map { where($_) }
    grep { $_->{head} !~ /\bstatic\b/ && $_->{name} !~ /^up_/
    && (layer_of($_->{file}) // -1) != $TESTS } @functions);

my %BANNED = map { $_ => 1 } qw(strcpy strcat sprintf vsprintf atoi atol
    strtok alloca gets);
sub banned {
    my @problems;
    for my $file (@sources) {
        my $n = 0;
        for my $line (split /\n/, $code{$file}) {
            $n++;
            push @problems, map { "$file:$n: $_" } grep { $BANNED{$_} }
                $line =~ /\b([a-z]+)\s*\(/g;
        }
    }
    return @problems;
}
clean('no function that cannot be used safely', banned());

# --- form -------------------------------------------------------------------

sub lines_where {
    my ($test, @names) = @_;
    my @problems;
    for my $file (@names) {
        my $n = 0;
        for (split /\n/, $text{$file}) {
            $n++;
            push @problems, "$file:$n" if $test->($_);
        }
    }
    return @problems;
}

clean("files have at most $LINES_FILE lines", grep {
    $text{$_} =~ tr/\n// > $LINES_FILE } grep { /\.c\z/ } @sources);
clean("lines have at most $COLUMNS columns",
    lines_where(sub { length > $COLUMNS }, @sources, @scripts));
clean('no tabs, no blanks at the end of a line',
    lines_where(sub { /\t|[ \r]\z/ }, @sources,
    grep { !m{\.mk\z|Makefile\z} } @scripts));
clean('licence in the first lines', grep {
    $text{$_} !~ /\A(?:.*\n){0,2}.*Licensed under the Apache License/
    } grep { length $text{$_} } @sources, @scripts);

my $LATER = join '|', 'TO' . 'DO', 'FIX' . 'ME', 'XX' . 'X';
clean('nothing is left for later',
    lines_where(sub { /\b(?:$LATER)\b/ }, @sources, @scripts));

# Tests that talk to a server are Apache::Test's, and start its count once.
my @behaviour = grep { m{^t/[^/]+\.t\z} && $text{$_} =~ /^use Up::Server\b/m }
    @scripts;
clean('tests with a server use Apache::Test', grep {
    $text{$_} !~ /^use Apache::Test qw\(-withtestmore\);/m
    || $text{$_} =~ /^use Test::More\b/m } @behaviour);
clean('the plan of a subtest is that of Test::More',
    lines_where(sub { /^ .*(?<![:\w])plan\b/ }, @behaviour));

# The place where this tree lies, or anybody's home, is nobody's business.
my ($parent) = dirname($top)
    =~ m{^(/(?!tmp|usr|var|opt|srv|root|home|mnt)[^/]+)};
my $places = join '|', map { quotemeta } grep { defined && length > 3 }
    $top, $parent && "$parent/";
my @texts = grep { -T "$top/$_" && -s _ < 1e6 && $_ ne 'LICENSE' } @files;
$text{$_} //= eval { slurp($_) } // '' for @texts;
clean('no path of one machine', lines_where(
    sub { m{$places|/(?:home|root|Users)/\w} }, @texts));

# --- log --------------------------------------------------------------------

# Each call: [place, level, its UPLOGNO numbers].
sub log_calls {
    my @calls;
    for my $file (grep { (layer_of($_) // -1) != $TESTS } @sources) {
        my $code = $code{$file};
        while ($code =~ /\bap_log_(?:[a-z]?|cs)error\s*(?=\()/g) {
            my $line = 1 + (substr($code, 0, $-[0]) =~ tr/\n//);
            my ($args) = substr($code, $+[0]) =~ /^(\((?:[^()]++|(?1))*\))/;
            my ($level) = ($args // '') =~ /\bAPLOG_(EMERG|ALERT|CRIT|ERR
                |WARNING|NOTICE|INFO|DEBUG|TRACE)/x;
            push @calls, ["$file:$line", $level // 'unknown',
                ($args // '') =~ /\bUPLOGNO\(\s*(\w+)\s*\)/g];
        }
    }
    return @calls;
}
my @calls = log_calls();
clean('messages from debug upwards carry a tag', map { $_->[0] }
    grep { $_->[1] ne 'TRACE' && @$_ < 3 } @calls);
clean('trace messages carry none', map { $_->[0] }
    grep { $_->[1] eq 'TRACE' && @$_ > 2 } @calls);

sub repeated_tags {
    my (%seen, @problems);
    for my $file (grep { $_ ne 'config/log.h' } @sources) {
        my $n = 0;
        for (split /\n/, $code{$file}) {
            $n++;
            for my $tag (/\bUPLOGNO\(\s*(\w+)\s*\)/g) {
                push @problems, "$file:$n: $tag is taken by $seen{$tag}"
                    if $seen{$tag};
                push @problems, "$file:$n: $tag has not four digits"
                    if $tag !~ /^\d{4}\z/;
                $seen{$tag} = "$file:$n";
            }
        }
    }
    return @problems;
}
clean('a tag is used once', repeated_tags());

# Deadlines and dates are of different clocks, and must not be mixed. What
# tells a date is listed.
my %DATES = map { $_ => 1 } qw(observe/report.c peers/session_keeper.c
    upstream_stick.c);
clean('up_clock_now where time is measured', map {
    my $file = $_;
    my $n = 0;
    map { $n++; /\bapr_time_now\b/ ? "$file:$n: apr_time_now" : () }
        split /\n/, $code{$file};
} grep { !$DATES{$_} && !m{^(?:t|fuzz|bench|tools)/} } @sources);

# --- the module -------------------------------------------------------------

SKIP: {
    my $module = $ENV{UP_MODULE} // "$top/mod_upstream_proxy.so";
    skip 'no module built', 1 if !-e $module;
    skip 'a sanitizer adds symbols', 1 if $ENV{UP_PRELOAD};
    my @symbols = sort map { (split)[-1] } qx{nm -D --defined-only '$module'};
    is "@symbols", 'upstream_proxy_module', 'only the module is exported';
}

done_testing;
