#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# A small HTTP server for the demo: backend.pl NAME. It takes a free port of
# the loopback interface, prints it, and ends with the process that started
# it (its standard input ends then). /stream is a slow one, /events says the
# time each second, /echo is a WebSocket (RFC 6455) that gives back what comes.

use strict;
use warnings;

use Digest::SHA ();
use IO::Select ();
use IO::Socket::INET ();

my $name = shift // 'backend';
$| = 1;
$SIG{CHLD} = 'IGNORE';
$SIG{PIPE} = 'IGNORE';

my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
    LocalPort => 0, Listen => 128) or die "listen: $!\n";
print $listener->sockport, "\n";

my $select = IO::Select->new($listener, \*STDIN);
while (1) {
    for my $ready ($select->can_read) {
        exit 0 if $ready == \*STDIN;
        my $client = $listener->accept or next;
        my $pid = fork // next;
        next if $pid;
        serve($client);
        exit 0;
    }
}

# Requests of one connection, which is kept open.
sub serve {
    my ($client) = @_;
    $client->autoflush(1);
    while (defined(my $line = <$client>)) {
        my ($method, $target) = split ' ', $line;
        my ($length, $key) = (0, undef);
        while (defined(my $field = <$client>)) {
            last if $field =~ /^\r?\n\z/;
            $length = $1 if $field =~ /^content-length:\s*(\d+)/i;
            $key = $1 if $field =~ /^sec-websocket-key:\s*(\S+)/i;
        }
        read $client, my $body, $length if $length;
        return websocket($client, $key) if defined $key;
        return events($client) if ($target // '') =~ m{/events};
        answer($client, $method, $target // '/') or last;
    }
    return;
}

# The stream says one, two and end, a second apart.
sub answer {
    my ($client, $method, $target) = @_;
    my $head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    if ($target !~ /stream/) {
        my $text = "hello from $name, you asked for $target\n";
        return print $client $head, 'Content-Length: ', length $text,
            "\r\n\r\n", $method eq 'HEAD' ? '' : $text;
    }
    print $client $head, "Content-Length: 12\r\n\r\n";
    return 1 if $method eq 'HEAD';
    for my $word (qw(one two end)) {
        print $client "$word\n" or return 0;
        sleep 1 if $word ne 'end';
    }
    return 1;
}

# Server-sent events until somebody closes.
sub events {
    my ($client) = @_;
    print $client "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n",
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n";
    for (my $n = 1; ; $n++) {
        my $time = localtime;
        print $client "id: $n\ndata: $n: $time at $name\n\n" or return;
        sleep 1;
    }
    return;
}

sub websocket {
    my ($client, $key) = @_;
    my $accept = Digest::SHA::sha1_base64(
        $key . '258EAFA5-E914-47DA-95CA-C5AB0DC85B11') . '=';
    print $client "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket",
        "\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: $accept\r\n\r\n";
    while (my ($first, $payload) = read_frame($client)) {
        my $opcode = $first & 0x0f;
        # A ping's answer is a pong, everything else is its own answer.
        $first += 1 if $opcode == 9;
        my $n = length $payload;
        print $client chr $first, $n < 126 ? chr $n : $n < 65536
            ? pack 'Cn', 126, $n : pack('CQ>', 127, $n), $payload or return;
        return if $opcode == 8;
    }
    return;
}

# The first byte, and what is in the frame; nothing at the end.
sub read_frame {
    my ($client) = @_;
    read($client, my $head, 2) == 2 or return;
    my ($first, $length) = unpack 'CC', $head;
    $length &= 0x7f;
    if ($length > 125) {
        my $size = $length == 126 ? 2 : 8;
        read($client, my $more, $size) == $size or return;
        $length = unpack $size == 2 ? 'n' : 'Q>', $more;
    }
    read($client, my $mask, 4) == 4 or return;
    my $payload = '';
    return if $length && read($client, $payload, $length) != $length;
    return ($first, $payload ^ substr $mask x ($length / 4 + 1), 0, $length);
}
