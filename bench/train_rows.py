"""Rows and network for bench/train.sh: the same comments that train_torch.py draws, and what they cost.

usage: train_rows.py draw CSV ROWS OUT.csv           ROWS comments, drawn as train_torch.py draws them
       train_rows.py config MODEL VOCAB OUT.json     config.json of base, minilm or tiny
       train_rows.py rate MODEL VOCAB ROWS.csv RUN          GFLOP/s of the run's steps after the first, rows/s
       train_rows.py score MODEL VOCAB ROWS.csv SECONDS     GFLOP/s of scoring all rows
Work is counted on real tokens, as train_torch.py does: 6 operations a weight and token in training, 2 in scoring, and attention's products.
"""
import json
import os
import sys

SHAPES = {"base": (768, 12, 12, 3072), "minilm": (384, 12, 6, 1536), "tiny": (128, 2, 2, 512)}


def draw(source, rows, out):
    import pandas
    frame = pandas.read_csv(source, keep_default_na=False).sample(n=int(rows), random_state=1)
    frame[["id", "comment_text", "toxic"]].to_csv(out, index=False)


def config(model, vocabulary, out):
    hidden, heads, layers, inner = SHAPES[model]
    with open(os.path.join(vocabulary, "vocab.txt"), encoding="utf-8") as f:
        words = sum(1 for _ in f)
    with open(out, "w") as f:
        json.dump(dict(model_type="bert", vocab_size=words, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                       intermediate_size=inner, max_position_embeddings=512, type_vocab_size=2, hidden_act="gelu", pad_token_id=0,
                       hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, layer_norm_eps=1e-12, initializer_range=0.02), f)


def lengths(vocabulary, source):
    import pandas
    from transformers import BertTokenizerFast
    tokenizer = BertTokenizerFast(vocab_file=os.path.join(vocabulary, "vocab.txt"), do_lower_case=True)
    text = pandas.read_csv(source, keep_default_na=False)["comment_text"]
    return [len(ids) for ids in tokenizer([" ".join(str(t).split()) for t in text], truncation=True, max_length=192)["input_ids"]]


def work(model, factor, tokens, squares):
    hidden, _, layers, inner = SHAPES[model]
    return factor * tokens * layers * (4 * hidden * hidden + 2 * hidden * inner) + 2 * factor * layers * hidden * squares


def rate(model, vocabulary, source, run):
    """Steps of the run after the first; squares of lengths are those of all rows, in proportion to the tokens."""
    n = lengths(vocabulary, source)
    with open(os.path.join(run, "metrics.jsonl")) as f:
        steps = [json.loads(line) for line in f if line.startswith('{"step"')][1:]
    with open(os.path.join(run, "timing.jsonl")) as f:
        seconds = [json.loads(line)["seconds"] for line in f if line.startswith('{"step"')][1:]
    tokens = sum(s["tokens"] for s in steps)
    squares = sum(i * i for i in n) * tokens / sum(n)
    print("%.2f %.3f" % (work(model, 6, tokens, squares) / sum(seconds) / 1e9, sum(s["rows"] for s in steps) / sum(seconds)))


def score(model, vocabulary, source, seconds):
    n = lengths(vocabulary, source)
    print("%.2f %.3f" % (work(model, 2, sum(n), sum(i * i for i in n)) / float(seconds) / 1e9, len(n) / float(seconds)))


if __name__ == "__main__":
    {"draw": draw, "config": config, "rate": rate, "score": score}[sys.argv[1]](*sys.argv[2:])
