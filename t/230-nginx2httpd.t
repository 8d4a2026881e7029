# Licensed under the Apache License, Version 2.0; see LICENSE.

# demo/nginx2httpd on the files of t/nginx2httpd: httpd takes what it prints,
# lines that begin with #> are in it, those with #! are listed as not
# translated, and no directive is missing in the sum. One of them is asked.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Backend ();
use Up::Server ();

my $converter = "$ENV{UP_TOP}/demo/nginx2httpd";
my @files = glob "$ENV{UP_RUN}/t/nginx2httpd/*.conf";

sub slurp {
    my ($file) = @_;
    open my $fh, '<', $file or die "$file: $!\n";
    local $/;
    return <$fh>;
}

# What it prints, on stdout and on stderr.
sub convert {
    my ($file) = @_;
    my $errors = "$ENV{UP_RUN}/nginx2httpd-$$";
    my $out = qx{$^X $converter $file 2>$errors};
    my $ok = $? == 0;
    my $said = slurp($errors);
    unlink $errors;
    return ($ok, $out, $said);
}

# Statements of nginx, counted without its parser: what ends with ; or {.
sub statements {
    my ($text) = @_;
    my $n = 0;
    $n++ while $text =~ /\G(?:\#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'
        |[^;\{\#"']|(?<=\$)\{)*?[;\{]/gx;
    return $n;
}

# The word of a line of httpd, without what quotes are for.
sub normal { return $_[0] =~ s/^\s+|\s+$//gr }

if (($ENV{UP_DRIVER} // 'sync') eq 'sync') {
    is scalar(@files), 10, 'ten files';
    for my $file (@files) {
        my ($name) = $file =~ m{([^/]+)\z};
        subtest $name => sub {
            my $text = slurp($file);
            my ($ok, $out, $said) = convert($file);
            ok $ok, 'converted' or diag $said;
            my %line = map { normal($_) => 1 } split /\n/, $out;
            ok $line{$_}, "prints $_" for map { normal($_) }
                $text =~ /^#> (.*)/mg;
            like $said, qr/:\d+: (?:\S+ of )?\Q$_\E/, "tells of $_"
                for map { normal($_) } $text =~ /^#! (.*)/mg;
            is scalar(() = $out =~ /^# NOT TRANSLATED /mg),
                scalar(() = $said =~ /\n/g), 'all of them in the file, too';
            my ($done, $needless, $not) = $out =~ /^\#\ Directives:\ (\d+)
                \ translated,\ (\d+)\ not\ needed,\ (\d+)\ not/mx;
            is $done + $needless + $not, statements($text), 'none is missing';
            my ($taken, $httpd) = Up::Server->check(conf => $out,
                main => 'LoadModule slotmem_shm_module '
                    . '"@MODULES@/mod_slotmem_shm.so"');
            ok $taken, 'httpd takes it' or diag $httpd, $out;
        };
    }
    my ($ok, undef, $said) = convert("$ENV{UP_RUN}/t/nginx2httpd/none");
    ok !$ok, 'no file';
    like $said, qr/none: No such file/, 'says so';
    my $broken = "$ENV{UP_RUN}/broken-$$.conf";
    for ("server {\n location / {\n }\n", "server { }\n}\n") {
        open my $fh, '>', $broken or die "$broken: $!\n";
        print $fh $_;
        close $fh;
        ($ok, undef, $said) = convert($broken);
        ok !$ok, 'braces that do not fit';
        like $said, qr/\} is missing|:2: \} too many/, 'say so';
    }
}

# A server with what it made: who gets what.
my ($one, $two, $three) = map { my $name = $_; Up::Backend->http(sub {
    return [200, [], "$name $_[0]{target} "
        . join ',', map { $_->[0] =~ /^X-/ ? "$_->[0]=$_->[1]" : () }
            @{ $_[0]{headers} }];
}) } 1 .. 3;
my $file = "$ENV{UP_RUN}/live-$$.conf";
open my $fh, '>', $file or die "$file: $!\n";
print $fh <<"END";
map \$http_x_choose \$pool { default ${\ $one->addr}; two ${\ $two->addr}; }
server {
    listen 80;
    proxy_set_header X-Server s;
    location / {
        proxy_pass http://${\ $one->addr};
        proxy_set_header X-Root r;
    }
    location /a/ { proxy_pass http://${\ $two->addr}/b/; }
    location /files/ { root /nowhere; }
    location /chosen/ { proxy_pass http://\$pool; }
    location = /exact { proxy_pass http://${\ $three->addr}; }
    location ~ \\.gif\$ { proxy_pass http://${\ $two->addr};
        proxy_set_header X-Gif g; }
    location ~ gif { proxy_pass http://${\ $three->addr}; }
    location /strip/ { rewrite ^/strip/(.*)\$ /\$1 break;
        proxy_pass http://${\ $two->addr}; }
}
END
close $fh;
my ($ok, $out) = convert($file);
$out =~ s/<VirtualHost \*:80>/<VirtualHost *>/;
my $s = Up::Server->start(conf => $out);
is $s->get('/x')->body, '1 /x X-Root=r', 'the root';
is $s->get('/a/x')->body, '2 /b/x X-Server=s', 'a prefix';
is $s->get('/files/x')->status, 404, 'not proxied';
is $s->get('/chosen/x')->body, '1 /chosen/x X-Server=s', 'a map: default';
is $s->get('/chosen/x', ['X-Choose' => 'two'])->body,
    '2 /chosen/x X-Server=s,X-Choose=two', 'a map: a value';
is $s->get('/exact')->body, '3 /exact X-Server=s', 'an exact location';
is $s->get('/exact/x')->body, '1 /exact/x X-Root=r', 'and nothing else';
is $s->get('/a/b.gif')->body, '2 /a/b.gif X-Gif=g', 'the first pattern';
is $s->get('/gif/a')->body, '3 /gif/a X-Server=s', 'the second';
is $s->get('/strip/x/y')->body, '2 /x/y X-Server=s', 'a prefix taken off';
ok $s->stop, 'no crash, nothing left';
done_testing;
