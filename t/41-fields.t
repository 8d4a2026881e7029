# Licensed under the Apache License, Version 2.0; see LICENSE.

# Response fields: which lines are fields at all, and what becomes of each.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Answers;
use Up::Server ();

my $OK = "HTTP/1.1 200 OK\r\nX-Before: 1\r\n";
my $END = "X-After: kept\r\nContent-Length: 2\r\n\r\nok";

# Lines in the middle of the fields, and the fields the client gets of them.
my @GOOD = (
    ['CRLF', "X-A: 1\r\n", 'X-A: 1'],
    ['bare LF', "X-A: 1\nX-B: 2\n", 'X-A: 1', 'X-B: 2'],
    ['CR CR LF', "X-A: 1\r\r\n", 'X-A: 1'],
    ['no blank behind the colon', "X-A:1\r\n", 'X-A: 1'],
    ['blanks around', "X-A:   1  2   \r\n", 'X-A: 1  2'],
    ['empty value', "X-A:\r\nX-B:   \r\n", 'X-A: ', 'X-B: '],
    ['a colon in the value', "X-A: b:c\r\n", 'X-A: b:c'],
    ['8-bit value', "X-A: \xc3\xa4\xff\r\n", "X-A: \xc3\xa4\xff"],
    ['TAB within', "X-A: a\tb\r\n", "X-A: a\tb"],
    ['token characters', "X!#\$%&'*+-.^_`|~9: 1\r\n",
        "X!#\$%&'*+-.^_`|~9: 1"],
    ['no token, left out', "X\@A: 1\r\nX(B: 2\r\nX-\xe9: 3\r\nX-D: 4\r\n",
        'X-D: 4'],
    ['repeated, in order', "X-A: 1\r\nX-B: 2\r\nx-a: 3\r\n",
        'X-A: 1', 'X-B: 2', 'x-a: 3'],
    ['Accept-Ranges', "Accept-Ranges: bytes\r\n", 'Accept-Ranges: bytes'],
    ['Content-Disposition', "Content-Disposition: inline\r\n",
        'Content-Disposition: inline'],
    ['Content-Range', "Content-Range: bytes 0-1/9\r\n",
        'Content-Range: bytes 0-1/9'],
    ['Content-Encoding', "Content-Encoding: br\r\n", 'Content-Encoding: br'],
    ['Proxy-Authenticate', "Proxy-Authenticate: Basic\r\n",
        'Proxy-Authenticate: Basic'],
    ['Public, Allow', "Public: GET\r\nAllow: GET\r\n", 'Public: GET',
        'Allow: GET'],
    ['no rewriting without a rule', "Location: /x\r\nRefresh: 1;url=/x\r\n",
        'Location: /x', 'Refresh: 1;url=/x'],
    ['Via and Forwarded', "Via: 1.1 b\r\nX-Forwarded: y\r\n", 'Via: 1.1 b',
        'X-Forwarded: y'],
    ['Keep-Alive, Connection', "Keep-Alive: timeout=9\r\n"
        . "Connection: keep-alive\r\n"],
    ['Proxy-Connection, TE', "Proxy-Connection: keep-alive\r\n"
        . "TE: trailers\r\n"],
    ['Upgrade of a response that upgrades nothing', "Upgrade: h2c\r\n"],
    ['named in Connection', "Connection: X-A, keep-alive\r\nX-A: 1\r\n"
        . "X-B: 2\r\n", 'X-B: 2'],
    ['hidden by default', join '', map { "$_: 1\r\n" } 'Date', 'Server',
        'X-Pad', map { "X-Accel-$_" } qw(Expires Limit-Rate Charset)],
    ['BS06 control fields', "X-Accel-Buffering: no\r\n"
        . "X-Accel-Expires: 0\r\nX-Other: 1\r\n", 'X-Other: 1'],
    ['status line of CGI', "Status: 200 OK\r\n", 'Status: 200 OK'],
    ['RF09 RF10 C12 9000 bytes', 'X-Long: ' . 'a' x 9000 . "\r\n",
        'X-Long: ' . 'a' x 9000],
    ['UpstreamBufferSize is no limit', 'X-Long: ' . 'a' x 40_000 . "\r\n",
        'X-Long: ' . 'a' x 40_000],
    ['many fields', join('', map { "X-$_: $_\r\n" } 1 .. 500),
        map { "X-$_: $_" } 1 .. 500],
);
for my $name (qw(Content-Type ETag Last-Modified Expires Location Refresh
    Status)) {
    push @GOOD, ["$name, the first counts", "$name: a\r\n$name: b\r\n",
        "$name: a"];
}
for my $name (qw(WWW-Authenticate Set-Cookie Cache-Control Link X-Any)) {
    push @GOOD, ["$name, all of them", "$name: a\r\n$name: b\r\n",
        "$name: a", "$name: b"];
}

