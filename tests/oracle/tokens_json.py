#!/usr/bin/env python3
"""Writes tokens_json.json: the tokenizer.json of transformers' BertTokenizerFast with tokens_view.vocab.txt, and the ids it gives to texts
under every setting of its normaliser. Needs transformers 4.57 with tokenizers 0.22.

Texts are given to the library after " ".join(text.split()).
"""
import json, os, random
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
from tokenizers import Tokenizer
from transformers import BertTokenizerFast

from tokens_view import ALPHABET, HERE, TEXTS, VOCAB, WORDS, joined


def main():
    r = random.Random(5)
    texts = [joined(t) for t in TEXTS]
    for _ in range(60):
        parts = ["".join(r.choices(ALPHABET, k=r.randint(1, 9))) if r.random() < 0.6 else r.choice(WORDS + ["[SEP]", "[mask]"]).lstrip("#")
                 for _ in range(r.randint(1, 7))]
        texts.append(joined(r.choice(["", " "]).join(parts)))
    base = json.loads(BertTokenizerFast(vocab_file=str(VOCAB), do_lower_case=True)._tokenizer.to_str())
    cases = []
    for lower in (True, False):
        for strip in (None, True, False):
            for cjk in (True, False):
                base["normalizer"].update(lowercase=lower, strip_accents=strip, handle_chinese_chars=cjk)
                tok = Tokenizer.from_str(json.dumps(base))
                cases.append({"normalizer": dict(base["normalizer"]), "ids": [tok.encode(t, add_special_tokens=False).ids for t in texts]})
    del base["normalizer"]
    text = json.dumps({"tokenizer": base, "texts": texts}, ensure_ascii=True)[:-1] + ',\n"cases": [\n'
    text += ",\n".join(json.dumps(c) for c in cases) + "\n]}\n"
    (HERE / "tokens_json.json").write_text(text, encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
