#!/usr/bin/env bash
# The Debian package and the tarball, made by CPack, in a root with nothing in it but Debian: installed, used by an ordinary user from CSV to
# submission, removed again; the tarball from a folder of that user's own.
#   package.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2
. "$source/tests/support/debian_root.sh"
. "$source/tests/support/doc_block.sh"
command -v dpkg-shlibdeps >/dev/null || debian_skip "no dpkg-shlibdeps (package dpkg-dev)"
debian_enclose "$0" "$@"
wrong() { echo "wrong: $*" >&2; exit 1; }
cd "$scratch"
(cd "$build" && cpack -B "$scratch/made" -G "DEB;TGZ") >cpack.log || { cat cpack.log >&2; wrong "cpack"; }
for library in libhdf5 libopenmpi libzstd libjansson libssl libxxhash libc6 openmpi-bin; do
    [[ $(dpkg-deb -f made/*.deb Depends) == *"$library"* ]] || wrong "the package does not ask for $library"
done

root=$scratch/clean
debian_root "$root"
cp made/*.deb made/*.tar.gz "$root/tmp/"
commands=$(doc_block "$source/docs/install.md" package)
in_root "$root" sh -ec "cd /tmp; $commands" >apt.log 2>&1 || { tail -n 20 apt.log >&2; wrong "apt"; }
in_root "$root" sh -c '! command -v cc && ! command -v python3' || wrong "the clean root is not clean"

cat >"$root/home/someone/use.sh" <<'USE'
set -eu
cd "$HOME"
fretsaw=$1
. "$($fretsaw share)/jobs/mpi.sh"
$fretsaw doctor || exit 9
sample=$($fretsaw share)/sample
for set in train:train-first.csv valid:validation.csv test:test.csv; do
    $fretsaw preprocess --quiet --vocab "$sample/model" --out "$2/tokens/${set%%:*}" "$sample/${set#*:}" >"$2.said"
done
$fretsaw shard --quiet --out "$2/shards" --shards 2 --sample 640 "$2/tokens/train"
mpirun -np 2 $fretsaw train --quiet --recipe "$($fretsaw share)/recipes/tiny.conf" --epochs 1 --config "$sample/model" --train "$2/shards" \
    --valid "$2/tokens/valid" --out "$2/run"
mpirun -np 2 $fretsaw infer --quiet --run "$2/run" --csv "$sample/test.csv" --sample-submission "$sample/sample_submission.csv" --out "$2/submission.csv"
$fretsaw infer --validate "$2/submission.csv" --sample-submission "$sample/sample_submission.csv"
USE
as_user "$root" bash /home/someone/use.sh fretsaw packaged || wrong "the installed package"
for file in bin/fretsaw lib/fretsaw/bin/doctor share/man/man1/fretsaw-train.1 share/bash-completion/completions/fretsaw share/doc/fretsaw/README.md \
    share/fretsaw/recipes/jigsaw-mbert.conf share/fretsaw/jobs/slurm/submit.sh; do
    [ -e "$root/usr/$file" ] || wrong "not installed: $file"
done

in_root "$root" dpkg -r fretsaw >/dev/null
[ ! -e "$root/usr/bin/fretsaw" ] && [ ! -e "$root/usr/lib/fretsaw" ] && [ ! -e "$root/usr/share/fretsaw" ] || wrong "removing the package leaves files"
commands=$(doc_block "$source/docs/install.md" tarball)
as_user "$root" sh -ec "cd /tmp; $commands" || wrong "the page's commands: $commands"
as_user "$root" sh -c 'mv ~/apart/fretsaw-* ~/apart/moved'
as_user "$root" bash /home/someone/use.sh /home/someone/apart/moved/bin/fretsaw unpacked || wrong "the tarball"
cmp "$root/home/someone/packaged/submission.csv" "$root/home/someone/unpacked/submission.csv"
echo "-- $(du -h made/*.deb | cut -f1) package, $(du -h made/*.tar.gz | cut -f1) tarball"
