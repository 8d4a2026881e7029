# Licensed under the Apache License, Version 2.0; see LICENSE.

# Status lines, good and bad, from a backend to a client.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Answers;
use Up::Server ();

my $REST = "X-After: kept\r\nContent-Length: 2\r\n\r\nok";
my $LONG = 'r' x 20_000;

# What the backend says; what the client must get, without the version.
my @GOOD = (
    ['HTTP/1.1 200 OK', '200 OK'],
    ["HTTP/1.1 200 OK\n", '200 OK', 'bare LF'],
    ['HTTP/1.1   200 OK', '200 OK', 'blanks before the status'],
    ['HTTP/1.1 200', '200 ', 'RF13 neither reason nor blank'],
    ['HTTP/1.1 200 ', '200 ', 'RF13 blank, no reason'],
    ['HTTP/1.1 200  It is  so', '200  It is  so', 'reason as it is'],
    ["HTTP/1.1 404 Non trouv\xe9", "404 Non trouv\xe9", '8-bit reason'],
    ["HTTP/1.1 200 a\tb", "200 a\tb", 'TAB in the reason'],
    ['HTTP/1.1 403.1 No', '403 No', 'sub-status'],
    ['HTTP/2.0 200 OK', '200 OK', 'a major version that we do not speak'],
    ['HTTP/12.34 200 OK', '200 OK', 'two digits each'],
    ["HTTP/1.1 200 $LONG", "200 $LONG", 'longer than the first buffer'],
    map { ["HTTP/1.1 $_ Odd", "$_ Odd"] } 201, 203, 226, 299, 300, 399, 404,
        418, 451, 499, 500, 511, 599, 600, 799, 999,
);

my @BAD = (
    ['HTP/1.1 200 OK', 'RF12 misspelt protocol'],
    ['http/1.1 200 OK', 'lower case'],
    ['HTTP/0.9 200 OK', 'version 0'],
    ['HTTP/1 200 OK', 'no minor version'],
    ['HTTP/1. 200 OK', 'empty minor version'],
    ['HTTP/.1 200 OK', 'empty major version'],
    ['HTTP/123.1 200 OK', 'three digits of version'],
    ['HTTP/1.123 200 OK', 'three digits behind the dot'],
    ['HTTP/1.1200 OK', 'no blank before the status'],
    ["HTTP/1.1\t200 OK", 'TAB before the status'],
    ['HTTP/1.1 200OK', 'no blank before the reason'],
    ["HTTP/1.1 200\tOK", 'TAB before the reason'],
    ['HTTP/1.1 20 OK', 'two digits'],
    ['HTTP/1.1 2000 OK', 'four digits'],
    ['HTTP/1.1 2 0 0 OK', 'digits apart'],
    ['HTTP/1.1 -20 OK', 'a sign'],
    ['HTTP/1.1 2x0 OK', 'a letter'],
    ['HTTP/1.1 099 OK', 'below 100'],
    ['HTTP/1.1', 'nothing behind the version'],
    ['HTTP/1.1 ', 'a blank behind the version'],
    ['', 'an empty line'],
    [' HTTP/1.1 200 OK', 'a leading blank'],
    ["\r\nHTTP/1.1 200 OK", 'an empty line in front'],
    ["HTTP/1.1 200 O\rK", 'bare CR'],
    ["HTTP/1.1 200 OK\r", 'two CR'],
    ["HTTP/1.1 200 O\0K", 'NUL'],
    ["HTTP/1.1 200 O\x1b[1mK", 'ESC'],
    ["HTTP/1.1 200 O\x7fK", 'DEL'],
    ["\x15\x03\x01\0\2\2F", 'a TLS alert',
        qr/sent no valid status line: "%15%03%01%00%02%02F" \(it speaks TLS/],
    ['HTTP/1.1 200 ' . $LONG x 4, 'more than UpstreamMaxHeaderSize',
        qr/sent too big header/],
);

my %answer = (
    plain => "HTTP/1.1 200 OK\r\n$REST",
    old => "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n$REST",
    closes => "HTTP/1.1 200 OK\r\nConnection: close\r\n$REST",
    zero => ["SECRET\n", hang_up()],
    text => ["It works, SECRET\n" x 3, hang_up()],
    binary => ["\x00\x01\x02SECRET", hang_up()],
    nothing => [hang_up()],
    torn => ['HTTP/1.1 20', hang_up()],
);
$answer{"good$_"} = ($GOOD[$_][0] =~ /\n\z/ ? $GOOD[$_][0]
    : "$GOOD[$_][0]\r\n") . $REST for 0 .. $#GOOD;
$answer{"bad$_"} = "$BAD[$_][0]\r\nX-Secret: SECRET\r\n"
    . "Content-Length: 6\r\n\r\nSECRET" for 0 .. $#BAD;

my $b = Up::Answers->start(\%answer);
my $s = Up::Server->start(A => $b->addr, conf => 'UpstreamPass /p/ http://@A@');

# The answer, and whether the next request came on the same connection.
sub probe {
    my ($name) = @_;
    my $k = $s->client; # one child, and its pool
    $k->get('/p/plain');
    $b->clear;
    $s->mark;
    my $res = $k->get("/p/$name");
    $k->get('/p/plain');
    return ($res, same_connection($b));
}

for my $i (0 .. $#GOOD) {
    my ($line, $want, $what) = @{ $GOOD[$i] };
    my ($res, $kept) = probe("good$i");
    my $got = [$res->line, $res->header('X-After'), $res->body, $kept];
    is_deeply $got, ["HTTP/1.1 $want", 'kept', 'ok', 1],
        $what ? "passed on, connection kept: $what" : "status $want";
}

for my $i (0 .. $#BAD) {
    my ($line, $what, $log) = @{ $BAD[$i] };
    $log //= qr/sent no valid status line/;
    my ($res, $kept) = probe("bad$i");
    my @logged = grep { /\Q@{[ $b->addr ]}\E/ }
        $s->error_log(qr/UP0427: upstream $log/);
    my $got = [$res->status, $res->complete, $kept,
        $res->raw =~ /SECRET/ ? 'leaked' : 'clean', scalar @logged];
    is_deeply $got, [502, 1, '', 'clean', 1], "refused, logged: $what";
}

for my $name (qw(zero text binary nothing torn)) {
    my ($res) = probe($name);
    is $res->status, 502, "RF12 no status line at all: $name";
    unlike $res->raw, qr/SECRET/, 'and nothing of it is shown';
}

my ($res, $kept) = probe('old');
is $res->status, 200, 'RF28 HTTP/1.0 with keep-alive';
is $res->version, '1.1', 'towards the client it is HTTP/1.1';
is $res->body, 'ok', 'its body';
ok !$kept, 'its connection is not used again';
($res, $kept) = probe('closes');
is $res->body, 'ok', 'Connection: close';
ok !$kept, 'its connection is not used again';

my $k = $s->client;
is $k->get('/p/old')->body, 'ok', 'RF28 first of two';
is $k->get('/p/closes')->body, 'ok', 'second on the same client connection';
is $k->get('/p/bad0')->status, 502, 'a 502';
ok $k->idle, 'keeps the client connection, too';

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
