#!/usr/bin/env bash
# What the scripts that install and build show meanwhile, and what they leave where they fail; apt-get, cmake and the rest are stand-ins.
#   progress.sh SOURCE
set -euo pipefail
source=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-progress-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
wrong() { cat said >&2; echo "wrong: $*" >&2; exit 1; }
says() { grep -qE -- "$1" said || wrong "no line with $1"; }
mkdir bin tree tree/jobs tmp
cp "$source"/jobs/{setup,build,progress}.sh tree/jobs/
printf 'build some-package\ntest other-package\n' >tree/jobs/packages.txt
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"bin/$1" && chmod +x "bin/$1"; }
stand_in dpkg-query 'exit 1'
stand_in sudo '[ "$1" = true ] || exec "$@"'
stand_in apt-get 'echo "$@" >>calls; printf "Get:1 some\n10%%\rSetting up some-package (1.2) ...\n"; sleep 1.3; echo "E: planted" >&2; exit $(cat code)'
stand_in cmake '[ "$1" = --build ] || exit 0; printf "[1/3] Building C object a.c.o\n"; sleep 1.6; echo "a.c:1:2: error: planted"; exit $(cat code)'
export PATH=$work/bin:$PATH TMPDIR=$work/tmp PROGRESS_SECONDS=1

echo 0 >code
tree/jobs/setup.sh build >said 2>&1 || wrong "setup"
says '^setup: installing some-package \('
says '^setup: apt-get \([12] s\): Setting up some-package \(1\.2\) \.\.\.$'
grep -q 'install -y --no-install-recommends some-package$' calls || wrong "$(cat calls)"
[ -z "$(ls tmp)" ] || wrong "a log is left of an installation that went well"
tree/jobs/build.sh out -DSOME=1 >said 2>&1 || wrong "build"
says '^build \([12] s\): \[1/3\] Building C object a\.c\.o$'

echo 100 >code
tree/jobs/setup.sh build >said 2>&1 && wrong "setup, with apt-get failing"
says '^E: planted$'
log=$(sed -n 's/.*the whole log is \(.*\)$/\1/p' said)
grep -q planted "$log" || wrong "no log of the failure"
tree/jobs/build.sh out >said 2>&1 && wrong "build, with the compiler failing"
says 'error: planted'
says 'build: failed; the whole log is out/build.log'
grep -q planted out/build.log || wrong "no log of the build"

# Stopped in the middle, they leave nothing behind that still writes.
stand_in apt-get 'sleep 3'
setsid env --default-signal=INT tree/jobs/setup.sh build >said 2>&1 &
job=$!
sleep 1.2
kill -INT -- -$job
wait $job && wrong "an interrupted setup ends well"
sleep 1.2
size=$(stat -c %s said)
sleep 1.2
[ "$(stat -c %s said)" = "$size" ] || wrong "it goes on writing"
