# Licensed under the Apache License, Version 2.0; see LICENSE.

# TLS to backends: who is asked, what is checked, what is said when it fails.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::CA ();
use Up::Server ();

plan skip_all => 'needs openssl and IO::Socket::SSL' if !Up::CA::usable();

my $ca = Up::CA->new;
my $other_ca = Up::CA->new;
my $between = $ca->authority('between');
my $deeper = $between->authority('deeper');
my $local = $ca->issue('local', 'IP:127.0.0.1,DNS:www.test');
my $wild = $ca->issue('wild', 'DNS:*.wild.test');
my $old = $ca->issue('old', 'DNS:www.test', days => -1);
my $gone = $ca->issue('gone', 'DNS:www.test');
my $below = $between->issue('below', 'DNS:www.test');
my $far = $deeper->issue('far', 'DNS:www.test');
my $crl = $ca->crl($gone);
my $client = $ca->issue('client', undef);

sub backend {
    my ($cert, %more) = @_;
    return Up::Backend->http(sub {
        my ($req) = @_;
        return [200, [], "$req->{method} $req->{target} "
            . length $req->{body}];
    }, tls => { SSL_cert_file => $cert->{cert}, SSL_key_file => $cert->{key},
        %more });
}

my %b = (
    local => backend($local),
    wild => backend($wild),
    old => backend($old),
    gone => backend($gone),
    below => backend({ %$below, cert => $ca->join_files('below+.pem',
        $below->{cert}, $between->cert) }),
    alone => backend($below),
    far => backend({ %$far, cert => $ca->join_files('far+.pem', $far->{cert},
        $deeper->cert, $between->cert) }),
    old_tls => backend($local, SSL_version => 'TLSv12'),
    asks => backend($local, SSL_verify_mode => 0x03,
        SSL_ca_file => $ca->cert),
);
my $plain = Up::Backend->start(sub {
    my ($c) = @_;
    $c->read_some;
    $c->send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
});
my $garbage = Up::Backend->start(sub {
    my ($c) = @_;
    $c->send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    $c->wait_eof(2);
});
my $closing = Up::Backend->start(sub { $_[0]->read_some });
my $silent = Up::Backend->start(sub { $_[0]->wait_eof(5) });

# Locations: name => [backend, lines].
my $www = 'UpstreamSSLName www.test';
my %at = (
    ip => ['local', ''],
    name => ['local', $www],
    othername => ['local', 'UpstreamSSLName other.test'],
    alternative => ['local', 'UpstreamSSLName other.test www.test'],
    noalternative => ['local', 'UpstreamSSLName a.test b.test'],
    chain => ['local', "UpstreamSSLName other.test\nUpstreamSSLVerify chain"],
    nosni => ['local', "$www\nUpstreamSSLServerName off"],
    wild => ['wild', 'UpstreamSSLName a.wild.test'],
    wilddeep => ['wild', 'UpstreamSSLName a.b.wild.test'],
    wildport => ['wild', 'UpstreamSSLName b.wild.test:8443'],
    old => ['old', $www],
    oldoff => ['old', "$www\nUpstreamSSLVerify off"],
    gone => ['gone', "$www\nUpstreamSSLCRL $crl"],
    notgone => ['local', "$www\nUpstreamSSLCRL $crl"],
    stillgone => ['gone', $www],
    below => ['below', $www],
    alone => ['alone', $www],
    far => ['far', $www],
    farther => ['far', "$www\nUpstreamSSLVerifyDepth 2"],
    unknown => ['local', "UpstreamSSLTrustedCertificate @{[$other_ca->cert]}"],
    unknownchain => ['local', 'UpstreamSSLTrustedCertificate '
        . $other_ca->cert . "\nUpstreamSSLVerify chain"],
    unknownoff => ['local', 'UpstreamSSLTrustedCertificate '
        . $other_ca->cert . "\nUpstreamSSLVerify off"],
    v13 => ['old_tls', 'UpstreamSSLProtocols TLSv1.3'],
    v12 => ['local', 'UpstreamSSLProtocols TLSv1.2'],
    cipher => ['local', "UpstreamSSLProtocols TLSv1.2\n"
        . 'UpstreamSSLCiphers ECDHE-ECDSA-AES256-GCM-SHA384'],
    command => ['local', 'UpstreamSSLConfCommand MaxProtocol TLSv1.2'],
    asks => ['asks', ''],
    shows => ['asks', "UpstreamSSLCertificate $client->{cert}\n"
        . "UpstreamSSLCertificateKey $client->{key}"],
    expression => ['asks', "UpstreamSSLCertificate %{HTTP:X-Cert}\n"
        . "UpstreamSSLCertificateKey %{HTTP:X-Key}"],
);
my $conf = join '', map { my ($b, $lines) = @{ $at{$_} };
    "<Location /$_/>\nUpstreamPass https://" . $b{$b}->addr . "\n$lines\n"
    . "</Location>\n" } sort keys %at;

