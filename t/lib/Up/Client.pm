# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Client;

# A raw HTTP client on one socket: sends any bytes in any segmentation and
# reads responses without forgiving anything.
#
#   my $k = Up::Client->new(port => $port);
#   my $res = $k->get('/p/a', ['X-A' => 1]);
#   $k->send("GET /p/a HTTP/1.1\r\n", "Host: x\r\n\r\n");
#   my $res = $k->response;            # response(method => 'HEAD') for HEAD
#   $res->status, $res->body, $res->field('X-A'), $res->complete ...

use strict;
use warnings;

use Carp qw(croak);
use Errno qw(EAGAIN EINTR EWOULDBLOCK ECONNRESET EPIPE);
use IO::Select ();
use IO::Socket::IP ();
use IO::Socket::UNIX ();
use Socket qw(SOL_SOCKET SO_RCVBUF IPPROTO_TCP TCP_NODELAY SOCK_STREAM);
use Time::HiRes qw(time sleep);

use Up::Socket ();

our @ISA = qw(Up::Socket);

my $TOKEN = qr/[!#\$%&'*+\-.^_`|~0-9A-Za-z]+/;

# port, or unix => path; host (127.0.0.1), timeout of every wait (10 s),
# rcvbuf (bytes, for slow readers), strict (1: die on a malformed response),
# tls (1: TLS, whatever the certificate).
sub new {
    my ($class, %arg) = @_;
    my $self = bless {
        timeout => $arg{timeout} // 10,
        strict  => $arg{strict} // 1,
        block   => $arg{block} // 65536,
        host    => $arg{host} // '127.0.0.1',
        buf     => '', end => undef, at => undef,
    }, $class;
    $self->{sock} = $arg{unix}
        ? IO::Socket::UNIX->new(Peer => $arg{unix})
        : _connect($self->{host}, $arg{port}, $arg{rcvbuf});
    croak "cannot connect to " . ($arg{unix} // "$self->{host}:$arg{port}")
        . ": $!" if !$self->{sock};
    $self->_start_tls if $arg{tls};
    binmode $self->{sock};
    $self->{sock}->blocking(0);
    $self->{name} = $arg{name} // ($arg{unix} ? 'localhost'
        : "$self->{host}:$arg{port}");
    return $self;
}

sub _start_tls {
    my ($self) = @_;
    require IO::Socket::SSL;
    IO::Socket::SSL->start_SSL($self->{sock}, SSL_verify_mode => 0)
        or croak "TLS: $IO::Socket::SSL::SSL_ERROR";
    return;
}

sub _connect {
    my ($host, $port, $rcvbuf) = @_;
    my @sockopt = ([IPPROTO_TCP, TCP_NODELAY, 1]);
    unshift @sockopt, [SOL_SOCKET, SO_RCVBUF, $rcvbuf] if $rcvbuf;
    return IO::Socket::IP->new(PeerHost => $host, PeerPort => $port,
        Type => SOCK_STREAM, Timeout => 10, Sockopts => \@sockopt);
}

# A whole request: method, target, [name => value, ...], body. Host and, for
# a body, Content-Length are added when they are not among the fields.
sub request {
    my ($self, $method, $target, $fields, $body, %opt) = @_;
    my @fields = @{ $fields || [] };
    my %has = map { lc $_ => 1 } @fields[grep { !($_ % 2) } 0 .. $#fields];
    my $version = $opt{version} // '1.1';
    unshift @fields, Host => $self->{name} if !$has{host};
    push @fields, 'Content-Length' => length $body
        if defined $body && !$has{'content-length'}
        && !$has{'transfer-encoding'};
    my $head = "$method $target HTTP/$version\r\n";
    while (my ($name, $value) = splice @fields, 0, 2) {
        $head .= "$name: $value\r\n";
    }
    $self->{asked} = { method => $method, version => $version };
    return $self->send("$head\r\n" . ($body // ''));
}

# Request and response.
sub ask {
    my ($self, $method, $target, $fields, $body, %opt) = @_;
    $self->request($method, $target, $fields, $body, %opt);
    return $self->response(method => $method, %opt);
}

sub get {
    my ($self, $target, $fields, %opt) = @_;
    return $self->ask('GET', $target, $fields, undef, %opt);
}

sub close { return CORE::close $_[0]{sock} }

# Closes with a reset instead of an orderly end.
sub reset {
    my ($self) = @_;
    $self->will_reset;
    return CORE::close $self->{sock};
}

# One read into the buffer. True when bytes came; false at the end
# ($self->{end} is eof, reset or timeout).
sub _fill {
    my ($self, $until) = @_;
    return 0 if ($self->{end} // '') =~ /^(?:eof|reset)$/;
    while (1) {
        my $n = sysread $self->{sock}, $self->{buf}, $self->{block},
            length $self->{buf};
        if ($n) {
            $self->{at} = time;
            return 1;
        }
        if (defined $n || $! == ECONNRESET || $! == EPIPE) {
            $self->{end} = defined $n ? 'eof' : 'reset';
            return 0;
        }
        next if $! == EINTR;
        croak "read: $!" if $! != EAGAIN && $! != EWOULDBLOCK;
        my $left = $until - time;
        if ($left <= 0) {
            $self->{end} = 'timeout';
            return 0;
        }
        IO::Select->new($self->{sock})->can_read($left);
    }
}

# At least one byte, at most `max`, within `timeout`; undef at the end.
sub read_some {
    my ($self, $max, $timeout) = @_;
    my $until = time + ($timeout // $self->{timeout});
    return if !length $self->{buf} && !$self->_fill($until);
    return substr $self->{buf}, 0, $max // length $self->{buf}, '';
}

# Exactly n bytes, or what came before the end or the timeout.
sub read_bytes {
    my ($self, $n, $timeout) = @_;
    my $until = time + ($timeout // $self->{timeout});
    while (length $self->{buf} < $n) {
        last if !$self->_fill($until);
    }
    return substr $self->{buf}, 0, $n, '';
}

# Waits until the peer ends the connection: eof, reset, or undef when it has
# not within `timeout`. Bytes that come meanwhile stay in ->rest.
sub wait_close {
    my ($self, $timeout) = @_;
    my $until = time + ($timeout // $self->{timeout});
    1 while $self->_fill($until);
    return $self->{end} eq 'timeout' ? undef : $self->{end};
}

# Received and not consumed.
sub rest { return $_[0]{buf} }

# Is the connection still open, with nothing unexpected received?
sub idle {
    my ($self, $timeout) = @_;
    return !length $self->{buf}
        && !defined $self->wait_close($timeout // 0.05)
        && !length $self->{buf};
}

# --- responses --------------------------------------------------------------

# Reads one response with the interim ones before it. Options: method (HEAD
# has no body), version of the request, timeout for all of it.
sub response {
    my ($self, %opt) = @_;
    my $asked = delete $self->{asked} || {};
    my $res = bless {
        fields => [], trailers => [], interim => [], errors => [],
        body => '', raw => '', pieces => [], complete => 0,
        method => $opt{method} // $asked->{method} // 'GET',
        asked_version => $opt{version} // $asked->{version} // '1.1',
        started => time,
    }, 'Up::Client::Response';
    local $self->{until} = time + ($opt{timeout} // $self->{timeout});
    $self->_heads($res) && $self->_body($res);
    $res->{end} = $res->{complete} ? undef : $self->{end};
    $res->{finished} = time;
    croak "malformed response: @{ $res->{errors} }\n" . _show($res->{raw})
        if $self->{strict} && @{ $res->{errors} };
    return $res;
}

# All heads up to the final one; false when it never came whole.
sub _heads {
    my ($self, $res) = @_;
    while (1) {
        my $raw = $self->_take_head($res) // return 0;
        $res->{raw} .= $raw;
        my $head = _parse_head($raw, $res->{errors}) || return 0;
        $head->{t} = $self->{at};
        if ($head->{status} =~ /^1/ && $head->{status} != 101) {
            _check_interim($res, $head);
            push @{ $res->{interim} },
                bless $head, 'Up::Client::Response';
            next;
        }
        @$res{qw(line version status reason fields)} =
            @$head{qw(line version status reason fields)};
        $res->{t_head} = $head->{t};
        return 1;
    }
}

sub _take_head {
    my ($self, $res) = @_;
    my $end;
    while (($end = index $self->{buf}, "\r\n\r\n") < 0) {
        if (length $self->{buf} > 1_000_000 || !$self->_fill($self->{until})) {
            $res->{partial} = $self->{buf};
            push @{ $res->{errors} }, 'ended inside a head'
                if length $self->{buf} && $self->{end} ne 'timeout';
            return;
        }
    }
    return substr $self->{buf}, 0, $end + 4, '';
}

sub _parse_head {
    my ($raw, $errors) = @_;
    my ($line, @lines) = split /\r\n/, $raw;
    my ($version, $status, $reason) = ($line // '')
        =~ m{^HTTP/(1\.[01]) ([1-9]\d\d) ([\t\x20-\x7e\x80-\xff]*)\z};
    if (!defined $version) {
        push @$errors, 'bad status line: ' . _show($line // '');
        return;
    }
    return { line => $line, version => $version, status => $status,
        reason => $reason, fields => _parse_fields(\@lines, $errors) };
}

sub _parse_fields {
    my ($lines, $errors) = @_;
    my @fields;
    for my $line (@$lines) {
        if ($line =~ /^($TOKEN):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*\z/) {
            push @fields, [$1, $2];
        }
        else {
            push @$errors, 'bad field line: ' . _show($line);
        }
    }
    return \@fields;
}

sub _check_interim {
    my ($res, $head) = @_;
    push @{ $res->{errors} }, "$head->{status} towards HTTP/1.0"
        if $res->{asked_version} eq '1.0';
    push @{ $res->{errors} }, "length in $head->{status}"
        if grep { $_->[0] =~ /^(?:content-length|transfer-encoding)$/i }
        @{ $head->{fields} };
    return;
}

# Which framing rules, and is there only one (RFC 9112 6)?
sub _framing {
    my ($res) = @_;
    my @length = $res->field('Content-Length');
    my @coding = $res->field('Transfer-Encoding');
    my $errors = $res->{errors};
    my $status = $res->{status};
    push @$errors, "$status with Content-Length and Transfer-Encoding"
        if @length && @coding;
    push @$errors, 'several Content-Length: ' . join ' / ', @length
        if @length > 1;
    push @$errors, 'bad Content-Length: ' . join ' / ', @length
        if grep { !/^\d{1,18}\z/ } @length;
    push @$errors, 'bad Transfer-Encoding: ' . join ' / ', @coding
        if @coding > 1 || grep { lc ne 'chunked' } @coding;
    push @$errors, "Transfer-Encoding in $status"
        if @coding && $status =~ /^(?:1..|204)$/;
    push @$errors, "Content-Length in $status"
        if @length && $status =~ /^(?:1..|204)$/;
    push @$errors, 'Transfer-Encoding towards HTTP/1.0'
        if @coding && $res->{asked_version} eq '1.0';
    return 'none' if $res->{method} eq 'HEAD'
        || $status =~ /^(?:1..|204|304)$/
        || ($res->{method} eq 'CONNECT' && $status =~ /^2/);
    return 'chunked' if @coding;
    return @length ? 'length' : 'close';
}

sub _body {
    my ($self, $res) = @_;
    my $framing = $res->{framing} = _framing($res);
    return if @{ $res->{errors} };
    if ($framing eq 'none') {
        $res->{complete} = 1;
    }
    elsif ($framing eq 'length') {
        $res->{complete} =
            $self->_data($res, ($res->field('Content-Length'))[0]);
    }
    elsif ($framing eq 'chunked') {
        $res->{complete} = $self->_chunks($res);
    }
    else {
        1 while $self->_data($res, 1);
        $res->{complete} = ($self->{end} // '') eq 'eof';
    }
    return;
}

# n bytes of body as they come; false when the end came first.
sub _data {
    my ($self, $res, $n) = @_;
    while ($n > 0) {
        return 0 if !length $self->{buf} && !$self->_fill($self->{until});
        my $part = substr $self->{buf}, 0,
            $res->{framing} eq 'close' ? length $self->{buf} : $n, '';
        $n -= length $part;
        $res->{body} .= $part;
        $res->{raw} .= $part;
        my $last = $res->{pieces}[-1];
        if ($last && $last->[0] == $self->{at}) {
            $last->[1] .= $part;
        }
        else {
            push @{ $res->{pieces} }, [$self->{at}, $part];
        }
    }
    return 1;
}

sub _line {
    my ($self, $res) = @_;
    my $end;
    while (($end = index $self->{buf}, "\n") < 0) {
        $self->_fill($self->{until}) or return;
    }
    my $line = substr $self->{buf}, 0, $end + 1, '';
    $res->{raw} .= $line;
    if ($line !~ s/\r\n\z//) {
        push @{ $res->{errors} }, 'bare LF in chunked body';
        return;
    }
    return $line;
}

sub _chunks {
    my ($self, $res) = @_;
    while (1) {
        my $line = $self->_line($res) // return 0;
        if ($line !~ /^([0-9A-Fa-f]{1,15})(?:[ \t]*;.*)?\z/s) {
            push @{ $res->{errors} }, 'bad chunk size: ' . _show($line);
            return 0;
        }
        my $size = hex $1;
        last if $size == 0;
        $self->_data($res, $size) or return 0;
        $line = $self->_line($res) // return 0;
        if ($line ne '') {
            push @{ $res->{errors} }, 'no CRLF after chunk';
            return 0;
        }
    }
    my @lines;
    while (1) {
        my $line = $self->_line($res) // return 0;
        last if $line eq '';
        push @lines, $line;
    }
    $res->{trailers} = _parse_fields(\@lines, $res->{errors});
    return 1;
}

sub _show {
    my ($bytes) = @_;
    $bytes = substr($bytes, 0, 400) . '...' if length $bytes > 400;
    $bytes =~ s/([^\x20-\x7e\n])/sprintf '\\x%02x', ord $1/ge;
    return $bytes;
}

package Up::Client::Response;

use strict;
use warnings;

# status, version, reason, line; fields and trailers: [[name, value], ...] in
# order; body (decoded), raw; interim: list of heads; pieces: [[time, bytes]]
# of the body as it arrived; t_head, started, finished; framing: none,
# length, chunked, close; complete; end: why not (eof, reset, timeout);
# errors; partial: what came of a head that never became whole.
BEGIN {
    no strict 'refs';
    for my $name (qw(status version reason line fields trailers body raw
        interim pieces t_head t started finished framing complete end errors
        partial)) {
        *$name = sub { return $_[0]{$name} };
    }
}

# Values of all fields of that name, in order.
sub field {
    my ($self, $name) = @_;
    return map { $_->[1] } grep { lc $_->[0] eq lc $name }
        @{ $self->{fields} };
}

# The same as one string, undef when there is none.
sub header {
    my ($self, $name) = @_;
    my @values = $self->field($name);
    return @values ? join(', ', @values) : undef;
}

sub trailer {
    my ($self, $name) = @_;
    return map { $_->[1] } grep { lc $_->[0] eq lc $name }
        @{ $self->{trailers} };
}

# No other request can follow it on its connection.
sub closes {
    my ($self) = @_;
    return !$self->{complete}
        || ($self->header('Connection') // '') =~ /\bclose\b/i;
}

# A response began and was cut off.
sub cut {
    my ($self) = @_;
    return defined $self->{status} && !$self->{complete}
        && ($self->{end} // '') ne 'timeout';
}

1;
