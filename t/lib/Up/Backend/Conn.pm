# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Backend::Conn;

# One connection of a scripted backend, as its script sees it. What arrives
# is recorded: data as it comes, requests when they are whole.

use strict;
use warnings;

use Errno qw(EAGAIN EINTR ECONNRESET EPIPE);
use IO::Select ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time sleep);

use Up::Socket ();

our @ISA = qw(Up::Socket);

my $TOKEN = qr/[!#\$%&'*+\-.^_`|~0-9A-Za-z]+/;
my $RECORDED = 4 * 1024 * 1024; # bytes kept of a connection

sub new {
    my ($class, $backend, $sock, $n, $at) = @_;
    my $self = bless { backend => $backend, sock => $sock, n => $n,
        buf => '', requests => 0, recorded => 0, timeout => 10 }, $class;
    binmode $sock;
    $sock->blocking(0);
    setsockopt $sock, IPPROTO_TCP, TCP_NODELAY, 1 if !$backend->{unix};
    $self->note(type => 'accept', t => $at);
    return $self;
}

sub n { return $_[0]{n} }                # number of the connection, from 1
sub requests { return $_[0]{requests} }  # read from it so far

# Seconds that a read waits before the script dies.
sub timeout {
    my ($self, $seconds) = @_;
    $self->{timeout} = $seconds if defined $seconds;
    return $self->{timeout};
}

# Shared with the test and the other connections, see Up::Backend.
sub count { return $_[0]{backend}->count($_[1]) }
sub signal { return $_[0]{backend}->signal($_[1]) }
sub wait_for { return $_[0]{backend}->wait_for(@_[1, 2]) }

sub note {
    my ($self, %event) = @_;
    return $self->{backend}->record(conn => $self->{n}, t => time, %event);
}

# --- reading ----------------------------------------------------------------

# True when bytes came, 0 at the end, undef when it took too long.
sub _fill {
    my ($self, $until) = @_;
    while (!$self->{ended}) {
        my $n = sysread $self->{sock}, $self->{buf}, 262144,
            length $self->{buf};
        if ($n) {
            $self->{at} = time;
            $self->_record($n);
            return 1;
        }
        if (defined $n || $! == ECONNRESET || $! == EPIPE) {
            $self->{ended} = defined $n ? 'eof' : 'reset';
            $self->note(type => $self->{ended});
            last;
        }
        next if $! == EINTR;
        die "read: $!\n" if $! != EAGAIN;
        my $left = $until - time;
        return if $left <= 0;
        IO::Select->new($self->{sock})->can_read($left);
    }
    return 0;
}

sub _record {
    my ($self, $n) = @_;
    my $keep = $RECORDED - $self->{recorded};
    $keep = $n if $keep > $n;
    $self->{recorded} += $n;
    $self->note(type => 'data', t => $self->{at}, size => $n,
        bytes => $keep > 0 ? substr $self->{buf}, -$n, $keep : '');
    return;
}

# The next bytes must come: dies when they take too long.
sub _need {
    my ($self, $what) = @_;
    my $got = $self->_fill(time + $self->{timeout});
    die "timeout reading $what\n" if !defined $got;
    return $got;
}

# Exactly n bytes; fewer when the peer ends before.
sub read_bytes {
    my ($self, $n) = @_;
    while (length $self->{buf} < $n) {
        $self->_need("$n bytes") or last;
    }
    return substr $self->{buf}, 0, $n, '';
}

# What has come, at least a byte; '' at the end.
sub read_some {
    my ($self) = @_;
    $self->_need('bytes') if !length $self->{buf};
    return substr $self->{buf}, 0, length $self->{buf}, '';
}

# Bytes up to and with the line end; undef at the end of the connection.
sub read_line {
    my ($self) = @_;
    my $end;
    while (($end = index $self->{buf}, "\n") < 0) {
        $self->_need('a line') or return;
    }
    return substr $self->{buf}, 0, $end + 1, '';
}

# A request head: {line, method, target, version, headers => [[name, value],
# ...], raw, conn, n, t_first, t_head, problems => [...]}. undef when the
# peer ends between requests. Problems are violations of HTTP/1.1 that a
# proxy must not commit; the script goes on with what could be read.
sub read_head {
    my ($self) = @_;
    my ($first, $end);
    while (1) {
        $first //= $self->{at} if length $self->{buf};
        last if ($end = index $self->{buf}, "\r\n\r\n") >= 0;
        next if $self->_need('a request head');
        return if !length $self->{buf};
        die "connection ended inside a request head\n";
    }
    my $raw = substr $self->{buf}, 0, $end + 4, '';
    my $req = parse_head($raw);
    @$req{qw(conn n t_first t_head)} =
        ($self->{n}, ++$self->{requests}, $first, $self->{at});
    return $req;
}

# The body that belongs to a head, decoded; sets body, trailers and t there.
sub read_body {
    my ($self, $req) = @_;
    $req->{body} = '';
    $req->{trailers} = [];
    if (grep { lc eq 'chunked' } values_of($req, 'Transfer-Encoding')) {
        $self->_read_chunks($req);
    }
    elsif (my ($length) = values_of($req, 'Content-Length')) {
        $req->{body} = $self->read_bytes($length) if $length =~ /^\d+\z/;
        die "connection ended inside a request body\n"
            if length $req->{body} < $length;
    }
    $req->{t} = $self->{at};
    return $req;
}

sub _read_chunks {
    my ($self, $req) = @_;
    while (1) {
        my $line = $self->read_line // die "ended inside a chunked body\n";
        $line =~ /^([0-9A-Fa-f]{1,15})(?:;[^\r\n]*)?\r\n\z/
            or die 'bad chunk size ' . printable($line) . "\n";
        my $size = hex $1;
        last if $size == 0;
        $req->{body} .= $self->read_bytes($size);
        $self->read_bytes(2) eq "\r\n" or die "no CRLF after a chunk\n";
    }
    while (defined(my $line = $self->read_line)) {
        return if $line eq "\r\n";
        $line =~ /^($TOKEN):[ \t]*(.*?)[ \t]*\r\n\z/
            or die 'bad trailer ' . printable($line) . "\n";
        push @{ $req->{trailers} }, [$1, $2];
    }
    die "ended inside trailers\n";
}

# Head and body; the request is recorded. undef at the end.
sub read_request {
    my ($self) = @_;
    my $req = $self->read_head // return;
    $self->read_body($req);
    $self->record_request($req);
    return $req;
}

# For scripts that use read_head: lets the test see the request.
sub record_request {
    my ($self, $req) = @_;
    $self->note(%$req, type => 'request', t => $req->{t} // time);
    return;
}

# Waits for the peer's end: eof, reset, or undef when none came in time.
# Bytes that come meanwhile are recorded and dropped.
sub wait_eof {
    my ($self, $timeout) = @_;
    my $until = time + ($timeout // $self->{timeout});
    while ($self->_fill($until)) {
        $self->{buf} = '';
    }
    return $self->{ended};
}

# --- writing ----------------------------------------------------------------

# A well-formed response. A list as body goes out in chunks. True when the
# connection can be kept.
sub respond {
    my ($self, $req, $status, $fields, $body) = @_;
    my @fields = @{ $fields || [] };
    my %has = map { lc $fields[$_] => $fields[$_ + 1] }
        grep { !($_ % 2) } 0 .. $#fields;
    my $chunks = ref $body ? $body : undef;
    $body = '' if $chunks || !defined $body;
    if ($chunks) {
        push @fields, 'Transfer-Encoding' => 'chunked';
    }
    elsif (!exists $has{'content-length'} && $status !~ /^(?:1..|204|304)$/) {
        push @fields, 'Content-Length' => length $body;
    }
    my $close = lc($has{connection} // '') eq 'close'
        || $req->{version} ne '1.1'
        || grep { lc eq 'close' } tokens_of($req, 'Connection');
    push @fields, Connection => 'close' if $close && !$has{connection};
    my $head = "HTTP/1.1 $status Status $status\r\n";
    while (my ($name, $value) = splice @fields, 0, 2) {
        $head .= "$name: $value\r\n";
    }
    $body = '' if $req->{method} eq 'HEAD';
    $self->send("$head\r\n$body") or return 0;
    if ($chunks && $req->{method} ne 'HEAD') {
        for (grep { length } @$chunks) {
            $self->send(sprintf "%x\r\n%s\r\n", length, $_) or return 0;
        }
        $self->send("0\r\n\r\n") or return 0;
    }
    return !$close;
}

sub pause { return sleep $_[1] }

# --- ending -----------------------------------------------------------------

# An orderly end. What the peer has sent already is taken first, since data
# left unread would turn the end into a reset.
sub close {
    my ($self) = @_;
    my $sock = delete $self->{sock} or return;
    $sock->blocking(0);
    for (1 .. 100) {
        last if !sysread $sock, my $rest, 262144;
    }
    $self->note(type => 'close');
    return CORE::close $sock;
}

# Ends with a reset.
sub reset {
    my ($self) = @_;
    return if !$self->{sock};
    $self->will_reset;
    my $sock = delete $self->{sock};
    $self->note(type => 'close');
    return CORE::close $sock;
}

# --- request heads ----------------------------------------------------------

sub parse_head {
    my ($raw) = @_;
    my ($line, @lines) = split /\r\n/, $raw;
    my @problems;
    push @problems, 'control character in ' . printable($raw)
        if $raw =~ /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
    my ($method, $target, $version) =
        $line =~ m{^($TOKEN) ([\x21-\x7e\x80-\xff]+) HTTP/(1\.[01])\z}
        or push @problems, 'bad request line ' . printable($line);
    my @headers;
    for (@lines) {
        if (/^($TOKEN):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*\z/) {
            push @headers, [$1, $2];
        }
        else {
            push @problems, 'bad field line ' . printable($_);
        }
    }
    my $req = { line => $line, method => $method // '',
        target => $target // '', version => $version // '',
        headers => \@headers, raw => $raw, problems => \@problems };
    push @problems, framing_problems($req), hop_problems($req);
    return $req;
}

sub framing_problems {
    my ($req) = @_;
    my @problems;
    my @host = values_of($req, 'Host');
    my @length = values_of($req, 'Content-Length');
    my @coding = values_of($req, 'Transfer-Encoding');
    push @problems, @host . ' Host fields'
        if @host > 1 || (!@host && $req->{version} eq '1.1');
    push @problems, @length . ' Content-Length fields' if @length > 1;
    push @problems, "bad Content-Length $_" for grep { !/^\d+\z/ } @length;
    push @problems, 'Content-Length with Transfer-Encoding'
        if @length && @coding;
    push @problems, "Transfer-Encoding @coding"
        if @coding && "@coding" ne 'chunked';
    push @problems, 'Transfer-Encoding in HTTP/1.0'
        if @coding && $req->{version} eq '1.0';
    return @problems;
}

sub hop_problems {
    my ($req) = @_;
    my @problems;
    my %option = map { lc, 1 } tokens_of($req, 'Connection');
    push @problems, 'Proxy-Connection' if values_of($req, 'Proxy-Connection');
    my @te = values_of($req, 'TE');
    push @problems, "TE: @te" if @te && "@te" ne 'trailers';
    push @problems, 'TE not named in Connection' if @te && !$option{te};
    push @problems, 'Upgrade without Connection: upgrade'
        if values_of($req, 'Upgrade') && !$option{upgrade};
    return @problems;
}

# Values of all fields of that name, in order.
sub values_of {
    my ($req, $name) = @_;
    return map { $_->[1] } grep { lc $_->[0] eq lc $name }
        @{ $req->{headers} };
}

sub tokens_of {
    my ($req, $name) = @_;
    return map { split /[ \t]*,[ \t]*/ } values_of($req, $name);
}

sub printable {
    my ($bytes) = @_;
    $bytes = substr($bytes, 0, 300) . '...' if length $bytes > 300;
    $bytes =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
    return "\"$bytes\"";
}

1;
