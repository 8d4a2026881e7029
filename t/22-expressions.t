# Licensed under the Apache License, Version 2.0; see LICENSE.

# The expressions that docs/directives.md names for nginx's variables: every
# row of its table, and the lines below it.

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA qw(sha1_base64);
use File::Basename qw(dirname);
use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $top = $ENV{UP_TOP} // dirname dirname abs_path __FILE__;

open my $fh, '<', "$top/docs/directives.md" or die "directives.md: $!\n";
my ($part) = do { local $/; <$fh> } =~ /^## nginx's variables\n(.*)/ms;
my @rows = $part =~ /^\| `\$(\w+)` \| `(%\{[^`]+\})` \|/mg;
my ($lines) = $part =~ /^```apache\n(.*?)^```/ms;
cmp_ok scalar @rows, '>=', 2 * 28, 'the table is found';

my $b = Up::Backend->http(sub { [200, ['X-Version' => '7'], 'ok'] });
my $unique = "$ENV{UP_LIBEXECDIR}/mod_unique_id.so";
my $set = '';
for (my $i = 0; $i < @rows; $i += 2) {
    $set .= "UpstreamSetHeader X-N$i \"$rows[$i + 1]\"\n";
}

my $s = Up::Server->start(A => $b->addr,
    conf => (!-e $unique ? ''
        : "LoadModule unique_id_module $unique\n") . <<"END");
<Location />
    AuthType Basic
    AuthName x
    AuthUserFile \@ROOT\@/conf/users
    Require valid-user
</Location>
UpstreamPass / http://\@A\@
Header set X-Addr "expr=%{UPSTREAM_ADDR}"
Header set X-Seen "expr=%{upstream_http:X-Version}"
$lines
$set
END
open $fh, '>', $s->root . '/conf/users' or die "users: $!\n";
print $fh 'joe:{SHA}', sha1_base64('pass'), "=\n";
close $fh;

my $target = '/a%20b//c?page=2&x=%2F';
my $k = $s->client;
my $res = $k->ask(POST => $target, [Host => 'front.test:8181',
    'User-Agent' => 'me/1', Cookie => 'a=1; sid=s3; b=2',
    'X-Forwarded-For' => '10.1.1.1', 'Content-Type' => 'text/x',
    Authorization => 'Basic am9lOnBhc3M='], 'hello');
is $res->status, 200, 'an answer';

my %want = (
    host => 'front.test:8181', http_host => 'front.test:8181',
    http_user_agent => 'me/1', remote_addr => '127.0.0.1',
    remote_port => qr/^[1-9]\d+$/, remote_user => 'joe', scheme => 'http',
    https => 'off', server_addr => '127.0.0.1', server_port => '8181',
    server_name => 'front.test', server_protocol => 'HTTP/1.1',
    document_root => $s->htdocs, request_method => 'POST',
    request => "POST $target HTTP/1.1", request_uri => $target,
    uri => '/a b/c', args => 'page=2&x=%2F', arg_page => '2',
    cookie_sid => 's3', content_type => 'text/x', content_length => '5',
    request_id => qr/^[\w@-]{20,}$/, proxy_host => $b->addr,
    proxy_port => $b->addr =~ s/.*://r,
    proxy_add_x_forwarded_for => '10.1.1.1, 127.0.0.1',
    # There is none yet.
    upstream_addr => undef, upstream_http_x_version => undef,
);
my ($req) = $b->requests;
for (my $i = 0; $i < @rows; $i += 2) {
    my ($name, $expr) = @rows[$i, $i + 1];
    my ($got) = map { $_->[0] eq "X-N$i" ? $_->[1] : () }
        @{ $req->{headers} };
    SKIP: {
        skip 'no mod_unique_id', 1
            if $name eq 'request_id' && !-e $unique;
        ok exists $want{$name}
            && (ref $want{$name} ? ($got // '') =~ $want{$name}
                : ($got // 'none') eq ($want{$name} // 'none')),
            "\$$name is $expr" or diag $got // 'not sent';
    }
}
is $res->header('X-Addr'), $b->addr, '$upstream_addr, when there is one';
is $res->header('X-Seen'), '7', '$upstream_http_x_version';
ok $s->stop, 'no crash, nothing left';

$s = Up::Server->start(A => $b->addr, conf => <<'END');
UseCanonicalName On
UseCanonicalPhysicalPort On
ServerName own.test
UpstreamPass / http://@A@
UpstreamSetHeader X-Name %{SERVER_NAME}
UpstreamSetHeader X-Port %{SERVER_PORT}
END
$b->clear;
$s->get('/x', [Host => 'front.test:8181']);
($req) = $b->requests;
my %got = map { @$_ } @{ $req->{headers} };
is $got{'X-Name'}, 'own.test', 'the server\'s own name';
is $got{'X-Port'}, $s->port, 'and the port of the socket';
ok $s->stop, 'no crash, nothing left';

done_testing;