my $s = Up::Server->start(conf => $conf . <<'END', CA => $ca->cert,
UpstreamSSLTrustedCertificate @CA@
UpstreamConnectTimeout 1s
UpstreamPass /plain/ https://@P@
UpstreamPass /garbage/ https://@G@
UpstreamPass /closing/ https://@C@
UpstreamPass /silent/ https://@S@
<Upstream group>
    UpstreamServer @L@
</Upstream>
<Location /group/>
    UpstreamPass https://group
    UpstreamSSLName www.test
</Location>
<Location /expr/>
    UpstreamPass https://@L@%{REQUEST_URI}
</Location>
END
    P => $plain->addr, G => $garbage->addr, C => $closing->addr,
    S => $silent->addr, L => $b{local}->addr);

sub tls_of {
    my ($name) = @_;
    my @events = $b{$name}->events('tls');
    return $events[-1];
}

sub works {
    my ($name, $fields) = @_;
    my $res = $s->get("/$name/x", $fields);
    return is $res->body, "GET /$name/x 0", "$name works";
}

sub fails {
    my ($name, $status, $pattern) = @_;
    $s->mark;
    my $res = $s->get("/$name/x");
    is $res->status, $status, "$name fails";
    my @lines = $s->error_log(qr{://\S*/$name/x});
    is scalar @lines, 1, 'one line says so';
    like $lines[-1] // '', $pattern, 'with the reason';
    return;
}

works('ip');
is tls_of('local')->{sni}, '', 'no SNI for an address';
works($_) for qw(name alternative chain wild wildport oldoff notgone
    stillgone below farther unknownoff v12 cipher command group expr);
is tls_of('local')->{sni}, 'www.test', 'UpstreamSSLName is sent';

fails(othername => 502, qr/failed: the certificate is not for "other\.test" /);
fails(noalternative => 502, qr/not for "a\.test"/);
fails(wilddeep => 502, qr/not for "a\.b\.wild\.test"/);
fails(old => 502, qr/certificate has expired \(the backend needs a new one/);
fails(gone => 502, qr/certificate revoked/);
fails(alone => 502, qr/unable to .*\(name its CA with UpstreamSSLTrusted/);
fails(far => 502, qr/certificate chain too long \(raise UpstreamSSLVerifyD/);
fails(unknown => 502, qr/unable to get local issuer certificate \(name its/);
fails(unknownchain => 502, qr/unable to get local issuer certificate/);
fails(v13 => 502, qr/UpstreamSSLProtocols/);
fails(plain => 502, qr/does it speak TLS on this port\? Else write http:/);
fails(garbage => 502, qr/does it speak TLS on this port\?/);
fails(closing => 502, qr/closed the connection during the TLS handshake/);
fails(silent => 504, qr/timed out \(UpstreamConnectTimeout\) while shaking/);
fails(asks => 502, qr/UpstreamSSLCertificate/);

$b{local}->clear;
works('nosni');
is tls_of('local')->{sni}, '', 'UpstreamSSLServerName off';
works('shows');
is tls_of('asks')->{client}, 'client', 'a certificate of ours';
$b{asks}->clear;
works('expression', ['X-Cert' => $client->{cert}, 'X-Key' => $client->{key}]);
is tls_of('asks')->{client}, 'client', 'one that an expression names';
$s->mark;
is $s->get('/expression/x', ['X-Cert' => $client->{cert},
    'X-Key' => $local->{key}])->status, 500, 'a key of another one: 500';
like +($s->error_log(qr/UP0704/))[0], qr/key \S+ does not belong to/, 'logged';

ok $s->stop, 'no crash, nothing left';
done_testing;
