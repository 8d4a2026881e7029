#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamZone: names, sizes, and what it needs of httpd.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $load = sprintf "LoadModule slotmem_shm_module \"%s/mod_slotmem_shm.so\"\n",
    $ENV{UP_LIBEXECDIR} // Up::Config::query('LIBEXECDIR');

# A group, with this in it.
sub zoned {
    my ($name, @lines) = @_;
    return join "\n", "<Upstream $name>", 'UpstreamServer 127.0.0.1', @lines,
        "</Upstream>\n";
}

row("UpstreamZone $_", $load . zoned('g', "UpstreamZone $_"))
    for 'z', 'z 32k', 'z 1m', 'Z.z-1 65536';
row('one zone for two groups, its size behind', $load
    . zoned('g', 'UpstreamZone z') . zoned('h', 'UpstreamZone z 128k'));
row('loaded behind it', zoned('g', 'UpstreamZone z') . $load);

row('without mod_slotmem_shm', zoned('g', '!! UpstreamZone z'),
    'UpstreamZone needs httpd\'s shared memory: write "LoadModule '
    . 'slotmem_shm_module modules/mod_slotmem_shm.so"');
row('a small one', $load . zoned('g', '!! UpstreamZone z 31k'),
    'UpstreamZone wants at least 32k for a zone, not "31k"');
row('no size', $load . zoned('g', '!! UpstreamZone z x'),
    'UpstreamZone wants a size such as 8192, 16k or 1m, not "x"');
row('two in a group', $load . zoned('g', 'UpstreamZone z',
    '!! UpstreamZone y'),
    '"UpstreamZone" directive is duplicate: keep one of them in this '
    . '<Upstream>');
row('two sizes', $load . zoned('g', 'UpstreamZone z 64k')
    . zoned('h', '!! UpstreamZone z 64k'),
    'UpstreamZone: the size of zone "z" is given at TMP/httpd.conf:11: '
    . 'leave it out here');
row('outside', "$load!! UpstreamZone z",
    'UpstreamZone belongs inside <Upstream name> ... </Upstream>');

logged('refuses more servers than it has room for', $load
    . zoned('g', 'UpstreamZone z 32k',
        map { "UpstreamServer 127.0.0.1:$_" } 1 .. 500), 0,
    qr{UP0800:\ UpstreamZone\ at\ TMP/httpd\.conf:11:\ zone\ "z"\ is\ too
        \ small\ for\ 501\ servers\ and\ \d+\ children\ \(ServerLimit\):\ make
        \ it\ \d+k\ or\ larger}x);

done_testing;
