#!/usr/bin/env bash
# The reader of preprocess --csv pandas against pandas itself, on the CSVs of the data folders and on random damaged ones.
#   csv_pandas.sh CSV_CELLS SOURCE [FILES]        FRETSAW_PEERS: a python with pandas; FRETSAW_DATA, FRETSAW_ORACLE: the folders (../shared unless set)
set -euo pipefail
cells=$1 source=$2 files=${3:-1000}
python=${FRETSAW_PEERS:-}
[ -n "$python" ] && "$python" -c 'import pandas' 2>/dev/null || { echo "skipped: FRETSAW_PEERS names no python with pandas"; exit 77; }
export FRETSAW_DATA=${FRETSAW_DATA:-$source/../shared/data} FRETSAW_ORACLE=${FRETSAW_ORACLE:-$source/../shared/oracle}
exec "$python" "$source/tests/oracle/csv_pandas.py" "$cells" "$files"
