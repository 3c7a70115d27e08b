"""Rows as a PyTorch data set."""

import torch
from torch.utils.data import Dataset


def cut(tokens, room, truncate):
    """The tokens of a row that the network gets: `room` is the maximum length without [CLS] and [SEP]."""
    if len(tokens) <= room:
        return list(map(int, tokens))
    front = {"head": room, "tail": 0, "head-tail": room // 4}[truncate]
    back = room - front
    return [int(t) for t in tokens[:front]] + [int(t) for t in (tokens[len(tokens) - back :] if back else [])]


class TokenRows(Dataset):
    """{"input_ids", "label", "row"} of each row of a RowSet, cut and with [CLS] and [SEP]; collate makes batches of them."""

    def __init__(self, rows, max_length, cls, sep, pad=0, truncate="head", pad_to_maximum=False):
        self.rows, self.max_length, self.cls, self.sep, self.pad = rows, max_length, cls, sep, pad
        self.truncate, self.pad_to_maximum = truncate, pad_to_maximum

    @classmethod
    def for_run(cls, rows, run):
        """As the run read its rows; refuses rows of another tokenizer."""
        theirs = dict(line.split("=", 1) for line in run.settings["tokenizer"].splitlines())
        if theirs != rows.tokenizer:
            differ = sorted(k for k in theirs.keys() | rows.tokenizer.keys() if theirs.get(k) != rows.tokenizer.get(k))
            raise ValueError(f"the rows come of another tokenizer than the run's: they differ in {', '.join(differ)}")
        s, v = run.settings, run.settings["vocabulary"]
        return cls(rows, s["max_length"], v["cls"], v["sep"], v["pad"], s["truncate"], s["pooling"] == "padded")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        ids = [self.cls, *cut(row.tokens, self.max_length - 2, self.truncate), self.sep]
        return {"input_ids": torch.tensor(ids), "label": torch.from_numpy(row.label.copy()), "row": i}

    def collate(self, items):
        """A batch: input_ids and attention_mask padded to the longest (to max_length where the run pools over padding), label, row."""
        length = self.max_length if self.pad_to_maximum else max(len(item["input_ids"]) for item in items)
        ids = torch.full((len(items), length), self.pad)
        mask = torch.zeros(len(items), length, dtype=torch.long)
        for r, item in enumerate(items):
            n = len(item["input_ids"])
            ids[r, :n] = item["input_ids"]
            mask[r, :n] = 1
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "label": torch.stack([item["label"] for item in items]),
            "row": torch.tensor([item["row"] for item in items]),
        }
