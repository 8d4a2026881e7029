# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::TLSClient;

# An Up::Client over TLS, whose bytes go through `openssl s_client`: what one
# ->send gives it is one record, when it is not too big. It is closed with
# its process, so that no notice goes before the end of the stream.
#
#   my $k = Up::TLSClient->new(port => $port, options => ['-tls1_2']);

use strict;
use warnings;

use POSIX ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);

use Up::Client ();

our @ISA = qw(Up::Client);

sub usable {
    return -e "$ENV{UP_LIBEXECDIR}/mod_ssl.so"
        && grep { -x "$_/openssl" } split /:/, $ENV{PATH};
}

# Both directions of the program are one socket, so that it can be polled.
sub new {
    my ($class, %arg) = @_;
    socketpair my $mine, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC
        or die "socketpair: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        CORE::close $mine;
        open STDIN, '<&', $theirs;
        open STDOUT, '>&', $theirs;
        open STDERR, '>', '/dev/null';
        exec { 'openssl' } 'openssl', 's_client', '-quiet', '-nocommands',
            '-connect', "127.0.0.1:$arg{port}", @{ $arg{options} || [] }
            or POSIX::_exit(127);
    }
    CORE::close $theirs;
    $mine->blocking(0);
    binmode $mine;
    return bless { timeout => $arg{timeout} // 10, strict => 1,
        block => 65536, host => '127.0.0.1', buf => '', sock => $mine,
        name => 'localhost', pid => $pid }, $class;
}

sub close {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return;
    local $?;
    kill KILL => $pid;
    waitpid $pid, 0;
    return CORE::close $self->{sock};
}

sub DESTROY {
    my ($self) = @_;
    $self->close if $self->{pid};
    return;
}

1;
