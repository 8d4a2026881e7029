# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Backend;

# A scripted backend: a process that runs the given code for every connection
# in a process of its own, and writes down all that it receives.
#
#   my $b = Up::Backend->start(sub {
#       my ($c) = @_;                         # Up::Backend::Conn, see there
#       my $req = $c->read_request or return;
#       $c->send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
#   });
#   my $b = Up::Backend->http(sub {           # keep-alive, well-behaved
#       my ($req, $c) = @_;
#       return [200, ['X-A' => 1], "body of $req->{target}"];
#   });
#   $b->port, $b->addr, $b->url; $b->requests, $b->connections, $b->problems
#
# Options after the code: host => '::1', port => n (default: any free one),
# unix => 1 (or a path), backlog => n, closed => 1 (reserve the port, refuse
# until ->open), rcvbuf => bytes, tls => { arguments of IO::Socket::SSL }: the
# handshake comes before the code, which is not called when it fails. What came
# of it are events of the type tls: {error} or {version, sni, resumed, client}.
# The code runs in another process: it shares nothing with the test but
# ->count, ->signal and ->wait_for.

use strict;
use warnings;

use Carp qw(croak);
use Errno qw(EINTR);
use Fcntl qw(O_WRONLY O_APPEND O_CREAT O_RDWR LOCK_EX);
use File::Spec ();
use File::Temp ();
use IO::Select ();
use IO::Socket::IP ();
use IO::Socket::UNIX ();
use POSIX ();
use Scalar::Util ();
use Socket qw(SOL_SOCKET SO_RCVBUF SO_REUSEADDR SOCK_STREAM);
use Storable ();
use Time::HiRes qw(time sleep);

use Up::Backend::Conn ();

my %live; # objects of this process, by address
my $serial = 0;

