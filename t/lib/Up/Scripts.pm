# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Scripts;

# Backends that misbehave when they are asked to.
#
#   my $b = Up::Scripts->obedient('B');
#   $s->get('/p/x', ['X-A' => 'reset', 'X-B' => 'say:503']);
#
# What B does with a request is told in the request's field X-B, or, for the
# first one on a connection and those after it, in X-B-first and X-B-again; it
# answers 200 with its name when nothing is told. The actions of the table
# below end the connection, those of ->keep do not.

use strict;
use warnings;

use Time::HiRes qw(sleep);

use Up::Backend ();
use Up::Backend::Conn ();

my %ACTIONS = (
    # after the whole request
    close => sub { take(@_) },
    reset => sub { take(@_); $_[0]->reset },
    silent => sub { take(@_); $_[0]->wait_eof },
    garbage => sub { answer(@_, "SSH-2.0-OpenSSH_9.9\r\n\r\n") },
    field => sub { answer(@_, "HTTP/1.1 200 OK\r\nX-\x01Bad: 1\r\n"
        . "Content-Length: 0\r\n\r\n") },
    big => sub { answer(@_, "HTTP/1.1 200 OK\r\nX-Big: " . 'b' x 100_000
        . "\r\nContent-Length: 0\r\n\r\n") },
    part => sub { answer(@_, "HTTP/1.1 200 OK\r\nContent-Le") },
    interim => sub { answer(@_, "HTTP/1.1 103 Early Hints\r\n"
        . "Link: </a>\r\n\r\n") },
    'part-reset' => sub {
        answer(@_, "HTTP/1.1 200 OK\r\nContent-Le");
        sleep 0.1;
        $_[0]->reset;
    },
    'late-close' => sub { take(@_); sleep 1 },
    trickle => sub {
        take(@_);
        $_[0]->send_slow("HTTP/1.1 200 OK\r\n" . "X-Slow: 1\r\n" x 50,
            11, 0.1);
    },
    cut => sub { answer(@_, half()) },
    'cut-reset' => sub {
        answer(@_, half());
        sleep 0.2;
        $_[0]->reset;
    },
    # with the head alone
    'head-reset' => sub { $_[0]->record_request($_[1]); $_[0]->reset },
    'body-reset' => sub {
        $_[0]->record_request($_[1]);
        $_[0]->read_bytes(1000);
        $_[0]->reset;
    },
    'no-read' => sub { $_[0]->record_request($_[1]); sleep 5 },
);

sub half {
    return "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" . 'h' x 1000;
}

sub take {
    my ($c, $req) = @_;
    $c->read_body($req);
    return $c->record_request($req);
}

sub answer {
    my ($c, $req, $bytes) = @_;
    take($c, $req);
    return $c->send($bytes);
}

sub obedient {
    my ($class, $name, %arg) = @_;
    return Up::Backend->start(sub {
        my ($c) = @_;
        while (my $req = $c->read_head) {
            my $do = wanted($req, $name);
            if ($ACTIONS{$do}) {
                $ACTIONS{$do}->($c, $req);
                return;
            }
            take($c, $req);
            keep($c, $req, $name, $do) or return;
        }
    }, %arg);
}

# ok, say:<status> (with "<name> says <status>"), late:<seconds>.
sub keep {
    my ($c, $req, $name, $do) = @_;
    my ($word, $value) = split /:/, $do;
    sleep $value if $word eq 'late';
    return $c->respond($req, $value, ['X-By' => $name],
        "$name says $value") if $word eq 'say';
    return $c->respond($req, 200, ['X-By' => $name], $name);
}

sub wanted {
    my ($req, $name) = @_;
    my $nth = $req->{n} > 1 ? 'again' : 'first';
    for my $field ("X-$name-$nth", "X-$name") {
        my ($do) = Up::Backend::Conn::values_of($req, $field);
        return $do if defined $do;
    }
    return 'ok';
}

# What backends got, as one text: the names of those with requests, in order
# of arrival, each with its number of requests.
sub asked {
    my (%by_name) = @_;
    return join ' ', map { "$_:" . $by_name{$_}->requests }
        sort grep { scalar $by_name{$_}->requests } keys %by_name;
}

1;
