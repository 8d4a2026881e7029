# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::CA;

# A certification authority made at run time, with openssl.
#
#   my $ca = Up::CA->new;                     # 2 more are no problem
#   my $cert = $ca->issue('www', 'DNS:www.test,IP:127.0.0.1');
#   my $inter = $ca->authority('between');    # signed by $ca
#   $ca->cert; $ca->crl($cert, ...);          # paths
#   $cert->{cert}, $cert->{key}               # paths

use strict;
use warnings;

use Carp qw(croak);

my $serial = 0;

sub usable {
    return grep({ -x "$_/openssl" } split /:/, $ENV{PATH})
        && eval { require IO::Socket::SSL };
}

sub new {
    my ($class) = @_;
    my $dir = ($ENV{UP_RUN} // '/tmp') . "/ca-$$-" . ++$serial;
    mkdir $dir or croak "$dir: $!";
    my $self = bless { dir => $dir, name => "ca$serial" }, $class;
    $self->_conf;
    _run($self, 'req -x509 -new -config @D@/conf -extensions v3_ca -days 2 '
        . "-subj '/CN=Test CA $serial' " . _new_key('@D@/ca.key')
        . ' -out @D@/ca.pem');
    return $self;
}

sub _conf {
    my ($self) = @_;
    my $dir = $self->{dir};
    _write("$dir/conf", <<"END");
[req]
distinguished_name = dn
prompt = no
[dn]
CN = x
[v3_ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[ca]
default_ca = all
[all]
database = $dir/index
crlnumber = $dir/crlnumber
default_md = sha256
default_crl_days = 2
END
    _write("$dir/index", '');
    _write("$dir/index.attr", "unique_subject = no\n");
    _write("$dir/crlnumber", "01\n");
    return;
}

sub _new_key {
    my ($path) = @_;
    return '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes '
        . "-keyout $path";
}

sub _write {
    my ($path, $text) = @_;
    open my $fh, '>', $path or croak "$path: $!";
    print $fh $text;
    close $fh or croak "$path: $!";
    return;
}

sub _run {
    my ($self, $command) = @_;
    $command =~ s/\@D\@/$self->{dir}/g;
    my $said = qx{openssl $command 2>&1};
    croak "openssl $command: $said" if $?;
    return;
}

sub cert { return "$_[0]{dir}/ca.pem" }

# Options: days (negative: expired), subject.
sub issue {
    my ($self, $name, $san, %arg) = @_;
    my $dir = $self->{dir};
    my $path = "$dir/$name";
    _write("$path.ext", ($san ? "subjectAltName = $san\n" : '')
        . ($arg{ext} // "basicConstraints = CA:false\n"));
    my $subject = $arg{subject} // "/CN=$name";
    $self->_run("req -new -config $dir/conf -subj '$subject' "
        . _new_key("$path.key") . " -out $path.csr");
    my $days = $arg{days} // 2;
    $self->_run("x509 -req -in $path.csr -CA $dir/ca.pem -CAkey $dir/ca.key "
        . '-set_serial ' . (1000 + ++$serial) . " -days $days "
        . "-extfile $path.ext -out $path.pem");
    chmod 0644, "$path.key";
    return { cert => "$path.pem", key => "$path.key", name => $name };
}

# An intermediate authority.
sub authority {
    my ($self, $name) = @_;
    my $own = $self->issue($name, undef, ext =>
        "basicConstraints = critical, CA:true\n"
        . "keyUsage = critical, keyCertSign, cRLSign\n"
        . "subjectKeyIdentifier = hash\n");
    my $ca = bless { dir => "$self->{dir}/$name-ca", name => $name },
        ref $self;
    mkdir $ca->{dir} or croak "$ca->{dir}: $!";
    $ca->_conf;
    _write("$ca->{dir}/ca.pem", _read($own->{cert}));
    _write("$ca->{dir}/ca.key", _read($own->{key}));
    return $ca;
}

sub _read {
    my ($path) = @_;
    open my $fh, '<', $path or croak "$path: $!";
    local $/;
    return <$fh>;
}

# Several files in one.
sub join_files {
    my ($self, $name, @paths) = @_;
    _write("$self->{dir}/$name", join '', map { _read($_) } @paths);
    return "$self->{dir}/$name";
}

# The list of those that are revoked.
sub crl {
    my ($self, @revoked) = @_;
    my $dir = $self->{dir};
    $self->_run("ca -config $dir/conf -cert $dir/ca.pem -keyfile $dir/ca.key "
        . "-revoke $_->{cert}") for @revoked;
    my $out = "$dir/crl-" . ++$serial . '.pem';
    $self->_run("ca -config $dir/conf -cert $dir/ca.pem -keyfile $dir/ca.key "
        . "-gencrl -out $out");
    return $out;
}

1;
