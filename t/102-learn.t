# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamSticky learn: sessions that backends begin.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Server ();

# A backend that begins a session when it is asked to: X-Begin is its name.
sub backend {
    my ($name) = @_;
    return Up::Backend->start(sub {
        my ($c) = @_;
        while (my $req = $c->read_request) {
            my %f = map { lc $_->[0] => $_->[1] } @{ $req->{headers} };
            my $cookie = $f{'x-begin'}
                ? "Set-Cookie: sid=$f{'x-begin'}; path=/\r\n" : '';
            $c->send("HTTP/1.1 200 OK\r\nX-By: $name\r\n$cookie"
                . "Content-Length: 1\r\n\r\n");
            sleep $f{'x-part'} if $f{'x-part'};
            $c->send($name);
        }
    });
}

# A server of redis' protocol, as far as a table of sessions needs it.
sub redis {
    my (%arg) = @_;
    my $dir = "$ENV{UP_RUN}/redis-$$-" . int rand 1e9;
    mkdir $dir or die "$dir: $!\n";
    return Up::Backend->start(sub {
        my ($c) = @_;
        while (1) {
            my @words = command($c) or return;
            sleep $arg{late} if $arg{late};
            my $file = defined $words[1]
                ? "$dir/" . unpack('H*', $words[1]) : undef;
            if ($words[0] =~ /\ASETEX\z/i) {
                open my $fh, '>:raw', "$file.$$" or die "$file: $!\n";
                print $fh $words[3];
                close $fh;
                rename "$file.$$", $file;
                $c->count('set');
                $c->send("+OK\r\n");
            }
            elsif ($words[0] =~ /\AGET\z/i) {
                $c->count('get');
                if (open my $fh, '<:raw', $file) {
                    my $value = do { local $/; <$fh> };
                    $c->send('$' . length($value) . "\r\n$value\r\n");
                }
                else {
                    $c->send("\$-1\r\n");
                }
            }
            else {
                $c->send("+PONG\r\n");
            }
        }
    });
}

sub line {
    my ($c) = @_;
    my $line = '';
    while ($line !~ /\n\z/) {
        my $byte = $c->read_bytes(1);
        return if !defined $byte || $byte eq '';
        $line .= $byte;
    }
    return $line =~ s/\r?\n\z//r;
}

