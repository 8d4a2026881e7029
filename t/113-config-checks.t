#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamHealthCheck and <UpstreamMatch>: what is accepted, what is refused.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my $C = 'UpstreamHealthCheck';
my $time = 'wants a time such as 60s, 1m30s or 500ms';
my $from_1 = 'wants a whole number from 1 up';

row("$C $_", group("$C $_")) for '', 'tcp', 'http', 'uri=/health',
    'http uri=/a?b=c host=x.example interval=2s jitter=500ms timeout=1s',
    'tcp port=8081 fails=3 passes=2', 'mandatory', 'mandatory persistent',
    'reuse drain=404';

my @bad = (
    'https' => 'UpstreamHealthCheck: https checks are not built yet: write '
        . 'tcp, or http with the port= of a plain listener',
    'uri=' => qq{$C: uri= wants a value, not ""},
    'uri=health' => qq{$C: uri= wants a path such as /health, escaped as in }
        . 'a URL, not "health"',
    '"uri=/a b"' => qq{$C: uri= wants a path such as /health, escaped as in }
        . 'a URL, not "/a b"',
    '"host=a b"' => qq{$C: host= wants a host name, not "a b"},
    'interval=0' => qq{$C: interval= wants a time that is longer than 0, not }
        . '"0"',
    'interval=x' => qq{$C: interval= $time, not "x"},
    'fails=0' => qq{$C: fails= $from_1, not "0"},
    'port=65536' => qq{$C: port= wants at most 65535, not "65536"},
    'uri=/a uri=/b' => qq{$C: parameter "uri=/b" is duplicate: keep one of }
        . 'them',
    'tcp uri=/' => qq{$C: "uri=/" goes with http, a tcp check sends nothing: }
        . 'leave it out',
    'persistent' => qq{$C: persistent goes with mandatory, without which }
        . 'every server begins healthy: leave it out',
    'udp' => qq{$C has an invalid parameter: it takes tcp, http, uri= host= }
        . 'match= interval= jitter= timeout= fails= passes= port= drain= '
        . 'mandatory persistent reuse, not "udp"',
);
while (my ($value, $message) = splice @bad, 0, 2) {
    row("$C $value", group("!! $C $value"), $message);
}
row('twice', group("$C\n!! $C"), qq{"$C" directive is duplicate: keep one }
    . 'of them in this <Upstream>');
row('outside', "!! $C", "$C belongs inside <Upstream name> ... </Upstream>");

sub match { return "<UpstreamMatch m>\n$_[0]\n</UpstreamMatch>\n" }

row("in a match: $_", match($_)) for 'UpstreamMatchStatus 200 301-399',
    'UpstreamMatchStatus ! 500-599', 'UpstreamMatchHeader X-A',
    'UpstreamMatchHeader ! X-A', 'UpstreamMatchHeader X-A = b',
    'UpstreamMatchHeader X-A !~ "^b"', 'UpstreamMatchBody ~ "wel+come"';
row('a match that comes later',
    group("$C match=m") . "\n" . match('UpstreamMatchStatus 200'));

my $codes = 'wants codes and ranges, as in "200 301-399" or "! 500-599"';
@bad = (
    'UpstreamMatchStatus' => "UpstreamMatchStatus $codes",
    'UpstreamMatchStatus 99' => qq{UpstreamMatchStatus $codes, not "99"},
    'UpstreamMatchStatus 300-200' =>
        qq{UpstreamMatchStatus $codes, not "300-200"},
    'UpstreamMatchHeader X-A > b' => 'UpstreamMatchHeader wants a field name, '
        . '"! name", or a name, one of = != ~ !~ and a value, not ">"',
    'UpstreamMatchBody = x' => 'UpstreamMatchBody wants ~ or !~ and a regular '
        . 'expression, not "="',
    'UpstreamMatchBody ~ "("' => 'UpstreamMatchBody wants a regular '
        . 'expression behind ~, not "("',
    'UpstreamPass off' => 'UpstreamPass does not belong inside '
        . '<UpstreamMatch>: there may stand UpstreamMatchStatus, '
        . 'UpstreamMatchHeader and UpstreamMatchBody',
);
while (my ($line, $message) = splice @bad, 0, 2) {
    row("in a match: $line", match("!! $line"), $message);
}
row('no name', "!! <UpstreamMatch >\n</UpstreamMatch>",
    '<UpstreamMatch> wants one name, as in <UpstreamMatch alive>');
row('outside of a match', '!! UpstreamMatchStatus 200', 'UpstreamMatchStatus '
    . 'belongs inside <UpstreamMatch name> ... </UpstreamMatch>');

done_testing;
