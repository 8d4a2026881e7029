#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The values of the directives about TLS to servers.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::CA ();
use Up::Config;

plan skip_all => 'needs openssl' if !Up::CA::usable();

$ENV{UP_RUN} //= Up::Config::directory();
my $ca = Up::CA->new;
my $one = $ca->issue('one', 'DNS:one.test');
my $two = $ca->issue('two', 'DNS:two.test');
my $crl = $ca->crl($two);
my $secret = "$one->{key}.aes";
system("openssl pkcs8 -topk8 -in $one->{key} -passout pass:sesame "
    . "-out $secret") == 0 or die 'openssl';
my $words = "$one->{key}.words";
my $empty = "$one->{key}.empty";
for ([$words, "wrong\nsesame\n"], [$empty, '']) {
    open my $fh, '>', $_->[0] or die;
    print $fh $_->[1];
    close $fh or die;
}

sub pair { return "UpstreamSSLCertificate $_[0]\n"
    . "UpstreamSSLCertificateKey $_[1]" }

for my $good ('Ciphers HIGH:!aNULL', 'ConfCommand Groups P-256',
    "ConfCommand MaxProtocol TLSv1.2\nUpstreamSSLConfCommand Groups P-256",
    "CRL $crl", "TrustedCertificate @{[$ca->cert]}", 'Name www.test',
    'Name www.test other.test', 'Name %{HTTP_HOST}', 'Protocols TLSv1.3',
    'Protocols tlsv1 TLSv1.1 SSLv3', 'ServerName off', 'SessionReuse off',
    'Verify on', 'Verify off', 'Verify chain', 'VerifyDepth 0',
    "Verify chain\nUpstreamSSLName \"\"", 'CertificateCache off',
    'CertificateCache max=10', 'CertificateCache max=1 inactive=5s valid=1m',
    "KeyLog keys.log", 'Certificate ""',
    'Certificate %{HTTP:X-Cert}', "PasswordFile $words") {
    row "UpstreamSSL$good", location("UpstreamSSL$good");
}
row 'a certificate and its key', location(pair($one->{cert}, $one->{key}));
row 'a key with a password', location(pair($one->{cert}, $secret)
    . "\nUpstreamSSLPasswordFile $words");
row "UpstreamProxyProtocol $_", "UpstreamProxyProtocol $_" for qw(off v1 V2);

sub refused {
    my ($line, $pattern) = @_;
    return logged "refuses $line", location($line), 0, $pattern;
}

refused('UpstreamSSLCiphers NONSENSE', qr/wants a list that OpenSSL knows/);
refused('UpstreamSSLConfCommand Nonsense 1', qr/no such command/);
refused('UpstreamSSLConfCommand Groups nonsense', qr/its value "nonsense"/);
refused('UpstreamSSLCRL /nowhere', qr/cannot be opened: No such file/);
refused("UpstreamSSLCRL $one->{cert}", qr/this one holds no revocation list/);
refused("UpstreamSSLTrustedCertificate $crl",
    qr/this one holds no certificate/);
refused('UpstreamSSLProtocols SSLv2', qr/cannot have SSLv2/);
refused('UpstreamSSLProtocols TLSv2', qr/wants words out of SSLv2 SSLv3/);
refused('UpstreamSSLVerify perhaps', qr/wants on, off or chain, not "perh/);
refused('UpstreamSSLVerifyDepth x', qr/UpstreamSSLVerifyDepth wants/);
refused('UpstreamSSLName ""', qr/UP0700.*httpd\.conf:9: UpstreamSSLName is/);
refused('UpstreamSSLName a ""', qr/names that are not empty/);
refused('UpstreamSSLCertificateCache valid=1s', qr/wants max=/);
refused('UpstreamSSLCertificateCache max=0', qr/CertificateCache/);
refused("UpstreamSSLPasswordFile $empty", qr/holds no password/);
refused('UpstreamSSLKeyLog /nowhere/keys', qr/file that can be written/);
refused('UpstreamProxyProtocol v3', qr/wants off, v1 or v2, not "v3"/);
refused(pair($one->{cert}, $two->{key}), qr/key \S+ does not belong to/);
refused(pair('/nowhere', $two->{key}), qr/certificate \S+ cannot be opened/);
refused(pair($one->{cert}, $secret), qr/UpstreamSSLPasswordFile/);
refused("UpstreamSSLCertificate $one->{cert}", qr/holds no key/);
refused("UpstreamSSLCertificateKey $one->{key}",
    qr/stands without its certificate/);

my $group = "<Upstream g>\nUpstreamServer 127.0.0.1\n</Upstream>\n"
    . "UpstreamPass /a/ https://g\n";
row 'a server without a port behind https://', $group;
logged 'refuses one of both schemes', $group . "UpstreamPass /b/ http://g\n",
    0, qr/UP0701.*write 127\.0\.0\.1:80 or 127\.0\.0\.1:443/;

done_testing;
