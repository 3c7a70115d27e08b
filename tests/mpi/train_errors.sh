#!/usr/bin/env bash
# Bad input and options: the right exit code, a message that says what to do, nothing half written.
. "$(dirname "$0")/train_lib.sh"
data train 200 1 2 5 120 60 0
data valid 60 1 1 6 120 60 0
base=(--lanes 4 --batch 4 --epochs 1 --max-length 40 --lr 1e-3 --micro-tokens 64)
several=${mpi:+2}
several=${several:-1}

expect 2 "200 rows: fewer than one global batch of 320 (4 lanes x 80); the largest --batch that works is 50," train "$several" out "${base[@]}" --batch 80
expect 2 "below --max-length" train 1 out "${base[@]}" --micro-tokens 39
expect 2 "above the 64 positions" train 1 out "${base[@]}" --max-length 65 --micro-tokens 100
expect 2 "scale-lr" train 1 out "${base[@]}" --scale-lr ranks
expect 2 "no option" train 1 out "${base[@]}" --no-such-thing
[ -z "$mpi" ] || expect 2 "4 lanes" train 5 out "${base[@]}"
expect 3 "" train "$several" out "${base[@]}" --valid "$scratch/nowhere"
expect 3 "valid: no such folder" train 1 out "${base[@]}" --valid "$scratch/no/valid"
expect 3 "config.json: is a file; a CSV goes through preprocess first" train "$several" out "${base[@]}" --valid "$scratch/config.json"
expect 3 "the folder to give is one inside it" train 1 out "${base[@]}" --valid "$scratch"
expect 0 "warning: an epoch has only 6 steps.*8 of its 200 rows sit out .a step takes 4 lanes x 8 rows.: with --batch 1 it has 50 steps" \
    train 1 few "${base[@]}" --batch 8
grep -q "an epoch has only" <(train 1 plan "${base[@]}" --batch 8 --plan; cat "$scratch/log") || wrong "--plan does not tell of few steps: $(said)"
train 1 enough "${base[@]}" --batch 2
grep -q "an epoch has only" "$scratch/log" && wrong "25 steps are told to be few: $(said)"
[ ! -e "$scratch/out" ] || wrong "a run folder is there after bad input"

mkdir "$scratch/other" && "$make" "$scratch/other" train 200 1 1 5 119 60 0
expect 3 "another vocabulary" train "$several" out "${base[@]}" --vocab "$scratch/other/vocab.txt"
sed 's/"vocab_size": 120/"vocab_size": 119/' "$scratch/config.json" >"$scratch/other/config.json"
expect 3 "vocab_size" train 1 out "${base[@]}" --config "$scratch/other/config.json" --vocab "$scratch/vocab.txt"
"$make" "$scratch" some 200 1 1 5 120 60 5
expect 3 "40 of 200 training rows have no label" train "$several" out "${base[@]}" --train "$scratch/some"
expect 0 "40 training rows without labels" train "$several" dropped "${base[@]}" --train "$scratch/some" --drop-unlabelled
cp -r "$scratch/train" "$scratch/cut" && truncate -s -100 "$scratch"/cut/shard-00001-of-00002.h5
expect 3 "shard-00001" train "$several" out "${base[@]}" --train "$scratch/cut"
[ ! -e "$scratch/out" ] || wrong "a run folder is there after bad input"

# Weights that do not belong to the config, and none at all.
train 1 small "${base[@]}" --max-steps 1

# A tokenizer.json in the place of vocab.txt: the same run, its checkpoints with the vocab.txt of the same pieces.
mkdir "$scratch/json" && cp "$scratch/config.json" "$scratch/json"
awk 'BEGIN { printf "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {" } { printf "%s\"%s\": %d", (NR > 1 ? ", " : ""), $0, NR - 1 } END { print "}}}" }' \
    "$scratch/vocab.txt" >"$scratch/json/tokenizer.json"
expect 0 "" train "$several" pieces "${base[@]}" --max-steps 1 --config "$scratch/json"
for file in run.json metrics.jsonl epoch-1/vocab.txt epoch-1/model.safetensors; do cmp "$scratch/small/$file" "$scratch/pieces/$file" || wrong "$file by tokenizer.json"; done
expect 0 "finished already" train 1 pieces "${base[@]}" --max-steps 1 --vocab "$scratch/json/tokenizer.json"
sed -i 's/: 7,/: 8,/' "$scratch/json/tokenizer.json"
expect 3 "is not one of 0 to 119, each once" train "$several" out "${base[@]}" --config "$scratch/json"
rm "$scratch/json/tokenizer.json"
expect 3 "neither vocab.txt nor tokenizer.json" train "$several" out "${base[@]}" --config "$scratch/json"
cp -r "$scratch/small/epoch-1" "$scratch/wide" && sed -i 's/"hidden_size": 48/"hidden_size": 72/' "$scratch/wide/config.json"
from_model() {
    timeout 60 ${2:+$mpi -np $2} "$bin/train" --model "$1" --train "$scratch/train" --out "$scratch/out" "${base[@]}" >"$scratch/log" 2>&1
}
expect 3 "word_embeddings" from_model "$scratch/wide" "${mpi:+2}"
[ ! -e "$scratch/out" ] || wrong "a start that failed over its weights has left a folder, against which the right one would be held"
expect 3 "nowhere: no such folder; give a Hugging Face model folder" from_model "$scratch/nowhere" "${mpi:+2}"
expect 3 "config.json: is a file; give the folder it is in" from_model "$scratch/config.json"
expect 3 "enough: is a run of train; give one of its model folders" from_model "$scratch/enough"
rm "$scratch/wide/model.safetensors"
expect 3 "model.safetensors" from_model "$scratch/wide"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' >"$scratch/wide/model.safetensors"
expect 3 "LFS" from_model "$scratch/wide"
rm -rf "$scratch/out"

