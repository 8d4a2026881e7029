#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# <Upstream>: servers, their parameters, keepalive, and passes to groups.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

# --- groups -----------------------------------------------------------------

my $place = '<Upstream> belongs in the main server configuration, outside '
    . '<VirtualHost> and every other section';
my $hint = 'wants a host name or an address, such as 127.0.0.1:8080, '
    . '[::1]:8080 or unix:/run/a.sock';
my $port = 'wants a port from 1 to 65535 after the colon';
my $time = 'wants a time such as 60s, 1m30s or 500ms';
my $from_0 = 'wants a whole number, 0 or more';
my $from_1 = 'wants a whole number from 1 up';
my $seconds = 'wants a time in whole seconds such as 10s, 1m30s or 2h';

for my $server ('127.0.0.1', '127.0.0.1:81', '[::1]', '[::1]:81',
    'localhost:81', 'unix:/tmp/a', 'unix:run/a',
    '127.0.0.1 weight=5', '127.0.0.1 max_conns=0',
    '127.0.0.1 max_fails=0', '127.0.0.1 fail_timeout=0',
    '127.0.0.1 fail_timeout=1m30s', '127.0.0.1 backup', '127.0.0.1 down',
    '127.0.0.1 drain', '127.0.0.1 route=a.B_3-', '127.0.0.1 backup drain',
    '127.0.0.1 route=' . 'a' x 32,
    '127.0.0.1 weight=2 max_conns=9 max_fails=3 fail_timeout=30 backup') {
    row("UpstreamServer $server", group("UpstreamServer $server"));
}

my @servers = (
    '' => 'UpstreamServer wants an address and parameters, as in '
        . '"127.0.0.1:8080 weight=2"',
    'http://127.0.0.1' => 'UpstreamServer wants an address and no URL, as in '
        . '127.0.0.1:8080, not "http://127.0.0.1"',
    '127.0.0.1:99999' => qq{UpstreamServer $port, not "127.0.0.1:99999"},
    '127.0.0.1/x' => qq{UpstreamServer $hint, not "127.0.0.1/x"},
    '::1' => 'UpstreamServer wants an IPv6 address in brackets, such as '
        . '[::1]:8080, not "::1"',
    'unix:' => 'UpstreamServer wants an absolute path after unix:, such as '
        . 'unix:/run/a.sock, not "unix:"',
    '127.0.0.1 weight=0' => qq{UpstreamServer: weight= $from_1, not "0"},
    '127.0.0.1 weight=' => qq{UpstreamServer: weight= $from_1, not ""},
    '127.0.0.1 max_conns=-1' =>
        qq{UpstreamServer: max_conns= $from_0, not "-1"},
    '127.0.0.1 max_fails=x' => qq{UpstreamServer: max_fails= $from_0, not "x"},
    '127.0.0.1 fail_timeout=5ms' =>
        qq{UpstreamServer: fail_timeout= $seconds, not "5ms"},
    '127.0.0.1 wieght=1' => 'UpstreamServer has an invalid parameter: it '
        . 'takes weight= max_conns= max_fails= fail_timeout= backup down '
        . 'resolve service= route= drain, '
        . 'not "wieght=1"',
    '127.0.0.1 down=1' => 'UpstreamServer has an invalid parameter: it '
        . 'takes weight= max_conns= max_fails= fail_timeout= backup down '
        . 'resolve service= route= drain, '
        . 'not "down=1"',
    '127.0.0.1 weight=1 weight=2' => 'UpstreamServer: parameter "weight=2" '
        . 'is duplicate: keep one of them',
    (map { ("a route=$_" => 'UpstreamServer: route= wants 1 to 32 letters, '
        . qq{digits, dots, dashes or underscores, not "$_"}) } '', 'a' x 33,
        'a;b'),
    'a drain=1' => 'UpstreamServer has an invalid parameter: it '
        . 'takes weight= max_conns= max_fails= fail_timeout= backup down '
        . 'resolve service= route= drain, not "drain=1"',
    'a drain down' => 'UpstreamServer has "down" and "drain": keep one of '
        . 'them, not "a"',
    'a slow_start=30s' => 'UpstreamServer: parameter "slow_start=30s" is not '
        . 'supported yet: leave it out, or begin with a small weight=',
);
while (my ($server, $message) = splice @servers, 0, 2) {
    row("UpstreamServer $server", group("!! UpstreamServer $server"),
        $message);
}

my @once = (
    ['UpstreamKeepalive', ['0', '16', '16 local'],
        ['-1' => $from_0, 'x' => $from_0,
         '16 global' => 'wants nothing but "local" after the number']],
    ['UpstreamKeepaliveRequests', ['1', '1000'], ['0' => $from_1]],
    ['UpstreamKeepaliveTime', ['1h'],
        ['0' => 'wants a time that is longer than 0 ("UpstreamKeepalive 0" '
            . 'turns keeping off)', '1y' => $time]],
    ['UpstreamKeepaliveTimeout', ['500ms', '60s'],
        ['0' => 'wants a time that is longer than 0 ("UpstreamKeepalive 0" '
            . 'turns keeping off)', '-' => $time]],
);
for my $case (@once) {
    my ($directive, $good, $bad) = @$case;
    row("$directive $_", group("$directive $_")) for @$good;
    for (my $i = 0; $i < @$bad; $i += 2) {
        my $word = (split / /, $bad->[$i])[-1];
        row("$directive $bad->[$i]", group("!! $directive $bad->[$i]"),
            qq{$directive $bad->[$i + 1], not "$word"});
    }
    row("$directive twice",
        group("$directive $good->[0]\n!! $directive $good->[0]"),
        qq{"$directive" directive is duplicate: keep one of them in this }
            . '<Upstream>');
    row("$directive outside", "$directive $good->[0]",
        "$directive belongs inside <Upstream name> ... </Upstream>");
}

