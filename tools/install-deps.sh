#!/bin/sh
# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# install-deps.sh [build|check]: installs what building (and the demo), or
# also the tests need and what is not there yet, on Debian. Nothing is asked.
# Servers that come with a package are not started: a policy-rc.d says no
# while this runs, and goes away afterwards.
set -eu

packages='make gcc libc6-dev pkg-config perl apache2 apache2-dev'
if [ "${1:-check}" = check ]; then
    packages="$packages clang libapache2-mod-perl2 check curl openssl"
    packages="$packages libio-socket-ssl-perl"
fi

# Those of the arguments that are not installed.
missing() {
    for package in "$@"; do
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>&1) \
            || state=
        [ "$state" = installed ] || printf ' %s' "$package"
    done
}

updated=
install() {
    if [ "$(id -u)" != 0 ]; then
        echo "missing packages; as root: apt-get install $*" >&2
        exit 1
    fi
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 1' HUP INT TERM
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod 755 "$policy"
    fi
    echo "installing: $*"
    export DEBIAN_FRONTEND=noninteractive
    [ -n "$updated" ] || apt-get -qq update || :
    updated=1
    apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install "$@"
}
policy=/usr/sbin/policy-rc.d

# shellcheck disable=SC2046,SC2086
wanted=$(missing $packages)
# shellcheck disable=SC2086
[ -z "$wanted" ] || install $wanted

# clang's fuzzer and sanitizers have its version in their name.
if [ "${1:-check}" = check ]; then
    version=$(clang -dumpversion)
    wanted=$(missing "libclang-rt-${version%%.*}-dev")
    # shellcheck disable=SC2086
    [ -z "$wanted" ] || install $wanted
fi
