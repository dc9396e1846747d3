#!/bin/sh
# Installs the packages the tests need and this machine lacks, without starting any service.
#   install_packages.sh            PostgreSQL, PgBouncer, MariaDB, Redis, Java, Chromium, Node.js, curl and jq, whichever is missing
#   install_packages.sh PACKAGE... just these packages
# Never fails for a package it could not install: it says so, and the tests then skip (or fail when CI=true).
set -eu

policy=/usr/sbin/policy-rc.d

have_postgres() {
    command -v postgres >/dev/null 2>&1 && return 0
    for candidate in /usr/lib/postgresql/*/bin/postgres; do
        [ -x "$candidate" ] && return 0
    done
    return 1
}

have_mariadb() {
    command -v mariadbd >/dev/null 2>&1 || [ -x /usr/sbin/mariadbd ]
}

have_pgbouncer() {
    command -v pgbouncer >/dev/null 2>&1 || [ -x /usr/sbin/pgbouncer ]
}

have_node() {
    command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1
}

have_redis() {
    command -v redis-server >/dev/null 2>&1
}

missing=$*
if [ $# -eq 0 ]; then
    have_postgres || missing="postgresql"
    have_pgbouncer || missing="${missing:+$missing }pgbouncer"
    have_mariadb || missing="${missing:+$missing }mariadb-server"
    have_redis || missing="${missing:+$missing }redis-server"
    command -v java >/dev/null 2>&1 || missing="${missing:+$missing }default-jre-headless"
    command -v chromium >/dev/null 2>&1 || missing="${missing:+$missing }chromium"
    have_node || missing="${missing:+$missing }nodejs npm"
    for tool in curl jq; do # the documents' own examples
        command -v "$tool" >/dev/null 2>&1 || missing="${missing:+$missing }$tool"
    done
fi
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Not installed, and this account cannot install it: please install $missing." >&2
    exit 0
fi

# policy-rc.d is how Debian is told not to start a freshly installed service; one already there is left alone.
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" </dev/null
}
# Word splitting of $missing is wanted: it is a list of package names.
# shellcheck disable=SC2086
if ! { apt update && apt install -y --no-install-recommends $missing; }; then
    echo "apt-get could not install: $missing." >&2
fi
