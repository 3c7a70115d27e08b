# Sourced by benches that train a made-up BERT.
# VOCAB_FILE LAYERS HIDDEN HEADS FFN: its config.json on stdout.
bert_config() {
    printf '{"model_type":"bert","vocab_size":%d,"num_hidden_layers":%d,"hidden_size":%d,"num_attention_heads":%d,"intermediate_size":%d,' \
        "$(wc -l <"$1")" "$2" "$3" "$4" "$5"
    echo '"max_position_embeddings":512,"type_vocab_size":2,"hidden_act":"gelu","pad_token_id":0,"layer_norm_eps":1e-12,"initializer_range":0.02}'
}
