# Licensed under the Apache License, Version 2.0; see LICENSE.

# Clients that speak HTTP/2 with httpd (mod_http2, curl): each request is one
# to the backend as from an HTTP/1.1 client.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Backend ();
use Up::Server ();
use Up::TLS ();

plan skip_all => 'needs mod_http2 and a curl that speaks HTTP/2'
    if !-e "$ENV{UP_LIBEXECDIR}/mod_http2.so" || qx{curl -V 2>&1} !~ /HTTP2/;
plan skip_all => 'mod_http2 refuses prefork' if $ENV{UP_MPM} eq 'prefork';

my $MB = 1024 * 1024;
my $H = "HTTP/1.1 200 OK\r\n";
my $CH = "${H}Transfer-Encoding: chunked\r\n";
my $BIG = filler(8 * $MB);

my $b = Up::Answers->start({
    plain => "${H}X-A: 1\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
        . "Keep-Alive: timeout=9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        . "Content-Length: 2\r\n\r\nok",
    length => ["${H}Content-Length: " . 8 * $MB . "\r\n\r\n", $BIG],
    chunks => ["$CH\r\n", (map { sprintf "%x\r\n%s\r\n", length, $_ }
        unpack '(a60000)*', $BIG), "0\r\n\r\n"],
    close => ["HTTP/1.0 200 OK\r\n\r\n", $BIG, hang_up()],
    interim => "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        . "${H}Content-Length: 2\r\n\r\nok",
    n204 => "HTTP/1.1 204 No\r\nX-A: 1\r\n\r\n",
    n304 => "HTTP/1.1 304 No\r\nETag: \"e\"\r\n\r\n",
    e404 => "HTTP/1.1 404 No\r\nContent-Length: 7\r\n\r\nnothing",
    e503 => "HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy",
    h500 => "${H}Content-Length: 500\r\n\r\n",
    bad => "${H}no colon\r\nX-Secret: SECRET\r\n\r\nSECRET",
    cutlen => ["${H}Content-Length: 500\r\n\r\n7 bytes", hang_up()],
    cutchunk => ["$CH\r\n5\r\nhello\r\n", hang_up()],
    cutbad => ["$CH\r\n5\r\nhello\r\nzz\r\n", hang_up()],
    take => "${H}Content-Length: 2\r\n\r\nok",
    refuse => { head => [sub { length $_[0]->read_bytes(1000) },
        "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 7\r\n\r\n"
        . 'too big', pause(0.05), hang_up()] },
    events => ["$CH\r\n", map({ ("6\r\nevent$_\r\n", pause(0.3)) } 1 .. 3),
        "0\r\n\r\n"],
    late => [pause(0.6), "${H}Content-Length: 4\r\n\r\nlate"],
    think => sub { $_[0]->note(type => 'left', how => $_[0]->wait_eof(5)); 0 },
});

