# Licensed under the Apache License, Version 2.0; see LICENSE.

# The request target that a backend gets: the client's bytes, or the
# location's prefix replaced.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $b = Up::Backend->http(sub { [200, [], 'ok'] });
my $other = Up::Backend->http(sub { [200, [], 'other'] });

my $s = Up::Server->start(A => $b->addr, B => $other->addr, conf => <<'END');
UpstreamPass /raw/ http://@A@
UpstreamPass /p/ http://@A@/
UpstreamPass /base/ http://@A@/to/base/
UpstreamPass /urin http://@A@/base
UpstreamPass /query/ http://@A@?k=1
UpstreamPass /deep/ http://@A@
UpstreamPass /deep/er/ http://@B@
UpstreamPass "/sp ace/" http://@A@/x/
<Location /slash/>
    UpstreamPass http://@A@/
</Location>
<LocationMatch "^/match/(?<REST>.*)">
    UpstreamPass http://@A@
</LocationMatch>
<Location /inside/>
    UpstreamPass http://@A@/u/
</Location>
AllowEncodedSlashes Off
RewriteEngine On
RewriteRule ^/rewrite/(.*) /raw/new/$1 [PT]
RewriteRule ^/rewrite-p/(.*) /p/new/$1 [PT]
RewriteRule ^/rewrite-args/(.*) /raw/$1?b=2 [PT,QSA]
RewriteRule ^(/raw/other-args.*) $1?c=3 [PT]
<Location /raw/locked/>
    Require all denied
</Location>
<LocationMatch "^/raw/shut(/|%2[Ff])">
    Require all denied
</LocationMatch>
<Location /gone>
    ErrorDocument 404 /raw/error%20page?e=1
</Location>
END

