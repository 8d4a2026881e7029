# Licensed under the Apache License, Version 2.0; see LICENSE.

# Upgrade (RFC 9110 7.8): what a backend is offered, and which of its answers
# make a tunnel. What is no tunnel stays HTTP on both sides.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Answers;
use Up::Backend ();
use Up::Server ();
use Up::WS;

# The end of the path says what happens to an upgrade.
my %SAY = (
    refuse => "HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nnope",
    ignore => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    chunks => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        . "2\r\nok\r\n0\r\n\r\n",
    bare => "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    other => "HTTP/1.1 101 Switching\r\nUpgrade: foo\r\n"
        . "Connection: Upgrade\r\n\r\n",
    ws => "HTTP/1.1 101 Switching\r\nUpgrade: WebSocket\r\n"
        . "Connection: Upgrade\r\n\r\n",
    old => "HTTP/1.0 101 Switching\r\nUpgrade: websocket\r\n"
        . "Connection: Upgrade\r\n\r\n",
    interim => "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n"
        . "Link: </a>\r\n\r\nHTTP/1.1 101 Switching\r\n"
        . "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    fields => "HTTP/1.1 101 Now\r\nUpgrade: websocket\r\n"
        . "Connection: upgrade, X-Hop\r\nX-Hop: 1\r\nX-Seen: yes\r\n"
        . "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nServer: b\r\n"
        . "Content-Length: 5\r\nSec-WebSocket-Protocol: chat\r\n\r\n",
);
my %TUNNEL = map { $_ => 1 } qw(bare other ws old interim fields);

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    while (my $req = $c->read_request) {
        my ($name) = $req->{target} =~ m{/(\w+)\z};
        $c->send($SAY{$name} // switching($req)) or return;
        if (!$SAY{$name} || $TUNNEL{$name}) {
            echo($c);
            return;
        }
    }
});

my $s = Up::Server->start(A => $b->addr, conf => <<'END');
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamUpgrade off
</Location>
<Location /any/>
    UpstreamPass http://@A@
    UpstreamUpgrade any
</Location>
<Location /list/>
    UpstreamPass http://@A@
    UpstreamUpgrade h2c foo/2 websocket
</Location>
<Location /recipe/>
    UpstreamPass http://@A@
    UpstreamHTTPVersion 1.1
    UpstreamSetHeader Upgrade %{HTTP:Upgrade}
    UpstreamSetHeader Connection upgrade
</Location>
<Location /recipeoff/>
    UpstreamPass http://@A@
    UpstreamUpgrade off
    UpstreamSetHeader Upgrade %{HTTP:Upgrade}
    UpstreamSetHeader Connection upgrade
</Location>
<Location /constant/>
    UpstreamPass http://@A@
    UpstreamSetHeader Upgrade websocket
    UpstreamSetHeader Connection upgrade
</Location>
<Location /kept/>
    UpstreamPass http://@A@
    UpstreamSetHeader Connection ""
</Location>
<Location /close/>
    UpstreamPass http://@A@
    UpstreamSetHeader Connection close
</Location>
<Location /te/>
    UpstreamPass http://@A@
    UpstreamPassTrailers on
</Location>
<Location /old/>
    UpstreamPass http://@A@
    UpstreamHTTPVersion 1.0
</Location>
<Location /nohead/>
    UpstreamPass http://@A@
    UpstreamPassRequestHeaders off
</Location>
END
$s->write_file('secret', 'a local file');

# What of the fields that matter arrived with the last request.
sub arrived {
    my ($req) = reverse $b->requests;
    return join '; ', map { "$_->[0]: $_->[1]" } grep {
        $_->[0] =~ /^(?:Upgrade|Connection|HTTP2-Settings|TE)$/i }
        @{ $req->{headers} };
}

