#!/usr/bin/env bash
# Installs the Debian packages of the named kinds (build, test, slow) from jobs/packages.txt; does nothing where all are there.
#   jobs/setup.sh build test
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/progress.sh"
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
log=$(mktemp "${TMPDIR:-/tmp}/fretsaw-setup-XXXXXX.log")
echo "setup: installing ${missing[*]} (from the network, mostly a minute or two; log: $log)"
[ ${#as_root[@]} = 0 ] || sudo true # asks for the password, where it does, before anything else is shown
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=500 -q "$@"; }
both() { apt update && apt install -y --no-install-recommends "${missing[@]}"; }
with_progress "$log" "setup: apt-get" both || { tail -n 20 "$log" >&2; echo "setup: apt-get failed; see above, the whole log is $log" >&2; exit 4; }
rm -f "$log"
