#!/usr/bin/env python3
"""Makes tests/oracle/notebook/: a training by the notebook's recipe in PyTorch, for tests/pipeline/notebook.sh.

    python tests/oracle/notebook_torch.py        (needs torch, transformers, pandas; writes into tests/oracle/notebook)

The rows are the project's sample: both training CSVs one after another, then the validation CSV. Tokens come from transformers' BertTokenizer, padded
to the maximum length; the order from torch's DistributedSampler, never told the epoch; batches from DataLoader with drop_last on each of LANES workers;
gradients are averaged over the workers; AdamW is that of transformers of 2020, the schedule its linear one over int(rows / batch / lanes * epochs)
steps. Dropout is off and all is computed in float64 from float16 weights, so that both sides start from the same numbers. Files:

    model.safetensors   initial weights, float16      config.json, vocab.txt   the model
    order.txt           a row number a line, as the sampler deals them out
    expected.json       settings, the loss of each step, sampled elements of every tensor and its distance from where it began
"""
import csv
import json
import os
import shutil

import torch
from safetensors.torch import save_file
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from transformers import BertConfig, BertModel, BertTokenizer

LANES, BATCH, EPOCHS, LENGTH, ROWS, LR, DECAY, SEED = 4, 3, 2, 32, (41, 30, 19), 1e-3, 0.001, 7
here = os.path.dirname(os.path.abspath(__file__))
sample, out = os.path.join(here, "..", "..", "sample"), os.path.join(here, "notebook")


def read_rows():
    """The first rows of each CSV; the test cuts the same ones."""
    rows = []
    for name, label, count in zip(("train-first.csv", "train-second.csv", "validation.csv"), ("toxic", "target", "toxic"), ROWS):
        with open(os.path.join(sample, name), newline="", encoding="utf-8") as f:
            table = list(csv.DictReader(f))[:count]
        rows += [(r["comment_text"], float(r[label])) for r in table]
    return rows


class Comments(Dataset):
    def __init__(self, rows, tokenizer):
        texts = [" ".join(text.split()) for text, _ in rows]
        coded = tokenizer(texts, max_length=LENGTH, truncation=True, padding="max_length", return_tensors="pt")
        self.ids, self.mask = coded["input_ids"], coded["attention_mask"]
        self.label = torch.tensor([label for _, label in rows], dtype=torch.float64)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return i, self.ids[i], self.mask[i], self.label[i]


class Notebook(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
        self.out = torch.nn.Linear(2 * config.hidden_size, 1)

    def forward(self, ids, mask):
        hidden = self.bert(ids, attention_mask=mask).last_hidden_state
        return self.out(torch.cat([hidden.mean(1), hidden.max(1).values], 1)).squeeze(1)


def update(named, state, rate, t):
    """AdamW of transformers 2020: epsilon before the bias correction, then the decay."""
    for name, p in named:
        if ".pooler." in name:
            continue
        g = torch.zeros_like(p) if p.grad is None else p.grad
        if name.endswith("word_embeddings.weight"):
            g[0] = 0
        m, v = state.setdefault(name, (torch.zeros_like(p), torch.zeros_like(p)))
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        step = rate * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)
        p.addcdiv_(m, v.sqrt().add_(1e-6), value=-step)
        if not name.endswith("bias") and "LayerNorm" not in name:
            p.mul_(1 - rate * DECAY)


def main():
    torch.manual_seed(SEED)
    os.makedirs(out, exist_ok=True)
    shutil.copy(os.path.join(sample, "model", "vocab.txt"), out)
    tokenizer = BertTokenizer(os.path.join(out, "vocab.txt"), do_lower_case=True)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
                        max_position_embeddings=LENGTH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.2,
                        attn_implementation="eager")
    net = Notebook(config)
    first = {name: p.detach().half() for name, p in net.state_dict().items()}
    save_file({name: p.contiguous() for name, p in first.items()}, os.path.join(out, "model.safetensors"))
    shape = {key: getattr(config, key) for key in (
        "model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings",
        "type_vocab_size", "hidden_act", "pad_token_id", "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range")}
    json.dump(shape, open(os.path.join(out, "config.json"), "w"), indent=1)
    net = net.double().train()
    net.load_state_dict({name: p.double() for name, p in first.items()})
    data = Comments(read_rows(), tokenizer)
    samplers = [DistributedSampler(data, num_replicas=LANES, rank=r, shuffle=True, seed=SEED) for r in range(LANES)]
    dealt = [list(s) for s in samplers]
    with open(os.path.join(out, "order.txt"), "w") as f:
        f.writelines(f"{dealt[i % LANES][i // LANES]}\n" for i in range(LANES * len(dealt[0])))
    total = int(len(data) / BATCH / LANES * EPOCHS)
    losses, state, t = [], {}, 0
    with_grad = [(n, p) for n, p in net.named_parameters()]
    for epoch in range(EPOCHS):
        for parts in zip(*(DataLoader(data, batch_size=BATCH, sampler=s, drop_last=True) for s in samplers)):
            net.zero_grad()
            loss = sum(torch.nn.functional.binary_cross_entropy_with_logits(net(ids, mask), label) for _, ids, mask, label in parts) / LANES
            loss.backward()
            rate = LR * LANES * max(0.0, (total - t) / total)
            t += 1
            with torch.no_grad():
                update(with_grad, state, rate, t)
            losses.append(loss.item())
    tensors = {}
    for name, p in net.state_dict().items():
        flat, began = p.reshape(-1), first[name].double().reshape(-1)
        places = torch.linspace(0, len(flat) - 1, min(60, len(flat))).round().long().tolist()
        tensors[name] = {"places": places, "values": [flat[i].item() for i in places], "moved": (flat - began).norm().item(),
                         "largest": flat.abs().max().item()}
    json.dump({"lanes": LANES, "batch": BATCH, "epochs": EPOCHS, "length": LENGTH, "rows": ROWS, "lr": LR, "weight_decay": DECAY, "schedule": total,
               "loss": losses, "tensors": tensors}, open(os.path.join(out, "expected.json"), "w"), indent=0)
    print(f"{len(data)} rows, {t} steps, schedule {total}, loss {losses[0]:.4f} to {losses[-1]:.4f}")


main()
