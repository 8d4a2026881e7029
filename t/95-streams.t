# Licensed under the Apache License, Version 2.0; see LICENSE.

# Streams: a conversation in one request's body and its response's, long
# polls, events with what proxies and browsers do to them.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Compress::Zlib ();
use Time::HiRes qw(time sleep);

use Up::Answers;
use Up::Backend ();
use Up::Server ();
use Up::TLS ();

my $MB = 1024 * 1024;
my $HEAD = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";

sub chunk { return sprintf "%x\r\n%s\r\n", length $_[0], $_[0] }

# The next bytes of a chunked body; '' at its end.
sub next_chunk {
    my ($c, $buf) = @_;
    while (1) {
        if ($$buf =~ /\A([0-9a-fA-F]+)\r\n/
            && length $$buf >= length($&) + 2 + hex $1) {
            my ($from, $size) = (length $&, hex $1);
            my $data = substr $$buf, $from, $size;
            substr $$buf, 0, $from + $size + 2, '';
            return $data;
        }
        my $more = $c->read_some;
        return '' if !length $more;
        $$buf .= $more;
    }
}

my %TYPE = (grpc => 'application/grpc-web+proto',
    ndjson => 'application/x-ndjson', events => 'text/event-stream',
    plain => 'text/plain');

# Answers before it has read anything, then what comes, as it comes.
sub converse {
    my ($c, $type) = @_;
    my $buf = '';
    $c->send("${HEAD}Content-Type: $type\r\nX-Accel-Buffering: no\r\n\r\n");
    while (length(my $data = next_chunk($c, \$buf))) {
        $c->send(chunk($data)) or return 0;
    }
    return $c->send("0\r\n\r\n");
}

