# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::TLS;

# What tests with TLS need: a certificate of our own, and the means.

use strict;
use warnings;

use Carp qw(croak);

use Up::Server ();

my $made;

# Can an httpd with TLS be run and spoken to?
sub usable {
    return -e "$ENV{UP_LIBEXECDIR}/mod_ssl.so"
        && grep({ -x "$_/openssl" } split /:/, $ENV{PATH})
        && eval { require IO::Socket::SSL };
}

# A directory with `key` and `cert`, for localhost, signed by itself.
sub certificate {
    return $made if $made;
    my $dir = "$ENV{UP_RUN}/tls-$$";
    mkdir $dir or croak "$dir: $!";
    system("openssl req -x509 -newkey ec "
        . "-pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        . "-subj /CN=localhost -keyout '$dir/key' -out '$dir/cert' "
        . ">'$dir/log' 2>&1") == 0 or croak "openssl: see $dir/log";
    return $made = $dir;
}

# Configuration of a virtual host with TLS, and the port it is on.
sub host {
    my ($more) = @_;
    my $port = Up::Server::free_port();
    my $dir = certificate();
    return ($port, <<"END");
LoadModule ssl_module "\@MODULES\@/mod_ssl.so"
Listen 127.0.0.1:$port
<VirtualHost 127.0.0.1:$port>
    SSLEngine on
    SSLCertificateFile "$dir/cert"
    SSLCertificateKeyFile "$dir/key"
    @{[ $more // '' ]}
</VirtualHost>
END
}

1;
