# Licensed under the Apache License, Version 2.0; see LICENSE.

# A WebSocket client and a server that other people have written
# (python3-websockets) find each other through a tunnel as they do without.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use IO::Select ();
use IPC::Open2 ();
use Time::HiRes qw(time);

use Up::Server ();
use Up::TLS ();

my $PYTHON = '/usr/bin/python3';

plan skip_all => 'needs python3-websockets (tools/install-deps.sh)'
    if system("$PYTHON -c 'import websockets' 2>/dev/null");

my ($PROGRAM) = grep { -e } "$ENV{UP_RUN}/t/clients/websocket.py",
    't/clients/websocket.py';

# --- the server -------------------------------------------------------------

my $pid = IPC::Open2::open2(my $said, my $stdin, $PYTHON, $PROGRAM, 'serve');
chomp(my $backend = <$said> // die "the WebSocket server did not start\n");

# Its next line; nothing within five seconds is an empty one.
sub line {
    my $line = '';
    my $until = time + 5;
    while ($line !~ /\n\z/) {
        my $left = $until - time;
        last if $left <= 0 || !IO::Select->new($said)->can_read($left);
        sysread $said, $line, 1, length $line or last;
    }
    chomp $line;
    return $line;
}

# --- the proxy --------------------------------------------------------------

my ($port, $host) = Up::TLS::usable() ? Up::TLS::host() : ();
my $s = Up::Server->start(A => "127.0.0.1:$backend",
    conf => ($host // '') . <<'END');
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /small/>
    UpstreamPass http://@A@
    UpstreamBufferSize 1k
</Location>
<Location /recipe/>
    UpstreamPass http://@A@
    UpstreamSetHeader Upgrade %{HTTP:Upgrade}
    UpstreamSetHeader Connection upgrade
</Location>
END

sub client {
    my ($url, @steps) = @_;
    open my $pipe, '-|', $PYTHON, $PROGRAM, $url, @steps
        or die "$PYTHON: $!\n";
    my $all = join '', <$pipe>;
    close $pipe;
    return $all;
}

my @ALL = ('text:hello', 'text:', "text:\xc3\xa4\xe2\x82\xac", 'binary:125',
    'binary:126', 'binary:65535', 'binary:65536', 'binary:1048576',
    'squash:1048576', 'pieces:one, ,two, ,three', 'many:200', 'ping',
    'close:1000');
my $ALL = "open second permessage-deflate\nhello\n\n\xc3\xa4\xe2\x82\xac\n"
    . "True\n" x 6 . "one two three\nTrue\npong\nclosed 1000 bye\n";

my %base = (HTTP => 'ws://127.0.0.1:' . $s->port);
$base{TLS} = "wss://127.0.0.1:$port" if $port;

is client("ws://127.0.0.1:$backend/p/echo", @ALL), $ALL,
    'without a proxy: the test itself';
is line(), 'closed 1000 bye', 'closed';

for my $name (sort keys %base) {
    subtest $name => sub {
        for my $where (qw(p small recipe)) {
            is client("$base{$name}/$where/echo", @ALL), $ALL,
                "$where: echo, large ones, fragments, ping, close";
            is line(), 'closed 1000 bye', 'the server gets the same close';
        }
        is client("$base{$name}/p/pieces", 'text:in fragments',
            'squash:1048576', 'binary:1048576', 'close:3001'),
            "open second permessage-deflate\nin fragments\nTrue\nTrue\n"
            . "closed 3001 bye\n", 'fragments from the server';
        is line(), 'closed 3001 bye', 'and a code of an application';
        is client("$base{$name}/p/ping", 'said', 'text:on', 'close:1001'),
            "open second permessage-deflate\npong came\non\n"
            . "closed 1001 bye\n", 'a ping of the server';
        is line(), 'closed 1001 bye', 'closed';
        for my $code (1000, 1008, 1011, 1013, 4999) {
            is client("$base{$name}/p/close-$code", 'wait'),
                "open second permessage-deflate\nclosed $code $code said\n",
                "the server closes with $code";
            is line(), "closed $code $code said", 'and is understood';
        }
    };
}

is_deeply [grep { /:(?:warn|error|crit|alert|emerg)\]/ && !/\[ssl:/ }
    $s->error_log], [],
    'a clean log';
ok $s->stop, 'no crash, nothing left';
close $stdin;
waitpid $pid, 0;
is $?, 0, 'the server ended well';
done_testing;
