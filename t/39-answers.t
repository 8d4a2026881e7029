# Licensed under the Apache License, Version 2.0; see LICENSE.

# What an answer may do besides being relayed: give way to an error page by a
# list of statuses, be forgiven its framing, be streamed for its type.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time);

use Up::Answers;
use Up::Server ();
use Up::TLS ();

my $H = "HTTP/1.1 200 OK\r\n";
my $TE = "Transfer-Encoding: chunked\r\n";
my $CL2 = "Content-Length: 2\r\n";
my $OK = "2\r\nok\r\n0\r\n\r\n";
my $EVENT = 'data: ' . 'e' x 239 . "\n\n";
my $CHUNK = "f7\r\n$EVENT\r\n";
my $STEP = 0.2;

sub note_sent { return sub { $_[0]->note(type => 'sent'); 1 } }

sub paced { return map { ($_, note_sent(), pause($STEP)) } @_ }

# Events of a media type, with further fields.
sub events {
    my ($type, @fields) = @_;
    return [paced(join("\r\n", 'HTTP/1.1 200 OK', "Content-Type: $type",
        @fields, 'Transfer-Encoding: chunked', '', ''), ($CHUNK) x 2),
        "0\r\n\r\n"];
}

my %say = map { ("s$_" => "HTTP/1.1 $_ No\r\nX-App: 1\r\nSet-Cookie: a=1\r\n"
    . "Set-Cookie: b=2\r\nContent-Length: 5\r\n\r\nno$_") }
    300, 302, 404, 500, 502, 503, 504;

my $b = Up::Answers->start({
    %say, plain => "$H$CL2\r\nok",
    late => ["HTTP/1.1 502 No\r\nContent-Length: 5\r\n\r\n", pause(0.3),
        'no500'],
    large => "HTTP/1.1 502 No\r\nContent-Length: 300000\r\n\r\n"
        . 'x' x 300_000,
    both => "$H$CL2$TE\r\n$OK", htob => "$H$TE$CL2\r\n$OK",
    coded => "$H$TE$TE\r\n$OK", list => "${H}Transfer-Encoding: chunked, "
        . "chunked\r\n\r\n$OK",
    lengths => "$H$CL2$CL2\r\nok", lengthlist => "${H}Content-Length: 2, 2"
        . "\r\n\r\nok",
    differ => "$H${CL2}Content-Length: 20\r\n\r\nok",
    three => "$H$CL2${TE}Content-Length: 20\r\n\r\n$OK",
    gzipped => "${H}Transfer-Encoding: gzip, chunked\r\n\r\n$OK",
    negative => "$H${CL2}Content-Length: -2\r\n\r\nok",
    events => events('text/event-stream'),
    charset => events('Text/Event-Stream; charset=utf-8'),
    ndjson => events('application/x-ndjson'),
    grpc => events('application/grpc-web+proto'),
    log => events('text/x-log'),
    yes => events('text/event-stream', 'X-Accel-Buffering: yes'),
    no => events('text/x-log', 'X-Accel-Buffering: no'),
    bs06 => "${H}X-Accel-Buffering: no\r\nX-Accel-Expires: 0\r\n"
        . "X-Accel-Charset: koi8-r\r\nX-Accel-Limit-Rate: 0\r\nX-Other: 1\r\n"
        . "Content-Type: text/html\r\n$CL2\r\nok",
    charsets => "${H}X-Accel-Charset: utf-8\r\n"
        . "Content-Type: text/html; charset=koi8-r\r\n$CL2\r\nok",
    badcharset => "${H}X-Accel-Charset: a b\r\n"
        . "Content-Type: text/html\r\n$CL2\r\nok",
});

