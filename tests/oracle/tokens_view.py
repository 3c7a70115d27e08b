#!/usr/bin/env python3
"""Writes tokens_view.vocab.txt, a small made-up vocabulary, and tokens_view.json, what transformers' Python BertTokenizer (4.57)
makes of texts with it: __call__ on one text and on pairs, cut and padded; decode(); ids under every setting.

Texts are given to the reference after " ".join(text.split()).
"""
import json, os, random, unicodedata
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
from transformers import BertTokenizer

HERE = Path(__file__).resolve().parent
VOCAB = HERE / "tokens_view.vocab.txt"
WORDS = """you are kind the most people here and very un ##kind ##ness do not like this that comment ##s ##ing ##ed what is
who said it won ' t can n ve re don I You The Kind nice ##ly Straße stra ##sse été ete über uber ##er mañana man ##ana
привет при ##вет мир 한국 ##어 中文 नमस्ते नम ##सत सलाम 1 2 ##0 2024 ##ا سلام""".split()
TEXTS = ["You are kind.", "you are the most unkind people here, and I don't like this comment!", "", "   ", "x[SEP]y [MASK] [mask]",
         "été \u00fcber e\u0301te\u0301 Stra\u00dfe MA\u00d1ANA", "\u043f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \ud55c\uad6d\uc5b4 \u4e2d\u6587\u4eba",
         "Who said it ? \" can't \" , we 've n't 's . ' it is ' what you 're . . .", "do not do not do not " * 12, "[SE\u200bP] [MAS\u212a] \u0130 \u03a3\u03a3 a\u0338 <\u0338 =\u0301",
         "kindness is kind\u2028ness\u0000 in\ufffdside 2024 \u093d", "unbelievable " + "a" * 101 + " " + "e\u0301" * 60]
ALPHABET = ("abcdefghiklmnoprstuvyzABEIKSTU'.,!?-<=>[]#@0123 éèüñßçÉÜÑİıΣσςαάΆ\u0301\u0303\u0308\u0323\u0327\u0338\u200b\u00ad"
            "привет中文人国한국어각\u1100\u1161\u11a8नमस्ते़\u094dक़\u212a\u212b\u037e\u1b44\u302e\u16ff0\uf900\u2028\u3000\u00a0\u0085")


def make_vocabulary():
    pieces = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    points = set(ALPHABET)
    for c in ALPHABET:
        points |= set(unicodedata.normalize("NFD", c.lower())) | set(unicodedata.normalize("NFC", c))
    for c in sorted(points):
        if not c.isspace() and unicodedata.category(c)[0] != "C":
            pieces += [c, "##" + c]
    for w in WORDS:
        if w not in pieces:
            pieces.append(w)
    VOCAB.write_text("".join(p + "\n" for p in pieces), encoding="utf-8", newline="\n")


def joined(text):
    return " ".join(text.split())


def views(tok):
    cases = []
    for i, a in enumerate(TEXTS):
        for b in (None, TEXTS[(i + 5) % len(TEXTS)], TEXTS[(i * 7 + 1) % len(TEXTS)]):
            for length in (0, 3, 4, 9, 16, 33):
                for side in ("right", "left") if length else ("right",):
                    tok.truncation_side = side
                    if length and b is None and len(tok.tokenize(joined(a))) + 2 - length >= len(tok.tokenize(joined(a))):
                        continue  # the reference refuses to cut a single text to nothing
                    options = dict(truncation=True, max_length=length, padding="max_length") if length else {}
                    e = tok(joined(a), joined(b) if b is not None else None, **options)
                    cases.append({"text": [a] if b is None else [a, b], "max_length": length, "side": side, "ids": e["input_ids"],
                                  "mask": e["attention_mask"], "types": e["token_type_ids"], "decoded": tok.decode(e["input_ids"]),
                                  "skipped": tok.decode(e["input_ids"], skip_special_tokens=True),
                                  "raw": tok.decode(e["input_ids"], clean_up_tokenization_spaces=False)})
    r = random.Random(3)
    return [c for c in cases if c["max_length"] == 0 or r.random() < 0.35]


def settings():
    r, out = random.Random(5), []
    texts = TEXTS + ["".join(r.choice(ALPHABET) for _ in range(r.randint(1, 30))) for _ in range(70)]
    for lower in (True, False):
        for strip in (None, True, False):
            for cjk in (True, False):
                tok = BertTokenizer(str(VOCAB), do_lower_case=lower, strip_accents=strip, tokenize_chinese_chars=cjk)
                ids = [tok.convert_tokens_to_ids(tok.tokenize(joined(t))) for t in texts]
                out.append({"lower": lower, "strip": strip, "cjk": cjk, "ids": ids})
    return texts, out


def main():
    make_vocabulary()
    tok = BertTokenizer(str(VOCAB), do_lower_case=True)
    texts, by_setting = settings()
    lines = ["{\"views\": ["] + [",\n".join(json.dumps(c, separators=(",", ":")) for c in views(tok))] + ["],\n\"texts\": " + json.dumps(texts) + ","]
    lines += ["\"settings\": ["] + [",\n".join(json.dumps(s, separators=(",", ":")) for s in by_setting)] + ["]}"]
    (HERE / "tokens_view.json").write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