row @$_ for (
    ['two groups', group() . "\n<Upstream h.2>\nUpstreamServer a\n</Upstream>"],
    ['a server twice', group('UpstreamServer 127.0.0.1:81')],
    ['the same group twice', group() . "\n!! <Upstream G>\n"
        . "UpstreamServer 127.0.0.1:82\n</Upstream>",
        'duplicate upstream "G": the other <Upstream> is at TMP/httpd.conf:8, '
        . 'give one of them another name'],
    ['an empty group', "<Upstream g>\n</Upstream>",
        '<Upstream g> has no server: write at least one UpstreamServer in it'],
    ['a group of backups',
        "<Upstream g>\nUpstreamServer 127.0.0.1 backup\n</Upstream>",
        'no servers in upstream "g": all are backup, write at least one '
        . 'UpstreamServer without it'],
    ['a group that is down',
        "<Upstream g>\nUpstreamServer 127.0.0.1 down\n</Upstream>"],
    ['a group without a name', "<Upstream>\n</Upstream>",
        '<Upstream> wants one name, as in <Upstream backend>'],
    ['a group with two names', "<Upstream a b>\n</Upstream>",
        '<Upstream> wants one name, as in <Upstream backend>'],
    ['a group with a port', "<Upstream a:80>\n</Upstream>",
        '<Upstream> wants a name of letters, digits, dots, dashes and '
        . 'underscores, not "a:80"'],
    ['a group in a virtual host', "<VirtualHost *:80>\n!! <Upstream g>\n"
        . "UpstreamServer a\n</Upstream>\n</VirtualHost>", $place],
    ['a group in a location',
        location("!! <Upstream g>\nUpstreamServer a\n</Upstream>"), $place],
    ['a group in a group',
        group("!! <Upstream h>\nUpstreamServer a\n</Upstream>"),
        '<Upstream does not belong inside <Upstream>: write it outside'],
    ['a setting in a group', group('!! UpstreamReadTimeout 5s'),
        'UpstreamReadTimeout does not belong inside <Upstream>: write it '
        . 'outside'],
    ['another directive in a group', group('!! KeepAlive Off'),
        'KeepAlive does not belong inside <Upstream>: write it outside'],
    ['a mistyped directive in a group', group('!! UpstreamServr 127.0.0.1'),
        'UpstreamServr is unknown: inside <Upstream> may stand UpstreamServer '
        . 'UpstreamLeastConn UpstreamIPHash UpstreamHash UpstreamRandom '
        . 'UpstreamLeastTime UpstreamPeakEWMA UpstreamSticky '
        . 'UpstreamKeepalive UpstreamKeepaliveRequests UpstreamKeepaliveTime '
        . 'UpstreamKeepaliveTimeout UpstreamQueue UpstreamHealthCheck '
        . 'UpstreamState UpstreamZone'],
    (map { ["$_ in a group", group("!! $_"), (split)[0] . ' is not built yet: '
        . 'leave it out'] } 'UpstreamNTLM'),
    ['UpstreamServer outside', 'UpstreamServer 127.0.0.1',
        'UpstreamServer belongs inside <Upstream name> ... </Upstream>'],
    ['UpstreamServer in a location', location('!! UpstreamServer 127.0.0.1'),
        'UpstreamServer belongs inside <Upstream name> ... </Upstream>'],
    ['a pass to a group', group() . "\nUpstreamPass / http://g/base"],
    ['a pass to a group that comes later, in other capitals',
        "UpstreamPass / http://G\n" . group()],
    ['a pass with a port that is no group\'s',
        "UpstreamPass / http://127.0.0.1:80\n" . group()],
);

logged('refuses a port behind a group', "UpstreamPass / http://G:8080/\n"
    . group(), 0,
    qr{UP0104:\ UpstreamPass\ http://G:8080/\ at\ TMP/httpd\.conf:8:\ the\ group
        \ "g"\ \(<Upstream>\ at\ TMP/httpd\.conf:9\)\ may\ not\ have\ port\ 8080
        \ in\ a\ URL:\ leave\ it\ out,\ ports\ belong\ to\ UpstreamServer}x);
logged('refuses it in a section of a virtual host', group()
    . "\n<VirtualHost *:80>\n" . location('UpstreamPass http://g:80')
    . "\n</VirtualHost>", 0, qr{UP0104: .* may not have port 80 });
logged('says the same of each', "UpstreamPass /a http://g:1\n"
    . "UpstreamPass /b http://g:2\n" . group(), 0,
    qr{conf:8:.*may not have port 1 .*conf:9:.*may not have port 2 }s);

done_testing;