# The status of an upgrade, and whether a tunnel is behind it.
sub try_it {
    my ($target, $fields, %opt) = @_;
    my $k = $s->client;
    my $res = $k->get($target, $fields // upgrade_fields(), %opt);
    my $status = $res->status // 'nothing';
    return $status if $status != 101;
    $k->send('ping');
    return $status . ($k->read_bytes(4, 2) eq 'ping' ? ' tunnel' : ' dead');
}

my $ASKED = 'Connection: Upgrade; Upgrade: websocket';

subtest 'by default WebSocket alone (WS01)' => sub {
    my $k = $s->client;
    my $res = upgrade($k, '/p/yes');
    is $res->status, 101, 'switched';
    is $res->header('Upgrade'), 'websocket', 'Upgrade';
    is $res->header('Connection'), 'Upgrade', 'Connection';
    is $res->header('Sec-WebSocket-Accept'), $ACCEPT, 'the answer arrives';
    is arrived(), $ASKED, 'so did the question';
    my ($req) = reverse $b->requests;
    is join(' ', Up::Backend::Conn::values_of($req, 'Sec-WebSocket-Key')),
        $KEY, 'with its key';
    for my $text ('one', '', 'three' x 100) {
        $k->send(frame(1, $text, 'mask'));
        is +(read_frame($k, 2))[1], $text, 'a frame and its echo';
    }
    $k->shutdown_write;
    is $k->wait_close(2), 'eof', 'the end is passed on';
    for (['a list of options', ['Upgrade' => 'websocket',
            'Connection' => 'keep-alive, upgrade']],
        ['any case', [upgrade => 'WebSocket', connection => 'UPGRADE']],
        ['one of several', ['Upgrade' => 'foo/1, websocket, h2c',
            'Connection' => 'Upgrade']],
        ['in several fields', ['Upgrade' => 'foo', 'Upgrade' => 'websocket',
            'Connection' => 'close', 'Connection' => 'Upgrade']]) {
        my ($name, $fields) = @$_;
        is try_it('/p/yes', $fields), '101 tunnel', $name;
        is lc arrived(), lc $ASKED, "$name: what is offered";
    }
};

subtest 'what does not travel (HH14)' => sub {
    my @h2c = ('Upgrade' => 'h2c', 'Connection' => 'Upgrade, HTTP2-Settings',
        'HTTP2-Settings' => 'AAMAAABkAAQCAAAAAAIAAAAA');
    my %names = ('Upgrade: h2c' => \@h2c,
        'another protocol' => ['Upgrade' => 'foo', 'Connection' => 'Upgrade'],
        'no token' => ['Upgrade' => 'websocket(1)',
            'Connection' => 'Upgrade'],
        'no Connection' => ['Upgrade' => 'websocket'],
        'Connection without it' => ['Upgrade' => 'websocket',
            'Connection' => 'keep-alive'],
        'no Upgrade' => ['Connection' => 'Upgrade']);
    for my $name (sort keys %names) {
        is try_it('/p/ignore', $names{$name}), 200, $name;
        is arrived(), '', "$name: nothing of it arrives";
    }
    is try_it('/p/ignore', upgrade_fields(), version => '1.0'), 200,
        'HTTP/1.0';
    is arrived(), '', 'HTTP/1.0: nothing of it arrives';
    is try_it('/off/ignore'), 200, 'UpstreamUpgrade off';
    is arrived(), '', 'nothing of it arrives';
    is try_it('/old/ignore'), 200, 'UpstreamHTTPVersion 1.0';
    is arrived(), '', 'nothing of it arrives';
    is try_it('/nohead/ignore'), 200, 'UpstreamPassRequestHeaders off';
    is arrived(), '', 'nothing of it arrives';
    is try_it('/any/ignore', \@h2c), 200, 'UpstreamUpgrade any, h2c';
    is arrived(), '', 'nothing of it arrives';
    is try_it('/list/yes', \@h2c), '101 tunnel', 'h2c where it is listed';
    is arrived(), 'Connection: Upgrade, HTTP2-Settings; '
        . 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA; Upgrade: h2c',
        'arrives whole';
};

subtest 'UpstreamUpgrade' => sub {
    my $field = sub { ['Upgrade' => $_[0], 'Connection' => 'Upgrade'] };
    is try_it('/any/yes', $field->('foo')), '101 tunnel', 'any: foo';
    is try_it('/list/yes', $field->('foo/2')), '101 tunnel', 'list: foo/2';
    is try_it('/list/ignore', $field->('foo/1')), 200, 'another version';
    is arrived(), '', 'is not offered';
    is try_it('/list/other', $field->('foo')), '101 tunnel',
        'no version said';
    is try_it('/list/other', $field->('websocket')), 502,
        'a protocol that was not offered';
};

subtest 'the recipe of nginx' => sub {
    is try_it('/recipe/yes'), '101 tunnel', 'an upgrade';
    is arrived(), 'Upgrade: websocket; Connection: upgrade', 'as written';
    is try_it('/recipe/ignore', []), 200, 'no upgrade';
    is arrived(), 'Connection: upgrade', 'without Upgrade';
    is try_it('/recipe/yes', ['Upgrade' => 'h2c',
        'Connection' => 'Upgrade']), 502, 'h2c is not allowed by it';
    is try_it('/recipeoff/yes'), 502, 'UpstreamUpgrade off';
    is try_it('/constant/ws'), '101 tunnel', 'a constant';
    is try_it('/constant/ws', []), 502, 'that the client did not ask for';
    is try_it('/kept/yes'), '101 tunnel', 'UpstreamSetHeader Connection ""';
    is arrived(), $ASKED, 'does not stand in the way';
    is try_it('/close/ignore'), 200, 'Connection close does';
    is arrived(), 'Connection: close', 'nothing is offered';
    is try_it('/te/yes'), '101 tunnel', 'UpstreamPassTrailers on';
    is arrived(), $ASKED, 'one Connection field';
};

subtest 'answers that are none (C31, WS03, WS07, J10)' => sub {
    for my $name (qw(refuse ignore chunks)) {
        $b->clear;
        my $k = $s->client;
        my $res = upgrade($k, "/p/$name");
        is $res->status, $name eq 'refuse' ? 403 : 200, $name;
        is $res->body, $name eq 'refuse' ? 'nope' : 'ok', 'as plain HTTP';
        is $k->get('/secret')->body, 'a local file',
            'the next request is our own server\'s';
        is $k->get("/p/$name")->status, $res->status, 'and the next';
        is scalar(my @requests = $b->requests), 2, 'the backend had two';
        is $requests[1]{target}, "/p/$name", 'whole';
        ok same_connection($b), 'on one connection' if $ENV{UP_MPM} ne
            'prefork';
    }
    my $k = $s->client;
    $b->clear;
    $k->send("GET /p/refuse HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        . "Connection: Upgrade\r\n\r\nGET /secret HTTP/1.1\r\n"
        . "Host: x\r\n\r\n");
    is $k->response->status, 403, 'refused, with a request behind it';
    is $k->response->body, 'a local file', 'which is answered here';
    is scalar(my @requests = $b->requests), 1, 'the backend saw one';
};

subtest '101 (J9, J11, J12, J13)' => sub {
    is try_it('/p/bare'), '101 tunnel', 'without Upgrade';
    is try_it('/p/interim'), '101 tunnel', 'after 100 and 103';
    is try_it('/p/old'), 502, 'in HTTP/1.0';
    is try_it('/p/other'), 502, 'another protocol';
    is try_it('/p/bare', []), 502, 'unasked';
    is try_it('/off/bare'), 502, 'not allowed';
    is $s->ask(HEAD => '/p/bare')->status, 502, 'HEAD, unasked';
    my ($line) = $s->error_log(qr/UP0427.*101 for a protocol/);
    like $line, qr/protocol that it was not offered \(UpstreamUpgrade\)/,
        'the log says why';
    my $k = $s->client;
    my $res = upgrade($k, '/p/fields');
    is $res->line, 'HTTP/1.1 101 Now', 'status line';
    is join(', ', map { "$_->[0]: $_->[1]" } @{ $res->fields }),
        'Upgrade: websocket, Connection: Upgrade, X-Seen: yes, '
        . 'Set-Cookie: a=1, Set-Cookie: b=2, Sec-WebSocket-Protocol: chat',
        'fields that go from end to end';
};

subtest 'access log' => sub {
    $s->mark;
    my $k = $s->client;
    upgrade($k, '/p/logged');
    $k->send('12345');
    $k->read_bytes(5);
    $k->close;
    my $entry = $s->logged('/p/logged');
    is $entry->{status}, 101, '%>s';
    is $entry->{bytes}, 5, '%B';
    is $entry->{UPSTREAM_STATUS}, 101, 'UPSTREAM_STATUS';
    like $entry->{UPSTREAM_RESPONSE_TIME}, qr/^\d+\.\d{3}$/, 'a time';
    ok $s->error_log(qr/UP0740.* 5 bytes from the client, 5 to it/),
        'and the error log';
};

is_deeply [grep { !/Upgrade without Connection/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
