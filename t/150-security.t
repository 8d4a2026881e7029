# Licensed under the Apache License, Version 2.0; see LICENSE.

# What docs/security-review.md names and no other test holds: line ends in
# expressions, hosts that clients choose, rules and methods, temporary files,
# and what an error tells.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Bulk;
use Up::Server ();

my $MB = 1024 * 1024;

# Says what it was asked; sends a large body for /big, and half of one for
# /cut.
my $b = Up::Backend->http(sub {
    my ($req) = @_;
    return [200, ['X-Accel-Charset' => "a\tb", 'Content-Type' => 'text/plain'],
        'x' x (8 * $MB)] if $req->{target} =~ /big/;
    return [200, [], "$req->{method} $req->{target}"];
});
my $local = Up::Backend->http(sub { [200, [], 'socket'] }, unix => 1);
my $closed = Up::Backend->closed(sub { });
my $garbage = Up::Backend->start(sub {
    my ($c) = @_;
    $c->read_request;
    $c->send("SECRET: no status line\r\n\r\n");
});

my $s = Up::Server->start(A => $b->addr, C => $closed->addr,
    G => $garbage->addr, U => $local->addr, conf => <<'END');
UpstreamTempPath @TMP@
UpstreamPass /p/ http://@A@
UpstreamPass /refused/ http://@C@
UpstreamPass /garbage/ http://@G@
<LocationMatch "^/field/(?<X>.*)">
    UpstreamPass http://@A@
    UpstreamSetHeader X-Path %{reqenv:MATCH_X}
</LocationMatch>
<LocationMatch "^/host/(?<X>.*)">
    UpstreamPass http://@A@
    UpstreamSetHeader Host %{reqenv:MATCH_X}
</LocationMatch>
<LocationMatch "^/method/(?<X>.*)">
    UpstreamPass http://@A@
    UpstreamMethod %{reqenv:MATCH_X}
</LocationMatch>
<LocationMatch "^/connection/(?<X>.*)">
    UpstreamPass http://@A@
    UpstreamSetHeader Connection %{reqenv:MATCH_X}
    UpstreamSetHeader Upgrade %{reqenv:MATCH_X}
</LocationMatch>
<LocationMatch "^/bind/(?<X>.*)">
    UpstreamPass http://@A@
    UpstreamBind %{reqenv:MATCH_X}
</LocationMatch>
<LocationMatch "^/body/(?<X>.*)">
    UpstreamPass http://@A@
    UpstreamSetBody %{reqenv:MATCH_X}
</LocationMatch>
UpstreamPass /any/ http://%{HTTP:X-Host}
UpstreamPass /url/ %{HTTP:X-URL}
UpstreamPass /sock/ http://unix:%{HTTP:X-Path}
<Location /locked/>
    UpstreamPass http://@A@
    Require all denied
</Location>
<LocationMatch "^/p/shut">
    Require all denied
</LocationMatch>
END

subtest 'no line end leaves an expression' => sub {
    for my $end ('%0d%0a', '%0a', '%0d') {
        my $evil = "a${end}X-New:%201${end}${end}GET%20/smug";
        for my $where (qw(field host method connection bind body)) {
            $b->clear;
            my $res = $s->get("/$where/$evil");
            is_deeply [grep { $_->{raw} =~ /X-New: 1\r?\n/
                || $_->{target} =~ /smug\z/ && $_->{n} > 1 } $b->requests],
                [], "$where: no new line with $end";
            is_deeply [$b->problems], [], 'well-formed';
            is scalar(my @r = $b->requests), 0, 'not sent';
            is $res->status, 500, 'answered';
        }
    }
    is $s->get('/field/fine')->status, 200, 'without one it is sent';
    is $s->get('/bind/127.0.0.1')->status, 200, 'an address that is one';
};

