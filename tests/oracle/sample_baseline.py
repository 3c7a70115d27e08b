#!/usr/bin/env python3
"""What counting pieces reaches on the sample: logistic regression on bags of pieces, trained and tested as the network is.

    python3 tests/oracle/sample_baseline.py          # needs scikit-learn

Prints the pooled AUC on test.csv of bags of pieces, and fails when it is above 0.90: then the sample would not need a network.
"""
import csv, sys
from pathlib import Path

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sample"))
from make_sample import words_of  # noqa: E402

SAMPLE = Path(__file__).resolve().parents[2] / "sample"


def pieces(vocab, text):
    """Greedy longest match, as WordPiece does."""
    out = []
    for word in words_of(text):
        at = 0
        while at < len(word):
            end = next((e for e in range(len(word), at, -1) if ("##" if at else "") + word[at:e] in vocab), None)
            if end is None: out.append("[UNK]"); break
            out.append(("##" if at else "") + word[at:end])
            at = end
    return out


def read(name):
    with open(SAMPLE / name, newline="", encoding="utf-8") as f: return list(csv.DictReader(f))


def main():
    vocab = set((SAMPLE / "model/vocab.txt").read_text(encoding="utf-8").split("\n"))
    train = [(r["comment_text"], float(r.get("toxic", r.get("target"))) >= 0.5) for n in ("train-first.csv", "train-second.csv") for r in read(n)]
    truth = {r["id"]: int(r["toxic"]) for r in read("test_labels.csv")}
    test = [(r["content"], truth[r["id"]]) for r in read("test.csv")]
    bag = CountVectorizer(analyzer=lambda text: pieces(vocab, text))
    x = bag.fit_transform(t for t, _ in train)
    best = 0.0
    for strength in (0.01, 0.1, 1.0, 10.0):
        model = LogisticRegression(C=strength, max_iter=2000).fit(x, [y for _, y in train])
        auc = roc_auc_score([y for _, y in test], model.decision_function(bag.transform(t for t, _ in test)))
        print(f"logistic regression on bags of pieces, C {strength}: AUC {auc:.4f}")
        best = max(best, auc)
    sys.exit(0 if best <= 0.90 else 1)


if __name__ == "__main__":
    main()
