#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# The values of location-level directives: what is accepted, what is refused
# and in which words, and sizes that do not fit together.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

# --- plain values: each is tried at server level, twice, and in sections ----

my $time = 'wants a time such as 60s, 1m30s or 500ms';
my $no_time = 'wants a time that is longer than 0, such as 60s';
my $size = 'wants a size such as 8192, 16k or 1m';
my $no_size = 'wants a size that is larger than 0, such as 16k';
my $flag = 'wants on or off';
my $from_0 = 'wants a whole number, 0 or more';
my $from_1 = 'wants a whole number from 1 up';
my $field = 'wants the name of a header field such as X-Real-IP';

# directive, good values, bad values with the reason
my @plain = (
    [Method => ['GET', 'PURGE', '"%{REQUEST_METHOD}"'],
        ['"GET /"' => 'wants a method such as POST',
         '/' => 'wants a method such as POST']],
    [HTTPVersion => ['1.0', '1.1'],
        ['2' => 'cannot speak HTTP/2 to a backend yet: write 1.1 or 1.0',
         '1.2' => 'wants 1.0 or 1.1']],
    [PassRequestHeaders => ['on', 'OFF'], ['yes' => $flag]],
    [PassRequestBody => ['On', 'off'], ['1' => $flag]],
    [RequestBuffering => ['on', 'off'], ['no' => $flag]],
    [RequestBufferSize => ['1', '64k'], ['0' => $no_size, '1g' => $size]],
    [HeadersHashMaxSize => ['1', '1024'], ['0' => $from_1, '1k' => $from_1]],
    [HeadersHashBucketSize => ['64'], ['-1' => $from_1]],
    [SocketKeepalive => ['on', 'off'], ['true' => $flag]],
    [SocketRcvbuf => ['0', '64k'], ['64kb' => $size]],
    [SocketSndbuf => ['0', '1M'], ['3000m' => 'wants a size below 2048m']],
    [SendLowat => ['0', '1k'], ['1s' => $size]],
    [IgnoreClientAbort => ['on', 'off'], ['maybe' => $flag]],
    [ConnectTimeout => ['5s', '500ms', '1'], ['0' => $no_time, '1M' => $time]],
    [SendTimeout => ['1m30s', '"1m 30s"'],
        ['0s' => $no_time, '30s1m' => $time]],
    [ReadTimeout => ['1d', '2w'],
        ['1y' => $time, '5s5s' => $time, '-5' => $time, '0' => $no_time]],
    [NextUpstreamTries => ['0', '3'], ['x' => $from_0]],
    [NextUpstreamTimeout => ['0', '10s'], ['10x' => $time]],
    [Buffering => ['on', 'off'], ['full' => $flag]],
    [BufferSize => ['128', '32k', '1m'], ['0' => $no_size, '4kk' => $size]],
    [MaxHeaderSize => ['8k', '128K'], ['none' => $size, '0' => $no_size]],
    [ProxyStatus => ['on', 'off'], ['full' => $flag]],
    [BusyBuffersSize => ['8k'], ['0' => $no_size, '8kb' => $size]],
    [MaxTempFileSize => ['0', '100m'], ['1g' => $size]],
    [TempFileWriteSize => ['16k'], ['0' => $no_size, 'x' => $size]],
);

for my $case (@plain) {
    my ($name, $good, $bad) = @$case;
    my $directive = "Upstream$name";
    row("$directive $_", "$directive $_") for @$good;
    for (my $i = 0; $i < @$bad; $i += 2) {
        (my $word = $bad->[$i]) =~ s/^"(.*)"$/$1/;
        row("$directive $bad->[$i]", "$directive $bad->[$i]",
            qq{$directive $bad->[$i + 1], not "$word"});
    }
    row("$directive twice in a section",
        location("$directive $good->[-1]\n!! $directive $good->[-1]"),
        qq{"$directive" directive is duplicate: keep one of them in this }
            . 'section');
    row("$directive again in an inner section",
        "$directive $good->[0]\n" . location("$directive $good->[-1]"));
}

# --- the other values -------------------------------------------------------

my $words = 'wants words out of error timeout invalid_header http_500 '
    . 'http_502 http_503 http_504 http_403 http_404 http_429 non_idempotent '
    . 'updating reused off';

my $header = 'UpstreamSetHeader wants the name of a header field and its '
    . 'value, in quotes when it has blanks';

my $framing = 'UpstreamSetHeader wants "" as the value of Content-Length and '
    . 'Transfer-Encoding, which always describe the body as it is sent, not ';

