#!/usr/bin/env python3
"""The tokenizer beside nanotoken and the Rust tokenizers of transformers: processor time of one thread, in turns, and the ratios.

    FRETSAW_PEERS bench/tokenize_peers.py BENCH DATA [--rounds 3] [--set NAME ...] [--slow-share 0.1]

BENCH is the program tokenize_bench, DATA the data folder (comments/, text/tatoeba/, vocab/). Rows are in memory on both sides, after
" ".join(text.split()); all ids are kept. cold: the cache of words is emptied first (ours: a fresh scratch); warm: it has seen the same rows.
Each round runs ours and theirs one after the other; the least time of each is compared. Prints for each set MB of text, MB/s, and
their time over ours. Where our ids are
not theirs, that is said (the cased vocabulary: ten rows of comments/train.csv differ through NFC).
"""
import argparse, os, struct, subprocess, tempfile, time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
import numpy as np
import pandas as pd
from nanotoken import Tokenizer as Nano
from transformers import BertTokenizerFast

UNCASED, CASED = "vocab/bert-base-multilingual-uncased", "vocab/bert-base-multilingual-cased"
# name: (vocabulary, languages of comments/train.csv, those of text/tatoeba); None: all
SETS = {
    "all": (UNCASED, None, ""), "cased": (CASED, None, ""), "english": (UNCASED, "en", ""),
    "latin": (UNCASED, "pt es tr de fr it pl nl ur-Latn", "deu fra spa por ita pol tur vie ces swe"),
    "cyrillic": (UNCASED, "ru", "rus ukr bul bel srp mkd"), "arabic": (UNCASED, "ar", "ara pes urd arz"),
    "devanagari": (UNCASED, "hi mr", "hin mar"), "cjk": (UNCASED, "zh", "cmn jpn yue"), "hangul": (UNCASED, "", "kor"),
}


def rows_of(data, frame, languages, tatoeba):
    texts = frame.comment_text.tolist() if languages is None else frame.comment_text[frame.lang.isin(languages.split())].tolist()
    for code in tatoeba.split():
        for path in (data / "text/tatoeba").glob(f"tatoeba.*.{code}"):
            texts += path.read_text(encoding="utf-8").split("\n")
    return [t for t in (" ".join(t.split()) for t in texts) if t]


class Ours:
    def __init__(self, bench, vocab, lower, rows):
        with tempfile.NamedTemporaryFile() as f:
            for r in rows:
                b = r.encode("utf-8")
                f.write(struct.pack("<I", len(b)) + b)
            f.flush()
            self.process = subprocess.Popen([bench, vocab, "yes" if lower else "no", f.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.run("warm", 1)

    def run(self, state, passes):
        self.process.stdin.write(f"{state} {passes}\n")
        self.process.stdin.flush()
        seconds, ids, total = self.process.stdout.readline().split()
        return float(seconds), int(ids), int(total)


def spent(passes, before, work):
    total = 0.0
    for _ in range(passes):
        t = time.process_time()
        before()
        result = work()
        total += time.process_time() - t
    return total / passes, result


def measure(name, a, frame):
    folder, languages, tatoeba = SETS[name]
    lower, vocab = folder == UNCASED, str(a.data / folder)
    rows = rows_of(a.data, frame, languages, tatoeba)
    size = sum(len(r.encode("utf-8")) for r in rows)
    passes = max(1, int(8e6 / size))
    ours = Ours(a.bench, vocab, lower, rows)
    nano = Nano.from_vocab(vocab + "/vocab.txt", lowercase=lower)
    fast = BertTokenizerFast(vocab_file=vocab + "/vocab.txt", do_lower_case=lower)._tokenizer
    few = rows[: max(1, int(len(rows) * min(1.0, max(a.slow_share, 1e5 / size))))]
    few_size = sum(len(r.encode("utf-8")) for r in few)
    encode = lambda: nano.encode_batch(rows, add_special_tokens=False, parallel=False)
    best = {}

    def note(key, seconds):
        best[key] = min(best.get(key, 1e9), seconds)

    for _ in range(a.rounds):
        note("ours cold", ours.run("cold", passes)[0])
        seconds, ids = spent(passes, nano.clear_cache, encode)
        note("nano cold", seconds)
        note("ours warm", ours.run("warm", passes)[0])
        note("nano warm", spent(passes, lambda: None, encode)[0])
        seconds, kept = spent(1, lambda: None, lambda: fast.encode_batch(few, add_special_tokens=False))
        note("rust", seconds * size / few_size)
    count, total = ours.run("warm", 1)[1:]
    with np.errstate(over="ignore"):
        same = (count, total) == (len(ids.ids), int((np.arange(1, len(ids.ids) + 1, dtype=np.uint64) * ids.ids.astype(np.uint64)).sum()))
    rate = {k: size / 1e6 / v for k, v in best.items()}
    print(f"{name:10s} {size / 1e6:6.2f} MB {len(ids.ids):9d} ids{'' if same else ' (ours differ)'}  MB/s ours cold {rate['ours cold']:6.1f} warm {rate['ours warm']:6.1f}"
          f"  nanotoken cold {rate['nano cold']:6.1f} warm {rate['nano warm']:6.1f}  tokenizers {rate['rust']:5.2f}"
          f"  | ours to nanotoken cold {best['nano cold'] / best['ours cold']:5.2f}x warm {best['nano warm'] / best['ours warm']:5.2f}x"
          f"  to tokenizers {best['rust'] / best['ours cold']:6.1f}x", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bench")
    p.add_argument("data", type=Path)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--set", nargs="+", choices=list(SETS), default=list(SETS))
    p.add_argument("--slow-share", type=float, default=0.1, help="share of the rows given to tokenizers (Rust), which is slow")
    a = p.parse_args()
    frame = pd.read_csv(a.data / "comments/train.csv", keep_default_na=False)
    for name in a.set:
        measure(name, a, frame)


if __name__ == "__main__":
    main()
