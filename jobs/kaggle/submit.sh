#!/usr/bin/env bash
# Checks a submission against the competition's sample and, when it is whole, prints the command line that submits it. It sends nothing itself.
#   jobs/kaggle/submit.sh COMPETITION SAMPLE_SUBMISSION SUBMISSION [MESSAGE]
#   jobs/kaggle/submit.sh jigsaw-multilingual-toxic-comment-classification sample_submission.csv submission.csv "mBERT, 2 epochs"
set -euo pipefail
[ $# = 3 ] || [ $# = 4 ] || { echo "usage: jobs/kaggle/submit.sh COMPETITION SAMPLE_SUBMISSION SUBMISSION [MESSAGE]" >&2; exit 2; }
fretsaw=${FRETSAW:-}
if [ -z "$fretsaw" ]; then # beside this script in an installed tree or a bundle, in the build, on the PATH
    here=$(dirname "$(realpath "$0")")
    for fretsaw in "$here/../../../../bin/fretsaw" "$here/../../build/release/bin/fretsaw" "$(command -v fretsaw || true)"; do
        [ ! -x "$fretsaw" ] || break
    done
fi
[ -x "$fretsaw" ] || { echo "submit: no fretsaw found; set FRETSAW to the program" >&2; exit 3; }
"$fretsaw" infer --validate "$3" --sample-submission "$2"
printf 'kaggle competitions submit -c %q -f %q -m %q\n' "$1" "$3" "${4:-fretsaw}"
