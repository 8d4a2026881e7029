# Licensed under the Apache License, Version 2.0; see LICENSE.

# The Debian package: what is in it, and that a2enmod and a2dismod know the
# module; and make install below DESTDIR. All in directories of the test's own.

use strict;
use warnings;

use Test::More;

sub found { return -x "/usr/bin/$_[0]" || -x "/usr/sbin/$_[0]" }

plan skip_all => 'no driver is concerned'
    if ($ENV{UP_DRIVER} // 'sync') ne 'sync';
plan skip_all => 'not Debian' if grep { !found($_) } qw(dpkg-deb
    dpkg-shlibdeps a2enmod);

my $top = $ENV{UP_TOP};
my $dir = "$ENV{UP_RUN}/package-$$";
mkdir $dir or die "$dir: $!\n";

sub run {
    my ($command) = @_;
    my $said = qx{$command 2>&1};
    return ($? == 0, $said);
}

sub slurp {
    my ($file) = @_;
    open my $fh, '<', $file or return '';
    local $/;
    return <$fh>;
}

sub spew {
    my ($file, $text) = @_;
    open my $fh, '>', $file or die "$file: $!\n";
    print $fh $text;
    close $fh or die "$file: $!\n";
    return;
}

# --- the package ------------------------------------------------------------

my ($ok, $said) = run("$top/tools/make-deb.sh $dir 9.8.7");
my ($deb) = $said =~ /^(\S+\.deb)$/m;
ok $ok && $deb && -e $deb, 'a package is made' or BAIL_OUT($said);
(undef, $said) = run("dpkg-deb --field $deb");
like $said, qr/^Package: libapache2-mod-upstream-proxy$/m, 'its name';
like $said, qr/^Version: 9\.8\.7$/m, 'its version';
like $said, qr/^Depends: .*\bapache2-api-\d+\b.*\blibc-ares2\b/m,
    'what it needs: the API of this httpd, and c-ares';
my $root = "$dir/root";
($ok) = run("dpkg-deb --raw-extract $deb $root");
ok $ok, 'it can be unpacked';
for my $script (qw(postinst prerm postrm)) {
    ($ok) = run("sh -n $root/DEBIAN/$script");
    ok $ok && -x "$root/DEBIAN/$script", "$script is a script";
}
is slurp("$root/DEBIAN/conffiles"), join('', map {
    "/etc/apache2/mods-available/upstream_proxy.$_\n" } qw(load conf)),
    'an administrator may change the configuration';
($ok, $said) = run("cd $root && md5sum --check --quiet DEBIAN/md5sums");
ok $ok, 'the sums are right' or diag $said;
my $doc = "$root/usr/share/doc/libapache2-mod-upstream-proxy";
ok -s "$doc/$_", $_ for qw(README.md directives.md copyright
    examples/mod_upstream_example.c);

# --- a2enmod, in a configuration of its own -----------------------------------

my $etc = "$dir/etc";
mkdir $_ or die "$_: $!\n"
    for $etc, "$etc/mods-available", "$etc/mods-enabled", "$dir/state";
spew("$etc/envvars", "export APACHE_RUN_DIR=$dir\n");
for my $kind (qw(load conf)) {
    my $text = slurp("$root/etc/apache2/mods-available/upstream_proxy.$kind");
    $text =~ s{ (/usr/\S+/mod_upstream)}{ $root$1};
    spew("$etc/mods-available/upstream_proxy.$kind", $text);
}
spew("$etc/mods-available/slotmem_shm.load",
    "LoadModule slotmem_shm_module $ENV{UP_LIBEXECDIR}/mod_slotmem_shm.so\n");
spew("$etc/apache2.conf", <<"END");
ServerRoot "$dir"
ServerName localhost
Listen 127.0.0.1:1
PidFile "$dir/pid"
ErrorLog "$dir/error_log"
LoadModule mpm_event_module "$ENV{UP_LIBEXECDIR}/mod_mpm_event.so"
LoadModule authz_core_module "$ENV{UP_LIBEXECDIR}/mod_authz_core.so"
IncludeOptional $etc/mods-enabled/*.load
IncludeOptional $etc/mods-enabled/*.conf
<IfModule upstream_proxy_module>
    UpstreamPass / http://127.0.0.1:1
</IfModule>
END

my $env = "env APACHE_CONFDIR=$etc APACHE_STATE_DIRECTORY=$dir/state "
    . 'PATH=/usr/sbin:/usr/bin:/sbin:/bin';
($ok, $said) = run("$env a2enmod upstream_proxy");
ok $ok, 'a2enmod' or diag $said;
ok -l "$etc/mods-enabled/upstream_proxy.$_", ".$_ is enabled"
    for qw(load conf);
ok -l "$etc/mods-enabled/slotmem_shm.load", 'and what zones need';
($ok, $said) = run("$ENV{UP_HTTPD} -t -f $etc/apache2.conf");
ok $ok, 'httpd takes it' or diag $said;
($ok, $said) = run("$ENV{UP_HTTPD} -M -f $etc/apache2.conf");
like $said, qr/\bupstream_proxy_module\b/, 'the module is loaded';
($ok, $said) = run("$env a2dismod upstream_proxy");
ok $ok, 'a2dismod' or diag $said;
ok !-e "$etc/mods-enabled/upstream_proxy.$_", ".$_ is not enabled"
    for qw(load conf);
($ok, $said) = run("$ENV{UP_HTTPD} -t -f $etc/apache2.conf");
ok $ok, 'httpd does without' or diag $said;

# --- make install -----------------------------------------------------------

my $dest = "$dir/dest";
($ok, $said) = run("make -s -C $top install DESTDIR=$dest");
ok $ok, 'make install DESTDIR=' or diag $said;
ok -s "$dest$ENV{UP_LIBEXECDIR}/mod_upstream_proxy.so", 'the module';
is scalar(grep { -s } glob "$dest/usr/include/*/mod_upstream_proxy.h"), 1,
    'the header';
ok !-e "$dest/etc", 'no configuration is touched';

# Another layout: an apxs that says other places.
spew("$dir/apxs", <<"END");
#!/bin/sh
case "\$*" in
"-q LIBEXECDIR") echo /opt/httpd/modules ;;
"-q INCLUDEDIR") echo /opt/httpd/include ;;
*) exec apxs "\$@" ;;
esac
END
chmod 0755, "$dir/apxs";
($ok, $said) = run("make -s -C $top -o mod_upstream_proxy.so install "
    . "APXS=$dir/apxs DESTDIR=$dest");
ok $ok, 'with another layout' or diag $said;
ok -s "$dest/opt/httpd/$_", $_ for qw(modules/mod_upstream_proxy.so
    include/mod_upstream_proxy.h);

done_testing;