my @BAD = (
    ['RF11 C13 no colon', "no colon here\r\n", qr/"no" .*invalid char/],
    ['no colon, no blank', "nocolon\r\n", qr/"nocolon" .*no colon/],
    ['RF11 C13 blank in the name', "X Bad: 1\r\n", qr/invalid char/],
    ['RF11 C13 control in the name', "X-Bad\x01Name: 1\r\n", qr/invalid/],
    ['blank before the colon', "X-Bad : 1\r\n", qr/"X-Bad" .*invalid/],
    ['TAB before the colon', "X-Bad\t: 1\r\n", qr/invalid character/],
    ['DEL in the name', "X-\x7f: 1\r\n", qr/invalid character/],
    ['no name', ": 1\r\n", qr/no name/],
    ['RF14 folded with SP', "X-A: one\r\n two\r\n", qr/folded/],
    ['RF14 folded with TAB', "X-A: one\r\n\ttwo\r\n", qr/folded/],
    ['folded first line', " X-A: one\r\n", qr/folded/],
    ['RF21 NUL in the value', "X-A: a\0b\r\n", qr/control character/],
    ['RF21 bare CR in the value', "X-A: a\rX-B: b\r\n", qr/control char/],
    ['ESC in the value', "X-A: \x1b[31m\r\n", qr/control character/],
    ['NUL in the name', "X-\0A: 1\r\n", qr/invalid character/],
    ['a second status line', "HTTP/1.1 200 OK\r\n", qr/invalid character/],
    ['1001 fields', "X-A: 1\r\n" x 1001,
        qr/too many header fields: more than 1000 while/],
    ['C12 more than UpstreamMaxHeaderSize', 'X-Long: ' . 'a' x 66_000
        . "\r\n", qr/too big header.*"X-Long" \(6\d{4} bytes\)/],
    (map { ["RF15 Content-Length: $_", "Content-Length: $_\r\n",
        qr/invalid "Content-Length"/] } '-1', 'abc', '1.5', '', '123abc',
        '+2', '0x2', '2,2', '1' x 25),
    ['RF03 C04c two lengths', "Content-Length: 20\r\n", qr/duplicate "Cont/],
    ['RF04 C04d the same twice', "Content-Length: 2\r\n", qr/duplicate "Con/],
    ['RF01 C04a length and chunks', "Transfer-Encoding: chunked\r\n",
        qr/at the same time/],
    (map { ["Transfer-Encoding: $_", "Transfer-Encoding: $_\r\n",
        qr/unknown "Transfer-Encoding"/] } 'gzip, chunked', 'identity', 'gzip',
        'chunked, chunked', 'chunkedx', ''),
    ['RF02 C04b chunked twice', "Transfer-Encoding: chunked\r\n" x 2,
        qr/duplicate "Transfer-Encoding"/],
);

my %answer = (plain => $OK . $END);
$answer{"good$_"} = $OK . $GOOD[$_][1] . $END for 0 .. $#GOOD;
$answer{"bad$_"} = $OK . "X-Secret: SECRET\r\n" . $BAD[$_][1] . $END
    for 0 .. $#BAD;
# RF22 and the like: ends inside the fields.
$answer{torn} = [$OK . 'X-A: ', hang_up()];
$answer{torn2} = [$OK . "X-A: 1\r\n", hang_up()];
$answer{hup} = [hang_up()];
$answer{reset} = [break_off()];
$answer{chunked} = $OK . "TRANSFER-ENCODING: CHUNKED\r\n\r\n"
    . "2\r\nok\r\n0\r\n\r\n";
$answer{old} = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    . "2\r\nok\r\n0\r\n\r\n";
$answer{closing} = $OK . "Connection: foo\r\nConnection: x-closed\r\n" . $END;

my $b = Up::Answers->start(\%answer);
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamPass /p/ http://@A@
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBufferSize 4k
    UpstreamMaxHeaderSize 4k
</Location>
<Location /pass/>
    UpstreamPass http://@A@
    UpstreamPassHeader Date
    UpstreamPassHeader Server
    UpstreamPassHeader X-Accel-Expires
    UpstreamHideHeader X-Other
    UpstreamHideHeader x-b
</Location>
END

sub fields {
    my ($res) = @_;
    return [map { "$_->[0]: $_->[1]" } grep {
        $_->[0] !~ /^(?:Date|Server|Content-Length|X-Before|X-After)\z/ }
        @{ $res->fields }];
}

for my $i (0 .. $#GOOD) {
    my ($what, $lines, @want) = @{ $GOOD[$i] };
    my $res = $s->get("/p/good$i");
    is_deeply [$res->status, $res->body, $res->header('X-Before'),
        $res->header('X-After'), fields($res)],
        [200, 'ok', 1, 'kept', \@want], "good: $what";
    my @date = $res->field('Date');
    my @server = $res->field('Server');
    ok @date == 1 && @server == 1 && $date[0] ne 1 && $server[0] =~ /^Apache/,
        'Date and Server are our own';
}

for my $i (0 .. $#BAD) {
    my ($what, $lines, $log) = @{ $BAD[$i] };
    $b->clear;
    $s->mark;
    my $res = $s->get("/p/bad$i");
    is_deeply [$res->status, $res->complete, $res->raw =~ /SECRET|X-Before/],
        [502, 1], "502 and nothing of it: $what";
    ok scalar($s->error_log(qr/UP0427: upstream sent .*$log/)), 'logged';
    unlike join("\n", $s->error_log), qr/SECRET/, 'without values';
    $s->get('/p/plain');
    ok !same_connection($b), 'the connection is not used again';
}

for my $name (qw(torn torn2 hup reset)) {
    my $res = $s->get("/p/$name");
    is $res->status, 502, "RF22 end without a whole head: $name";
    ok $res->complete, 'a whole response tells';
    unlike $res->raw, qr/X-Before/, 'nothing of it';
}

is $s->get('/p/chunked')->body, 'ok', 'chunked in capitals';
my $res = $s->get('/p/old');
is $res->body, 'ok', 'chunked in HTTP/1.0';
$b->clear;
is $s->get('/p/closing')->body, 'ok', 'Connection: x-closed';
$s->get('/p/plain');
ok !same_connection($b), 'is close enough';

$s->mark;
$res = $s->get('/small/good0');
is $res->header('X-After'), 'kept', 'a head that fits into 4k';
my ($long) = grep { $GOOD[$_][0] =~ /C12/ } 0 .. $#GOOD;
$res = $s->get("/small/good$long");
is $res->status, 502, 'C12 one that does not';
is scalar(my @l = $s->error_log(
    qr/UP.*"X-Long" \(\d+ bytes\).*UpstreamMaxHeaderSize/)), 1,
    'names field, size and directive';

my ($ctl) = grep { $GOOD[$_][0] =~ /BS06/ } 0 .. $#GOOD;
is_deeply fields($s->get("/pass/good$ctl")), ['X-Accel-Expires: 0'],
    'UpstreamPassHeader and UpstreamHideHeader';
my ($rep) = grep { $GOOD[$_][0] =~ /repeated/ } 0 .. $#GOOD;
is_deeply fields($s->get("/pass/good$rep")), ['X-A: 1', 'x-a: 3'],
    'in any case';

ok $s->stop, 'httpd ended well';
done_testing;
