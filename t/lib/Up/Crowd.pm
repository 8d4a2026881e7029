# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Crowd;

# Many connections at once, on both sides of the server.
#
#   my $b = Up::Crowd->start;          # a backend: one process for all of them
#   my @all = crowd(100, $s, GET => '/p/wait/2');
#   is tally(map { $_->response } @all), '100 x 200 waited';
#
# What the backend does is told by the end of the path:
#   quick        answers "quick"
#   wait/1.5     answers "waited" after that many seconds
#   body/1.5     sends the head, and the body "late" after that many seconds
#   silent       does not answer
#   big/1000     answers with so many bytes
#   tunnel       answers 101, and gives back what comes from then on
# Request bodies are read first and their length is told in X-Body. A direct
# request for /count is answered with "<open connections> <accepted>".
#
# Files for the loop begin with `only_loop`.

use strict;
use warnings;

use Errno qw(EAGAIN EINTR);
use Exporter qw(import);
use IO::Poll qw(POLLIN POLLOUT);
use IO::Socket::IP ();
use POSIX ();
use Socket qw(SOCK_STREAM);
use Test::More ();
use Time::HiRes qw(time sleep);

use Up::Client ();

our @EXPORT = qw(only_loop crowd tally threads_of descriptors_of quickly
    field_of);

