# Licensed under the Apache License, Version 2.0; see LICENSE.

# Which backend connections are kept, for how long, and for whom.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Backend::Conn ();
use Up::Server ();

# The body of every answer is the number of its connection, in three digits.
my %ANSWERS = (
    surplus => sub { plain($_[0], "Content-Length: 3\r\n", "$_[1]EXTRA") },
    none => sub { plain($_[0], "Content-Length: 0\r\n", 'EXTRA') },
    chunk => sub { plain($_[0], "Transfer-Encoding: chunked\r\n",
        "3\r\n$_[1]\r\n0\r\n\r\nJUNK") },
    later => sub {
        plain($_[0], "Content-Length: 3\r\n", $_[1]);
        sleep 0.05;
        $_[0]->send("HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\n\r\n");
    },
    ten => sub { $_[0]->send("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n"
        . "Connection: keep-alive\r\n\r\n$_[1]") },
    close => sub { plain($_[0], "Content-Length: 3\r\n"
        . "Connection: close\r\n", $_[1]) },
    list => sub { plain($_[0], "Content-Length: 3\r\n"
        . "Connection: x-foo\r\nConnection: bar, Close\r\n", $_[1]) },
    rest => sub { plain($_[0], '', $_[1]); $_[0]->shutdown_write },
    chunks => sub { plain($_[0], "Transfer-Encoding: chunked\r\n",
        "3;x=y\r\n$_[1]\r\n0\r\nX-T: 1\r\n\r\n") },
    empty => sub { plain($_[0], "Content-Length: 0\r\n", '') },
    204 => sub { $_[0]->send("HTTP/1.1 204 No\r\n\r\n") },
    304 => sub { $_[0]->send("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n") },
    fin => sub {
        plain($_[0], "Content-Length: 3\r\n", $_[1]);
        sleep 0.05;
        $_[0]->shutdown_write;
    },
);

sub plain { return $_[0]->send("HTTP/1.1 200 OK\r\n$_[1]\r\n$_[2]") }

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    $c->timeout(30);
    my $id = sprintf '%03d', $c->n;
    while (my $req = $c->read_head) {
        my ($do) = Up::Backend::Conn::values_of($req, 'X-Do');
        my ($word, $value) = split /:/, $do // 'answer';
        if ($word eq 'early') {
            $c->record_request($req);
            $c->respond($req, 200, [], $id);
            $c->pause(0.3); # reads nothing meanwhile
            $c->wait_eof(2);
            return;
        }
        $c->record_request($c->read_body($req));
        if ($ANSWERS{$word}) {
            $ANSWERS{$word}->($c, $id);
            next;
        }
        sleep $value if $word eq 'late';
        $c->respond($req, 200, ['X-Peer' => $c->socket->peerhost,
            $word eq 'hint' ? ('Keep-Alive' => "timeout=$value") : ()], $id)
            or return;
    }
}, rcvbuf => 8192);
my @unix = map {
    my $name = $_;
    Up::Backend->http(sub { [200, [], $name] }, unix => 1);
} qw(A B);

my %GROUPS = (
    none => 'UpstreamKeepalive 0',
    two => 'UpstreamKeepalive 2',
    requests => 'UpstreamKeepaliveRequests 2',
    time => 'UpstreamKeepaliveTime 400ms',
    timeout => 'UpstreamKeepaliveTimeout 400ms',
    shared => 'UpstreamKeepalive 8',
    local => 'UpstreamKeepalive 8 local',
    bind => '', default => '', hint => '', upload => '',
);
my $conf = join '', map { <<"END" } sort keys %GROUPS;
<Upstream $_>
    UpstreamServer \@B\@
    $GROUPS{$_}
</Upstream>
UpstreamPass /$_/ http://$_/
UpstreamPass /$_-too/ http://$_/
END
my $s = Up::Server->start(B => $b->addr, U1 => $unix[0]->addr,
    U2 => $unix[1]->addr, P => Up::Server::free_port(), conf => <<"END");
$conf
UpstreamPass /single/ http://\@B\@/
UpstreamPass /single-too/ http://\@B\@/
UpstreamPass /a/ http://\@U1\@:/
UpstreamPass /b/ http://\@U2\@:/
<Location /bind/>
    UpstreamBind %{HTTP:X-From}
</Location>
<Location /bind2/>
    UpstreamPass http://bind/
    UpstreamBind 127.0.0.2:\@P\@
</Location>
<Location /unbuffered/>
    UpstreamPass http://default/
    UpstreamBuffering off
</Location>
<Location /stream/>
    UpstreamPass http://upload/
    UpstreamRequestBuffering off
