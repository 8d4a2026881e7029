# Licensed under the Apache License, Version 2.0; see LICENSE.

# Clients that speak TLS with httpd: nothing else changes.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Server ();
use Up::TLS ();

plan skip_all => 'needs mod_ssl, openssl and IO::Socket::SSL'
    if !Up::TLS::usable();

my $MB = 1024 * 1024;
my $H = "HTTP/1.1 200 OK\r\n";
my $STEP = 0.3;

sub note_sent { return sub { $_[0]->note(type => 'sent') } }

my $b = Up::Answers->start({
    plain => "${H}Content-Length: 2\r\n\r\nok",
    take => ["${H}Content-Length: 2\r\n\r\nok"],
    big => [bulk_head(16 * $MB), send_bulk(16 * $MB)],
    chunks => ["${H}Transfer-Encoding: chunked\r\n\r\n", (map {
        sprintf "%x\r\n%s\r\n", 50_000, filler(50_000, $_ * 50_000) }
        0 .. 59), "0\r\n\r\n"],
    events => ["${H}Content-Length: 12\r\n\r\n", note_sent(),
        map { (pause($STEP), "$_\n", note_sent()) } qw(one two end)],
    cut => ["${H}Content-Length: 500\r\n\r\n7 bytes", pause(0.1), hang_up()],
    cutchunk => ["${H}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        pause(0.1), hang_up()],
    think => sub { $_[0]->note(type => 'left', how => $_[0]->wait_eof(5)); 0 },
    late => [pause(1), "${H}Content-Length: 2\r\n\r\nok"],
    refuse => { head => ["HTTP/1.1 413 No\r\nConnection: close\r\n"
        . "Content-Length: 7\r\n\r\ntoo big", pause(0.05), break_off()] },
    drip => sub {
        my ($c) = @_;
        $c->send("${H}Content-Length: 100000\r\n\r\n");
        $c->send('x') && sleep 0.02 or last for 1 .. 250;
        $c->note(type => 'left');
        return 0;
    },
});

my ($port, $host) = Up::TLS::host();
my $s = Up::Server->start(A => $b->addr, conf => $host . <<'END');
<Upstream fresh>
    UpstreamServer @A@
    UpstreamKeepalive 0
</Upstream>
UpstreamTempPath @TMP@
SendBufferSize 65536
<Location /slow/>
    UpstreamPass http://fresh
    UpstreamBuffering off
    UpstreamSocketRcvbuf 65536
</Location>
<Location /on/>
    UpstreamPass http://@A@
    UpstreamSetHeader X-Scheme %{REQUEST_SCHEME}
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
    UpstreamRequestBuffering off
</Location>
END

sub client { return $s->client(port => $port, tls => 1, timeout => 20, @_) }

for my $where (qw(on off)) {
    subtest "both bufferings $where" => sub {
        my $k = client();
        is $k->get("/$where/plain")->body, 'ok', 'a response';
        my $res = $k->get("/$where/chunks");
        ok $res->body eq filler(3_000_000), '3 MB in chunks';
        $k->request(GET => "/$where/big");
        read_head($k);
        is read_bulk($k, 16 * $MB), 16 * $MB, '16 MB';
        is $k->ask(PUT => "/$where/take", [], filler(4 * $MB))->body, 'ok',
            'an upload';
        my ($req) = reverse $b->requests;
        ok $req->{body} eq filler(4 * $MB), 'arrives';
        $res = $k->ask(PUT => "/$where/take",
            ['Transfer-Encoding' => 'chunked'],
            "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n");
        is +(reverse $b->requests)[0]{body}, 'hello!', 'one in chunks, too';
        ok $k->idle, 'all on one connection';
        $k = client();
        $k->send("PUT /$where/take HTTP/1.1\r\nHost: x\r\n"
            . "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
        like $k->read_bytes(25, 2), qr/100 Continue/, '100 Continue';
        $k->send('hello');
        is $k->response->body, 'ok', 'then the answer';
        for (1 .. 2) {
            $res = client()->ask(POST => "/$where/refuse", [],
                filler(4 * $MB));
            is $res->status, 413, 'refused during the upload';
            is $res->body, 'too big', 'as the backend says';
        }
        for my $name (qw(cut cutchunk)) {
            $res = client()->get("/$where/$name");
            like $res->body, qr/^(?:7 bytes|hello)\z/, "$name: what came";
            ok $res->cut, 'and a cut';
        }
    };
}

is +(grep { $_->[0] eq 'X-Scheme' } @{ ($b->requests)[0]{headers} })[0][1],
    'https', 'the backend can be told of TLS';

subtest 'as it comes' => sub {
    $b->clear;
    my $res = client()->get('/off/events');
    my @sent = map { $_->{t} } $b->events('sent');
    my @came = ($res->t_head, map { $_->[0] } @{ $res->pieces });
    is $res->body, "one\ntwo\nend\n", 'the lines';
    is scalar @came, 4, 'one by one';
    is scalar(grep { $came[$_] - $sent[$_] < 0.25 } 0 .. $#came), 4,
        'each at once';
    my $began = time;
    is client()->get('/off/late')->body, 'ok', 'a backend that thinks';
    ok time - $began > 0.9, 'takes its time';
};

subtest 'a slow client' => sub {
    $b->clear;
    my $k = client(rcvbuf => 65_536);
    $k->request(GET => '/on/big');
    sleep 0.8;
    is scalar(my @all = $b->events('all')), 1, 'the backend does not wait';
    is_deeply [files_below($s->tmp)], [], 'nothing with a name on the disk';
    read_head($k);
    is read_bulk($k, 16 * $MB), 16 * $MB, 'all of it arrives';
    ok $k->idle, 'the connection is kept';
    $b->clear;
    $k = client(rcvbuf => 65_536);
    $k->request(GET => '/slow/big');
    sleep 0.8;
    ok !$b->events('all'), 'unbuffered, the backend waits';
    read_head($k);
    is read_bulk($k, 16 * $MB), 16 * $MB, 'all of it arrives';
};

subtest 'a client that leaves' => sub {
    my %leave = (close => sub { $_[0]->close },
        reset => sub { $_[0]->reset },
        'no close_notify' => sub {
            $_[0]->socket->close(SSL_no_shutdown => 1) });
    for my $how (sort keys %leave) {
        for my $name (qw(think drip)) {
            $b->clear;
            my $k = client();
            $k->request(GET => "/off/$name");
            $b->wait_count(1);
            sleep 0.1;
            my $left = time;
            $leave{$how}->($k);
            is $b->wait_count(1, 'left', 3), 1, "$how, $name: backend told";
            my ($event) = $b->events('left');
            ok $event && $event->{t} - $left < 0.5, 'within 0.5 s';
        }
    }
};

is_deeply [grep { !/ended inside/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
