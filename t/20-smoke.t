# Licensed under the Apache License, Version 2.0; see LICENSE.

# Does it work at all? One exchange of each common kind, with the module in
# Apache::Test's own httpd and in a private one.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Apache::TestRequest qw(GET_BODY);

use Up::Backend ();
use Up::Client ();
use Up::Server ();

plan tests => 28, need_module('upstream_proxy', 'status');

like GET_BODY('/server-status?auto'), qr/^ServerMPM: \Q$ENV{UP_MPM}\E$/im,
    'the server of the suite runs with the MPM that was asked for';

my $b = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['X-Method' => $req->{method}], ['first ', 'second']]
        if $req->{target} eq '/p/chunks';
    return [404, ['X-App' => 1], 'no such thing']
        if $req->{target} eq '/p/404';
    return [200, ['X-Method' => $req->{method}],
        "$req->{target} $req->{body}"];
});
my $down = Up::Backend->closed(sub { });

my $s = Up::Server->start(conf => <<'END', A => $b->addr, D => $down->addr);
<Upstream pair>
    UpstreamServer @D@
    UpstreamServer @A@
</Upstream>
UpstreamPass /p/ http://@A@
UpstreamPass /pair/ http://pair/
UpstreamPass /down/ http://@D@
END
$s->write_file('file.txt', "of httpd's own");

my $res = $s->get('/file.txt');
is $res->body, "of httpd's own", 'a file is no business of ours';

my $k = $s->client;
$res = $k->get('/p/one?x=1');
is $res->status, 200, 'GET';
is $res->body, '/p/one?x=1 ', 'target arrives, body comes back';
is $res->header('X-Method'), 'GET', 'field of the backend';
is $res->framing, 'length', 'length of the backend';

$res = $k->ask('POST', '/p/post', ['X-A' => 1], 'some body');
is $res->body, '/p/post some body', 'POST with a length';

$res = $k->ask('POST', '/p/post', ['Transfer-Encoding' => 'chunked'],
    "4\r\nsome\r\n5\r\n body\r\n0\r\n\r\n");
is $res->body, '/p/post some body', 'POST in chunks';

$res = $k->ask('HEAD', '/p/head');
ok $res->complete && $res->body eq '', 'HEAD has no body';

$res = $k->get('/p/chunks');
is $res->body, 'first second', 'their content';

$res = $k->get('/p/404');
is $res->status, 404, 'a status of the application';
is $res->body, 'no such thing', 'and its page';
ok $k->idle, 'the client connection is kept';
$k->close;

my $old = $s->client;
$old->send("GET /p/old HTTP/1.0\r\n\r\n");
$res = $old->response(version => '1.0');
is $res->body, '/p/old ', 'HTTP/1.0 client';
is $old->wait_close(2), 'eof', 'and its end';

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
my $processes = $ENV{UP_MPM} eq 'prefork' ? 2 : 1;
cmp_ok scalar($b->connections), '<=', $processes,
    'over one connection of each process';
is $b->requests, 7, 'all of it';

$s->mark;
$res = $s->get('/pair/x');
is $res->body, '/x ', 'a server is down, the next one answers';
my ($line) = $s->access_log(1);
is $line->{UPSTREAM_ADDR}, $down->addr . ', ' . $b->addr,
    'both tries in the access log';
is $line->{UPSTREAM_STATUS}, '502, 200', 'with their status';

$s->mark;
$res = $s->get('/down/x');
is $res->status, 502, 'the only server is down';
is scalar($s->error_log(qr/UP\d{4}: .*\Q@{[ $down->addr ]}\E/)), 1,
    'one line in the error log names it';

$b->clear;
$s->mark;
ok $s->graceful, 'graceful restart';
is $s->get('/p/again')->body, '/p/again ', 'and it works again';
is $b->connections, 1, 'with a new connection';
is_deeply [grep { /:(?:warn|error|crit|alert|emerg)\]/ } $s->error_log], [],
    'without a complaint';

ok $s->stop, 'no crash, nothing left';
