# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::WS;

# Bytes of WebSockets (RFC 6455), for both ends of a test.
#
#   my $k = $s->client;
#   my $res = upgrade($k, '/ws/echo');            # the response, 101 or not
#   $k->send(frame(1, 'hello', 'mask'));          # a client masks
#   my ($opcode, $payload) = read_frame($k);      # unmasked
#
# A backend: Up::WS->start(sub { my ($c, $req) = @_; ... }, %more) answers each
# upgrade with 101 and calls the code. echo($c) gives back what comes, byte by
# byte, until the end.

use strict;
use warnings;

use Digest::SHA ();
use Exporter qw(import);

use Up::Backend ();

our @EXPORT = qw(upgrade upgrade_fields frame read_frame switching echo $KEY
    $ACCEPT);

our $KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
our $ACCEPT = accept_of($KEY);

sub accept_of {
    my ($key) = @_;
    return Digest::SHA::sha1_base64(
        $key . '258EAFA5-E914-47DA-95CA-C5AB0DC85B11') . '=';
}

sub upgrade_fields {
    return ['Upgrade' => 'websocket', 'Connection' => 'Upgrade',
        'Sec-WebSocket-Key' => $KEY, 'Sec-WebSocket-Version' => 13];
}

sub upgrade {
    my ($k, $target, $fields) = @_;
    return $k->get($target, $fields // upgrade_fields());
}

# A frame; `mask`: four bytes or nothing. opcode | 0x40 and so on: not FIN
# when `more` is true.
sub frame {
    my ($opcode, $payload, $mask, $more) = @_;
    my $n = length $payload;
    my $bit = defined $mask ? 0x80 : 0;
    my $head = chr(($more ? 0 : 0x80) | $opcode)
        . ($n < 126 ? pack('C', $bit | $n)
        : $n < 65536 ? pack('Cn', $bit | 126, $n)
        : pack('CQ>', $bit | 127, $n));
    return $head . $payload if !defined $mask;
    my $keys = substr $mask x ($n / 4 + 1), 0, $n;
    return $head . $mask . ($payload ^ $keys);
}

# opcode, payload, masked; nothing at the end. `c` has read_bytes.
sub read_frame {
    my ($c, @timeout) = @_;
    my $head = $c->read_bytes(2, @timeout);
    return if length $head < 2;
    my ($first, $second) = unpack 'CC', $head;
    my $n = $second & 0x7f;
    $n = unpack 'n', $c->read_bytes(2, @timeout) if $n == 126;
    $n = unpack 'Q>', $c->read_bytes(8, @timeout) if $n == 127;
    my $mask = $second & 0x80 ? $c->read_bytes(4, @timeout) : undef;
    my $payload = $c->read_bytes($n, @timeout);
    $payload ^= substr $mask x ($n / 4 + 1), 0, $n if defined $mask;
    return ($first & 0x0f, $payload, defined $mask);
}

# --- backends ---------------------------------------------------------------

# The 101 for a request.
sub switching {
    my ($req, $more) = @_;
    my ($key) = Up::Backend::Conn::values_of($req, 'Sec-WebSocket-Key');
    my ($protocol) = Up::Backend::Conn::values_of($req, 'Upgrade');
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "
        . ($protocol // 'none') . "\r\nConnection: Upgrade\r\n"
        . (defined $key ? 'Sec-WebSocket-Accept: ' . accept_of($key) . "\r\n"
        : '') . ($more // '') . "\r\n";
}

sub start {
    my ($class, $code, %arg) = @_;
    return Up::Backend->start(sub {
        my ($c) = @_;
        while (my $req = $c->read_request) {
            if (!Up::Backend::Conn::values_of($req, 'Upgrade')) {
                $c->respond($req, 200, [], "plain $req->{target}") or last;
                next;
            }
            $c->send(switching($req));
            $code->($c, $req);
            last;
        }
    }, %arg);
}

sub echo {
    my ($c) = @_;
    while (length(my $bytes = $c->read_some)) {
        $c->send($bytes) or last;
    }
    return;
}

1;
