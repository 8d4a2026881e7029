# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Config;

# Pieces of configuration, read by httpd -t: no server is started.
#
#   row 'UpstreamBind off', 'UpstreamBind off';             # accepted
#   row 'a word', 'UpstreamBind x', 'UpstreamBind wants';   # refused
#   logged 'a warning', 'UpstreamBind x', $accepted, qr/UP0103/;
#
# "!! " in a piece marks the line that httpd must point to, without it that
# is the first one. The message is all that httpd prints about it.
#
# Environment: UP_MODULE, UP_HTTPD, UP_LIBEXECDIR, UP_APXS; all are found
# without it, too.

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Temp ();
use Test::More;

our @EXPORT = qw(row logged location group);

sub query {
    my ($name) = @_;
    my $apxs = $ENV{UP_APXS} // 'apxs';
    chomp(my $value = qx{$apxs -q $name});
    return $value;
}

my $top = $ENV{UP_TOP} // dirname dirname dirname dirname abs_path __FILE__;
my $module = abs_path($ENV{UP_MODULE} // "$top/mod_upstream_proxy.so");
my $httpd = $ENV{UP_HTTPD} // query('SBINDIR') . '/' . query('PROGNAME');
my $modules = $ENV{UP_LIBEXECDIR} // query('LIBEXECDIR');
my $tmp = File::Temp->newdir;

die "no module, run make first\n" if !$module || !-e $module;
mkdir "$tmp/spool";

# Where the pieces of configuration are read; TMP in messages.
sub directory { return "$tmp" }

my $head = <<"END";
ServerRoot "$tmp"
ServerName localhost
ErrorLog "$tmp/error_log"
Listen 127.0.0.1:65000
LoadModule mpm_event_module "$modules/mod_mpm_event.so"
LoadModule authz_core_module "$modules/mod_authz_core.so"
LoadModule upstream_proxy_module "$module"
END
my $head_lines = $head =~ tr/\n//;

# Runs httpd -t. Returns whether it is content, what it said, and the number
# of the marked line.
sub check {
    my ($conf) = @_;
    my @lines = split /\n/, $conf;
    my ($bad) = grep { $lines[$_] =~ s/!! // } 0 .. $#lines;
    open my $fh, '>', "$tmp/httpd.conf" or die "$tmp/httpd.conf: $!";
    print $fh $head, map { "$_\n" } @lines;
    close $fh or die "$tmp/httpd.conf: $!";
    my $said = qx{$httpd -t -f $tmp/httpd.conf 2>&1};
    $said =~ s/\Q$tmp\E/TMP/g;
    return ($? == 0, $said, $head_lines + 1 + ($bad // 0));
}

sub row {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($name, $conf, $message) = @_;
    my ($content, $said, $line) = check($conf);
    if (!defined $message) {
        ok($content && $said =~ /^Syntax OK$/m, "accepts $name")
            or diag $said;
        return;
    }
    my ($at, $text) = $said =~ /Syntax error on line (\d+) of \S+:\n(.*)/;
    is_deeply([$content ? 'accepted' : 'refused', $at, $text],
        ['refused', $line, $message], "refuses $name")
        or diag $said;
    return;
}

# The same where httpd only logs: what it says must match.
sub logged {
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my ($name, $conf, $accepted, $pattern) = @_;
    my ($content, $said) = check($conf);
    ok(!$content == !$accepted && $said =~ $pattern, $name) or diag $said;
    return;
}

sub location { return "<Location /x/>\n@_\n</Location>" }

sub group {
    return "<Upstream g>\nUpstreamServer 127.0.0.1:81\n@_\n</Upstream>";
}

1;
