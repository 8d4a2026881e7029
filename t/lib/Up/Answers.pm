# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Answers;

# A backend whose answers a test tells byte for byte.
#
#   my $b = Up::Answers->start({
#       plain => [$OK . 'ok'],
#       slow  => [$HEAD, pause(0.3), 'the rest', hang_up()],
#   });
#   $s->get('/p/plain')            # the second part of the path is the name,
#   $s->get('/p/plain/17')         # what follows is passed to the steps
#
# A step is a string, sent with one write, or code that is called with the
# connection (Up::Backend::Conn), the request and what followed the name.
# Strings may be given without the list around them. When the steps are done
# the connection waits for its next request. They begin when the request is
# whole; those of name => { head => [...] } when its head is.

use strict;
use warnings;

use Exporter qw(import);
use Time::HiRes qw(sleep);

use Up::Backend ();

our @ISA = qw(Up::Backend);
our @EXPORT = qw(pause bytewise split_at hang_up break_off conns_of
    same_connection filler);

sub start {
    my ($class, $answers, %arg) = @_;
    return $class->SUPER::start(sub { _serve($answers, @_) }, %arg);
}

sub _serve {
    my ($answers, $c) = @_;
    while (my $req = $c->read_head) {
        my ($name, $more) = $req->{target} =~ m{^/\w+/(\w+)(?:/([^?]*))?};
        my $steps = $answers->{ $name // '' } // die "no answer $name\n";
        if (ref $steps eq 'HASH') {
            $c->record_request($req);
            _play($c, $req, $more, $steps->{head}) or return;
            next;
        }
        $c->read_body($req);
        $c->record_request($req);
        _play($c, $req, $more, $steps) or return;
    }
    return;
}

sub _play {
    my ($c, $req, $more, $steps) = @_;
    for my $step (ref $steps eq 'ARRAY' ? @$steps : $steps) {
        if (ref $step) {
            $step->($c, $req, $more) or return 0;
        }
        else {
            $c->send($step) or return 0;
        }
    }
    return $c->socket;
}

# --- steps ------------------------------------------------------------------

sub pause {
    my ($seconds) = @_;
    return sub { sleep $seconds; 1 };
}

# One byte a write, far enough apart to be read one by one.
sub bytewise {
    my ($bytes) = @_;
    return sub { $_[0]->send_slow($bytes, 1, 0.0005) };
}

# Two writes; the part of the path behind the name says where.
sub split_at {
    my ($bytes) = @_;
    return sub {
        my ($c, undef, $at) = @_;
        $c->send(substr $bytes, 0, $at) or return 0;
        sleep 0.003;
        return $c->send(substr $bytes, $at);
    };
}

# The orderly end, and a reset.
sub hang_up { return sub { $_[0]->close; 0 } }
sub break_off { return sub { $_[0]->reset; 0 } }

# --- what tests ask ---------------------------------------------------------

# Numbers of the connections that the requests since ->clear came on.
sub conns_of {
    my ($backend) = @_;
    return map { $_->{conn} } $backend->requests;
}

# Did these requests all come on one connection?
sub same_connection {
    my ($backend) = @_;
    my %seen = map { $_ => 1 } conns_of($backend);
    return keys %seen == 1;
}

# n bytes of a stream that repeats itself after 99991 only, from its byte
# `from` on.
my $block;
sub filler {
    my ($n, $from) = @_;
    $block //= join '', map { chr(($_ * $_ * 31 + ($_ >> 8)) % 251) }
        0 .. 99_990;
    $from = ($from // 0) % length $block;
    my $text = substr($block, $from);
    $text .= $block while length $text < $n;
    return substr $text, 0, $n;
}

1;