my ($port, $host) = Up::TLS::usable() ? Up::TLS::host('Protocols h2') : ();
my $s = Up::Server->start(A => $b->addr, conf => ($host // '') . <<'END');
Protocols h2c http/1.1
UpstreamTempPath @TMP@
<Location /on/>
    UpstreamPass http://@A@
</Location>
<Location /off/>
    UpstreamPass http://@A@
    UpstreamBuffering off
    UpstreamRequestBuffering off
</Location>
END

sub slurp {
    my ($file) = @_;
    open my $fh, '<:raw', $file or return '';
    local $/;
    return <$fh> // '';
}

# {exit, status, version, head, body}
my $out = $s->root . '/curl';
sub curl {
    my ($target, @arg) = @_;
    unlink "$out.body", "$out.head";
    my @command = ('curl', '-s', '--http2-prior-knowledge', '-m', 15,
        '-o', "$out.body", '-D', "$out.head", '-w',
        '%{http_code} %{http_version}', @arg, $s->url($target));
    open my $pipe, '-|', @command or die "curl: $!\n";
    my ($status, $version) = split ' ', join '', <$pipe>;
    close $pipe;
    return { exit => $? >> 8, status => $status, version => $version,
        head => slurp("$out.head"), body => slurp("$out.body") };
}

sub value {
    my ($req, $name) = @_;
    my @values = Up::Backend::Conn::values_of($req, $name);
    return @values ? "@values" : '-';
}

for my $where (qw(on off)) {
    subtest "both bufferings $where" => sub {
        $b->clear;
        my $res = curl("/$where/plain");
        is "$res->{status} $res->{version} $res->{body}", '200 2 ok',
            'a response over HTTP/2';
        like $res->{head}, qr/^x-a: 1\r$/mi, 'its fields';
        unlike $res->{head}, qr/^(?:connection|keep-alive|x-hop|upgrade
            |transfer-encoding):/mix, 'and none of the hop';
        is scalar(() = $res->{head} =~ /^set-cookie:/mig), 2, 'two cookies';
        my ($req) = $b->requests;
        is $req->{version}, '1.1', 'HTTP/1.1 to the backend';
        is value($req, 'Host'), $b->addr, 'Host';
        for my $name (qw(length chunks close)) {
            $res = curl("/$where/$name");
            is $res->{exit}, 0, "8 MB, $name";
            ok $res->{body} eq $BIG, 'as sent';
        }
        for (['n204', 204, ''], ['n304', 304, ''], ['e404', 404, 'nothing'],
            ['e503', 503, 'busy'], ['interim', 200, 'ok']) {
            my ($name, $status, $body) = @$_;
            $res = curl("/$where/$name");
            is "$res->{exit} $res->{status} $res->{body}",
                "0 $status $body", $name;
        }
        $res = curl("/$where/h500", '-I');
        like $res->{head}, qr/^content-length: 500\r$/mi, 'HEAD';
        is $res->{exit}, 0, 'ends';
        $res = curl("/$where/bad");
        is $res->{status}, 502, 'a bad response is a 502';
        unlike "$res->{head}$res->{body}", qr/SECRET/, 'nothing of it shown';
        for my $name (qw(cutlen cutchunk cutbad)) {
            $res = curl("/$where/$name");
            isnt $res->{exit}, 0, "$name: the stream is reset";
            like $res->{body}, qr/^(?:7 bytes|hello)?\z/, 'and no more';
        }
    };

    subtest "uploads, both bufferings $where" => sub {
        my $file = $s->root . '/upload';
        open my $fh, '>:raw', $file or die "$file: $!\n";
        print $fh $BIG;
        close $fh;
        for (['a file', 8 * $MB, '-T', $file],
            ['without a length', undef, '-T', '-'],
            ['C22 length 0', 0, '-X', 'PUT', '-d', ''],
            ['C22 neither', undef, '-X', 'POST'],
            ['C22 GET', undef]) {
            my ($what, $length, @arg) = @$_;
            $b->clear;
            open STDIN, '<', $file or die "$file: $!\n";
            my $res = curl("/$where/take", @arg);
            is "$res->{status} $res->{body}", '200 ok', $what;
            my ($req) = $b->requests;
            ok $req->{body} eq (grep({ $_ eq '-T' } @arg) ? $BIG : ''),
                'the body as sent';
            is value($req, 'Content-Length'), $length, 'with its length'
                if defined $length;
            is value($req, 'Transfer-Encoding'), '-', 'not chunked'
                if $what =~ /C22/;
        }
        # What some versions of curl do not show when it ends the upload.
        $s->mark;
        curl("/$where/refuse", '-T', $file, '-H', 'Expect:');
        my $line = $s->logged("/$where/refuse");
        is "$line->{status} $line->{bytes}", '413 7', 'an early 413';
    };
}

subtest 'as it comes' => sub {
    open my $pipe, '-|', 'curl', '-sSN', '--http2-prior-knowledge', '-m', 15,
        $s->url('/off/events') or die "curl: $!\n";
    my ($began, @at) = (time);
    while (sysread $pipe, my $part, 1000) {
        push @at, sprintf '%d:%s', (time - $began) / 0.3 + 0.3, $part;
    }
    close $pipe;
    is "@at", '0:event1 1:event2 2:event3', 'events, each at once';
};

# Over TLS, for curl cannot do it with prior knowledge.
subtest 'several at once' => sub {
    Test::More::plan(skip_all => 'needs TLS') if !$port;
    my $began = time;
    system 'curl', '-sSk', '-Z', '--no-progress-meter', '--http2', '-m', 15,
        map { ('-o', "$out.$_", "https://127.0.0.1:$port/on/late?$_") }
        1 .. 6;
    ok time - $began < 2, 'streams do not wait for each other';
    is join(' ', map { slurp("$out.$_") } 1 .. 6), join(' ', ('late') x 6),
        'all answers';
};

subtest 'a client that leaves' => sub {
    $b->clear;
    my $pid = open my $pipe, '-|', 'curl', '-sS', '--http2-prior-knowledge',
        $s->url('/on/think') or die "curl: $!\n";
    $b->wait_count(1);
    sleep 0.1;
    my $left = time;
    kill TERM => $pid;
    close $pipe;
    is $b->wait_count(1, 'left', 4), 1, 'the backend is told';
    my ($event) = $b->events('left');
    ok $event && $event->{t} - $left < 1, 'within a second';
};

is_deeply [grep { !/ended inside/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'httpd ended well';
done_testing;