</Location>
END
my $prefork = $s->{mpm} eq 'prefork';

# Connections as letters, in order of their appearance: 'aab'.
sub letters {
    my (%letter, $next);
    $next = 'a';
    return join '', map { $letter{$_} //= $next++ } @_;
}

# What serves the same request n times over one client connection, so in one
# child whatever the MPM.
my $k = $s->client;

sub serves {
    my ($target, $n, @do) = @_;
    return letters(map { $k->get($target, [map { ('X-Do' => $_) } @do])->body }
        1 .. $n);
}

my $serial = 0;

# What serves a request before and one after a request that does this.
sub around {
    my ($target, $do, $method) = @_;
    my @targets = map { "$target?" . ++$serial } 1 .. 3;
    my $before = $k->get($targets[0])->body;
    my $res = $k->ask($method // 'GET', $targets[1], ['X-Do' => $do]);
    ok $res->complete, "$do: whole";
    sleep 0.15 if $do =~ /^(?:later|fin)$/;
    my $got = letters($before, $k->get($targets[2])->body);
    is join(' ', map { $s->logged($_)->{UPSTREAM_STATUS} } @targets),
        "200 $res->{status} 200", 'no try failed';
    return $got;
}

subtest 'RT10 RT24 one connection' => sub {
    is serves('/default/x', 5), 'aaaaa', 'RT10 one client connection';
    is serves('/single/x', 3), 'aaa', 'RT24 an address without a group';
    is letters($k->get('/single/x')->body, $k->get('/single-too/x')->body),
        'aa', 'the same for another location';
    SKIP: {
        skip 'a pool per process', 2 if $prefork;
        is letters(map { $s->get('/default/x')->body } 1 .. 5), 'aaaaa',
            'RT10 five client connections';
        is letters(map { $s->get('/single/x')->body } 1 .. 3), 'aaa',
            'RT24 three client connections';
    }
};

subtest 'RT11 UpstreamKeepalive 0' => sub {
    is serves('/none/x', 4), 'abcd', 'a connection a request';
};

subtest 'RT12 UpstreamKeepaliveRequests' => sub {
    is serves('/requests/x', 5), 'aabbc', 'two requests each';
};

subtest 'UpstreamKeepaliveTime' => sub {
    my @got = $k->get('/time/x')->body;
    sleep 0.5;
    push @got, map { $k->get('/time/x')->body } 1 .. 3;
    is letters(@got), 'aabb', 'used once more when it is too old, then not';
};

subtest 'UpstreamKeepaliveTimeout' => sub {
    $b->clear;
    my @got = $k->get('/timeout/x')->body;
    sleep 0.2;
    push @got, $k->get('/timeout/x')->body;
    sleep 0.5;
    push @got, $k->get('/timeout/x')->body;
    is letters(@got), 'aab', 'not after that time';
    ok $b->wait_count(2, 'eof', 2.5), 'and closed by itself';
};

subtest 'Keep-Alive: timeout=N of the backend' => sub {
    is serves('/hint/x', 2, 'hint:1'), 'ab', '1: not kept at all';
    is serves('/hint/x', 2, 'hint:100'), 'aa', '100: kept';
    my @got = $k->get('/hint/x', ['X-Do' => 'hint:2'])->body;
    sleep 0.5;
    push @got, $k->get('/hint/x', ['X-Do' => 'hint:2'])->body;
    sleep 1.1;
    push @got, $k->get('/hint/x')->body;
    is letters(@got), 'aab', '2: kept for one second';
    sleep 1.1;
    is letters($got[2], $k->get('/hint/x')->body), 'aa',
        'an answer without one: no limit';
};

subtest 'UpstreamKeepalive 2: which ones' => sub {
    Test::More::plan(skip_all => 'a pool per process') if $prefork;
    $b->clear;
    my @clients = map { $s->client } 1 .. 3;
    $clients[$_]->request(GET => '/two/x', ['X-Do' => 'late:0.' . ($_ + 2)])
        for 0 .. 2;
    my @first = map { $_->response->body } @clients;
    is letters(@first), 'abc', 'three at once';
    ok $b->wait_count(1, 'eof', 1), 'one too many is closed';
    my ($closed) = $b->events('eof');
    is sprintf('%03d', $closed->{conn}), $first[0],
        'the one that was used longest ago';
    is letters(@first, map { $k->get('/two/x')->body } 1, 2), 'abccc',
        'the one used last is taken first';
    $clients[$_]->request(GET => '/two/x', ['X-Do' => 'late:0.2'])
        for 0, 1;
    is join(' ', sort map { $clients[$_]->response->body } 0, 1),
        join(' ', sort @first[1, 2]), 'two at once: both are kept';
};

subtest 'UpstreamKeepalive local' => sub {
    is letters(map { $k->get("/$_/x")->body } qw(shared shared-too shared)),
        'aaa', 'without: for all locations';
    is letters(map { $k->get("/$_/x")->body } qw(local local-too local
        local-too)), 'abab', 'local: each location has its own';
};

subtest 'not kept' => sub {
    for my $do (qw(surplus none chunk later ten close list rest fin)) {
        for my $location ('default', 'unbuffered') {
            next if $location ne 'default' && $do !~ /surplus|none|chunk/;
            is around("/$location/x", $do), 'ab', "$location, $do";
        }
    }
    $s->mark;
    is around('/default/x', 'surplus', 'HEAD'), 'ab', 'a body for HEAD';
    is scalar(my @said = $s->error_log(qr/UP0425: .* more data/)), 1,
        'which is said in the log';
};

subtest 'kept' => sub {
    for my $do (qw(chunks empty 204 304)) {
        is around('/default/x', $do), 'aa', "after $do";
    }
    is around('/default/x', 'chunks-of-none', 'HEAD'), 'aa', 'HEAD';
    is around('/unbuffered/x', 'chunks'), 'aa', 'unbuffered';
};

subtest 'UP08 an upload that was not taken' => sub {
    my $body = 'u' x 8_000_000;
    for my $location ('upload', 'stream') {
        my $before = $k->get("/$location/x")->body;
        my $other = $s->client;
        $b->clear;
        my $res = $other->ask(PUT => "/$location/x", ['X-Do' => 'early'],
            $body);
        is $res->body, $before, "$location: answered early" if !$prefork;
        is $res->status, 200, 'answered';
        isnt $k->get("/$location/after")->body, $res->body,
            'and is not used again';
        is $s->logged("/$location/after")->{UPSTREAM_STATUS}, 200,
            'nor tried';
        sleep 0.4;
        my ($end) = grep { $_->{type} =~ /^(?:eof|reset)\z/ } $b->events;
        ok $end, 'it has ended';
        is_deeply [$b->problems], [], 'nothing wrong at the backend';
    }
};

subtest 'UpstreamBind' => sub {
    my (@got, @peers);
    for my $from (qw(127.0.0.2 127.0.0.3), '', qw(127.0.0.2 127.0.0.3), '') {
        my $res = $k->get('/bind/x', ['X-From' => $from]);
        push @got, $res->body;
        push @peers, $res->header('X-Peer');
    }
    is letters(@got), 'abcabc', 'a connection for each local address';
    my $once = '127.0.0.2 127.0.0.3 127.0.0.1';
    is "@peers", "$once $once", 'from which it comes';
    is $k->get('/bind2/x')->header('X-Peer'), '127.0.0.2', 'with a port';
    $s->mark;
    is $k->get('/bind/x', ['X-From' => 'nonsense'])->header('X-Peer'),
        '127.0.0.1', 'no address: none';
    ok scalar $s->error_log(qr/UP0200: .*"nonsense"/), 'said in the log';
    $s->mark;
    is $k->get('/bind/no', ['X-From' => '192.0.2.1'])->status, 500,
        'not an address of ours: 500';
    my $line = $s->logged('/bind/no');
    is $line->{UPSTREAM_ADDR}, '', 'no server was reached';
    is $line->{UPSTREAM_STATUS}, 500, 'one entry';
    ok scalar $s->error_log(qr/:crit\].*UP0422: .*UpstreamBind/),
        'said in the log';
    $k = $s->client;
};

subtest 'C39 RB18 a socket of its own' => sub {
    is join('', map { $s->get("/$_/")->body } qw(a b a b)), 'ABAB',
        'two unix sockets';
    is join('', map { $k->get("/$_/")->body } qw(a b a b)), 'ABAB',
        'on one connection';
    cmp_ok scalar($unix[0]->connections), '<=', $prefork ? 3 : 1,
        'one connection each';
};

subtest 'restart and stop' => sub {
    $b->clear;
    my $idle = $k->get('/default/x')->body;
    $k->close; # a child of MPM worker waits for its clients
    $s->graceful;
    ok $b->wait_count(1, 'eof', 2), 'graceful: idle ones are closed at once';
    isnt $s->get('/default/x')->body, $idle, 'and a new one is used';
    $b->clear;
    ok $s->stop, 'no crash, nothing left';
    ok $b->wait_count(1, 'eof', 2), 'all are closed';
};

done_testing;
