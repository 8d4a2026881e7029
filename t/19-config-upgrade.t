#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The values of the directives about upgrades and tunnels.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $protocols = 'UpstreamUpgrade wants off alone, or any and protocols of an '
    . 'Upgrade field such as websocket, h2c or tls/1.2, not ';

for my $good ('Upgrade websocket', 'Upgrade WebSocket', 'Upgrade any',
    'Upgrade ANY', 'Upgrade off', 'Upgrade Off', 'Upgrade any h2c',
    'Upgrade h2c websocket foo/1.2', 'TunnelTimeout 60s',
    'TunnelTimeout 1h30m', 'TunnelTimeout 1ms', 'TunnelTimeout 90') {
    row "Upstream$good", "Upstream$good";
    row "Upstream$good in a section", location("Upstream$good");
}

row @$_ for (
    (map { ["UpstreamUpgrade $_->[0]", "UpstreamUpgrade $_->[0]",
        qq{$protocols"$_->[1]"}] }
        ['off websocket', 'off'], ['websocket off', 'off'],
        ['"a b"', 'a b'], ['a,b', 'a,b'], ['a/b/c', 'a/b/c'], ['/1', '/1'],
        ['a/', 'a/'], ['h2c(', 'h2c(']),
    ['no protocol', 'UpstreamUpgrade', 'UpstreamUpgrade wants websocket, '
        . 'any, off, or protocols such as websocket tls/1.2'],
    ['UpstreamUpgrade twice',
        "UpstreamUpgrade any\n!! UpstreamUpgrade off",
        '"UpstreamUpgrade" directive is duplicate: keep one of them in this '
        . 'section'],
    ['UpstreamUpgrade in an inner section',
        "UpstreamUpgrade any\n" . location('UpstreamUpgrade off')],
    ['UpstreamTunnelTimeout 0', 'UpstreamTunnelTimeout 0',
        'UpstreamTunnelTimeout wants a time that is longer than 0, such as '
        . '60s, not "0"'],
    ['UpstreamTunnelTimeout 1x', 'UpstreamTunnelTimeout 1x',
        'UpstreamTunnelTimeout wants a time such as 60s, 1m30s or 500ms, '
        . 'not "1x"'],
    ['UpstreamTunnelTimeout twice',
        "UpstreamTunnelTimeout 1s\n!! UpstreamTunnelTimeout 2s",
        '"UpstreamTunnelTimeout" directive is duplicate: keep one of them in '
        . 'this section'],
);

done_testing;
