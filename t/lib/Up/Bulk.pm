# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Bulk;

# Bodies that are too big to be kept: sent, received and checked as a stream
# of bytes in which each is known by its place; and what a transfer costs the
# server.

use strict;
use warnings;

use Exporter qw(import);
use Time::HiRes qw(time);

use Up::Answers qw(filler);

our @EXPORT = qw(send_bulk bulk_head sent_by read_bulk read_head
    put_bulk anonymous_memory files_below deleted_files child_of);

my $PERIOD = 99_991;
my $BLOCK = 65_536;
my $stream = filler($PERIOD + 8 * 1024 * 1024);

sub piece {
    my ($at, $n) = @_;
    return substr $stream, $at % $PERIOD, $n;
}

# --- the backend's side -----------------------------------------------------

sub bulk_head {
    my ($n, @fields) = @_;
    return "HTTP/1.1 200 OK\r\nContent-Length: $n\r\n"
        . join('', map { "$_\r\n" } @fields) . "\r\n";
}

# A step for Up::Answers: n bytes as fast as they are taken. Notes how far it
# has come and at the end "all".
sub send_bulk {
    my ($n) = @_;
    return sub {
        my ($c) = @_;
        my $step = $n > 64_000_000 ? 4 * 1024 * 1024 : $BLOCK;
        for (my $at = 0; $at < $n; $at += $step) {
            my $size = $n - $at < $step ? $n - $at : $step;
            $c->send(piece($at, $size)) or return 0;
            $c->note(type => 'progress', sent => $at + $size);
        }
        $c->note(type => 'all');
        return 1;
    };
}

# Bytes that the backend had got rid of at a moment (default: now).
sub sent_by {
    my ($backend, $when) = @_;
    my $sent = 0;
    for my $event ($backend->events('progress')) {
        last if defined $when && $event->{t} > $when;
        $sent = $event->{sent};
    }
    return $sent;
}

# --- the client's side ------------------------------------------------------

# The response head, as text.
sub read_head {
    my ($k) = @_;
    my $head = '';
    while ($head !~ /\r\n\r\n\z/) {
        $head .= $k->read_some(1) // last;
    }
    return $head;
}

# Reads n bytes of the stream, its beginning or from `at` on. Returns how many
# came as they should. `watch` is called now and then.
sub read_bulk {
    my ($k, $n, $watch, $at) = @_;
    my ($got, $seen) = (0, time);
    while ($got < $n) {
        my $left = $n - $got;
        my $part = $k->read_some($left < 1_000_000 ? $left : 1_000_000)
            // last;
        last if $part ne piece(($at // 0) + $got, length $part);
        $got += length $part;
        if ($watch && time - $seen > 0.1) {
            $watch->();
            $seen = time;
        }
    }
    return $got;
}

# Sends n bytes of the stream as a request body. False when not all was taken.
sub put_bulk {
    my ($k, $n, $watch) = @_;
    my $seen = time;
    for (my $at = 0; $at < $n; $at += 1_000_000) {
        $k->send(piece($at, $n - $at < 1_000_000 ? $n - $at : 1_000_000))
            or return 0;
        if ($watch && time - $seen > 0.1) {
            $watch->();
            $seen = time;
        }
    }
    return 1;
}

# --- the server -------------------------------------------------------------

# The child that has answered last, or the only one.
sub child_of {
    my ($server) = @_;
    my @lines = grep { /UP|upstream_proxy/ } $server->error_log;
    my ($pid) = ($lines[-1] // '') =~ /\[pid (\d+)/;
    return $pid // ($server->children)[0];
}

# Bytes of anonymous memory that a process has resident.
sub anonymous_memory {
    my ($pid) = @_;
    open my $fh, '<', "/proc/$pid/status" or return 0;
    my ($kb) = join('', <$fh>) =~ /^RssAnon:\s+(\d+) kB/m;
    return 1024 * ($kb // 0);
}

# Files below a directory, at any depth.
sub files_below {
    my ($dir) = @_;
    my @found;
    my @todo = ($dir);
    while (defined(my $at = shift @todo)) {
        opendir my $dh, $at or next;
        for my $name (grep { !/^\.\.?\z/ } readdir $dh) {
            if (-d "$at/$name") {
                push @todo, "$at/$name";
            }
            else {
                push @found, "$at/$name";
            }
        }
    }
    return @found;
}

# Sizes of the files below `dir` that the server has open without a name.
sub deleted_files {
    my ($server, $dir) = @_;
    my @sizes;
    for my $pid ($server->children) {
        for my $fd (glob "/proc/$pid/fd/*") {
            my $to = readlink $fd // next;
            push @sizes, -s $fd if $to =~ m{^\Q$dir\E/.* \(deleted\)\z};
        }
    }
    return @sizes;
}

1;
