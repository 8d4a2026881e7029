#!/bin/sh
# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# Installs what building and testing need and what is not there yet, on
# Debian. Nothing is asked. Servers that come with a package are not started:
# a policy-rc.d says no while this runs, and goes away afterwards.
set -eu

packages='make gcc clang apache2 apache2-dev libapache2-mod-perl2 check
    pkg-config curl openssl'
# clang's address sanitizer and fuzzer libraries: named after its version.

missing=
for package in $packages; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>&1) || state=
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "missing packages; as root: apt-get install$missing" >&2
    exit 1
fi

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi

echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt='apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0'
# shellcheck disable=SC2086
$apt install $missing || { apt-get -qq update && $apt install $missing; }
