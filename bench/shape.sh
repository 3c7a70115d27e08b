# Sourced by benches that train a made-up BERT, from the source folder.
# VOCAB_FILE LAYERS HIDDEN HEADS FFN: its config.json on stdout.
bert_config() {
    printf '{"model_type":"bert","vocab_size":%d,"num_hidden_layers":%d,"hidden_size":%d,"num_attention_heads":%d,"intermediate_size":%d,' \
        "$(wc -l <"$1")" "$2" "$3" "$4" "$5"
    echo '"max_position_embeddings":512,"type_vocab_size":2,"hidden_act":"gelu","pad_token_id":0,"layer_norm_eps":1e-12,"initializer_range":0.02}'
}
# One line that says where and how busy; WORDS follow.
machine_line() {
    echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed -n 1p), $(nproc) cores; load $(cut -d' ' -f1 /proc/loadavg)$*"
}
# MODEL ROWS FOLDER: so many real comments as FOLDER/rows.csv and tokens, and the shape as config.json, by the caller's $python, $data, $vocabulary and $bin.
real_rows() {
    "$python" bench/train_rows.py draw "$data/comments/train.csv" "$2" "$3/rows.csv"
    "$python" bench/train_rows.py config "$1" "$vocabulary" "$3/config.json"
    "$bin/preprocess" --quiet --vocab "$vocabulary" --out "$3/tokens" "$3/rows.csv" >/dev/null
}
