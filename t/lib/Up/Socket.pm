# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Socket;

# What both ends of a test have in common, Up::Client and Up::Backend::Conn:
# writing to the non-blocking socket {sock}, each wait at most {timeout}
# seconds, and the ways of ending.

use strict;
use warnings;

use Errno qw(EAGAIN EINTR);
use IO::Select ();
use Socket qw(SOL_SOCKET SO_LINGER);
use Time::HiRes qw(sleep);

sub socket { return $_[0]{sock} }

# Sends each argument with a write of its own. False when the peer is gone or
# takes nothing for too long.
sub send {
    my ($self, @pieces) = @_;
    local $SIG{PIPE} = 'IGNORE';
    for my $piece (@pieces) {
        my $off = 0;
        while ($off < length $piece) {
            my $n = syswrite $self->{sock}, $piece, length($piece) - $off,
                $off;
            if (defined $n) {
                $off += $n;
                next;
            }
            next if $! == EINTR;
            return 0 if $! != EAGAIN;
            IO::Select->new($self->{sock})->can_write($self->{timeout})
                or return 0;
        }
    }
    return 1;
}

# In pieces of `size` bytes with `delay` seconds between them.
sub send_slow {
    my ($self, $bytes, $size, $delay) = @_;
    $size ||= 1;
    for (my $off = 0; $off < length $bytes; $off += $size) {
        sleep $delay if $off && $delay;
        $self->send(substr $bytes, $off, $size) or return 0;
    }
    return 1;
}

sub shutdown_write { return shutdown $_[0]{sock}, 1 }

# Makes the next close a reset.
sub will_reset {
    return setsockopt $_[0]{sock}, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0);
}

1;