my $b = Up::Backend->start(sub {
    my ($c) = @_;
    $c->timeout(8);
    while (my $req = $c->read_head) {
        my ($what) = $req->{target} =~ m{/(\w+)\z};
        my ($id) = Up::Backend::Conn::values_of($req, 'Last-Event-ID');
        my ($length) = Up::Backend::Conn::values_of($req, 'Content-Length');
        if (defined $length) { # it was buffered
            $c->send($HEAD . "\r\n" . chunk($c->read_bytes($length))
                . "0\r\n\r\n");
        }
        elsif ($TYPE{$what}) {
            converse($c, $TYPE{$what}) or return;
        }
        elsif ($what eq 'poll') {
            $c->send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                . "Content-Length: 4\r\n\r\n") if $req->{target} =~ /early/;
            $c->note(type => 'polled');
            $c->pause(0.4);
            $c->send($req->{target} =~ /early/ ? 'true'
                : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue");
            $c->note(type => 'said');
        }
        elsif ($what eq 'resume') {
            $c->send("${HEAD}Content-Type: text/event-stream\r\n\r\n"
                . chunk(': ' . ($id // 'none') . "\n\n"));
            my $left = 60;
            $c->pause(0.1) while --$left && $c->send(chunk(": here\n\n"));
            $c->note(type => 'gone') if $left;
            return;
        }
    }
});

my ($port, $host) = Up::TLS::usable() ? Up::TLS::host() : ();
my $s = Up::Server->start(A => $b->addr, conf => ($host // '') . <<'END');
UpstreamTempPath @TMP@
<Location /off/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
</Location>
<Location /gz/>
    UpstreamPass http://@A@
    UpstreamRequestBuffering off
    SetOutputFilter DEFLATE
</Location>
<Location /on/>
    UpstreamPass http://@A@
</Location>
<Location /poll/early/>
    UpstreamPass http://@A@
    UpstreamBuffering off
</Location>
UpstreamPass /poll/late/ http://@A@
END

sub begin {
    my ($target, $fields, %opt) = @_;
    my $k = $s->client(timeout => 8, %opt);
    $k->send("POST $target HTTP/1.1\r\nHost: x\r\n"
        . "Transfer-Encoding: chunked\r\n" . ($fields // '') . "\r\n");
    return $k;
}

# The head of a response that is under way, as a text.
sub read_head {
    my ($k) = @_;
    my $head = '';
    while ($head !~ /\r\n\r\n\z/) {
        my $byte = $k->read_bytes(1, 3);
        return $head if !length $byte;
        $head .= $byte;
    }
    return $head;
}

# One chunk of it; the proxy may have cut it otherwise.
sub read_chunk {
    my ($k) = @_;
    my $line = '';
    while ($line !~ /\n\z/) {
        my $byte = $k->read_bytes(1, 3);
        return if !length $byte;
        $line .= $byte;
    }
    my $data = $k->read_bytes(2 + hex $line =~ s/\s//gr, 3);
    return substr $data, 0, -2;
}

sub talk {
    my ($k, $name) = @_;
    my $began = time;
    like read_head($k), qr{\AHTTP/1\.1 200 }, "$name: the head comes first";
    my $good = 0;
    for my $n (1 .. 30) {
        $k->send(chunk("line $n\n"));
        my $got = '';
        while (length $got < length "line $n\n") {
            $got .= read_chunk($k) // last;
        }
        $good++ if $got eq "line $n\n";
    }
    is $good, 30, 'each line is answered before the next one';
    cmp_ok time - $began, '<', 2, 'at once';
    $k->send("0\r\n\r\n");
    is read_chunk($k), '', 'and the end';
    ok $k->idle, 'nothing behind it';
    return;
}

for my $type (qw(grpc ndjson events plain)) {
    subtest "a conversation: $type" => sub {
        talk(begin("/off/$type"), 'HTTP');
        talk(begin("/off/$type", '', port => $port, tls => 1), 'TLS')
            if $port;
    };
}

subtest 'compressed' => sub {
    my $k = begin('/gz/events', "Accept-Encoding: gzip\r\n");
    like read_head($k), qr/^Content-Encoding: gzip\r$/m, 'the head';
    my ($z) = Compress::Zlib::inflateInit(-WindowBits => 31);
    my $good = 0;
    for my $n (1 .. 10) {
        $k->send(chunk("data: $n\n\n"));
        my $got = '';
        while (length $got < length "data: $n\n\n") {
            my $data = read_chunk($k) // last;
            $got .= ($z->inflate($data))[0] // '';
        }
        $good++ if $got eq "data: $n\n\n";
    }
    is $good, 10, 'each event is flushed';
    $k->send("0\r\n\r\n");
};

subtest 'buffered requests are no conversation' => sub {
    my $k = begin('/on/ndjson');
    $k->send(chunk("line\n"));
    is $k->read_bytes(1, 0.4), '', 'nothing before the end of the request';
    $k->send("0\r\n\r\n");
    is $k->response->body, "line\n", 'then all of it';
};

# Neither side waits for the other one to be done.
subtest 'much, both ways' => sub {
    my $size = 60_000;
    my $k = begin('/off/plain');
    my ($sent, $got, $body) = (0, '', '');
    while ($sent < 8 * $MB) {
        $k->send(chunk(filler($size, $sent)));
        $sent += $size;
        $got .= $k->read_some(undef, 0) // '';
    }
    $k->send("0\r\n\r\n");
    while ($got !~ /\r\n0\r\n\r\n\z/) {
        my $more = $k->read_some;
        last if !length($more // '');
        $got .= $more;
    }
    $got =~ s/\A.*?\r\n\r\n//s;
    while ($got =~ s/\A([0-9a-f]+)\r\n//i && hex $1) {
        $body .= substr $got, 0, hex $1, '';
        substr $got, 0, 2, '';
    }
    is length $body, $sent, 'all comes back';
    ok $body eq filler($sent), 'as it was';
};

subtest 'long polls' => sub {
    for my $where (qw(early late)) {
        $b->clear;
        my $res = $s->get("/poll/$where/poll");
        is $res->body, 'true', $where;
        my ($polled) = $b->events('polled');
        my ($said) = $b->events('said');
        my $head = $where eq 'early' ? $polled->{t} : $said->{t};
        ok $res->t_head - $head < 0.2, 'the head when it is there';
        ok $res->pieces->[0][0] - $said->{t} < 0.2, 'and the body';
    }
};

subtest 'events go on where they were' => sub {
    $b->clear;
    my $k = $s->client;
    $k->request(GET => '/off/resume', ['Last-Event-ID' => '41']);
    like read_head($k), qr{^Content-Type: text/event-stream\r$}m, 'the head';
    like read_chunk($k), qr{\A: 41\n\n}, 'Last-Event-ID reaches the backend';
    my $left = time;
    $k->close;
    is $b->wait_count(1, 'gone', 4), 1, 'who leaves is missed';
    ok +($b->events('gone'))[0]{t} - $left < 0.6, 'at once';
};

is_deeply [grep { !/ended inside|without its body/ } $b->problems], [],
    'nothing wrong in what the backend got';
ok $s->stop, 'no crash, nothing left';
done_testing;