sub command {
    my ($c) = @_;
    my $head = line($c) // return;
    return split / /, $head if $head !~ /\A\*(\d+)/;
    my @words;
    for (1 .. $1) {
        my ($len) = (line($c) // return) =~ /\A\$(\d+)/;
        push @words, $len ? $c->read_bytes($len) : '';
        $c->read_bytes(2);
    }
    return @words;
}

my ($A, $B) = map { backend($_) } qw(A B);
my $redis = redis();
my $slow = redis(late => 2);

my $how = 'create=%{upstream_cookie:sid} lookup=%{HTTP:X-Sid} '
    . 'lookup=%{HTTP:X-Other}';
my %GROUPS = (
    shm => 'zone=one:64k',
    two => 'provider=shmcb:two(65536)',
    head => 'header zone=head:32k',
    short => 'zone=short:32k timeout=1s',
    redis => 'provider=redis:@R@',
    slow => 'provider=redis:@L@',
    dbm => 'provider=dbm:@TMP@/sessions',
);
my $conf = join '', map { "<Upstream $_>\nUpstreamSticky learn $GROUPS{$_} "
    . "$how\nUpstreamServer \@A\@ route=a\n"
    . "UpstreamServer \@B\@ route=b max_fails=0\n"
    . "</Upstream>\nUpstreamPass /$_/ http://$_/\n" } sort keys %GROUPS;
my $s = Up::Server->start(A => $A->addr, B => $B->addr, R => $redis->addr,
    L => $slow->addr, conf => $conf, main => join '', map {
    "LoadModule socache_${_}_module \"\@MODULES\@/mod_socache_$_.so\"\n" }
    qw(shmcb redis dbm));

sub who {
    my ($target, @fields) = @_;
    my $res = $s->client->get($target, [@fields]);
    return $res->status == 200 ? $res->body : "($res->{status})";
}

my $serial = 0;

# A new session, begun at the server that is named.
sub begin {
    my ($group, $name, @fields) = @_;
    for (1 .. 6) {
        my $sid = 'sid' . ++$serial;
        return $sid if who("/$group/x", 'X-Begin' => $sid, @fields) eq $name;
    }
    die "$name is never asked\n";
}

# Asks until it is known, for what is stored on another thread.
sub settles {
    my ($group, $sid, $name) = @_;
    for (1 .. 50) {
        my $got = join '', map { who("/$group/x", 'X-Sid' => $sid) } 1 .. 4;
        return 1 if $got eq $name x 4;
        sleep 0.05;
    }
    return 0;
}

for my $group (qw(shm two head redis dbm)) {
    subtest $group => sub {
        my $b = begin($group, 'B');
        my $a = begin($group, 'A');
        ok settles($group, $b, 'B'), 'a session stays where it began';
        ok settles($group, $a, 'A'), 'as does another one';
        is who("/$group/x", 'X-Other' => $b), 'B', 'under the second lookup=';
        like join('', map { who("/$group/x", 'X-Sid' => 'none') } 1 .. 6),
            qr/A.*B|B.*A/, 'one that nobody knows does not begin';
        $B->stop;
        is who("/$group/x", 'X-Sid' => $b), 'A', 'its server is gone';
        $B->open;
    };
}

subtest 'a session that nobody uses ends' => sub {
    my $b = begin('short', 'B');
    is who('/short/x', 'X-Sid' => $b), 'B', 'it is there';
    sleep 1.2;
    like join('', map { who('/short/x', 'X-Sid' => $b) } 1 .. 5),
        qr/A.*B|B.*A/, 'and is forgotten';
    $b = begin('short', 'B');
    for (1 .. 5) {
        sleep 0.4;
        is who('/short/x', 'X-Sid' => $b), 'B', 'one that is used goes on';
    }
};

subtest 'with the head, or with the end' => sub {
    for my $group (qw(head shm)) {
        my $sid = 'part' . ++$serial;
        my $client = $s->client;
        $client->request(GET => "/$group/x", ['X-Begin' => $sid,
            'X-Part' => 1.2]);
        my $known = 0;
        for (1 .. 12) {
            my @got = map { who("/$group/x", 'X-Sid' => $sid) } 1 .. 4;
            $known ||= "@got" eq join ' ', ($got[0]) x 4;
            sleep 0.04;
        }
        is $known ? 1 : 0, $group eq 'head' ? 1 : 0, $group eq 'head'
            ? 'header: known before it has ended' : 'else not';
        my $name = $client->response->body;
        ok settles($group, $sid, $name), 'but then';
    }
};

subtest 'a restart' => sub {
    my @b = map { begin('shm', 'B') } 1 .. 3;
    $s->graceful;
    is join('', map { who('/shm/x', 'X-Sid' => $_) } @b), 'BBB',
        'sessions are still known';
};

subtest 'a table that does not answer' => sub {
    my $start = time;
    my @clients = map { $s->client } 1 .. 8;
    $_->request(GET => '/slow/x', ['X-Sid' => 'any']) for @clients;
    my @got = map { $_->response->body } @clients;
    my $took = time - $start;
    is scalar(grep { /\A[AB]\z/ } @got), 8, 'all are answered';
    ok $took > 0.9 && $took < 3, "after a second ($took)";
    ok scalar $s->error_log(qr/UP0821: .* does not answer: going on without/),
        'said in the log';
    $start = time;
    is $s->get('/slow/x')->status, 200, 'who has no session does not wait';
    cmp_ok time - $start, '<', 0.5, 'at all';
};

subtest 'groups do not share sessions' => sub {
    my $b = begin('shm', 'B');
    like join('', map { who('/two/x', 'X-Sid' => $b) } 1 .. 6),
        qr/A.*B|B.*A/, 'of one table each';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
