#!/usr/bin/env python3
"""The rival of bench/gpu.sh: the same network, rows and optimizer step in PyTorch, in the ways that PyTorch is fastest.

    gpu_torch.py base|large|tiny ROWS SECONDS [--device cuda] [--score]

Prints "name value" lines; of the ways that work here the best counts:
  padded    rows sorted by length, padded to the longest of a micro-batch, scaled_dot_product_attention with a mask
  packed    rows end to end, torch's or flash_attn's attention over packed rows, where one is installed
each eager and under torch.compile. bfloat16 by autocast over float32 weights, fused AdamW.
"""
import argparse
import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SHAPES = {"base": (105879, 768, 12, 12, 3072), "large": (105879, 1024, 24, 16, 4096), "tiny": (500, 128, 2, 2, 256)}
LONGEST, MICRO = 192, 16384


def packed_attention():
    """A function (q, k, v, starts, longest) over tokens x heads x size, or None."""
    try:
        from torch.nn.attention.varlen import varlen_attn
        return lambda q, k, v, s, n: varlen_attn(q, k, v, s, s, n, n)
    except ImportError:
        pass
    try:
        from flash_attn import flash_attn_varlen_func
        return lambda q, k, v, s, n: flash_attn_varlen_func(q, k, v, s, s, n, n)
    except ImportError:
        return None


class Layer(nn.Module):
    def __init__(self, hidden, heads, wide):
        super().__init__()
        self.heads = heads
        self.qkv, self.project = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden, 1e-12), nn.LayerNorm(hidden, 1e-12)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, attend):
        q, k, v = self.qkv(x).chunk(3, -1)
        split = (*x.shape[:-1], self.heads, -1)
        a = attend(q.view(split), k.view(split), v.view(split), 0.1 if self.training else 0.0).reshape(x.shape)
        x = self.norm1(x + self.drop(self.project(a)))
        return self.norm2(x + self.drop(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self, shape):
        super().__init__()
        vocabulary, hidden, layers, heads, wide = shape
        self.word, self.place = nn.Embedding(vocabulary, hidden), nn.Embedding(512, hidden)
        self.kind, self.norm, self.drop = nn.Parameter(torch.zeros(hidden)), nn.LayerNorm(hidden, 1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer(hidden, heads, wide) for _ in range(layers))
        self.out, self.head_drop = nn.Linear(2 * hidden, 1), nn.Dropout(0.3)

    def hidden(self, ids, places, attend):
        x = self.drop(self.norm(self.word(ids) + self.kind + self.place(places)))
        for layer in self.layers:
            x = layer(x, attend)
        return x

    def padded(self, ids, mask):
        places = torch.arange(ids.shape[1], device=ids.device)

        def attend(q, k, v, p):
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, mask[:, None, None, :], p).transpose(1, 2)

        x, real = self.hidden(ids, places, attend), mask[:, :, None]
        mean = (x * real).sum(1) / real.sum(1)
        return self.out(self.head_drop(torch.cat([mean, x.masked_fill(~real, -1e30).amax(1)], 1)))[:, 0]

    def packed(self, ids, places, starts, longest, row, rows, attention):
        # Packed attention has no dropout of its own in these libraries: the rival is spared it.
        x = self.hidden(ids, places, lambda q, k, v, p: attention(q, k, v, starts, longest))
        count = (starts[1:] - starts[:-1])[:, None]
        mean = torch.zeros(rows, x.shape[1], device=x.device, dtype=torch.float32).index_add_(0, row, x.float()) / count
        most = torch.full((rows, x.shape[1]), -1e30, device=x.device).scatter_reduce_(0, row[:, None].expand_as(x), x.float(), "amax")
        return self.out(self.head_drop(torch.cat([mean, most], 1)))[:, 0]


def length(rng):
    return max(4, min(LONGEST, int(50 * math.exp(0.58 * 1.8 * rng.gauss(0, 1) * 0.55))))


def micro_batches(lengths, vocabulary, device, rng, packed):
    """A step's rows as tensors, the tokens in each up to MICRO."""
    groups, group, used = [], [], 0
    for n in sorted(lengths) if not packed else lengths:
        cost = n * (len(group) + 1) if not packed else used + n
        if group and cost > MICRO:
            groups.append(group)
            group, used = [], 0
        group.append(n)
        used += n
    groups.append(group)
    for group in groups:
        label = torch.tensor([rng.random() < 0.5 for _ in group], dtype=torch.float32, device=device)
        if packed:
            starts = torch.tensor([0] + group, dtype=torch.int32).cumsum(0).int().to(device)
            row = torch.repeat_interleave(torch.arange(len(group)), torch.tensor(group)).to(device)
            places = torch.cat([torch.arange(n) for n in group]).to(device)
            ids = torch.randint(1, vocabulary, (sum(group),)).to(device)
            yield (ids, places, starts, max(group), row, len(group)), label
        else:
            ids = torch.randint(1, vocabulary, (len(group), max(group))).to(device)
            mask = (torch.arange(max(group))[None] < torch.tensor(group)[:, None]).to(device)
            yield (ids, mask), label


def measure(way, compiled, o):
    torch.manual_seed(7)
    rng, shape = random.Random(7), SHAPES[o.shape]
    model = Bert(shape).to(o.device).train(not o.score)
    attention = packed_attention() if way == "packed" else None
    forward = (lambda *a: model.packed(*a, attention)) if way == "packed" else model.padded
    if compiled:
        forward = torch.compile(forward, dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7, fused=o.device == "cuda")
    steps, tokens, begin = 0, 0, 0.0
    while True:
        lengths = [length(rng) for _ in range(o.rows)]
        for arguments, label in micro_batches(lengths, shape[0], o.device, rng, way == "packed"):
            with torch.autocast(o.device, torch.bfloat16), torch.set_grad_enabled(not o.score):
                logits = forward(*arguments)
                if not o.score:
                    (F.binary_cross_entropy_with_logits(logits.float(), label, reduction="sum") / o.rows).backward()
        if not o.score:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if o.device == "cuda":
            torch.cuda.synchronize()
        steps, tokens = steps + 1, tokens + sum(lengths)
        if steps == 3:
            begin, tokens = time.perf_counter(), 0
        passed = time.perf_counter() - begin
        if steps > 3 and passed > o.seconds:
            return tokens / passed, (steps - 3) * o.rows / passed


parser = argparse.ArgumentParser()
parser.add_argument("shape", choices=SHAPES)
parser.add_argument("rows", type=int)
parser.add_argument("seconds", type=float)
parser.add_argument("--device", default="cuda")
parser.add_argument("--score", action="store_true")
o = parser.parse_args()
best = (0.0, 0.0, "none")
for way in ("padded", "packed"):
    for compiled in (False, True):
        name = f"{way}{'_compiled' if compiled else ''}"
        try:
            tokens, rows = measure(way, compiled, o)
        except Exception as error:  # a way that this installation lacks
            print(f"# {name}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}")
            continue
        print(f"{name}_tokens_a_second {tokens:.6g}")
        best = max(best, (tokens, rows, name))
print(f"tokens_a_second {best[0]:.6g}\nrows_a_second {best[1]:.6g}\n# the best: {best[2]}")
