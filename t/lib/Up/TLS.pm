# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::TLS;

# TLS in front of the server: a certificate made now, a virtual host, and
# clients.
#
#   my $tls = Up::TLS->available or plan skip_all => 'no TLS';
#   Up::Server->start(conf => $tls->vhost($port), ...);
#   my $k = $tls->client($port);        # an Up::Client over TLS
#
# A client is an Up::Client whose bytes go through `openssl s_client`: what
# is sent with one ->send is one record, if it is not too big. Its closing is
# that of the program, so that there is no notice before the end of the
# stream.

use strict;
use warnings;

use File::Temp ();
use IO::Handle ();
use POSIX ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);

use Up::Client ();

our @ISA = qw(Up::Client);

sub available {
    my ($class) = @_;
    return if !-e "$ENV{UP_LIBEXECDIR}/mod_ssl.so";
    my $dir = File::Temp->newdir('tls-XXXXXX', DIR => $ENV{UP_RUN});
    system("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost "
        . "-keyout $dir/key -out $dir/cert >/dev/null 2>&1") == 0 or return;
    return bless { dir => $dir }, $class;
}

sub vhost {
    my ($self, $port, $more) = @_;
    $more //= '';
    return <<"END";
LoadModule socache_shmcb_module "\@MODULES\@/mod_socache_shmcb.so"
LoadModule ssl_module "\@MODULES\@/mod_ssl.so"
Listen 127.0.0.1:$port
<VirtualHost 127.0.0.1:$port>
    SSLEngine on
    SSLCertificateFile $self->{dir}/cert
    SSLCertificateKeyFile $self->{dir}/key
$more
</VirtualHost>
END
}

# Both directions of the program are one socket, so that it can be polled.
sub client {
    my ($class, $port, %opt) = @_;
    socketpair my $mine, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC
        or die "socketpair: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        close $mine;
        open STDIN, '<&', $theirs;
        open STDOUT, '>&', $theirs;
        open STDERR, '>', '/dev/null';
        exec { 'openssl' } 'openssl', 's_client', '-quiet', '-nocommands',
            '-connect', "127.0.0.1:$port", @{ $opt{options} || [] }
            or POSIX::_exit(127);
    }
    close $theirs;
    $mine->blocking(0);
    binmode $mine;
    return bless { timeout => $opt{timeout} // 10, strict => 1,
        block => 65536, host => '127.0.0.1', buf => '', sock => $mine,
        name => 'localhost', pid => $pid }, 'Up::TLS';
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
