# Licensed under the Apache License, Version 2.0; see LICENSE.

# Modules of httpd beside this one, each on a connection that is kept: with
# the loop, all but the first request come from there.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(time sleep);

use Up::Backend ();
use Up::Server ();

my %have = map { $_ => -e "$ENV{UP_LIBEXECDIR}/mod_$_.so" }
    qw(cache cache_disk cache_socache socache_shmcb security2 unique_id
    ratelimit remoteip reqtimeout logio status auth_basic rewrite);
my $loop = ($ENV{UP_DRIVER} // '') eq 'loop'
    && ($ENV{UP_MPM} // 'event') eq 'event';

my $b = Up::Backend->http(sub {
    my ($req, $c) = @_;
    my ($for) = Up::Backend::Conn::values_of($req, 'X-Forwarded-For');
    my $n = $c->count('all');
    my $body = $req->{target} =~ m{/size/(\d+)} ? 'x' x $1
        : join ' ', $req->{method}, $req->{target}, length $req->{body},
            $for // '-', $n;
    return [200, ['Content-Type' => 'text/plain',
        'Cache-Control' => 'max-age=60'], $body];
});

sub load { return join '', map { "LoadModule ${_}_module "
    . "\"\@MODULES\@/mod_$_.so\"\n" } grep { $have{$_} } @_ }

sub server {
    my ($conf, %opt) = @_;
    return Up::Server->start(A => $b->addr, conf => $conf, %opt);
}

# A connection that has had a request.
sub kept {
    my ($s, $target) = @_;
    my $k = $s->client;
    is $k->get($target // '/p/first')->status, 200, 'a first request';
    return $k;
}

sub done_well {
    my ($s) = @_;
    my @bad = grep { /:(?:error|crit|alert|emerg)\]/ } $s->error_log;
    is_deeply \@bad, [], 'no error in the log';
    return ok $s->stop, 'no crash, nothing left';
}

subtest 'rewrite, auth_basic, remoteip' => sub {
    my $s = server(<<'END');
RemoteIPHeader X-Client
RemoteIPInternalProxy 127.0.0.1
<Location /p/>
    UpstreamPass http://@A@
    UpstreamSetHeader X-Forwarded-For %{REMOTE_ADDR}
</Location>
<Location /p/closed/>
    AuthType Basic
    AuthName x
    AuthBasicProvider file
    AuthUserFile @HTDOCS@/users
    Require valid-user
</Location>
RewriteEngine on
RewriteRule ^/old/(.*)$ /p/new/$1 [PT]
RewriteRule ^/gone$ - [G]
RewriteRule ^/away/(.*)$ /p/$1 [R=302,L]
END
    $s->write_file('users', 'u:' . crypt('p', '$1$salt$') . "\n");
    my $k = kept($s);
    for my $round (1 .. 2) {
        like $k->get('/old/x?q=1')->body, qr{^GET /p/new/x\?q=1 },
            'rewritten to a backend';
        is $k->get('/gone')->status, 410, '[G]';
        like $k->get('/away/x')->header('Location'), qr{/p/x\z}, '[R]';
        is $k->get('/p/closed/x')->status, 401, 'no password';
        like $k->get('/p/closed/x', [Authorization => 'Basic dTpw'])->body,
            qr{^GET /p/closed/x }, 'a password';
        is $k->ask(POST => '/p/closed/x', [], 'b' x 5000)->status, 401,
            'a body and no password';
        like $k->ask(POST => '/p/closed/x',
            [Authorization => 'Basic dTpw'], 'b' x 5000)->body, qr/ 5000 /,
            'a body and a password';
        for my $ip ('192.0.2.1', '192.0.2.2') {
            like $k->get('/p/x', ['X-Client' => $ip])->body, qr/ \Q$ip\E /,
                "the client that remoteip tells: $ip";
        }
        like $k->get('/p/x')->body, qr/ 127\.0\.0\.1 /, 'and the real one';
    }
    is scalar(grep { $_->{client} eq '192.0.2.1' } $s->access_log(21)), 2,
        'remoteip in the log';
    done_well($s);
};

subtest 'log_config, logio' => sub {
    my $s = server(<<'END');
UpstreamPass /p/ http://@A@
CustomLog @ROOT@/logs/numbers "%s %X %D %I %O %B"
END
    my $k = kept($s);
    my @size = (10, 100_000, 0, 3_000_000, 7);
    my (@sent, @got);
    for my $size (@size) {
        my $body = 'b' x ($size / 100);
        my $request = "POST /p/size/$size HTTP/1.1\r\nHost: x\r\n"
            . 'Content-Length: ' . length($body) . "\r\n\r\n$body";
        push @sent, length $request;
        $k->send($request);
        push @got, length $k->response->raw;
    }
    $k->close;
    my @lines;
    for (1 .. 100) {
        open my $fh, '<', $s->root . '/logs/numbers' or last;
        @lines = <$fh>;
        last if @lines == 1 + @size;
        sleep 0.02;
    }
    shift @lines;
    is scalar(@lines), scalar(@size), 'a line each';
    for my $n (0 .. $#size) {
        my ($status, $end, $us, $in, $out, $bytes) = split / /, $lines[$n];
        is "$status $end", '200 +', 'status, kept alive';
        ok $us > 0 && $us < 10_000_000, "microseconds: $us";
        # mod_reqtimeout's looks at the first byte are counted as well.
        ok $in >= $sent[$n] && $in <= $sent[$n] + 2,
            "bytes received: $in of $sent[$n]";
        is $out, $got[$n], 'bytes sent';
        is int $bytes, $size[$n], 'bytes of the body';
    }
    done_well($s);
};

subtest 'status' => sub {
    my $s = server(<<'END', main => "ExtendedStatus On\n");
UpstreamPass /p/ http://@A@
<Location /server-status>
    SetHandler server-status
</Location>
END
    my $total = sub {
        return $s->get('/server-status?auto')->body
            =~ /^Total Accesses: (\d+)/m ? $1 : 'none';
    };
    my $k = kept($s);
    my $before = $total->();
    $k->get("/p/$_") for 1 .. 40;
    my $more = $total->() - $before;
    # The loop's need spare slots in the scoreboard, ThreadLimit's.
    cmp_ok $more, '>=', 40, "counts requests ($more)";
    like $k->get('/server-status?auto')->body, qr/^Total\ Accesses/mx,
        'asked on a kept connection';
    like $k->get('/p/x')->body, qr/GET/, 'which goes on';
    done_well($s);
};

subtest 'reqtimeout' => sub {
    Test::More::plan(skip_all => 'no mod_reqtimeout') if !$have{reqtimeout};
    my $s = server(<<'END', main => 'Timeout 20');
RequestReadTimeout header=1 body=1
UpstreamPass /p/ http://@A@
END
    my $k = kept($s);
    sleep 1.5;
    is $k->get('/p/x')->status, 200, 'a pause between requests';
    is $k->ask(POST => '/p/x', [], 'b' x 1000)->status, 200, 'a body';
    my $began = time;
    $k->send("POST /p/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
    for (1 .. 30) {
        $k->send('b') or last;
        last if defined $k->read_some(1, 0.1);
    }
    cmp_ok time - $began, '<', 2.8, 'a body that comes too slowly';
    $k = kept($s);
    $began = time;
    $k->send("GET /p/x HTTP/1.1\r\n");
    for (1 .. 50) {
        $k->send("X-A: 1\r\n") or last;
        last if defined $k->read_some(1, 0.1) || ($k->{end} // '') eq 'eof';
    }
    cmp_ok time - $began, '<', 2.8, 'a head that does not come to its end';
    is $s->get('/p/x')->status, 200, 'the server is well';
    done_well($s);
};

subtest 'ratelimit' => sub {
    Test::More::plan(skip_all => 'no mod_ratelimit') if !$have{ratelimit};
    my $s = server(<<'END');
UpstreamPass /p/ http://@A@
<Location /p/size/>
    SetOutputFilter RATE_LIMIT
    SetEnv rate-limit 50
</Location>
END
    my $k = kept($s);
    for (1 .. 2) {
        my $began = time;
        is length($k->get('/p/size/60000')->body), 60_000, 'all of it';
        my $took = time - $began;
        ok $took > 0.7 && $took < 4, "at its rate ($took)";
    }
    my $began = time;
    is $k->get('/p/x')->status, 200, 'another request';
    cmp_ok time - $began, '<', 0.5, 'at once';
    done_well($s);
};

for my $store (qw(disk socache)) {
    subtest "cache, $store" => sub {
        Test::More::plan(skip_all => "no mod_cache_$store")
            if !$have{"cache_$store"};
        my $conf = $store eq 'disk' ? "CacheRoot \@TMP\@/cache\n"
            : "CacheSocache shmcb\nCacheSocacheMaxSize 200000\n";
        my $s = server($conf . <<"END", main =>
CacheEnable $store /
CacheHeader on
UpstreamPass /p/ http://\@A\@
END
            load('socache_shmcb', 'cache', "cache_$store"));
        mkdir $s->tmp . '/cache';
        chmod 0777, $s->tmp . '/cache';
        my $k = kept($s);
        my $first = $k->get("/p/$store")->body;
        for (1 .. 3) {
            my $res = $k->get("/p/$store");
            is $res->body, $first, 'the same answer';
            like $res->header('X-Cache'), qr/^HIT/, 'from the cache';
        }
        my $large = $store eq 'disk' ? 300_000 : 30_000;
        my $big = $k->get("/p/size/$large")->body;
        my $res = $k->get("/p/size/$large");
        ok $res->body eq $big, 'a big one';
        like $res->header('X-Cache'), qr/^HIT/, 'from the cache';
        isnt $k->get("/p/$store?other")->body, $first, 'another target';
        is $k->ask(POST => "/p/$store", [], 'b')->status, 200, 'a POST';
        done_well($s);
    };
}

subtest 'security2' => sub {
    Test::More::plan(skip_all => 'no mod_security2') if !$have{security2};
    my $s = server(<<'END', main => load('unique_id', 'security2'));
SecRuleEngine On
SecRequestBodyAccess On
SecResponseBodyAccess On
SecResponseBodyMimeType text/plain
SecDataDir @TMP@
SecTmpDir @TMP@
SecRule ARGS:q "evil" "id:1,phase:1,deny,status:403"
SecRule REQUEST_BODY "wicked" "id:2,phase:2,deny,status:403"
SecRule RESPONSE_BODY "leak" "id:3,phase:4,deny,status:403"
UpstreamPass /p/ http://@A@
END
    my $k = kept($s);
    for (1 .. 2) {
        is $k->get('/p/x?q=good')->status, 200, 'a good request';
        is $k->get('/p/x?q=evil')->status, 403, 'a bad argument';
        $k = kept($s); # httpd ends that one, whoever serves it
        my @form = ('Content-Type' => 'application/x-www-form-urlencoded');
        like $k->ask(POST => '/p/x', [@form], 'a=' . 'b' x 3000)->body,
            qr/ 3002 /, 'a good body';
        is $k->ask(POST => '/p/x', [@form], 'a=wicked')->status, 403,
            'a bad body';
        $k = kept($s) if !defined $k->get('/p/y')->status;
        is $k->get('/p/leak')->status, 403, 'a bad response';
        $k = kept($s) if !defined $k->get('/p/y')->status;
    }
    ok $s->stop, 'no crash, nothing left';
};

done_testing;