my ($port, $tls) = Up::TLS::usable() ? Up::TLS::host() : ();
my $s = Up::Server->start(A => $b->addr, conf => ($tls // '') . <<'END');
ErrorDocument 302 /page.html
ErrorDocument 404 /page.html
ErrorDocument 500 /page.html
ErrorDocument 502 /page.html
ErrorDocument 503 "in short"
<Location /list/>
    UpstreamPass http://@A@
    UpstreamInterceptErrors 302 500-503
</Location>
<Location /listoff/>
    UpstreamPass http://@A@
    UpstreamInterceptErrors off
</Location>
<Location /listother/>
    UpstreamPass http://@A@
    UpstreamInterceptErrors 404
</Location>
<Location /lenient/>
    UpstreamPass http://@A@
    UpstreamLenientFraming on
    UpstreamInterceptErrors off
</Location>
<Location /strict/>
    UpstreamPass http://@A@
    ErrorDocument 502 default
</Location>
<Location /types/>
    UpstreamPass http://@A@
    UpstreamBuffering on
    SetOutputFilter DEFLATE
</Location>
<Location /own/>
    UpstreamPass http://@A@
    UpstreamStreamTypes text/x-*
</Location>
<Location /none/>
    UpstreamPass http://@A@
    UpstreamStreamTypes none
</Location>
<Location /ignore/>
    UpstreamPass http://@A@
    UpstreamIgnoreHeaders X-Accel-Buffering X-Accel-Charset
    UpstreamPassHeader X-Accel-Buffering
</Location>
END
$s->write_file('page.html', 'the page');

subtest 'a list of statuses' => sub {
    for (['list', 302, 'the page'], ['list', 500, 'the page'],
        ['list', 502, 'the page'], ['list', 503, 'in short'],
        ['list', 504, 'no504'], ['list', 404, 'no404'],
        ['list', 300, 'no300'], ['listoff', 500, 'no500'],
        ['listother', 404, 'the page'], ['listother', 500, 'no500']) {
        my ($where, $status, $body) = @$_;
        my $target = "/$where/s$status";
        my $res = $s->get($target);
        is $res->status, $status, "$target: the status stays";
        is $res->body, $body, $body =~ /^no/ ? 'the answer' : 'the page';
        is_deeply [$res->field('Set-Cookie')], ['a=1', 'b=2'], 'cookies';
        is $res->header('X-App'), $body =~ /^no/ ? 1 : undef,
            'and what is of the application';
    }
};

subtest 'the body that nobody wants' => sub {
    for (['s502', 1, 'there already'], ['late', '', 'a moment later'],
        ['large', '', 'too large for that']) {
        my ($name, $kept, $what) = @$_;
        $b->clear;
        my $began = time;
        my $k = $s->client;
        my $res = $k->get("/list/$name");
        is $res->body, 'the page', "$what: the page";
        ok time - $began < 0.25, 'at once' if $name eq 'late';
        is $k->get('/list/plain')->body, 'ok', 'the client goes on';
        is same_connection($b), $kept, $kept ? 'the connection is kept'
            : 'the connection is given up';
    }
};

subtest 'lenient framing' => sub {
    for (['both', 'RF01 C04a length and chunked'],
        ['htob', 'the other way round'], ['coded', 'RF02 C04b two codings'],
        ['list', 'two codings in a list'],
        ['lengths', 'RF04 C04d twice the same length'],
        ['lengthlist', 'the same in a list']) {
        my ($name, $what) = @$_;
        my $k = $s->client;
        $b->clear;
        my $res = $k->get("/lenient/$name");
        is $res->status . ' ' . $res->body, '200 ok', $what;
        ok !($res->field('Content-Length') && $res->field('Transfer-Encoding')),
            'one framing';
        is $k->get('/lenient/plain')->body, 'ok', 'the client goes on';
        ok !same_connection($b), 'the backend connection is not used again';
        $res = $s->client->ask(HEAD => "/lenient/$name");
        ok $res->status == 200 && $res->complete, 'HEAD';
        is $s->get("/strict/$name")->status, 502, 'strictly it is a 502';
    }
    for (['differ', 'RF03 C04c lengths that differ', qr/differing/],
        ['three', 'the same with chunked', qr/differing/],
        ['gzipped', 'another coding', qr/unknown "Transfer-Encoding"/],
        ['negative', 'a second length that is none', qr/invalid/]) {
        my ($name, $what, $why) = @$_;
        $s->mark;
        is $s->get("/lenient/$name")->status, 502, "$what is a 502";
        ok scalar($s->error_log(qr/UP0427: upstream sent .*$why/)),
            'and the log says why';
        is $s->get("/strict/$name")->status, 502, 'strictly, too';
    }
    $b->clear;
    my $k = $s->client;
    $k->get('/lenient/plain') for 1 .. 2;
    ok same_connection($b), 'what is in order keeps its connection';
};

# Do head and pieces arrive as they were sent?
sub in_step {
    my ($target, $fields, %client) = @_;
    $b->clear;
    my $res = $s->client(%client)->get($target, $fields);
    my @sent = map { $_->{t} } $b->events('sent');
    my @came = ($res->t_head, map { $_->[0] } @{ $res->pieces });
    my $late = grep { !defined $came[$_] || $came[$_] - $sent[$_] > 0.15 }
        0 .. $#sent;
    return ($res, !$late);
}

subtest 'streams by type' => sub {
    for (['types/events', 1], ['types/charset', 1], ['types/ndjson', 1],
        ['types/grpc', 1], ['types/log', ''], ['types/yes', ''],
        ['types/no', 1], ['own/log', 1], ['own/events', ''],
        ['none/events', ''], ['none/no', 1], ['ignore/yes', 1],
        ['ignore/no', '']) {
        my ($target, $want) = @$_;
        my ($res, $in_step) = in_step("/$target");
        my $head = $res->t_head - ($b->events('sent'))[0]{t} < 0.15;
        is $head, $want, "$target: head " . ($want ? 'at once' : 'later');
        is $in_step, $want, 'and events, too' if $want;
        is $res->body, $EVENT x 2, 'all of it';
        is $res->header('X-Accel-Buffering'),
            $target =~ /ignore.(yes|no)/ ? $1 : undef, 'the field';
    }
    for my $name (qw(events no)) {
        my ($res, $in_step) = in_step("/types/$name",
            ['Accept-Encoding' => 'gzip']);
        is $res->header('Content-Encoding'), 'gzip', "BS01 C34 $name: gzip";
        ok $in_step, 'in step, too';
    }
    SKIP: {
        skip 'needs mod_ssl, openssl and IO::Socket::SSL', 2 if !$port;
        my ($res, $in_step) = in_step('/types/events',
            ['Accept-Encoding' => 'gzip'], port => $port, tls => 1);
        is $res->header('Content-Encoding'), 'gzip', 'C34 over TLS: gzip';
        ok $in_step, 'in step, too';
    }
};

subtest 'X-Accel-Charset' => sub {
    my $res = $s->get('/types/bs06');
    is_deeply [grep { /^X-/ } map { $_->[0] } @{ $res->fields }], ['X-Other'],
        'BS06 control fields are not shown';
    is $res->header('Content-Type'), 'text/html; charset=koi8-r', 'added';
    is $s->get('/types/charsets')->header('Content-Type'),
        'text/html; charset=utf-8', 'in the place of another';
    is $s->get('/types/badcharset')->header('Content-Type'), 'text/html',
        'not when it is no name';
    is $s->get('/ignore/charsets')->header('Content-Type'),
        'text/html; charset=koi8-r', 'not when it is ignored';
};

is_deeply [$b->problems], [], 'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
