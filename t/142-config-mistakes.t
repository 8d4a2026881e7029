#!/usr/bin/perl
# Licensed under the Apache License, Version 2.0; see LICENSE.

# Mistakes in a configuration, those of nginx's users above all: what httpd
# says about each. It names the directive, and what is right.
#
# Below, a case is a piece of configuration and, behind "=", the message; "~"
# is for one that is accepted with a warning. "..." stands for a list that
# grows with the module.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;

use Up::Config;

my %around = ('in <Location>' => \&location, 'in <Upstream>' => \&group,
    anywhere => sub { $_[0] });
my ($place, $count) = ('anywhere', 0);

sub case {
    my (@lines) = @_;
    my ($conf, $mark, $message) = ('', '', '');
    for (@lines) {
        if (/^([=~]) (.*)/) {
            $mark = $1;
            $message .= ($message eq '' ? '' : ' ') . $2;
        }
        else {
            $conf .= ($conf eq '' ? '' : "\n") . $_;
        }
    }
    my $name = $conf =~ s/\n/, /gr;
    my ($ok, $said) = Up::Config::check($around{$place}->($conf));
    my ($text) = $mark eq '~' ? $said =~ /(UP\d{4}: .*)/
        : $said =~ /Syntax error on line \d+ of \S+:\n(.*)/;
    my $want = join '.*', map { quotemeta } split / ?\.\.\. ?/, $message, -1;
    ok !$ok == ($mark eq '=') && ($text // '') =~ /^$want\z/, $name
        or diag "got: $said", "want: $message";
    $count++;
    return;
}

{
    local $/ = '';
    while (my $block = <DATA>) {
        chomp $block;
        if ($block =~ /^## (.*)/) {
            $place = $1;
            next;
        }
        case(split /\n/, $block);
    }
}
cmp_ok $count, '>=', 120, 'they are many';
done_testing;

__DATA__
## in <Location>

UpstreamSetHeader Host $host
~ UP0106: UpstreamSetHeader at TMP/httpd.conf:9: "$host" is sent as it stands,
~ but $host is nginx's: write %{HTTP_HOST}

UpstreamSetHeader X-Real-IP $remote_addr
~ UP0106: UpstreamSetHeader at TMP/httpd.conf:9: "$remote_addr" is sent as it
~ stands, but $remote_addr is nginx's: write %{REMOTE_ADDR}

UpstreamSetHeader X-Forwarded-For $proxy_add_x_forwarded_for
~ UP0106: UpstreamSetHeader at TMP/httpd.conf:9: "$proxy_add_x_forwarded_for"
~ is sent as it stands, but $proxy_add_x_forwarded_for is nginx's: write
~ %{UPSTREAM_ADD_X_FORWARDED_FOR}

UpstreamSetBody $request_body
~ UP0106: UpstreamSetBody at TMP/httpd.conf:9: "$request_body" is sent as it
~ stands, but $request_body is nginx's, and no expression alone stands for it:
~ see docs/directives.md, "nginx's variables"

UpstreamSetHeader X-A 1;
~ UP0650: UpstreamSetHeader at TMP/httpd.conf:9: "1;" is sent with its last
~ ";": leave it out if nginx's end of a line is meant

proxy_set_header Host $host;
= proxy_set_header is nginx's name: write "UpstreamSetHeader Host $host";
= $host is nginx's: write %{HTTP_HOST}

proxy_ignore_client_abort on;
= proxy_ignore_client_abort is nginx's name: write "UpstreamIgnoreClientAbort
= on"

proxy_http_version 1.1;
= proxy_http_version is nginx's name: write "UpstreamHTTPVersion 1.1"

proxy_buffering off;
= proxy_buffering is nginx's name: write "UpstreamBuffering off"

## in <Location>

UpstreamPass http://127.0.0.1:8080;
= UpstreamPass wants a port from 1 to 65535 after the colon, not
= "http://127.0.0.1:8080;": a directive of httpd ends with its line, without a
= ";"

UpstreamReadTimeout 60s;
= UpstreamReadTimeout wants a time such as 60s, 1m30s or 500ms, not "60s;": a
= directive of httpd ends with its line, without a ";"

UpstreamBuffering on;
= UpstreamBuffering wants on or off, not "on;": a directive of httpd ends with
= its line, without a ";"

UpstreamBufferSize 16k;
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "16k;": a
= directive of httpd ends with its line, without a ";"

UpstreamBuffers 8 16k;
= UpstreamBuffers wants a size such as 8192, 16k or 1m, not "16k;": a
= directive of httpd ends with its line, without a ";"

UpstreamNextUpstream error timeout;
= UpstreamNextUpstream wants words out of error ... , not "timeout;": a
= directive of httpd ends with its line, without a ";"

UpstreamHTTPVersion 1.1;
= UpstreamHTTPVersion wants 1.0 or 1.1, not "1.1;": a directive of httpd ends
= with its line, without a ";"

UpstreamHideHeader X-A;
= UpstreamHideHeader wants the name of a header field such as X-Real-IP, not
= "X-A;": a directive of httpd ends with its line, without a ";"

UpstreamNextUpstreamTries 3;
= UpstreamNextUpstreamTries wants a whole number, 0 or more, not "3;": a
= directive of httpd ends with its line, without a ";"

UpstreamInterceptErrors on;
= UpstreamInterceptErrors wants on, off, or statuses from 300 to 599 and
= ranges of them, as in "404 502-504", not "on;": a directive of httpd ends
= with its line, without a ";"

UpstreamMethod POST;
= UpstreamMethod wants a method such as POST, not "POST;": a directive of
= httpd ends with its line, without a ";"

UpstreamIgnoreHeaders Expires;
= UpstreamIgnoreHeaders wants words out of X-Accel-Redirect ... , not
= "Expires;": a directive of httpd ends with its line, without a ";"

UpstreamBind 127.0.0.1;
= UpstreamBind wants a local IP address with or without a port, or off, not
= "127.0.0.1;": a directive of httpd ends with its line, without a ";"

UpstreamSetBody "x";
= UpstreamSetBody wants a text, in quotes when it has blanks

UpstreamLimitRate 10k;
= UpstreamLimitRate wants bytes a second such as 500k, 0 for no limit, or an
= expression, not "10k;": a directive of httpd ends with its line, without a
= ";"

UpstreamSocketKeepalive on;
= UpstreamSocketKeepalive wants on or off, not "on;": a directive of httpd
= ends with its line, without a ";"

UpstreamTempPath /tmp;
= UpstreamTempPath wants a directory that exists and that the server's User
= may write to, not "/tmp;": a directive of httpd ends with its line, without
= a ";"

proxy_pass http://127.0.0.1:8080;
= proxy_pass is nginx's name: write "UpstreamPass http://127.0.0.1:8080"

proxy_pass http://127.0.0.1:8080
= proxy_pass is nginx's name: write "UpstreamPass http://127.0.0.1:8080"

proxy_read_timeout 60s
= proxy_read_timeout is nginx's name: write "UpstreamReadTimeout 60s"

proxy_set_header Host x
= proxy_set_header is nginx's name: write "UpstreamSetHeader Host x"

upstream g {
= upstream is nginx's name: write "<Upstream g>", a line for each
= UpstreamServer, and "</Upstream>"

UpstreamServer 127.0.0.1
= UpstreamServer belongs inside <Upstream name> ... </Upstream>

UpstreamKeepalive 32
= UpstreamKeepalive belongs inside <Upstream name> ... </Upstream>

UpstreamPass http://$host
= UpstreamPass has a variable of nginx in its URL: write an expression of
= httpd, such as %{HTTP_HOST}, not "http://$host"

UpstreamPass http://127.0.0.1$request_uri
= UpstreamPass has a variable of nginx in its URL: write an expression of
= httpd, such as %{HTTP_HOST}, not "http://127.0.0.1$request_uri"

UpstreamBind $remote_addr
= UpstreamBind wants an address; $remote_addr is nginx's: write %{REMOTE_ADDR}

UpstreamLimitRate $rate
= UpstreamLimitRate wants bytes a second such as 500k, 0 for no limit, or an
= expression, not "$rate"

UpstreamReadTimeout 1min
= UpstreamReadTimeout wants a time such as 60s, 1m30s or 500ms, not "1min"

UpstreamReadTimeout 1 m
= UpstreamReadTimeout takes one argument, a time such as 60s

UpstreamReadTimeout 60sec
= UpstreamReadTimeout wants a time such as 60s, 1m30s or 500ms, not "60sec"

UpstreamReadTimeout 1.5s
= UpstreamReadTimeout wants a time such as 60s, 1m30s or 500ms, not "1.5s"

UpstreamReadTimeout -1
= UpstreamReadTimeout wants a time such as 60s, 1m30s or 500ms, not "-1"

UpstreamReadTimeout on
= UpstreamReadTimeout wants a time such as 60s, 1m30s or 500ms, not "on"

UpstreamReadTimeout ""
= UpstreamReadTimeout takes one argument, a time such as 60s

UpstreamConnectTimeout 75S
= UpstreamConnectTimeout wants a time such as 60s, 1m30s or 500ms, not "75S"

UpstreamSendTimeout 1y
= UpstreamSendTimeout wants a time such as 60s, 1m30s or 500ms, not "1y"

UpstreamBufferSize 10kb
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "10kb"

UpstreamBufferSize 10KB
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "10KB"

UpstreamBufferSize 1.5k
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "1.5k"

UpstreamBufferSize 16 k
= UpstreamBufferSize takes one argument, a size such as 16k

UpstreamBufferSize -1
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "-1"

UpstreamBufferSize 99999999999g
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "99999999999g"

UpstreamBufferSize 1t
= UpstreamBufferSize wants a size such as 8192, 16k or 1m, not "1t"

UpstreamBuffers 8
= UpstreamBuffers takes two arguments, a number and a size, as in 8 16k

UpstreamBuffers 8 8 8
= UpstreamBuffers takes two arguments, a number and a size, as in 8 16k

UpstreamBuffers 8x16k
= UpstreamBuffers takes two arguments, a number and a size, as in 8 16k

UpstreamBuffers 16k 8
= UpstreamBuffers wants at least 2 buffers, as in "8 16k", not "16k"

UpstreamMaxTempFileSize unlimited
= UpstreamMaxTempFileSize wants a size such as 8192, 16k or 1m, not
= "unlimited"

UpstreamLimitRate 1m/s
= UpstreamLimitRate wants bytes a second such as 500k, 0 for no limit, or an
= expression, not "1m/s"

UpstreamLimitRate 10kb
= UpstreamLimitRate wants bytes a second such as 500k, 0 for no limit, or an
= expression, not "10kb"

UpstreamNextUpstreamTries -1
= UpstreamNextUpstreamTries wants a whole number, 0 or more, not "-1"

UpstreamNextUpstreamTries 1.5
= UpstreamNextUpstreamTries wants a whole number, 0 or more, not "1.5"

UpstreamNextUpstreamTries three
= UpstreamNextUpstreamTries wants a whole number, 0 or more, not "three"

UpstreamBuffering true
= UpstreamBuffering wants on or off, not "true"

UpstreamBuffering 1
= UpstreamBuffering wants on or off, not "1"

UpstreamBuffering
= UpstreamBuffering takes one argument, on or off

UpstreamBuffering on off
= UpstreamBuffering takes one argument, on or off

UpstreamHTTPVersion HTTP/1.1
= UpstreamHTTPVersion wants 1.0 or 1.1, not "HTTP/1.1"

UpstreamHTTPVersion 1
= UpstreamHTTPVersion wants 1.0 or 1.1, not "1"

UpstreamPass 127.0.0.1:8080
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "127.0.0.1:8080"

UpstreamPass localhost
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "localhost"

UpstreamPass //127.0.0.1
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "//127.0.0.1"

UpstreamPass http:/127.0.0.1
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "http:/127.0.0.1"

UpstreamPass http//127.0.0.1
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "http//127.0.0.1"

UpstreamPass http://
= UpstreamPass wants a host name or an address, such as 127.0.0.1:8080,
= [::1]:8080 or unix:/run/a.sock, not "http://"

UpstreamPass http://127.0.0.1:port
= UpstreamPass wants a port from 1 to 65535 after the colon, not
= "http://127.0.0.1:port"

UpstreamPass http://127.0.0.1:99999
= UpstreamPass wants a port from 1 to 65535 after the colon, not
= "http://127.0.0.1:99999"

UpstreamPass http://user:pw@127.0.0.1/
= UpstreamPass cannot log in with a name in the URL: write UpstreamSetHeader
= Authorization "Basic ...", not "http://user:pw@127.0.0.1/"

UpstreamPass http://127.0.0.1 retry=0
= UpstreamPass takes nothing behind the URL: what can be set has directives of
= its own, not "retry=0"

UpstreamPass "http://127.0.0.1 "
= UpstreamPass wants a host name or an address, such as 127.0.0.1:8080,
= [::1]:8080 or unix:/run/a.sock, not "http://127.0.0.1 "

UpstreamPass unix:/tmp/x
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "unix:/tmp/x"

UpstreamPass balancer://x
= UpstreamPass has an invalid URL prefix: write http://host:port ..., not
= "balancer://x"

UpstreamPass /x/ http://127.0.0.1
= UpstreamPass wants only a URL inside a section: the section gives the path,
= not "/x/"

UpstreamSetHeader X-A
= UpstreamSetHeader wants the name of a header field and its value, in quotes
= when it has blanks

UpstreamSetHeader "X-A:" 1
= UpstreamSetHeader wants the name of a header field such as X-Real-IP, not
= "X-A:"

UpstreamSetHeader X-A: 1
= UpstreamSetHeader wants the name of a header field such as X-Real-IP, not
= "X-A:"

UpstreamSetHeader X-A 1 2
= UpstreamSetHeader wants the name of a header field and its value, in quotes
= when it has blanks

UpstreamSetHeader Content-Length 5
= UpstreamSetHeader wants "" as the value of Content-Length and
= Transfer-Encoding, which always describe the body as it is sent, not "5"

UpstreamHideHeader
= UpstreamHideHeader takes one argument, the name of a header field

UpstreamHideHeader X-A:
= UpstreamHideHeader wants the name of a header field such as X-Real-IP, not
= "X-A:"

UpstreamPassHeader "X A"
= UpstreamPassHeader wants the name of a header field such as X-Real-IP, not
= "X A"

UpstreamIgnoreHeaders X-Foo
= UpstreamIgnoreHeaders wants words out of X-Accel-Redirect ... , not "X-Foo"

UpstreamNextUpstream
= UpstreamNextUpstream requires at least one argument, words such as error
= timeout http_502, or off

UpstreamNextUpstream http_501
= UpstreamNextUpstream wants words out of error ... , not "http_501"

UpstreamNextUpstream 502
= UpstreamNextUpstream wants words out of error ... , not "502"

UpstreamNextUpstream error,timeout
= UpstreamNextUpstream wants words out of error ... , not "error,timeout"

UpstreamInterceptErrors 404,500
= UpstreamInterceptErrors wants on, off, or statuses from 300 to 599 and
= ranges of them, as in "404 502-504", not "404,500"

UpstreamInterceptErrors 99
= UpstreamInterceptErrors wants on, off, or statuses from 300 to 599 and
= ranges of them, as in "404 502-504", not "99"

UpstreamInterceptErrors 2xx
= UpstreamInterceptErrors wants on, off, or statuses from 300 to 599 and
= ranges of them, as in "404 502-504", not "2xx"

UpstreamBind eth0
= UpstreamBind wants a local IP address with or without a port, or off, not
= "eth0"

UpstreamTempPath
= UpstreamTempPath wants a directory and at most three levels, as in
= "/var/tmp/up 1 2"

UpstreamTempPath a 9 9 9
= UpstreamTempPath wants a directory that exists and that the server's User
= may write to, not "a"

UpstreamTempPath a 0
= UpstreamTempPath wants a directory that exists and that the server's User
= may write to, not "a"

UpstreamStoreAccess 644
= UpstreamStoreAccess wants words such as user:rw group:r all:r, not "644"

UpstreamStoreAccess user:rwx
= UpstreamStoreAccess wants words such as user:rw group:r all:r, not
= "user:rwx"

UpstreamSetHeader X "%{BOGUS}"
= UpstreamSetHeader wants a value or an expression such as %{HTTP_HOST}, and
= "%{BOGUS}" is neither: Variable 'BOGUS' does not exist

UpstreamResolver
= UpstreamResolver wants addresses of name servers and valid=, ipv4=off,
= ipv6=off; or off

UpstreamResolver not_a_host:x
= UpstreamResolver wants IP addresses of name servers, such as 127.0.0.1 or
= [::1]:5353, not "not_a_host:x"

UpstreamTunnelTimeout 1d1x
= UpstreamTunnelTimeout wants a time such as 60s, 1m30s or 500ms, not "1d1x"

UpstreamStreamTypes text
= UpstreamStreamTypes wants media types such as text/event-stream or
= application/grpc*, or none, not "text"

UpstreamMaxHeaderSize 0
= UpstreamMaxHeaderSize wants a size that is larger than 0, such as 16k, not
= "0"

UpstreamReadTimeout 1s
UpstreamReadTimeout 2s
= "UpstreamReadTimeout" directive is duplicate: keep one of them in this
= section

## in <Upstream>

server 127.0.0.1;
= server is unknown: inside <Upstream> may stand UpstreamServer ...

UpstreamServer 127.0.0.1;
= UpstreamServer wants a host name or an address, such as 127.0.0.1:8080,
= [::1]:8080 or unix:/run/a.sock, not "127.0.0.1;": a directive of httpd ends
= with its line, without a ";"

UpstreamServer 127.0.0.1:80;
= UpstreamServer wants a port from 1 to 65535 after the colon, not
= "127.0.0.1:80;": a directive of httpd ends with its line, without a ";"

UpstreamServer http://127.0.0.1
= UpstreamServer wants an address and no URL, as in 127.0.0.1:8080, not
= "http://127.0.0.1"

UpstreamServer 127.0.0.1 weight=0
= UpstreamServer: weight= wants a whole number from 1 up, not "0"

UpstreamServer 127.0.0.1 weight=x
= UpstreamServer: weight= wants a whole number from 1 up, not "x"

UpstreamServer 127.0.0.1 weight 3
= UpstreamServer has an invalid parameter: it takes weight= ... , not "weight"

UpstreamServer 127.0.0.1 weight=3;
= UpstreamServer: weight= wants a whole number from 1 up, not "3;": a
= directive of httpd ends with its line, without a ";"

UpstreamServer 127.0.0.1 max_fails=-1
= UpstreamServer: max_fails= wants a whole number, 0 or more, not "-1"

UpstreamServer 127.0.0.1 fail_timeout=10x
= UpstreamServer: fail_timeout= wants a time in whole seconds such as 10s,
= 1m30s or 2h, not "10x"

UpstreamServer 127.0.0.1 fail_timeout
= UpstreamServer has an invalid parameter: it takes weight= ... , not
= "fail_timeout"

UpstreamServer 127.0.0.1 max_con=3
= UpstreamServer has an invalid parameter: it takes weight= ... , not
= "max_con=3"

UpstreamServer 127.0.0.1 backup=1
= UpstreamServer has an invalid parameter: it takes weight= ... , not
= "backup=1"

UpstreamServer 127.0.0.1 down backup down
= UpstreamServer: parameter "down" is duplicate: keep one of them

UpstreamServer 127.0.0.1/x
= UpstreamServer wants a host name or an address, such as 127.0.0.1:8080,
= [::1]:8080 or unix:/run/a.sock, not "127.0.0.1/x"

UpstreamServer
= UpstreamServer wants an address and parameters, as in "127.0.0.1:8080
= weight=2"

UpstreamServer $host
= UpstreamServer wants a fixed address: one that is made for a request belongs
= into the URL of UpstreamPass, not "$host"

UpstreamServer 127.0.0.1 weight=1 weight=2
= UpstreamServer: parameter "weight=2" is duplicate: keep one of them

UpstreamServer *
= UpstreamServer wants a host name or an address, such as 127.0.0.1:8080,
= [::1]:8080 or unix:/run/a.sock, not "*"

UpstreamKeepalive
= UpstreamKeepalive takes 1-2 arguments, a number of idle connections and, if
= need be, local

UpstreamKeepalive 32;
= UpstreamKeepalive wants a whole number, 0 or more, not "32;": a directive of
= httpd ends with its line, without a ";"

UpstreamKeepalive on
= UpstreamKeepalive wants a whole number, 0 or more, not "on"

UpstreamKeepalive -1
= UpstreamKeepalive wants a whole number, 0 or more, not "-1"

UpstreamKeepalive 8 8
= UpstreamKeepalive wants nothing but "local" after the number, not "8"

UpstreamKeepaliveTimeout 60s;
= UpstreamKeepaliveTimeout wants a time such as 60s, 1m30s or 500ms, not
= "60s;": a directive of httpd ends with its line, without a ";"

UpstreamKeepaliveRequests 0
= UpstreamKeepaliveRequests wants a whole number from 1 up, not "0"

UpstreamKeepaliveRequests x
= UpstreamKeepaliveRequests wants a whole number from 1 up, not "x"

UpstreamQueue 10 timeout=x
= UpstreamQueue: timeout= wants a time such as 60s, 1m30s or 500ms, not "x"

UpstreamQueue x
= UpstreamQueue wants a whole number from 1 up, not "x"

UpstreamPass http://x
= UpstreamPass does not belong inside <Upstream>: write it outside

UpstreamReadTimeout 1s
= UpstreamReadTimeout does not belong inside <Upstream>: write it outside

UpstreamKeepalive 1
UpstreamKeepalive 2
= "UpstreamKeepalive" directive is duplicate: keep one of them in this
= <Upstream>

## anywhere

UpstreamPass http://127.0.0.1
= UpstreamPass wants a path before the URL outside <Location>, as in
= "UpstreamPass /app/ http://host:8080", not "http://127.0.0.1"

UpstreamPass x/ http://127.0.0.1
= UpstreamPass wants a path that begins with / and a URL here, as in
= "UpstreamPass /app/ http://host:8080", not "x/"

UpstreamPass http://127.0.0.1 /x/
= UpstreamPass wants a path that begins with / and a URL here, as in
= "UpstreamPass /app/ http://host:8080", not "http://127.0.0.1"

<Upstream g>
</Upstream>
= <Upstream g> has no server: write at least one UpstreamServer in it

<Upstream g;>
UpstreamServer 127.0.0.1
</Upstream>
= <Upstream> wants a name of letters, digits, dots, dashes and underscores,
= not "g;"

<Upstream g {>
UpstreamServer 127.0.0.1
</Upstream>
= <Upstream> wants one name, as in <Upstream backend>

<Directory /tmp>
UpstreamPass http://127.0.0.1
</Directory>
= UpstreamPass cannot stand inside <Directory>: it belongs in the server
= configuration, <VirtualHost>, <Location>, <LocationMatch> or <If>

<Location /x/>
<Upstream g>
UpstreamServer 127.0.0.1
</Upstream>
</Location>
= <Upstream> belongs in the main server configuration, outside <VirtualHost>
= and every other section

<LocationMatch x>
UpstreamPass http://127.0.0.1/u/
</LocationMatch>
= UpstreamPass cannot have a URI part inside <LocationMatch>, <If> or a
= <Location> with a pattern, where no prefix could be replaced: write the URL
= without it, not "http://127.0.0.1/u/"

<Files x>
UpstreamReadTimeout 1s
</Files>
= UpstreamReadTimeout cannot stand inside <Files>: it belongs in the server
= configuration, <VirtualHost>, <Location>, <LocationMatch> or <If>

UpstreamLoops x
= UpstreamLoops wants a whole number, 0 or more, not "x"

UpstreamAsync maybe
= UpstreamAsync wants on or off, not "maybe"

UpstreamAsyncDelay x
= UpstreamAsyncDelay wants a time such as 60s, 1m30s or 500ms, not "x"

UpstreamMaxSuspended -1
= UpstreamMaxSuspended wants a whole number, 0 or more, not "-1"

UpstreamShutdownTimeout x
= UpstreamShutdownTimeout wants a time such as 60s, 1m30s or 500ms, not "x"

<VirtualHost *>
UpstreamLoops 2
</VirtualHost>
= UpstreamLoops cannot occur within <VirtualHost> section

<Upstream g>
UpstreamServer 127.0.0.1 backup
</Upstream>
= no servers in upstream "g": all are backup, write at least one
= UpstreamServer without it
