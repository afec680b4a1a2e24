#!/bin/sh
# SPDX-License-Identifier: MIT
# Sourced by scripts/demo and scripts/test, or run alone: makes sure that what building and testing
# needs is there. Installs only what is missing, quietly, where there is apt-get; elsewhere names
# what is missing and stops. An installation that has everything is left alone. WANT_REAL=yes adds
# the programs of others that suites `real`, `report` and `export` use, musl-gcc, allocators, and what checks
# packaging and the bindings: Go, CMake, abidiff, mandoc, lintian.

missing_packages()
{
    have() { command -v "$1" >/dev/null 2>&1; }
    library() { have pkg-config && pkg-config --exists "$1"; }
    loadable() { /sbin/ldconfig -p | grep -qF "$1"; }
    header() { printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1; }

    have gcc || echo gcc
    have g++ || echo g++
    have cc && header stdio.h || echo libc6-dev
    have meson || echo meson
    have ninja || echo ninja-build
    have pkg-config || echo pkg-config
    library 'sqlite3 >= 3.37' || echo libsqlite3-dev
    library 'cmocka >= 1.1.5' || echo libcmocka-dev
    library libdw || echo libdw-dev
    have sqlite3 || echo sqlite3
    have python3 || echo python3
    have pmccabe || echo pmccabe
    [ -z "${WANT_REAL-}" ] || { real_programs; packaging_programs; }
}

# Without them the tests of suites `install`, `man`, `bindings` that need them are skipped.
packaging_programs()
{
    have go || echo golang-go
    have cmake || echo cmake
    have abidw || echo abigail-tools
    have mandoc || echo mandoc
    have zsh || echo zsh
    have lintian || echo lintian
    have dpkg-buildpackage || echo dpkg-dev
    have dh || echo debhelper
    python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
}

# What suites `real`, `report` and `export` run, and the compiler of test `musl`; without them they are skipped.
real_programs()
{
    have musl-gcc || echo musl-tools
    loadable libjemalloc.so.2 || echo libjemalloc2
    loadable libmimalloc.so.2 || echo libmimalloc2.0
    loadable libtcmalloc_minimal.so.4 || echo libtcmalloc-minimal4
    have redis-server || echo redis-server
    have redis-benchmark || echo redis-tools
    have nginx || [ -x /usr/sbin/nginx ] || echo nginx-light
    have ab || echo apache2-utils
    have node || echo nodejs
    have npm || echo npm
    have chromium || echo chromium
    have promtool || echo prometheus
    have victoria-metrics || echo victoria-metrics
    have pgloader || echo pgloader
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || have initdb || echo postgresql
    have python3-mprof || echo python3-memory-profiler
    have javac || echo openjdk-17-jdk-headless
    /usr/bin/python3 -c 'import test.test_json' 2>/dev/null ||
        /usr/bin/python3 -c 'import sys; print("libpython%d.%d-testsuite" % sys.version_info[:2])'
}

install_packages()
{
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 || return 1
        as_root=sudo
    fi
    # shellcheck disable=SC2086
    $as_root apt-get -qq update </dev/null >/dev/null &&
        $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
            install "$@" </dev/null >/dev/null
}

setup()
{
    packages=$(missing_packages)
    [ -n "$packages" ] || return 0
    # shellcheck disable=SC2086
    set -- $packages
    if command -v apt-get >/dev/null 2>&1; then
        echo "Installing: $*"
        install_packages "$@" && packages=$(missing_packages) && [ -z "$packages" ] && return 0
    fi
    # shellcheck disable=SC2086
    echo "Please install first (names as in Debian):" $packages >&2
    return 1
}

setup || exit 1
