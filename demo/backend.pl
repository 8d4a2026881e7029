#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# A small HTTP server for the demo: backend.pl NAME. It takes a free port of
# the loopback interface, prints it, and ends with the process that started
# it (its standard input ends then).

use strict;
use warnings;

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
        my $length = 0;
        while (defined(my $field = <$client>)) {
            last if $field =~ /^\r?\n\z/;
            $length = $1 if $field =~ /^content-length:\s*(\d+)/i;
        }
        read $client, my $body, $length if $length;
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
