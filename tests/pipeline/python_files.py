"""The reader for Python against the programs: called by tests/pipeline/python.sh in a folder with tokens/, shards/, runs and their scores.

    python python_files.py README.md
"""
import csv
import os
import re
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import torch

import fretsaw_files
from fretsaw_files import Run, RowSet, TokenRows


def fails(kind, words, f, *arguments, **named):
    try:
        f(*arguments, **named)
    except kind as e:
        assert words in str(e), str(e)
        return
    raise AssertionError(f"no error with '{words}'")


assert "site-packages" in fretsaw_files.__file__, fretsaw_files.__file__  # the installed one
torch.set_num_threads(1)

# Rows: the export of the shard program says what is in them.
for folder in ("tokens/train", "shards/train"):
    rows = RowSet(folder, check=True)
    with open(folder.replace("/", "-") + ".csv", newline="", encoding="utf-8") as f:
        exported = list(csv.DictReader(f))
    assert len(rows) == len(exported) > 100
    arrays = rows.arrays()
    for i, want in enumerate(exported):
        row = rows[i]
        ids = [int(t) for t in want["ids"].split()]
        a, b = arrays["offsets"][i : i + 2]
        assert row.tokens.tolist() == ids == arrays["tokens"][a:b].tolist(), i
        assert row.id == want["id"] == arrays["id"][i] and row.lang == want["lang"] == arrays["lang"][i], i
        assert np.float32(want["toxic"]) == row.label[0] == arrays["label"][i, 0], i
    assert rows[-1].id == exported[-1]["id"] and rows.labels == ["toxic"] and rows.tokenizer["algorithm"] == "wordpiece"
    fails(IndexError, str(len(rows)), rows.__getitem__, len(rows))
assert len(RowSet("shards/train/shard-00000-of-00003.h5")) == RowSet("shards/train").manifest["files"][0]["rows"]
fails(ValueError, "damaged", RowSet, "damaged", check=True)
fails(FileNotFoundError, "unfinished", RowSet, "runs")

# Runs: the scores of each way to pool and to cut.
for name in ("real-head", "padded-tail", "real-head-tail"):
    run = Run("runs/" + name)
    data = TokenRows.for_run(RowSet("tokens/test"), run)
    loader = torch.utils.data.DataLoader(data, batch_size=37, collate_fn=data.collate, num_workers=2)
    model = run.model().eval()
    with torch.no_grad():
        batches = [(b["row"], model(b["input_ids"], b["attention_mask"]).sigmoid()) for b in loader]
    scores = torch.cat([s for _, s in batches]).numpy()
    assert torch.cat([r for r, _ in batches]).tolist() == list(range(len(data)))
    want = np.array([[float(x) for x in line.split(",")[1:]] for line in open(name + ".csv").read().splitlines()[1:]])
    assert scores.shape == want.shape and want.std() > 0.01
    worst = np.abs(scores - want).max()
    print(f"{name}: {len(want)} rows, largest difference {worst:.2e}")
    assert worst < 2e-5
    text = "A text,  to be\tcut."
    assert run.tokenizer()(" ".join(text.split()))["input_ids"][0] == run.settings["vocabulary"]["cls"]
    assert torch.equal(run.bert().embeddings.word_embeddings.weight, model.bert.embeddings.word_embeddings.weight)
fails(FileNotFoundError, "no weights", Run, "runs/real-head", weights="epoch-9")
fails(ValueError, "vocab", TokenRows.for_run, RowSet("other/test"), Run("runs/real-head"))

# What the page shows.
page = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"<!-- (numpy|torch) -->\n```python\n(.*?)```", page, re.S)
assert len(blocks) == 2
for name, block in blocks:
    exec(compile(block, name, "exec"), {})