sub start {
    my ($class, $code, %arg) = @_;
    my $self = bless {
        code => $code, owner => $$, offset => 0, events => [], mark => 0,
        backlog => $arg{backlog} // 511, rcvbuf => $arg{rcvbuf},
        tls => $arg{tls}, before_tls => $arg{before_tls},
        dir => File::Temp->newdir('backend-XXXXXX',
            DIR => $ENV{UP_RUN} // File::Spec->tmpdir),
    }, $class;
    chmod 0755, $self->{dir}->dirname;
    $self->{log} = $self->{dir}->dirname . '/log';
    if ($arg{unix}) {
        $self->{unix} = $arg{unix} =~ m{^/} ? $arg{unix}
            : $self->{dir}->dirname . '/socket';
    }
    else {
        $self->{host} = $arg{host} // '127.0.0.1';
        $self->{guard} = $self->_bind($arg{port} // 0);
        $self->{port} = $self->{guard}->sockport;
    }
    $live{ $self + 0 } = $self;
    Scalar::Util::weaken($live{ $self + 0 });
    $self->open if !$arg{closed};
    return $self;
}

# `code` takes the parsed request and returns [status, [name => value, ...],
# body]; a list as body is sent in chunks of its elements.
sub http {
    my ($class, $code, %arg) = @_;
    return $class->start(sub {
        my ($c) = @_;
        while (my $req = $c->read_request) {
            $c->respond($req, @{ $code->($req, $c) }) or last;
        }
    }, %arg);
}

# A port that refuses connections until ->open is called.
sub closed {
    my ($class, $code, %arg) = @_;
    return $class->start($code, %arg, closed => 1);
}

# A port whose handshake is never completed: its queue is full.
sub stuck {
    my ($class, %arg) = @_;
    my $self = $class->start(sub { }, %arg, closed => 1);
    $self->{stuck} = $self->_bind($self->{port});
    CORE::listen $self->{stuck}, 0;
    for (1 .. 3) {
        push @{ $self->{fill} }, IO::Socket::IP->new(
            PeerHost => $self->{host}, PeerPort => $self->{port},
            Type => SOCK_STREAM, Blocking => 0);
    }
    sleep 0.05;
    return $self;
}

sub has_ipv6 {
    return defined IO::Socket::IP->new(LocalHost => '::1', LocalPort => 0,
        Listen => 1);
}

# Bound and not listening: connections are refused, nobody else gets it. Two
# sockets may hold the same port as long as one listens at most.
sub _bind {
    my ($self, $port) = @_;
    my @opt = ([SOL_SOCKET, SO_REUSEADDR, 1]);
    push @opt, [SOL_SOCKET, SO_RCVBUF, $self->{rcvbuf}] if $self->{rcvbuf};
    return IO::Socket::IP->new(LocalHost => $self->{host},
        LocalPort => $port, Type => SOCK_STREAM, Sockopts => \@opt)
        // croak "bind $self->{host} $port: $!";
}

sub _listener {
    my ($self) = @_;
    if ($self->{unix}) {
        unlink $self->{unix};
        my $sock = IO::Socket::UNIX->new(Local => $self->{unix},
            Listen => $self->{backlog}) // croak "$self->{unix}: $!";
        chmod 0777, $self->{unix};
        return $sock;
    }
    my $sock = $self->_bind($self->{port});
    CORE::listen $sock, $self->{backlog} or croak "listen: $!";
    return $sock;
}

# Accepts connections (again), on the same address as before.
sub open {
    my ($self) = @_;
    croak 'already open' if $self->{pid};
    my $listener = $self->_listener;
    pipe my $alive, $self->{alive} or croak "pipe: $!";
    STDOUT->flush;
    my $pid = fork // croak "fork: $!";
    if (!$pid) {
        # Whatever happens here, nothing of the test's own may run.
        eval { $self->_manage($listener, $alive); };
        print STDERR "backend: $@" if $@;
        POSIX::_exit(0);
    }
    $self->{pid} = $pid;
    return $self;
}

# Ends the listener and every connection.
sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return $self;
    local $?;
    kill TERM => $pid;
    1 while waitpid($pid, 0) < 0 && $! == EINTR;
    close delete $self->{alive};
    unlink $self->{unix} if $self->{unix};
    return $self;
}

# Refuses new connections and leaves the present ones alone. To be ended with
# ->stop before another ->open.
sub refuse {
    my ($self) = @_;
    kill USR1 => $self->{pid};
    my $until = time + 5;
    sleep 0.005 while !$self->_happened('refusing') && time < $until;
    return $self;
}

sub DESTROY {
    my ($self) = @_;
    return if $self->{owner} != $$;
    local ($@, $!, $?);
    delete $live{ $self + 0 };
    $self->stop;
    return;
}

sub port { return $_[0]{port} }
sub pid { return $_[0]{pid} }

# host:port, [host]:port or unix:/path, as UPSTREAM_ADDR has it.
sub addr {
    my ($self) = @_;
    return "unix:$self->{unix}" if $self->{unix};
    return $self->{host} =~ /:/ ? "[$self->{host}]:$self->{port}"
        : "$self->{host}:$self->{port}";
}

sub url {
    my ($self) = @_;
    return ($self->{tls} ? 'https://' : 'http://') . $self->addr;
}

# --- the backend's processes ------------------------------------------------

# The process that accepts. It ends when told or when the test has ended.
sub _manage {
    my ($self, $listener, $alive) = @_;
    close $_->{alive} for grep { $_ && $_->{alive} } values %live;
    CORE::open STDOUT, '>', '/dev/null';
    my $me = $$;
    setpgrp;
    $SIG{$_} = 'DEFAULT' for qw(INT HUP PIPE __DIE__ __WARN__);
    $SIG{CHLD} = 'IGNORE';
    my $refuse = 0;
    my $end = sub {
        POSIX::_exit(0) if $$ != $me;
        $SIG{TERM} = 'IGNORE';
        kill TERM => -$me;
        1 while waitpid(-1, 0) > 0;
        POSIX::_exit(0);
    };
    $SIG{TERM} = $end;
    $SIG{USR1} = sub { $refuse = 1 };
    my $select = IO::Select->new($listener, $alive);
    if ($self->{tls}) {
        # One for all connections, so that sessions can be gone on with.
        require IO::Socket::SSL;
        $self->{tls_context} = IO::Socket::SSL::SSL_Context->new(
            SSL_server => 1, SSL_session_id_context => 'up',
            %{ $self->{tls} }) or die $IO::Socket::SSL::SSL_ERROR;
    }
    while (1) {
        if ($refuse && $listener) {
            $select->remove($listener);
            close $listener;
            close $self->{guard} if $self->{unix};
            undef $listener;
            unlink $self->{unix} if $self->{unix};
            $self->_signal('refusing');
        }
        for my $ready ($select->can_read(1)) {
            $end->() if $ready == $alive;
            $self->_accept($listener, $alive);
        }
    }
    return;
}

sub _accept {
    my ($self, $listener, $alive) = @_;
    my $sock = $listener->accept or return;
    my $at = time;
    my $n = ++$self->{accepted};
    my $pid = fork // return;
    if ($pid) {
        return;
    }
    @SIG{qw(TERM USR1 CHLD)} = ('DEFAULT') x 3;
    close $listener;
    close $alive;
    close $self->{guard} if $self->{guard};
    $self->_shake_hands($sock, $n) or POSIX::_exit(0) if $self->{tls};
    my $c = Up::Backend::Conn->new($self, $sock, $n, $at);
    eval { $self->{code}->($c); 1 } or do {
        my $why = $@;
        chomp $why;
        $c->note(type => 'error', text => $why);
    };
    $c->close;
    POSIX::_exit(0);
}

sub _shake_hands {
    my ($self, $sock, $n) = @_;
    my %event = (type => 'tls', conn => $n);
    $self->{before_tls}->($sock, sub { $self->record(conn => $n, @_) })
        if $self->{before_tls};
    if (!IO::Socket::SSL->start_SSL($sock, SSL_server => 1, Timeout => 10,
        SSL_reuse_ctx => $self->{tls_context})) {
        return !$self->record(%event,
            error => $IO::Socket::SSL::SSL_ERROR // 'failed');
    }
    return $self->record(%event, version => $sock->get_sslversion,
        sni => $sock->get_servername // '',
        resumed => $sock->get_session_reused ? 1 : 0,
        client => $sock->peer_certificate('cn') // '');
}

# One write, so that records of several processes do not mix.
sub record {
    my ($self, %event) = @_;
    if (!$self->{logfh} || $self->{logpid} != $$) {
        sysopen $self->{logfh}, $self->{log}, O_WRONLY | O_APPEND | O_CREAT
            or die "$self->{log}: $!";
        $self->{logpid} = $$;
    }
    syswrite $self->{logfh}, pack 'N/a*', Storable::freeze(\%event);
    return 1;
}

# --- what backend and test share --------------------------------------------

# Adds one to a named counter and returns its value. It counts over all
# connections and processes.
sub count {
    my ($self, $name) = @_;
    my $file = $self->{dir}->dirname . "/count-$name";
    sysopen my $fh, $file, O_RDWR | O_CREAT or die "$file: $!";
    flock $fh, LOCK_EX;
    my $old = '';
    sysread $fh, $old, 20;
    my $n = ($old || 0) + 1;
    sysseek $fh, 0, 0;
    syswrite $fh, $n;
    return $n;
}

sub _signal {
    my ($self, $name) = @_;
    CORE::open my $fh, '>', $self->{dir}->dirname . "/signal-$name"
        or die "signal $name: $!";
    return 1;
}

sub _happened { return -e $_[0]{dir}->dirname . "/signal-$_[1]" }

# Lets ->wait_for of that name, in the test or in the script, go on.
sub signal { return $_[0]->_signal($_[1]) }

sub wait_for {
    my ($self, $name, $timeout) = @_;
    my $until = time + ($timeout // 10);
    while (!$self->_happened($name)) {
        return 0 if time > $until;
        sleep 0.005;
    }
    return 1;
}

# --- what the test can ask --------------------------------------------------

sub _refresh {
    my ($self) = @_;
    CORE::open my $fh, '<:raw', $self->{log} or return;
    seek $fh, $self->{offset}, 0;
    local $/;
    my $new = <$fh> // '';
    while (length $new >= 4) {
        my $size = unpack 'N', $new;
        last if length $new < 4 + $size;
        my $record = substr $new, 0, 4 + $size, '';
        push @{ $self->{events} }, Storable::thaw(substr $record, 4);
        $self->{offset} += 4 + $size;
    }
    return;
}

# Every event since the last ->clear, in order: {type, conn, t, ...} with the
# types accept, data {bytes}, request, eof, reset, close, error {text}.
sub events {
    my ($self, $type) = @_;
    $self->_refresh;
    my @events = @{ $self->{events} }[$self->{mark} .. $#{ $self->{events} }];
    return grep { !defined $type || $_->{type} eq $type } @events;
}

# Forgets what has been seen so far.
sub clear {
    my ($self) = @_;
    $self->_refresh;
    $self->{mark} = @{ $self->{events} };
    return $self;
}

# Whole requests: {line, method, target, version, headers, raw, body, conn,
# n (in its connection), t_head, t, problems}; see also Up::Backend::Conn.
sub requests { return $_[0]->events('request') }

# Connections accepted since ->clear: {conn, t, data (all bytes received),
# eof or reset (times), requests => [...]}.
sub connections {
    my ($self) = @_;
    my (%by, @all);
    for my $event ($self->events) {
        my $conn = $event->{conn};
        my $type = $event->{type};
        if ($type eq 'accept') {
            push @all, $by{$conn} = { conn => $conn, t => $event->{t},
                data => '', requests => [] };
        }
        next if !$by{$conn};
        $by{$conn}{data} .= $event->{bytes} if $type eq 'data';
        $by{$conn}{$type} = $event->{t} if $type =~ /^(?:eof|reset)$/;
        push @{ $by{$conn}{requests} }, $event if $type eq 'request';
    }
    return @all;
}

# Violations of HTTP in what was received, and errors of the script.
sub problems {
    my ($self) = @_;
    my @problems;
    for my $event ($self->events) {
        push @problems, map { "connection $event->{conn}: $_" }
            @{ $event->{problems} || [] },
            $event->{type} eq 'error' ? $event->{text} : ();
    }
    return @problems;
}

# Waits until at least n of something have been recorded since ->clear:
# wait_count(2, 'request'). Returns how many there are.
sub wait_count {
    my ($self, $n, $type, $timeout) = @_;
    my $until = time + ($timeout // 5);
    while (1) {
        my @events = $self->events($type // 'request');
        return scalar @events if @events >= $n || time > $until;
        sleep 0.01;
    }
}

1;
