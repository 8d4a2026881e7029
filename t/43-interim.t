# Licensed under the Apache License, Version 2.0; see LICENSE.

# Interim responses are passed over, whatever they hold and however many
# they are; a 101 that nobody asked for is no answer.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Answers;
use Up::Server ();

my $CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
my $PROCESSING = "HTTP/1.1 102 Processing\r\n\r\n";
my $HINTS = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n";
my $OK = "HTTP/1.1 200 OK\r\nX-Final: 1\r\nContent-Length: 2\r\n\r\nok";
my $HOPS = join '', map { "$_\r\n" } 'Connection: keep-alive, upgrade',
    'Keep-Alive: timeout=5', 'Upgrade: h2c', 'Transfer-Encoding: chunked',
    'Content-Length: 7';

my %answer = (
    plain => $OK,
    continue => $CONTINUE . $OK,
    continues => [$CONTINUE, pause(0.05), $OK],
    processing => [(map { ($PROCESSING, pause(0.02)) } 1 .. 8), $OK],
    hints => ["$HINTS\r\n", pause(0.05), $OK],
    hops => [$HINTS . "$HOPS\r\n", pause(0.1), $OK],
    other => "HTTP/1.1 199 Odd\r\nX-Interim: 1\r\n\r\n" . $OK,
    bare => "HTTP/1.1 100\n\n" . $OK,
    closing => "HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" . $OK,
    mixed => $CONTINUE . "$HINTS\r\n" . "HTTP/1.1 204 No\r\nX-Final: 1\r\n"
        . "\r\n",
    many => ($PROCESSING x 500) . $OK,
    bytewise => [bytewise($CONTINUE . "$HINTS\r\n" . $OK)],
    chunked => $CONTINUE . "HTTP/1.1 200 OK\r\nX-Final: 1\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    old => "HTTP/1.0 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nX-Final: 1\r\n"
        . "Content-Length: 2\r\n\r\nok",
    # no answers
    only => ["$HINTS\r\n", pause(0.05), hang_up()],
    onlyreset => [$CONTINUE, pause(0.05), break_off()],
    torn => [$CONTINUE . 'HTTP/1.1 2', hang_up()],
    endless => [$PROCESSING x 5000, $OK],
    fat => [("$HINTS" . 'X-Fat: ' . 'f' x 9000 . "\r\n\r\n") x 10, $OK],
    bad => "HTTP/1.1 100 Continue\r\nno colon\r\n\r\n" . $OK,
    behind => $CONTINUE . 'x' . $OK,
    switch => "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\n"
        . "Upgrade: foo\r\n\r\nSECRET",
    switchbare => "HTTP/1.1 101 Switching\r\n\r\nSECRET",
    switchlater => $CONTINUE . "HTTP/1.1 101 Switching\r\n"
        . "Upgrade: foo\r\n\r\nSECRET",
);

my $b = Up::Answers->start(\%answer);
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamPass /p/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
END

sub passed_over {
    my ($mode, $name, $what, $status) = @_;
    my $k = $s->client;
    $b->clear;
    $s->mark;
    my $res = $k->get("/$mode/$name");
    is $res->status, $status, "$what: the final one";
    is $res->header('X-Final'), 1, 'its fields';
    ok !$res->field('X-Interim') && !$res->field('Link'), 'and no others';
    is $res->body, $status == 200 ? 'ok' : '', 'its body';
    is_deeply $res->interim, [], 'nothing before it';
    is $k->get("/$mode/plain")->body, 'ok', 'the next on that connection';
    is $s->logged("/$mode/$name")->{UPSTREAM_STATUS}, $status,
        'the final status in the log';
    return same_connection($b);
}

for my $mode (qw(p off)) {
    for (['continue', 'BL03 100 in the same write'],
        ['continues', '100 and a pause'],
        ['processing', 'BL08 eight times 102'],
        ['hints', '103'], ['hops', 'C02 BL02 103 with fields of the hop'],
        ['other', '199'], ['bare', '100 with bare LF'],
        ['closing', '100 that says close', 200, ''],
        ['mixed', 'BL06 100, 103, 204', 204],
        ['many', '500 times 102'], ['bytewise', 'one byte a write'],
        ['chunked', '100 before chunks'],
        ['old', '100 in HTTP/1.0', 200, '']) {
        my ($name, $what, $status, $kept) = @$_;
        my $same = passed_over($mode, $name, $what, $status // 200);
        is $same, $kept // 1, 'the backend connection is kept'
            if $name ne 'closing';
    }

    for (['only', 'BL04 103 and the end'],
        ['onlyreset', '100 and a reset'], ['torn', '100 and half a head'],
        ['endless', 'more than UpstreamMaxHeaderSize of them'],
        ['fat', 'the same in few'], ['bad', 'a bad field in a 100'],
        ['behind', 'garbage behind a 100'],
        ['switch', '101'], ['switchbare', '101 without Upgrade'],
        ['switchlater', '101 after a 100']) {
        my ($name, $what) = @$_;
        $b->clear;
        $s->mark;
        my $res = $s->get("/$mode/$name");
        is $res->status, 502, "$what is no answer";
        ok $res->complete, 'a whole 502';
        unlike $res->raw, qr/SECRET/, 'nothing of it is shown';
        is $s->logged("/$mode/$name")->{UPSTREAM_STATUS}, 502, 'logged';
        $s->get("/$mode/plain");
        ok !same_connection($b), 'the connection is not used again';
    }
}

for my $name ('endless', 'fat') {
    $s->mark;
    $s->get("/p/$name");
    is scalar(my @l = $s->error_log(qr/UP0427:\ upstream\ sent\ too\ many
        \ interim\ responses\ \(UpstreamMaxHeaderSize\)/x)), 1,
        'the log names the directive that bounds them';
}

$s->mark;
$s->get('/p/switch');
is scalar(my @l = $s->error_log(
    qr/UP0427: upstream sent 101 without having been asked/)), 1,
    'and the log says why';

# A client that asked for an upgrade which is not allowed here.
my $k = $s->client;
my $res = $k->get('/p/switch', [Connection => 'upgrade', Upgrade => 'foo']);
is $res->status, 502, '101 to an Upgrade that was not passed on';
my ($req) = grep { $_->{target} eq '/p/switch' } reverse $b->requests;
ok !grep({ lc $_->[0] eq 'upgrade' } @{ $req->{headers} }), 'indeed not';

# An HTTP/1.0 client must never see a 1xx.
$k = $s->client;
$k->send("GET /p/mixed HTTP/1.0\r\n\r\n");
$res = $k->response(version => '1.0');
is $res->status, 204, 'HTTP/1.0 client';
is_deeply $res->interim, [], 'sees the final one only';

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
