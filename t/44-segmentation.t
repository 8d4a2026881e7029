# Licensed under the Apache License, Version 2.0; see LICENSE.

# How a response is cut into segments carries no meaning: whole responses of
# every framing one byte a write, and in two writes, cut at every offset.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Answers;
use Up::Server ();

# name => [response, status, body, connection kept]
my %WHOLE = (
    length => ["HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B:  2 \r\n"
        . "Content-Length: 5\r\n\r\nhello", 200, 'hello', 1],
    chunked => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n"
        . "\r\n5\r\nhello\r\n1;ext=\"a\"\r\n!\r\n0\r\nX-T: 1\r\n\r\n", 200,
        'hello!', 1],
    lf => ["HTTP/1.1 404 No\nX-A: 1\nContent-Length: 4\n\nnope", 404, 'nope',
        1],
    interim => ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        . "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok", 200,
        'ok', 1],
    none => ["HTTP/1.1 204 No\r\nX-A: 1\r\n\r\n", 204, '', 1],
    modified => ["HTTP/1.1 304 No\r\nX-A: 1\r\nContent-Length: 9\r\n\r\n",
        304, '', 1],
    empty => ["HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n", 200,
        '', 1],
    close => ["HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nold style", 200, 'old style',
        ''],
);
# name => the response that must be refused
my %BAD = (
    status => "HTP/1.1 200 OK\r\nX-A: 1\r\n\r\n",
    field => "HTTP/1.1 200 OK\r\nX-A: 1\r\nX B: 2\r\n\r\nok",
    framing => "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 1\r\n"
        . "Transfer-Encoding: chunked\r\n\r\nx",
);

my %answer = (plain => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
for my $name (keys %WHOLE) {
    my ($bytes, $status, $body, $kept) = @{ $WHOLE{$name} };
    my @end = $kept ? () : hang_up();
    $answer{$name} = [split_at($bytes), @end];
    $answer{"${name}1"} = [bytewise($bytes), @end];
}
for my $name (keys %BAD) {
    $answer{$name} = [split_at($BAD{$name}), hang_up()];
    $answer{"${name}1"} = [bytewise($BAD{$name}), hang_up()];
}
# A head that makes the buffer grow, and a body behind it, in odd pieces.
my $LONG = filler(300_000);
$answer{long} = sub {
    my ($c, undef, $size) = @_;
    return $c->send_slow("HTTP/1.1 200 OK\r\n" . join('', map {
        "X-$_: " . 'v' x $_ . "\r\n" } 1 .. 240) . "Content-Length: 300000\r\n"
        . "\r\n$LONG", $size, 0.0005);
};

my $b = Up::Answers->start(\%answer);
my $s = Up::Server->start(A => $b->addr, conf => <<'END');
<Location /on/>
    UpstreamPass http://@A@
    UpstreamBufferSize 32
    UpstreamMaxHeaderSize 64k
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
END

# What a client got, in short.
sub got {
    my ($res) = @_;
    return join '|', $res->status, $res->complete, $res->header('X-A') // '-',
        $res->field('Link'), $res->body;
}

# Asks for all targets, several at a time: {target => answer} of those whose
# answer is not as it should be.
sub wrong {
    my ($right, @targets) = @_;
    my @clients = map { $s->client } 1 .. 12;
    my %wrong;
    while (my @some = splice @targets, 0, scalar @clients) {
        $clients[$_]->request(GET => $some[$_]) for 0 .. $#some;
        for (0 .. $#some) {
            my $res = $clients[$_]->response;
            $wrong{ $some[$_] } = $res->raw if !$right->($res);
        }
    }
    return \%wrong;
}

for my $mode (qw(on off)) {
    for my $name (sort keys %WHOLE) {
        my ($bytes, $status, $body, $kept) = @{ $WHOLE{$name} };
        my $want = "$status|1|1|$body";
        my $k = $s->client(timeout => 20);
        $b->clear;
        is got($k->get("/$mode/${name}1")), $want,
            "RF18 $mode $name: one byte a write";
        is $k->get("/$mode/plain")->body, 'ok', 'then another';
        is same_connection($b), $kept, 'RF18 the connection is reused';
        is_deeply wrong(sub { got(@_) eq $want }, map { "/$mode/$name/$_" }
            1 .. length($bytes) - 1), {},
            "RF18 $mode $name: cut at every offset";
    }
    for my $name (sort keys %BAD) {
        my $right = sub { $_[0]->status == 502 && !$_[0]->field('X-A') };
        is_deeply wrong($right, "/$mode/${name}1", map { "/$mode/$name/$_" }
            1 .. length($BAD{$name}) - 1), {},
            "$mode $name: refused wherever it is cut";
    }
    for my $size (999, 4096, 16_385, 100_000) {
        my $res = $s->get("/$mode/long/$size");
        is scalar(grep { /^X-\d/ } map { $_->[0] } @{ $res->fields }), 240,
            "$mode: a long head in pieces of $size";
        ok $res->body eq $LONG, 'and the body behind it';
    }
}

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
