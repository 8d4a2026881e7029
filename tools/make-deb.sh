#!/bin/sh
# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# make-deb.sh DIRECTORY VERSION: packs the built module, its header, a .load
# and a .conf for a2enmod, documentation and examples into
# DIRECTORY/libapache2-mod-upstream-proxy_VERSION_ARCHITECTURE.deb. Run by
# `make deb`; needs dpkg-dev and no root. APXS names another apxs.
set -eu

name=libapache2-mod-upstream-proxy
out=$1
version=$2
apxs=${APXS:-apxs}
top=$(cd "$(dirname "$0")/.." && pwd)
work=$out/work
root=$work/root
doc=$root/usr/share/doc/$name
architecture=$(dpkg --print-architecture)
libexec=$($apxs -q LIBEXECDIR)
include=$($apxs -q INCLUDEDIR)
confdir=$($apxs -q SYSCONFDIR)
mmn=$($apxs -q HTTPD_MMN)

rm -rf "$work"
mkdir -p "$root/DEBIAN" "$root$libexec" "$root$include" \
    "$root$confdir/mods-available" "$doc/examples" "$work/debian"

install -m 644 "$top/mod_upstream_proxy.so" "$root$libexec/"
strip --strip-unneeded "$root$libexec/mod_upstream_proxy.so"
install -m 644 "$top/mod_upstream_proxy.h" "$root$include/"
sed "s|@LIBEXECDIR@|$libexec|" "$top/tools/deb/upstream_proxy.load" \
    > "$root$confdir/mods-available/upstream_proxy.load"
install -m 644 "$top/tools/deb/upstream_proxy.conf" \
    "$root$confdir/mods-available/"
install -m 644 "$top/README.md" "$top"/docs/*.md "$doc/"
install -m 644 "$top"/docs/examples/* "$doc/examples/"
for converter in "$top"/demo/nginx2httpd; do
    [ ! -e "$converter" ] || install -m 755 "$converter" "$doc/examples/"
done
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/'
    echo 'copyright-format/1.0/'
    echo
    echo "Files: *"
    echo "License: Apache-2.0"
    echo " On Debian systems, the full text is in"
    echo " /usr/share/common-licenses/Apache-2.0."
} > "$doc/copyright"

# What the libraries it is linked with are called here.
printf 'Source: %s\n\nPackage: %s\nArchitecture: any\n' $name $name \
    > "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps --ignore-missing-info -O \
    "root$libexec/mod_upstream_proxy.so" | sed -n 's/^shlibs:Depends=//p')

cat > "$root/DEBIAN/control" <<END
Package: $name
Version: $version
Architecture: $architecture
Maintainer: mod_upstream_proxy developers <root@localhost>
Depends: apache2-bin, apache2-api-${mmn%%:*}, ${depends:-libc6}
Recommends: apache2
Section: httpd
Priority: optional
Installed-Size: $(du -sk "$root" | cut -f 1)
Description: reverse proxy module for Apache httpd with nginx's directives
 Passes requests on to HTTP backends the way nginx's proxy_pass and upstream
 do: buffering, retries, kept connections, balancing, WebSocket tunnels. On
 the event MPM an exchange that waits holds no thread.
END
printf '%s\n' "$confdir/mods-available/upstream_proxy.load" \
    "$confdir/mods-available/upstream_proxy.conf" > "$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "$top/tools/deb/$script" "$root/DEBIAN/"
done
(cd "$root" && find usr -type f | sort | xargs md5sum) > "$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
chmod 644 "$root$confdir"/mods-available/* "$doc/copyright"

deb=$out/${name}_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$deb" > "$work/log"
echo "$deb"
