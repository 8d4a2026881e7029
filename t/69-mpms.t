# Licensed under the Apache License, Version 2.0; see LICENSE.

# The same module under each MPM: a little of everything that 40 to 68 test
# at length.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Bulk;
use Up::Server ();

my $MB = 1024 * 1024;
my $H = "HTTP/1.1 200 OK\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n\r\n";

my $b = Up::Answers->start({
    plain => "${H}Content-Length: 2\r\n\r\nok",
    chunks => $CH . "5\r\nhello\r\n0\r\n\r\n",
    bad => "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    cut => [$CH . "5\r\nhello\r\n", hang_up()],
    more => "${H}Content-Length: 5\r\n\r\nhelloEXTRA",
    interim => "HTTP/1.1 100 Continue\r\n\r\n${H}Content-Length: 2\r\n\r\nok",
    none => "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n",
    events => ["$CH", map({ ("3\r\none\r\n", sub { $_[0]->note(
        type => 'sent') }, pause(0.3)) } 1 .. 2), "0\r\n\r\n"],
    big => [bulk_head(16 * $MB), send_bulk(16 * $MB)],
    take => "${H}Content-Length: 2\r\n\r\nok",
    refuse => { head => [sub { length $_[0]->read_bytes(10_000) },
        "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 7\r\n\r\n"
        . 'too big', pause(0.05), break_off()] },
    think => sub { $_[0]->note(type => 'left', how => $_[0]->wait_eof(5)); 0 },
});

my $CONF = <<'END';
UpstreamTempPath @TMP@
SendBufferSize 65536
UpstreamPass /on/ http://@A@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
    UpstreamRequestBuffering off
</Location>
<Location /status>
    SetHandler server-status
</Location>
END

# Does this server answer as it should?
sub answers {
    my ($s) = @_;
    for my $where (qw(on off)) {
        my $k = $s->client;
        is $k->get("/$where/$_->[0]")->body, $_->[1], "$where: $_->[0]"
            for ['plain', 'ok'], ['chunks', 'hello'], ['more', 'hello'],
            ['interim', 'ok'], ['none', ''];
        is $k->get("/$where/bad")->status, 502, "$where: a bad head";
        my $body = filler(200_000);
        is $k->ask(PUT => "/$where/take", [], $body)->body, 'ok',
            "$where: an upload";
        ok +(reverse $b->requests)[0]{body} eq $body, "$where: arrives";
        ok $k->idle, "$where: all on one connection";
        ok $s->get("/$where/cut")->cut, "$where: a cut is seen";
        my $res = $s->ask(POST => "/$where/refuse", [], filler(4 * $MB));
        is $res->body, 'too big', "$where: an early answer";
    }
    return;
}

sub waits {
    my ($s) = @_;
    $b->clear;
    my $res = $s->get('/off/events');
    my @sent = $b->events('sent');
    is scalar(grep { $res->pieces->[$_][0] - $sent[$_]{t} < 0.25 } 0, 1), 2,
        'events as they come';
    $b->clear;
    my $k = $s->client(rcvbuf => 65_536);
    $k->request(GET => '/on/big');
    sleep 0.8;
    is scalar(my @all = $b->events('all')), 1,
        'the backend does not wait for the client';
    read_head($k);
    is read_bulk($k, 16 * $MB), 16 * $MB, 'which gets all of it';
    is_deeply [files_below($s->tmp)], [], 'no file is left';
    $b->clear;
    $k = $s->client;
    $k->request(GET => '/on/think');
    $b->wait_count(1);
    $k->close;
    is $b->wait_count(1, 'left', 3), 1, 'a client that leaves is noticed';
    return;
}

for my $mpm (qw(event worker prefork)) {
    SKIP: {
        skip "no $mpm MPM here", 1
            if !-e "$ENV{UP_LIBEXECDIR}/mod_mpm_$mpm.so";
        subtest $mpm => sub {
            my $s = Up::Server->start(A => $b->addr, conf => $CONF,
                mpm => $mpm);
            like $s->get('/status?auto')->body, qr/^ServerMPM: $mpm$/im,
                'it is the one';
            answers($s);
            waits($s);
            ok $s->graceful, 'graceful restart';
            is $s->get('/on/plain')->body, 'ok', 'and it works again';
            ok $s->stop, 'httpd ended well';
        };
    }
}

is_deeply [grep { !/ended inside/ } $b->problems], [],
    'nothing wrong in what the backend got';
done_testing;
