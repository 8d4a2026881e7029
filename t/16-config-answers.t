#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The values of the directives about a backend's answer.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $codes = 'UpstreamInterceptErrors wants on, off, or statuses from 300 to '
    . '599 and ranges of them, as in "404 502-504", not ';
my $names = 'UpstreamIgnoreHeaders wants words out of X-Accel-Redirect '
    . 'X-Accel-Expires X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset '
    . 'Expires Cache-Control Set-Cookie Vary, not ';
my $types = 'UpstreamStreamTypes wants media types such as text/event-stream '
    . 'or application/grpc*, or none, not ';

for my $good ('InterceptErrors on', 'InterceptErrors OFF',
    'InterceptErrors 404', 'InterceptErrors 301 404 500-504 300-599',
    'IgnoreHeaders x-accel-redirect Set-Cookie',
    'IgnoreHeaders X-Accel-Redirect X-Accel-Expires X-Accel-Limit-Rate '
        . 'X-Accel-Buffering X-Accel-Charset Expires Cache-Control '
        . 'Set-Cookie Vary',
    "IgnoreHeaders Vary\nUpstreamIgnoreHeaders Expires",
    'StreamTypes text/event-stream', 'StreamTypes none',
    'StreamTypes application/* text/x-log', 'StreamTypes none a/b',
    'EarlyHints on', 'EarlyHints off', 'EarlyHints 1', 'EarlyHints ""',
    'EarlyHints %{HTTP:Sec-Fetch-Mode}',
    'LenientFraming on', 'LenientFraming off') {
    row "Upstream$good", "Upstream$good";
    row "Upstream$good in a section", location("Upstream$good");
}

row @$_ for (
    (map { ["UpstreamInterceptErrors $_->[0]",
        "UpstreamInterceptErrors $_->[0]", qq{$codes"$_->[1]"}] }
        ['200', '200'], ['404 on', 'on'], ['off 404', 'off'],
        ['404 600', '600'], ['504-502', '504-502'], ['5xx', '5xx'],
        ['500,502', '500,502'], ['yes', 'yes'], ['on off', 'on']),
    ['no status', 'UpstreamInterceptErrors',
        'UpstreamInterceptErrors wants on, off, or statuses such as '
        . '404 502-504'],
    ['UpstreamInterceptErrors twice',
        "UpstreamInterceptErrors 404\n!! UpstreamInterceptErrors 500",
        '"UpstreamInterceptErrors" directive is duplicate: keep one of them '
        . 'in this section'],
    ['UpstreamInterceptErrors in an inner section',
        "UpstreamInterceptErrors 404\n"
        . location('UpstreamInterceptErrors off')],
    (map { ["UpstreamIgnoreHeaders $_", "UpstreamIgnoreHeaders Vary $_",
        qq{$names"$_"}] } 'X-Accel', 'Location', 'none'),
    (map { ["UpstreamStreamTypes $_", "UpstreamStreamTypes $_",
        qq{$types"$_"}] } 'text', '/plain', 'text/', 'te*t/plain',
        'text/plain;q=1', '*'),
    ['UpstreamEarlyHints of two words', 'UpstreamEarlyHints on 1',
        'UpstreamEarlyHints wants on, off or an expression, in quotes when '
        . 'it has blanks'],
    ['UpstreamEarlyHints twice',
        "UpstreamEarlyHints on\n!! UpstreamEarlyHints off",
        '"UpstreamEarlyHints" directive is duplicate: keep one of them in '
        . 'this section'],
    ['UpstreamLenientFraming of a word', 'UpstreamLenientFraming yes',
        'UpstreamLenientFraming wants on or off, not "yes"'],
    ['UpstreamLenientFraming twice',
        "UpstreamLenientFraming on\n!! UpstreamLenientFraming on",
        '"UpstreamLenientFraming" directive is duplicate: keep one of them '
        . 'in this section'],
);

logged 'a name that stands there twice',
    "UpstreamIgnoreHeaders Vary\nUpstreamIgnoreHeaders vary", 1,
    qr/UP0102: UpstreamIgnoreHeaders at .*: "vary" stands there twice/;

done_testing;