# A config.json of other values that loads as well.
cp -r "$scratch/small/epoch-1" "$scratch/model"
expect 0 "" from_model "$scratch/model"
sed -i 's/"layer_norm_eps": [^,]*/"layer_norm_eps": 0.01/' "$scratch/model/config.json"
expect 3 "other values in config.json" from_model "$scratch/model"
cp -r "$scratch/out" "$scratch/run" && cp "$scratch/model/config.json" "$scratch/run/epoch-1/"
score() { timeout 60 "$bin/infer" --run "$scratch/run" --weights epoch-1 --input "$scratch/valid" --out "$scratch/scores.csv" >"$scratch/log" 2>&1; }
expect 3 "config.json: is not the run's" score
[ ! -e "$scratch/scores.csv" ] || wrong "scores are there of another config"
rm -rf "$scratch/out"

# Closed standard streams: no message lands in a file of the run. A file above the limit on sizes is told, not died of.
streams() { "$bin/train" --init random --config "$scratch" --train "$scratch/train" --valid "$scratch/valid" --out "$scratch/closed" "${base[@]}" <&- >&- 2>&-; }
expect 0 "" train 1 open "${base[@]}" --valid "$scratch/valid"
expect 0 "" streams
same_run open closed "closed streams"
limited() { (ulimit -f 40 && train 1 limited "${base[@]}"); }
expect 4 "File too large" limited

# An unwritable folder; a full disk.
touch "$scratch/file"
expect 4 "" train "$several" file/out "${base[@]}"
if mkdir "$scratch/tiny" && mount -t tmpfs -o size=300k none "$scratch/tiny" 2>/dev/null; then
    expect 4 "tiny/new/run: no space for a checkpoint, which needs 537480 bytes (0.54 MB): 307200 (0.31 MB) are free there; free some, or give an --out" \
        train "$several" tiny/new/run "${base[@]}"
    [ -z "$(ls -A "$scratch/tiny")" ] || wrong "a run that has no room has left a folder"
    umount "$scratch/tiny"
fi
# Room for some checkpoints only: told beforehand; half of one is not left; to go on there must be room for the next, and none for what is done.
if mount -t tmpfs -o size=1200k none "$scratch/tiny" 2>/dev/null; then
    expect 4 "no space left.*; free some or choose another folder" train "$several" tiny/run "${base[@]}" --epochs 4
    grep -q "warning:.*1.23 MB are free there; a checkpoint needs 0.54 MB, and the run may need [0-9.]* MB at once (--keep 2," "$scratch/log" || wrong "no warning of little room: $(cat "$scratch/log")"
    [ -z "$(ls -d "$scratch"/tiny/run/.step-* 2>/dev/null)" ] || wrong "half a checkpoint is there: $(ls -a "$scratch"/tiny/run)"
    expect 4 "no space for a checkpoint.*copy the run to a disk with room" train "$several" tiny/run "${base[@]}" --epochs 4
    umount "$scratch/tiny"
fi
if mount -t tmpfs -o size=700k none "$scratch/tiny" 2>/dev/null; then
    expect 0 "finished" train "$several" tiny/run "${base[@]}" --checkpoint-minutes 0
    grep -q "are free there" "$scratch/log" && wrong "a warning though all fits: $(cat "$scratch/log")"
    rm "$scratch/tiny/run/provenance.json"
    expect 0 "finished" train 1 tiny/run "${base[@]}"
    umount "$scratch/tiny"
fi

# A loss that is not finite stops with its place; the checkpoints stay.
expect 6 "lane [0-9]*: the loss of row [0-9]* (id row" train "$several" nan "${base[@]}" --lr 10 --scale-lr 100000 --epochs 5

# One class in validation is said, not invented.
"$make" "$scratch" valid 40 1 1 6 120 0 0 # empty rows: all of one class but for the noise
expect 0 "" train 1 ends "${base[@]}" --valid "$scratch/valid"

# The same folder with another recipe or other data.
expect 2 "other values of --epochs, --lr" train "$several" small "${base[@]}" --max-steps 1 --lr 2e-3 --epochs 2
expect 3 "other training data" train 1 small "${base[@]}" --max-steps 1 --train "$scratch/cut/../train,$scratch/train"
finish
