#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# What rules a request when several sections have their say: which
# UpstreamPass, and which values.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $echo = sub {
    my ($who) = @_;
    return Up::Backend->http(sub {
        my ($req) = @_;
        my ($status) = $req->{target} =~ /(\d{3})$/;
        my @seen = map { $_->[0] =~ /^X-/ ? join ': ', @$_ : () }
            @{ $req->{headers} };
        return [$who eq 'fails' && $status || 200,
            ['X-Hidden' => 1, 'X-Other' => 1, Server => 'backend'],
            join "\n", "$who $req->{method} $req->{target}", sort @seen];
    });
};
my ($first, $second, $fails) = map { $echo->($_) } qw(first second fails);

my $s = Up::Server->start(conf => <<'END',
<Upstream Pair>
    UpstreamServer @FAILS@ max_fails=0
    UpstreamServer @A@ backup
</Upstream>

UpstreamSetHeader X-Level server
UpstreamSetHeader X-Server yes
UpstreamHideHeader X-Hidden
UpstreamNextUpstream http_500

UpstreamPass / http://@A@/top/
UpstreamPass /long/ http://@A@/short/
UpstreamPass /long/prefix/ http://@A@/long/
UpstreamPass /text http://@A@/text
UpstreamPass /own/ off
UpstreamPass /own/not/ http://@A@
UpstreamPass /lost/ http://no-such-host.invalid/
UpstreamPass /lost/port/ http://no-port.invalid:81
<Upstream half>
    UpstreamServer half.invalid
    UpstreamServer @A@
</Upstream>
UpstreamPass /query/ http://@A@?k=1&path=

<Location /sec/>
    UpstreamPass http://@A@/sec/
</Location>
UpstreamPass /sec/deep/ http://@A@/deep/
<Location /sec/off/>
    UpstreamPass !
</Location>
<Location /tie/>
    UpstreamPass http://@A@/section/
</Location>
UpstreamPass /tie/ http://@A@/argument/
<LocationMatch "^/(?:long/prefix|sec)/re">
    UpstreamPass http://@B@
</LocationMatch>
<If "%{QUERY_STRING} == 'if'">
    UpstreamPass http://@B@
    UpstreamMethod PATCH
</If>

<Location /sec/values/>
    UpstreamSetHeader X-Level inner
    UpstreamMethod PURGE
    UpstreamHideHeader X-Other
    UpstreamPassHeader Server
</Location>
<Location /sec/values/more/>
    UpstreamHideHeader X-None
</Location>
<Location /pair/>
    UpstreamPass http://PAIR
</Location>
<Location /pair/503/>
    UpstreamNextUpstream http_503
</Location>
<Location /pair/none/>
    UpstreamNextUpstream http_500 off
</Location>

<Directory "@HTDOCS@/own">
    AllowOverride All
    AllowOverrideList UpstreamBuffering
</Directory>

Listen 127.0.0.1:@PORT2@
<VirtualHost 127.0.0.1:@PORT2@>
    UpstreamSetHeader X-Level host
    UpstreamPass /long/ http://@A@/host/
    <Location /sec/off/>
        UpstreamPass http://@A@/on/
    </Location>
</VirtualHost>
END
    A => $first->addr, B => $second->addr, FAILS => $fails->addr,
    PORT2 => my $port2 = Up::Server::free_port());

sub line {
    my ($target, $expected, $name) = @_;
    my ($line) = split /\n/, $s->get($target)->body;
    return is $line, $expected, $name;
}

# --- the longest prefix, wherever it stands ---------------------------------

line '/x', 'first GET /top/x', 'the shortest prefix';
line '/long/x', 'first GET /short/x', 'a longer one';
line '/long/prefix/x', 'first GET /long/x', 'the longest, though later';
line '/textual/x', 'first GET /textual/x', 'a prefix is text, no segment';
line '/sec/x', 'first GET /sec/x', 'a section beats a shorter argument';
line '/sec/deep/x', 'first GET /deep/x', 'a longer argument beats a section';
line '/tie/x', 'first GET /section/x', 'of two equal ones the section';
line '/long/prefix/re', 'second GET /long/prefix/re', 'a pattern beats all';
line '/sec/re', 'second GET /sec/re', 'also a section';
line '/sec/values/x', 'first PURGE /sec/values/x',
    'a section is inherited by longer ones without a pass';
line '/long/prefix/x?if', 'second PATCH /long/prefix/x?if', '<If> too';
line '/query/x', 'first GET /?k=1&path=x', 'a slash before a query';