# The target that the backend got for one of the client's.
sub sent {
    my ($target, $method) = @_;
    $b->clear;
    my $res = $s->ask($method // 'GET', $target);
    my @requests = $b->requests;
    is_deeply [$b->problems], [], "well-formed for $target";
    return @requests == 1 ? $requests[0]{target}
        : scalar(@requests) . ' requests, status ' . $res->status;
}

sub refused {
    my ($target, $what, @status) = @_;
    $b->clear;
    my $k = $s->client(strict => 0);
    $k->send("GET $target HTTP/1.1\r\nHost: x\r\n\r\n");
    my $status = $k->response->status // 'none';
    ok scalar(grep { $_ eq $status } @status), "$what: $status";
    is scalar $b->requests, 0, 'not sent';
}

subtest 'RB01 RB02 RB03 C26 byte for byte without a URI part' => sub {
    for my $target (
        '/raw/a%2Fb%20c;v=1|x%7Cy?q=%2F|',
        '/raw/a%252Fb',
        q{/raw/%e2%82%ac'()*!~},
        '/raw/x//y/./z',
        '/raw/x/../y?',
        '/raw/a?',
        '/raw/a?b?c=/../',
        '/raw/%41%7e%2D',
        '/raw/a"<>^`{}\\',
        "/raw/\xe9\xff",
        '/r%61w/x',
    ) {
        is sent($target), $target, $target;
    }
};

subtest 'RB04 RB05 RB06 C27 prefix replaced' => sub {
    my %target = (
        '/p/a%7Bb%7D%20c%25d' => '/a%7Bb%7D%20c%25d',
        '/p/q%22%3C%3E%5C%5E%60%7C' => '/q%22%3C%3E%5C%5E%60%7C',
        '/p/a%3Fb%23c?x=%20' => '/a%3Fb%23c?x=%20',
        '/p/a%2Fb' => '/a%2Fb',
        '/p/a%2fb' => '/a%2fb',
        '/p/a%252Fb' => '/a%252Fb',
        '/p/a%25b' => '/a%25b',
        '/p/%41' => '/%41',
        '/%70/a%20b' => '/a%20b',
        '/p/a{b}|"' => '/a%7Bb%7D%7C%22',
        "/p/\xe9" => '/%E9',
        '/p/' => '/',
        '/p/?x' => '/?x',
        '/base/' => '/to/base/',
        '/base/x?y=1&z=a%20b' => '/to/base/x?y=1&z=a%20b',
        '/urinfoo' => '/basefoo',
        '/query/a?b' => '/?k=1a?b',
        '/sp%20ace/y%20z' => '/x/y%20z',
        '/inside/a%2Fb' => '/u/a%2Fb',
        # normalised: escaped again from the decoded path
        '/p/x//y/./z' => '/x/y/z',
        '/p/x/../y%20{' => '/y%20%7B',
        '/p/./a%2Fb' => '/a%2Fb',
        '/p//a%252Fb' => '/a%252Fb',
        '/p//%e9%25%23' => '/%E9%25%23',
    );
    for my $from (sort keys %target) {
        is sent($from), $target{$from}, $from;
    }
};

subtest 'RB07 longest prefix' => sub {
    is sent('/deep/one'), '/deep/one', 'the short one';
    $other->clear;
    is $s->get('/deep/er/two')->body, 'other', 'the long one';
    is +($other->requests)[0]{target}, '/deep/er/two', 'its target';
};

subtest 'LocationMatch' => sub {
    is sent('/match/a%2Fb//c?x'), '/match/a%2Fb//c?x', 'raw';
};

subtest 'rewritten: the decoded path, escaped' => sub {
    is sent('/rewrite/a%20b%7B?x=%20'), '/raw/new/a%20b%7B?x=%20',
        'without a URI part';
    is sent('/rewrite-p/a%20b%25?x'), '/new/a%20b%25?x', 'with one';
    is sent('/rewrite-args/a?a=1'), '/raw/a?b=2&a=1', 'other arguments';
    is sent('/raw/other-args%2E'), '/raw/other-args.?c=3', 'only arguments';
    is sent('/gone'), '/raw/error%20page?e=1', 'ErrorDocument';
};

subtest 'absolute form' => sub {
    is sent('http://x/raw/a%2Fb?c'), '/raw/a%2Fb?c', 'path and arguments';
    is sent('http://x/p/a%2Fb?c'), '/a%2Fb?c', 'with a URI part';
};

subtest 'refused' => sub {
    refused('/raw/a%00b', 'NUL', 400, 404);
    refused('/p/a%00', 'NUL', 400, 404);
    refused("/raw/a\x01b", 'a control', 400);
    refused("/raw/a\x7fb", 'DEL', 400);
    refused('/raw/a b', 'a blank', 400);
    refused('/raw/..%2Fsecret', 'an encoded slash behind ..', 400);
    refused('/raw/x%2F..%2Fy', 'between encoded slashes', 400);
    refused('/raw/x%2Fy/../z', '.. behind an encoded slash', 400);
    refused('/p/%2e%2e%2fsecret', 'all of it encoded', 400);
    refused('/raw/%zz', 'half an escape', 400);
};

subtest 'C28 splitting' => sub {
    my $evil = 'x%20HTTP/1.1%0d%0aFoo:%20bar%0d%0a%0d%0aGET%20/evil';
    is sent("/rewrite/$evil"), "/raw/new/"
        . 'x%20HTTP/1.1%0D%0AFoo:%20bar%0D%0A%0D%0AGET%20/evil',
        'escaped again';
    is sent('/p//y%0ahdr:1'), '/y%0Ahdr:1', 'a line feed';
};

subtest 'slash' => sub {
    for my $location (qw(/slash /p /base)) {
        $b->clear;
        my $res = $s->get("$location?a=%20b");
        is $res->status, 301, $location;
        is $res->header('Location'),
            'http://127.0.0.1:' . $s->port . "$location/?a=%20b",
            'where the arguments are kept';
        is scalar $b->requests, 0, 'not sent';
    }
    is $s->get('/sp%20ace')->header('Location'),
        'http://127.0.0.1:' . $s->port . '/sp%20ace/', 'escaped';
    is $s->get('/sla')->status, 404, 'a part of the name is something else';
};

# As docs/directives.md warns.
subtest 'an encoded slash and the rules of httpd' => sub {
    refused('/raw/locked/x', 'below a path that is denied', 403);
    is sent('/raw/locked%2Fx'), '/raw/locked%2Fx', 'is another path';
    refused("/raw/shut$_", 'a rule for both', 403) for qw(/x %2Fx %2fx);
    is sent('/raw/shutter'), '/raw/shutter', 'and not for more';
};

ok $s->stop, 'httpd ended well';

for my $how (qw(On NoDecode)) {
    subtest "AllowEncodedSlashes $how" => sub {
        $s = Up::Server->start(A => $b->addr, HOW => $how, conf => <<'END');
AllowEncodedSlashes @HOW@
UpstreamPass /raw/ http://@A@
UpstreamPass /p/ http://@A@/
END
        is sent('/raw/a%2Fb%2fc'), '/raw/a%2Fb%2fc', 'without a URI part';
        is sent('/p/a%2Fb%2fc'), '/a%2Fb%2fc', 'with one';
        is sent('/p//a%252Fb'), '/a%252Fb', 'escaped twice';
        if ($how eq 'On') {
            is sent('/p/a%2F..%2Fb'), '/b', 'httpd has resolved it';
        }
        else {
            refused('/p/a%2F..%2Fb', 'an encoded slash behind ..', 400);
        }
        ok $s->stop, 'httpd ended well';
    };
}

subtest 'where httpd itself is lenient' => sub {
    $s = Up::Server->start(A => $b->addr, conf => <<'END');
HttpProtocolOptions Unsafe
UpstreamPass /raw/ http://@A@
END
    refused("/raw/a\x01b", 'a control', 400);
    refused("/raw/a?\x0b", 'a control', 400);
    refused("/raw/a\x7fb", 'DEL', 400);
    refused("/raw/a?b#\x1f", 'a control behind #', 400);
    is sent('/raw/a?b#c'), '/raw/a?b#c', 'a fragment';
    ok $s->stop, 'httpd ended well';
};

done_testing;