row @$_ for (
    ['UpstreamSetHeader', 'UpstreamSetHeader X-Real-IP %{REMOTE_ADDR}'],
    ['an empty value', 'UpstreamSetHeader Accept-Encoding ""'],
    ['the same field twice',
        "UpstreamSetHeader X-A 1\nUpstreamSetHeader X-A 2"],
    ['no value', 'UpstreamSetHeader X-A', $header],
    ['no name and no value', 'UpstreamSetHeader', $header],
    ['a value of two words', 'UpstreamSetHeader X-A b c', $header],
    ['no field name', 'UpstreamSetHeader "X A:" 1',
        qq{UpstreamSetHeader $field, not "X A:"}],
    (map { ["an empty $_", qq{UpstreamSetHeader $_ ""}],
        ["a $_ by hand", "UpstreamSetHeader $_ 5", $framing . '"5"'],
        ["a computed $_", "UpstreamSetHeader $_ %{HTTP:X-A}",
            $framing . '"%{HTTP:X-A}"'] }
        'Content-Length', 'transfer-encoding'),
    ['UpstreamSetBody', 'UpstreamSetBody "a=%{REQUEST_URI}"'],
    ['an empty body', 'UpstreamSetBody ""'],
    ['a body of two words', 'UpstreamSetBody a b',
        'UpstreamSetBody wants a text, in quotes when it has blanks'],
    ['UpstreamSetBody twice', "UpstreamSetBody a\n!! UpstreamSetBody b",
        '"UpstreamSetBody" directive is duplicate: keep one of them in this '
        . 'section'],
    ['UpstreamBind', 'UpstreamBind 127.0.0.1'],
    ['UpstreamBind with a port', 'UpstreamBind 127.0.0.1:8000'],
    ['UpstreamBind with IPv6', 'UpstreamBind ::1'],
    ['UpstreamBind with IPv6 and a port', 'UpstreamBind [::1]:8000'],
    ['UpstreamBind off', 'UpstreamBind off'],
    ['UpstreamBind transparent', 'UpstreamBind %{REMOTE_ADDR} transparent'],
    ['UpstreamBind of a name', 'UpstreamBind localhost',
        'UpstreamBind wants a local IP address with or without a port, or '
        . 'off, not "localhost"'],
    ['UpstreamBind of a wrong address', 'UpstreamBind 1.2.3.400',
        'UpstreamBind wants a local IP address with or without a port, or '
        . 'off, not "1.2.3.400"'],
    ['UpstreamBind of a wrong port', 'UpstreamBind 127.0.0.1:0',
        'UpstreamBind wants a local IP address with or without a port, or '
        . 'off, not "127.0.0.1:0"'],
    ['UpstreamBind with another word', 'UpstreamBind 127.0.0.1 opaque',
        'UpstreamBind wants nothing but "transparent" after the address, '
        . 'not "opaque"'],
    ['UpstreamBind off transparent', 'UpstreamBind off transparent',
        'UpstreamBind wants nothing after off, not "transparent"'],
    ['UpstreamBind twice', "UpstreamBind off\n!! UpstreamBind 127.0.0.1",
        '"UpstreamBind" directive is duplicate: keep one of them in this '
        . 'section'],
    ['UpstreamNextUpstream', 'UpstreamNextUpstream error Timeout http_502'],
    ['UpstreamNextUpstream of all words', 'UpstreamNextUpstream '
        . ($words =~ s/wants words out of //r)],
    ['UpstreamNextUpstream over two lines',
        "UpstreamNextUpstream error\nUpstreamNextUpstream http_503"],
    ['UpstreamNextUpstream off', 'UpstreamNextUpstream off'],
    ['UpstreamNextUpstream in two sections',
        "UpstreamNextUpstream off\n" . location('UpstreamNextUpstream error')],
    ['an unknown failure', 'UpstreamNextUpstream error http_501',
        qq{UpstreamNextUpstream $words, not "http_501"}],
    ['UpstreamBuffers', 'UpstreamBuffers 2 128'],
    ['one buffer', 'UpstreamBuffers 1 8k',
        'UpstreamBuffers wants at least 2 buffers, as in "8 16k", not "1"'],
    ['no size', 'UpstreamBuffers 8 0', "UpstreamBuffers $no_size, not \"0\""],
    ['no second word', 'UpstreamBuffers 8',
        'UpstreamBuffers takes two arguments, a number and a size, as in '
        . '8 16k'],
    ['UpstreamBuffers twice', "UpstreamBuffers 4 8k\n!! UpstreamBuffers 4 8k",
        '"UpstreamBuffers" directive is duplicate: keep one of them in this '
        . 'section'],
    ['UpstreamTempPath',
        "UpstreamTempPath @{[ Up::Config::directory() ]}/spool"],
    ['UpstreamTempPath below ServerRoot', 'UpstreamTempPath spool 1 2 3'],
    ['UpstreamTempPath of nothing', 'UpstreamTempPath nowhere',
        'UpstreamTempPath wants a directory that exists and that the '
        . q{server's User may write to, not "nowhere"}],
    ['UpstreamTempPath of a file', 'UpstreamTempPath httpd.conf',
        'UpstreamTempPath wants a directory that exists and that the '
        . q{server's User may write to, not "httpd.conf"}],
    ['four digits', 'UpstreamTempPath spool 1 4',
        'UpstreamTempPath wants 1, 2 or 3 digits for each level of '
        . 'directories, not "4"'],
    ['four levels', 'UpstreamTempPath spool 1 1 1 1',
        'UpstreamTempPath wants a directory and at most three levels, as in '
        . '"/var/tmp/up 1 2"'],
    ['UpstreamTempPath twice',
        "UpstreamTempPath spool\n!! UpstreamTempPath spool",
        '"UpstreamTempPath" directive is duplicate: keep one of them in this '
        . 'section'],
    ['UpstreamPassHeader',
        "UpstreamPassHeader Server\nUpstreamPassHeader Date"],
    ['UpstreamPassHeader of no name', 'UpstreamPassHeader Server:',
        qq{UpstreamPassHeader $field, not "Server:"}],
    ['UpstreamHideHeader', "UpstreamHideHeader X-Powered-By"],
    ['UpstreamHideHeader in two sections',
        "UpstreamHideHeader X-A\n" . location('UpstreamHideHeader X-B')],
    ['UpstreamHideHeader of no name', 'UpstreamHideHeader "X A"',
        qq{UpstreamHideHeader $field, not "X A"}],
    ['other capitals', "upstreamhttpversion 1.0\nUPSTREAMBUFFERING off"],
);

# --- the whole server -------------------------------------------------------

for my $case (
    [UpstreamLoops => ['0', '3'], ['-1' => $from_0, 'all' => $from_0]],
    [UpstreamMaxSuspended => ['0', '10000'], ['1k' => $from_0]],
    [UpstreamAsyncDelay => ['0', '5ms'], ['5us' => $time]],
    [UpstreamShutdownTimeout => ['0', '1m30s'], ['soon' => $time]],
) {
    my ($directive, $good, $bad) = @$case;
    row("$directive $_", "$directive $_") for @$good;
    for (my $i = 0; $i < @$bad; $i += 2) {
        row("$directive $bad->[$i]", "$directive $bad->[$i]",
            qq{$directive $bad->[$i + 1], not "$bad->[$i]"});
    }
    row("$directive twice", "$directive 1\n!! $directive 1",
        qq{"$directive" directive is duplicate: keep one of them});
    row("$directive in a virtual host",
        "<VirtualHost *:80>\n!! $directive 1\n</VirtualHost>",
        "$directive cannot occur within <VirtualHost> section");
}

for my $conf ('UpstreamSetHeader X-A %{NO_SUCH_THING}', 'UpstreamSetBody "%{"',
    'UpstreamMethod "%{tolower:"', 'UpstreamBind "%{"') {
    my ($directive) = split / /, $conf;
    logged("refuses an expression that is none: $conf", $conf, 0,
        qr/^$directive\ wants\ a\ value\ or\ an\ expression\ such\ as
            \ %\{HTTP_HOST\},\ and\ ".*"\ is\ neither:\ ./mx);
}
logged('UpstreamSendLowat is ignored aloud', 'UpstreamSendLowat 1k', 1,
    qr/UP0103:\ UpstreamSendLowat\ at\ \S+:8\ is\ not\ supported\ by\ this
        \ system\ and\ ignored:\ remove\ it/x);
logged('UpstreamSendLowat 0 says nothing', 'UpstreamSendLowat 0', 1,
    qr/\ASyntax OK\n\z/);
logged('a repeated word is warned about',
    'UpstreamNextUpstream error timeout ERROR', 1,
    qr/UP0102: UpstreamNextUpstream at \S+:8: "ERROR" stands there twice/);

# --- what nginx would take for its variables --------------------------------

for my $case (
    ['UpstreamSetHeader Host $host' => '$host', '%{HTTP_HOST}'],
    ['UpstreamSetHeader X-Real-IP "a ${remote_addr}"' => '$remote_addr',
        '%{REMOTE_ADDR}'],
    ['UpstreamSetHeader A $http_x_my_field' => '$http_x_my_field',
        '%{HTTP:x-my-field}'],
    ['UpstreamSetHeader A $upstream_http_x_a' => '$upstream_http_x_a',
        '%{upstream_http:x-a}'],
    ['UpstreamSetHeader A $upstream_addr' => '$upstream_addr',
        '%{UPSTREAM_ADDR}'],
    ['UpstreamSetHeader A $x$scheme' => '$scheme', '%{REQUEST_SCHEME}'],
    ['UpstreamSetBody "u=$uri"' => '$uri', '%{REQUEST_URI}'],
    ['UpstreamMethod $request_method' => '$request_method',
        '%{REQUEST_METHOD}'],
) {
    my ($conf, $name, $instead) = @$case;
    my ($directive) = split / /, $conf;
    logged("warns of $name", $conf, 1, qr/UP0106:\ $directive\ at\ \S+:8:
        \ ".*"\ is\ sent\ as\ it\ stands,\ but\ \Q$name\E\ is\ nginx's:
        \ write\ \Q$instead\E$/mx);
}
logged("warns of $_", "UpstreamSetHeader A $_", 1,
    qr/but \Q$_\E is nginx's, and no expression alone stands for it: see docs/)
    for qw($cookie_sid $arg_x $request_uri $ssl_cipher);
logged("says nothing of $_", "UpstreamSetHeader A '$_'", 1,
    qr/\ASyntax OK\n\z/)
    for '$', '5$', '$1', '$5.00', '$mine', 'a$', '${', '$http_', 'host$';
row('a variable of nginx in UpstreamBind', 'UpstreamBind $remote_addr',
    q{UpstreamBind wants an address; $remote_addr is nginx's: write }
    . '%{REMOTE_ADDR}');

# --- sizes that do not fit together -----------------------------------------

row @$_ for (
    ['a header limit below the buffer',
        location("UpstreamBufferSize 32k\n!! UpstreamMaxHeaderSize 16k"),
        'UpstreamMaxHeaderSize 16384 is too small: write at least 32768, the '
        . 'UpstreamBufferSize of this section'],
    ['the same in the other order',
        location("UpstreamMaxHeaderSize 16k\n!! UpstreamBufferSize 32k"),
        'UpstreamMaxHeaderSize 16384 is too small: write at least 32768, the '
        . 'UpstreamBufferSize of this section'],
    ['a header limit as large as the buffer',
        "UpstreamBufferSize 32k\nUpstreamMaxHeaderSize 32k"],
    ['a header limit below the default buffer', 'UpstreamMaxHeaderSize 4k'],
    ['a buffer above the default header limit', 'UpstreamBufferSize 256k'],
    ['a large buffer with default buffers', 'UpstreamBufferSize 1m'],
    ['small buffers with the default busy size', 'UpstreamBuffers 2 128'],
    ['a busy size below the head buffer',
        "UpstreamBusyBuffersSize 16k\n!! UpstreamBufferSize 32k",
        'UpstreamBusyBuffersSize 16384 is too small: write at least 32768, '
        . 'the size of UpstreamBufferSize in this section'],
    ['a busy size below one buffer',
        "UpstreamBuffers 8 32k\n!! UpstreamBusyBuffersSize 16k",
        'UpstreamBusyBuffersSize 16384 is too small: write at least 32768, '
        . 'the size of one of the UpstreamBuffers in this section'],
    ['a busy size of all buffers',
        "UpstreamBuffers 4 8k\n!! UpstreamBusyBuffersSize 32k",
        'UpstreamBusyBuffersSize 32768 is too large: write at most 24576, '
        . 'all UpstreamBuffers of this section but one'],
    ['a busy size of all buffers but one',
        "UpstreamBuffers 4 8k\nUpstreamBusyBuffersSize 24k"],
    ['a busy size that only fits outside',
        "UpstreamBufferSize 32k\n" . location('UpstreamBusyBuffersSize 8k')],
    ['a temporary file below one buffer',
        "UpstreamBuffers 4 8k\n!! UpstreamMaxTempFileSize 4k",
        'UpstreamMaxTempFileSize 4096 is too small: write at least 8192, '
        . 'the size of one of the UpstreamBuffers in this section'],
    ['no temporary file', "UpstreamBuffers 4 8k\nUpstreamMaxTempFileSize 0"],
    ['writes below the head buffer',
        "UpstreamTempFileWriteSize 4k\n!! UpstreamBufferSize 8k",
        'UpstreamTempFileWriteSize 4096 is too small: write at least 8192, '
        . 'the size of UpstreamBufferSize in this section'],
    ['writes as large as a buffer',
        "UpstreamTempFileWriteSize 8k\nUpstreamBufferSize 8k"],
);

done_testing;
