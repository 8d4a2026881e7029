#!/bin/sh
# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# install-deps.sh [build|check|bench]: installs what building (and the demo),
# or also the tests (the default) or the benchmarks need and what is not there
# yet, on Debian. Nothing is asked.
# Servers that come with a package are not started: a policy-rc.d says no
# while this runs, and goes away afterwards; nor will they be at the next boot.
set -eu

what=${1:-check}
packages='make gcc libc6-dev pkg-config perl apache2 apache2-dev libc-ares-dev'
packages="$packages libjansson-dev zlib1g-dev"
packages="$packages libssl-dev"
case $what in
build) ;;
check)
    packages="$packages clang libapache2-mod-perl2 check curl openssl"
    packages="$packages libio-socket-ssl-perl clang-tidy cppcheck"
    # HTTP/2 and WebSocket clients, and a WebSocket server.
    packages="$packages python3 python3-h2 python3-websockets"
    ;;
bench) packages="$packages python3 util-linux nginx haproxy wrk" ;;
*)
    echo "usage: install-deps.sh [build|check|bench]" >&2
    exit 2
    ;;
esac

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
    not_at_boot "$@"
}

# Only servers that were installed here: others are somebody's.
not_at_boot() {
    [ -n "$(command -v systemctl)" ] || return 0
    for package in "$@"; do
        case $package in
        apache2 | nginx | haproxy)
            systemctl --quiet disable "$package.service" || :
            ;;
        esac
    done
}
policy=/usr/sbin/policy-rc.d

# shellcheck disable=SC2046,SC2086
wanted=$(missing $packages)
# shellcheck disable=SC2086
[ -z "$wanted" ] || install $wanted

# clang's fuzzer and sanitizers have its version in their name.
if [ "$what" = check ]; then
    version=$(clang -dumpversion)
    wanted=$(missing "libclang-rt-${version%%.*}-dev")
    # shellcheck disable=SC2086
    [ -z "$wanted" ] || install $wanted
fi

# A browser is large, and not everywhere: t/97-browser.t is skipped without.
if [ "$what" = check ]; then
    wanted=$(missing chromium-headless-shell)
    # shellcheck disable=SC2086
    [ -z "$wanted" ] || install $wanted || echo "no browser: go on without" >&2
fi