is $s->get('/own/x')->status, 404, 'off leaves a path to httpd';
line '/own/not/x', 'first GET /own/not/x', 'but not a longer one';
is $s->get('/sec/off/x')->status, 404, 'off in a section';

my $res = $s->get('/long');
is $res->status, 301, 'a location without its slash';
like $res->header('Location'), qr{/long/$}, '... is sent to it';
is $s->get('/sec')->status, 301, 'a section, too';
is $s->get('/own')->status, 200, 'not one that is off';

# --- values -----------------------------------------------------------------

$res = $s->get('/sec/x');
like $res->body, qr/^X-Level: server\nX-Server: yes$/m, 'list of the server';
ok !defined $res->header('X-Hidden'), 'hidden by the server';
ok defined $res->header('X-Other'), 'the other is not';
isnt $res->header('Server'), 'backend', 'Server is hidden always';

$res = $s->get('/sec/values/x');
like $res->body, qr/^X-Level: inner$/m, 'a list replaces the outer one';
unlike $res->body, qr/X-Server/, '... as a whole';
ok defined $res->header('X-Hidden'), 'so does the list of hidden fields';
ok !defined $res->header('X-Other'), '... with another';

$res = $s->get('/sec/values/more/x');
ok defined $res->header($_), "$_ is hidden no more" for qw(X-Hidden X-Other);
is $res->header('Server'), 'backend',
    'the list of passed fields is inherited by itself';
like $res->body, qr/^X-Level: inner$/m, 'inherited over two sections';
like $res->body, qr/^first PURGE /, 'a scalar is, too';

is $s->get('/pair/x/500')->status, 200, 'words of the server: http_500';
is $s->get('/pair/x/503')->status, 503, '... and nothing else';
is $s->get('/pair/503/x/503')->status, 200, 'words replace the outer ones';
is $s->get('/pair/503/x/500')->status, 500, '... as a whole';
is $s->get('/pair/none/x/500')->status, 500, 'off rules the other words';

# --- virtual hosts ----------------------------------------------------------

{
    local $s->{port} = $port2;
    line '/long/x', 'first GET /host/x', 'the same prefix in a virtual host';
    line '/long/prefix/x', 'first GET /long/x', 'others are inherited';
    line '/sec/x', 'first GET /sec/x', 'sections as well';
    line '/sec/off/x', 'first GET /on/x', 'its own sections come last';
    like $s->get('/x')->body, qr/^X-Level: host$/m, 'its own values';
}

# --- names that lead nowhere ------------------------------------------------

is $s->get('/lost/x')->status, 502, 'a name that does not resolve';
my @warned = grep { /UP0105: .*502 until it can/ }
    map { split /\n/, $s->_slurp($_) } qw(error_log output);
my $file = $s->root . '/conf/httpd.conf';
for my $what (
    qr{UpstreamPass\ at\ \Q$file\E:\d+:\ there\ is\ no
        \ <Upstream\ no-such-host\.invalid>,\ so\ no-such-host\.invalid\ is
        \ taken\ for\ a\ host\ name,\ which\ cannot\ be\ resolved;}x,
    qr{UpstreamPass at \S+: the host name no-port\.invalid cannot be resolved;},
    qr{group "half" \(\S+:\d+\): the name of server half\.invalid cannot be},
) {
    is scalar(grep { /UP0105: $what/ } @warned), 1, '... is warned about once';
}
is @warned, 3, 'each of them';

# --- .htaccess --------------------------------------------------------------

$s->write_file('own/file', 'a file');
is $s->get('/own/file')->body, 'a file', 'a file';
for my $case (['UpstreamReadTimeout 5s', qr/UpstreamReadTimeout not allowed/],
    ['UpstreamServer 127.0.0.1', qr/UpstreamServer not allowed/],
    ['UpstreamBuffering off',
        qr/UpstreamBuffering cannot stand in \.htaccess: it belongs in/]) {
    my ($directive, $message) = @$case;
    $s->mark;
    $s->write_file('own/.htaccess', "$directive\n");
    is $s->get('/own/file')->status, 500, "$directive in .htaccess";
    ok scalar $s->error_log($message), '... is refused';
}

# --- the configuration is read again ----------------------------------------

ok $s->graceful, 'a graceful restart';
line '/long/prefix/x', 'first GET /long/x', 'the same pass afterwards';
line '/pair/x/500', 'first GET /pair/x/500', 'the same group';
ok $s->restart, 'a restart';
line '/sec/values/x', 'first PURGE /sec/values/x', 'the same settings';

ok $s->stop, 'server ended well';
done_testing;
