#!/usr/bin/env bash
# Installs the Debian packages of the named kinds (build, test, slow) from jobs/packages.txt; does nothing where all are there.
#   jobs/setup.sh build test
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- build
missing=()
while read -r kind name; do
    case " $* " in *" $kind "*) ;; *) continue ;; esac
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
done < <(grep -v '^#' "$here/packages.txt")
[ ${#missing[@]} -gt 0 ] || exit 0
as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: packages are missing (${missing[*]}); run this as root, or install sudo" >&2; exit 4; }
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=500 -q "$@" >"$log" 2>&1; }
apt update && apt install -y --no-install-recommends "${missing[@]}" || { tail -n 20 "$log" >&2; echo "setup: apt-get failed; see above" >&2; exit 4; }