subtest 'hosts out of expressions' => sub {
    my $path = $local->addr =~ s/^unix://r;
    is $s->get('/any/x', ['X-Host' => $b->addr])->status, 200, 'a host';
    for ("unix:$path", "UNIX:$path:", "unix:$path:/x") {
        is $s->get('/any/x', ['X-Host' => $_])->status, 400, "no socket: $_";
        is $s->get('/url/x', ['X-URL' => "http://$_"])->status, 400,
            'nor one out of a whole URL';
    }
    is scalar(my @asked = $local->connections), 0, 'it was not connected to';
    is $s->get('/sock/x', ['X-Path' => $path])->body, 'socket',
        'unless the configuration says that it is one';
    for my $host ('a b', "a\tb", 'u@' . $b->addr, $b->addr . '\\x',
        $b->addr . '#x', '127.0.0.1:80:80', '[::1', 'a;b', '*', 'a%2eb') {
        $b->clear;
        my $status = $s->get('/any/x', ['X-Host' => $host])->status;
        like $status, qr/^(?:400|500)\z/, "no host: $host ($status)";
        is scalar(my @r = $b->requests), 0, 'nobody is asked';
    }
};

subtest 'rules hold for every method' => sub {
    $b->clear;
    for my $method (qw(GET HEAD POST OPTIONS PURGE TRACE M-SEARCH)) {
        for ('/locked/x', '/p/shut', '/p//shut', '/p/./shut', '/p/sh%75t',
            '/locked//x', '/x/../locked/x', '/%6cocked/x') {
            my $status = $s->ask($method, $_)->status;
            ok $status == 403 || $method eq 'TRACE' && $status == 405,
                "$method $_: $status";
        }
    }
    is scalar(my @requests = $b->requests), 0, 'the backend is not asked';
};

subtest 'control fields of a client' => sub {
    $s->write_file('secret', 'SECRET');
    my $res = $s->get('/p/x', ['X-Accel-Redirect' => '/secret',
        'X-Accel-Buffering' => 'no', 'X-Accel-Limit-Rate' => 1]);
    is $res->body, 'GET /p/x', 'say nothing';
    ok $res->finished - $res->started < 2, 'and slow nothing down';
};

subtest 'temporary files' => sub {
    Test::More::plan(skip_all => 'no /proc') if !-d '/proc/self/fd';
    my $k = $s->client(rcvbuf => 4096);
    $k->request(GET => '/p/big');
    my ($tmp, @files) = $s->tmp;
    for (1 .. 100) {
        @files = grep { (readlink // '') =~ /^\Q$tmp\E/ }
            map { glob "/proc/$_/fd/*" } $s->children;
        last if @files;
        select undef, undef, undef, 0.05;
    }
    ok scalar(@files), 'there is one' or return;
    like readlink $files[0], qr/\(deleted\)\z/, 'without a name';
    is sprintf('%04o', (stat $files[0])[2] & 07777), '0600',
        'for its owner alone';
    my ($info) = $files[0] =~ s{/fd/}{/fdinfo/}r;
    open my $fh, '<', $info or die "$info: $!";
    my ($flags) = grep { /^flags:/ } <$fh>;
    ok oct((split ' ', $flags)[1]) & 02_000_000, 'closed on exec';
    opendir my $dir, $tmp or die "$tmp: $!";
    is_deeply [grep { -f "$tmp/$_" } readdir $dir], [], 'none can be found';
    is length $k->response->body, 8 * $MB, 'the body is whole';
};

subtest 'what an error tells' => sub {
    for (['/refused/x', 502, $closed], ['/garbage/x', 502, $garbage]) {
        my ($target, $status, $who) = @$_;
        my $res = $s->get($target);
        is $res->status, $status, $target;
        my ($port) = $who->addr =~ /(\d+)\z/;
        unlike $res->raw, qr/\b$port\b/, 'no address of a backend';
        unlike $res->raw, qr/SECRET|status line|refused to|UP0/,
            'nor what it said';
    }
    is $s->get('/method/a%20b')->status, 500, 'an expression that fails';
    unlike $s->get('/method/a%20b')->body, qr/MATCH_X|token/, 'says no more';
};

subtest 'no handler of itself' => sub {
    for my $path (qw(/server-status /upstream /upstream-status /metrics
        /upstream_status /status)) {
        is $s->get($path)->status, 404, $path;
    }
};

ok $s->stop, 'no crash, nothing left';
done_testing;
