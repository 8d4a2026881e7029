# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::DNS;

# A name server that says what it is told, over UDP, in a process of its own.
#
#   my $dns = Up::DNS->start(
#       'app.test' => { A => ['127.0.0.2'], ttl => 30 },
#       '_http._tcp.app.test' => { SRV => [[0, 1, 8080, 'app.test']] },
#       'gone.test' => 'NXDOMAIN');
#   $dns->set('app.test' => 'silent');     # from now on; others stay
#   $dns->addr; $dns->queries('app.test'); # [name, type], as they came
#
# A word in the place of records: NXDOMAIN, SERVFAIL, REFUSED, silent, garbage
# (bytes that are no answer), cut (an answer that ends in the middle), loop (a
# name that points to itself). A type without a record is answered with none;
# a type may have a word of its own: { A => [...], AAAA => 'silent' }. CNAME
# is a name. A name that is not told of does not exist. Names in small letters.

use strict;
use warnings;

use Carp qw(croak);
use Errno qw(EINTR);
use File::Spec ();
use File::Temp ();
use IO::Socket::INET ();
use POSIX ();
use Socket qw(inet_pton AF_INET AF_INET6);
use Storable ();
use Time::HiRes qw(time sleep);

my %TYPES = (A => 1, CNAME => 5, AAAA => 28, SRV => 33);
my %NAMES = reverse %TYPES;
my %CODES = (NXDOMAIN => 3, SERVFAIL => 2, REFUSED => 5);

sub start {
    my ($class, %zone) = @_;
    my $sock = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
        Proto => 'udp') or croak "udp: $!";
    my $self = bless {
        owner => $$, port => $sock->sockport, zone => {},
        dir => File::Temp->newdir('dns-XXXXXX',
            DIR => $ENV{UP_RUN} // File::Spec->tmpdir),
    }, $class;
    $self->set(%zone);
    pipe my $alive, $self->{alive} or croak "pipe: $!";
    STDOUT->flush;
    my $pid = fork // croak "fork: $!";
    if (!$pid) {
        eval { $self->_serve($sock, $alive) };
        print STDERR "dns: $@" if $@;
        POSIX::_exit(0);
    }
    $self->{pid} = $pid;
    return $self;
}

sub port { return $_[0]{port} }
sub addr { return "127.0.0.1:$_[0]{port}" }

sub set {
    my ($self, %zone) = @_;
    my $file = $self->{dir}->dirname . '/zone';
    %{ $self->{zone} } = (%{ $self->{zone} }, %zone);
    Storable::store($self->{zone}, "$file.new");
    rename "$file.new", $file or croak "$file: $!";
    return $self;
}

# Questions so far, of one name or all.
sub queries {
    my ($self, $name) = @_;
    open my $fh, '<', $self->{dir}->dirname . '/log' or return;
    my @all = map { [split] } <$fh>;
    return defined $name ? grep { $_->[0] eq $name } @all : @all;
}

# Waits for n more questions about a name than there are now; false after 10 s.
sub wait_queries {
    my ($self, $name, $n) = @_;
    my $want = $self->queries($name) + $n;
    my $until = time + 10;
    while ($self->queries($name) < $want) {
        return 0 if time > $until;
        sleep 0.02;
    }
    return 1;
}

sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return $self;
    local $?;
    kill TERM => $pid;
    1 while waitpid($pid, 0) < 0 && $! == EINTR;
    close delete $self->{alive};
    return $self;
}

sub DESTROY {
    my ($self) = @_;
    return if $self->{owner} != $$;
    local ($@, $!, $?);
    $self->stop;
    return;
}

# --- the server ---------------------------------------------------------------

sub _serve {
    my ($self, $sock, $alive) = @_;
    local $SIG{TERM} = 'DEFAULT';
    close $self->{alive};
    open my $log, '>>', $self->{dir}->dirname . '/log' or die "log: $!";
    $log->autoflush(1);
    while (1) {
        my $bits = '';
        vec($bits, fileno $_, 1) = 1 for $sock, $alive;
        next if select($bits, undef, undef, undef) < 0;
        return if vec($bits, fileno $alive, 1); # the test has ended
        my $from = $sock->recv(my $query, 4096) or next;
        my ($name, $type) = _question($query) or next;
        print $log "$name $type\n";
        my $answer = $self->_answer($query, $name, $type);
        $sock->send($answer, 0, $from) if defined $answer;
    }
}

sub _question {
    my ($query) = @_;
    return if length $query < 17;
    my ($at, @labels) = 12;
    while (my $len = ord substr $query, $at, 1) {
        push @labels, lc substr $query, $at + 1, $len;
        $at += 1 + $len;
        return if $at + 5 > length $query;
    }
    my $type = unpack 'n', substr $query, $at + 1, 2;
    return (join('.', @labels), $NAMES{$type} // $type);
}

sub _name { return join '', map({ chr(length) . $_ } split /\./, $_[0]), "\0" }

sub _data {
    my ($type, $value) = @_;
    return inet_pton(AF_INET, $value) if $type eq 'A';
    return inet_pton(AF_INET6, $value) if $type eq 'AAAA';
    return _name($value) if $type eq 'CNAME';
    my ($priority, $weight, $port, $host) = @$value;
    return pack('n3', $priority, $weight, $port) . _name($host);
}

sub _answer {
    my ($self, $query, $name, $type) = @_;
    my $zone = Storable::retrieve($self->{dir}->dirname . '/zone');
    my $said = $zone->{$name} // 'NXDOMAIN';
    my @records;
    my $owner = "\xc0\x0c";
    if (ref $said && defined $said->{CNAME}) {
        push @records, [$owner, 'CNAME', $said->{CNAME}, $said->{ttl}];
        $owner = _name($said->{CNAME});
        $said = $zone->{ $said->{CNAME} } // 'NXDOMAIN';
    }
    $said = $said->{$type} if ref $said && defined $said->{$type}
        && !ref $said->{$type};
    return if $said eq 'silent';
    return 'no answer at all' if $said eq 'garbage';
    push @records, map { [$owner, $type, $_, $said->{ttl}] }
        @{ ref $said ? $said->{$type} // [] : [] };
    my ($code, $end) = ($CODES{$said} // 0, index($query, "\0", 12) + 5);
    my $answer = substr($query, 0, 2)
        . pack('n5', 0x8180 | $code, 1, scalar @records, 0, 0)
        . substr($query, 12, $end - 12);
    for (@records) {
        my ($of, $what, $value, $ttl) = @$_;
        my $data = _data($what, $value);
        $answer .= $of . pack('n2Nn', $TYPES{$what}, 1, $ttl // 60,
            length $data) . $data;
    }
    if ($said eq 'loop' || $said eq 'cut') {
        $answer = substr($query, 0, 2) . pack('n5', 0x8180, 1, 1, 0, 0)
            . substr($query, 12, $end - 12);
        $answer .= pack 'n', 0xc000 | length $answer if $said eq 'loop';
        $answer .= "\xc0\x0c\0" if $said eq 'cut';
    }
    return $answer;
}

1;