# Skips the file when the run is not for the loop.
sub only_loop {
    return if ($ENV{UP_DRIVER} // '') eq 'loop'
        && ($ENV{UP_MPM} // 'event') eq 'event';
    Test::More::plan(skip_all => 'of the loop alone, on the event MPM');
    return;
}

# --- the backend ------------------------------------------------------------

sub start {
    my ($class) = @_;
    my $listener = IO::Socket::IP->new(LocalHost => '127.0.0.1',
        LocalPort => 0, Listen => 4096, Type => SOCK_STREAM)
        // die "listen: $!";
    my $self = bless { owner => $$, port => $listener->sockport }, $class;
    pipe my $alive, $self->{alive} or die "pipe: $!";
    STDOUT->flush;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        $SIG{$_} = 'DEFAULT' for qw(TERM INT __DIE__ __WARN__);
        $SIG{PIPE} = 'IGNORE';
        CORE::close $self->{alive};
        eval { _serve($listener, $alive); };
        print STDERR "backend: $@" if $@;
        POSIX::_exit(0);
    }
    $self->{pid} = $pid;
    return $self;
}

sub addr { return "127.0.0.1:$_[0]{port}" }

# Connections that are open now, and all that there were.
sub count {
    my ($self) = @_;
    my $res = Up::Client->new(port => $self->{port})->get('/count');
    my ($open, $accepted) = split / /, $res->body;
    return ($open - 1, $accepted);
}

# Waits until no more than n connections are open; returns how many are.
sub wait_open {
    my ($self, $n, $timeout) = @_;
    my $until = time + ($timeout // 5);
    my $open;
    do {
        ($open) = $self->count;
        sleep 0.02 if $open > $n;
    } while ($open > $n && time < $until);
    return $open;
}

# Waits until at least n are; returns how many.
sub wait_many {
    my ($self, $n, $timeout) = @_;
    my $until = time + ($timeout // 10);
    my $open;
    do {
        ($open) = $self->count;
        sleep 0.02 if $open < $n;
    } while ($open < $n && time < $until);
    return $open;
}

sub DESTROY {
    my ($self) = @_;
    return if $self->{owner} != $$;
    local ($?, $!);
    kill TERM => $self->{pid};
    waitpid $self->{pid}, 0;
    return;
}

sub _serve {
    my ($listener, $alive) = @_;
    my $poll = IO::Poll->new;
    my %state = (poll => $poll, conns => {}, later => [], accepted => 0);
    $listener->blocking(0);
    $poll->mask($listener => POLLIN);
    $poll->mask($alive => POLLIN);
    while (1) {
        my $next = $state{later}[0];
        my $wait = $next ? $next->[0] - time : 1;
        $poll->poll($wait > 0 ? $wait : 0);
        for my $sock ($poll->handles) {
            $poll->events($sock) or next;
            return if $sock == $alive;
            $sock == $listener ? _accept(\%state, $listener)
                : _ready(\%state, $sock);
        }
        _due(\%state);
    }
    return;
}

sub _accept {
    my ($state, $listener) = @_;
    while (my $sock = $listener->accept) {
        $sock->blocking(0);
        $state->{accepted}++;
        $state->{conns}{$sock} = { sock => $sock, in => '', out => '' };
        $state->{poll}->mask($sock => POLLIN);
    }
    return;
}

# What was put off and is due now; `later` is in order.
sub _due {
    my ($state) = @_;
    my $later = $state->{later};
    while (@$later && $later->[0][0] <= time) {
        my (undef, $c, $bytes) = @{ shift @$later };
        _put($state, $c, $bytes) if $state->{conns}{ $c->{sock} };
    }
    return;
}

sub _later {
    my ($state, $c, $seconds, $bytes) = @_;
    my $later = $state->{later};
    my $when = time + $seconds;
    my $at = @$later;
    $at-- while $at && $later->[$at - 1][0] > $when;
    splice @$later, $at, 0, [$when, $c, $bytes];
    return;
}

sub _put {
    my ($state, $c, $bytes) = @_;
    $c->{out} .= $bytes;
    while (length $c->{out}) {
        my $n = syswrite $c->{sock}, $c->{out};
        if (!defined $n) {
            last if $! == EAGAIN;
            return _end($state, $c);
        }
        substr $c->{out}, 0, $n, '';
    }
    $state->{poll}->mask($c->{sock} =>
        length $c->{out} ? POLLIN | POLLOUT : POLLIN);
    return;
}

sub _end {
    my ($state, $c) = @_;
    delete $state->{conns}{ $c->{sock} };
    $state->{poll}->remove($c->{sock});
    CORE::close $c->{sock};
    return;
}

sub _ready {
    my ($state, $sock) = @_;
    my $c = $state->{conns}{$sock} // return;
    _put($state, $c, '') if length $c->{out};
    $state->{conns}{$sock} or return;
    my $n = sysread $sock, $c->{in}, 65536, length $c->{in};
    return if !defined $n && ($! == EAGAIN || $! == EINTR);
    return _end($state, $c) if !$n;
    return _put($state, $c, substr $c->{in}, 0, length $c->{in}, '')
        if $c->{tunnel};
    while ($state->{conns}{$sock} && !$c->{tunnel}
        && $c->{in} =~ /^(?:\S+) (\S+) .*?\r\n\r\n/s) {
        my ($target, $head) = ($1, $+[0]);
        my ($length) = substr($c->{in}, 0, $head)
            =~ /^Content-Length: (\d+)/mi;
        $length //= 0;
        return if length $c->{in} < $head + $length;
        substr $c->{in}, 0, $head + $length, '';
        _answer($state, $c, $target, $length);
    }
    return;
}

sub _answer {
    my ($state, $c, $target, $got) = @_;
    my ($what, $value) = $target =~ m{/([a-z]+)(?:/([\d.]+))?\z}
        or return _end($state, $c);
    my $head = sub { "HTTP/1.1 200 OK\r\nX-Body: $got\r\n"
        . "Content-Length: $_[0]\r\n\r\n" };
    if ($what eq 'wait') {
        _later($state, $c, $value, $head->(6) . 'waited');
    }
    elsif ($what eq 'body') {
        _put($state, $c, $head->(4));
        _later($state, $c, $value, 'late');
    }
    elsif ($what eq 'tunnel') {
        $c->{tunnel} = 1;
        _put($state, $c, "HTTP/1.1 101 Switching Protocols\r\n"
            . "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
            . substr $c->{in}, 0, length $c->{in}, '');
    }
    elsif ($what eq 'big') {
        _put($state, $c, $head->($value) . 'b' x $value);
    }
    elsif ($what ne 'silent') {
        my $body = $what eq 'count'
            ? keys(%{ $state->{conns} }) . " $state->{accepted}" : $what;
        _put($state, $c, $head->(length $body) . $body);
    }
    return;
}

# --- the clients' side ------------------------------------------------------

# n connections, each with the same request under way.
sub crowd {
    my ($n, $server, @request) = @_;
    my @all;
    for (1 .. $n) {
        my $k = $server->client;
        $k->request(@request) if @request;
        push @all, $k;
    }
    return @all;
}

# Responses as a text: "3 x 200 quick, 1 x cut".
sub tally {
    my %n;
    for my $res (@_) {
        my $text = !defined $res->status ? 'nothing (' . ($res->end // '?')
            . ')' : !$res->complete ? $res->status . ' cut'
            : length $res->body > 60 ? $res->status . ' ' . length($res->body)
            . ' bytes' : $res->status . ' ' . $res->body;
        $n{$text}++;
    }
    return join ', ', map { "$n{$_} x $_" } sort keys %n;
}

# Seconds that the answer to a request takes, on a connection of its own or
# the one given; fails when it is not the one expected.
sub quickly {
    my ($server, $target, $expected, $k) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $began = time;
    my $res = ($k // $server->client)->get($target);
    my $took = time - $began;
    Test::More::is($res->body, $expected, $target)
        if ($res->body // '') ne $expected;
    return $took;
}

# --- the server's processes -------------------------------------------------

sub field_of {
    my ($pid, $name) = @_;
    open my $fh, '<', "/proc/$pid/status" or return 0;
    my ($value) = join('', <$fh>) =~ /^\Q$name\E:\s+(\d+)/m;
    return $value // 0;
}

sub threads_of { return field_of($_[0], 'Threads') }

sub descriptors_of {
    opendir my $dh, "/proc/$_[0]/fd" or return 0;
    return scalar(grep { !/^\./ } readdir $dh);
}

1;
