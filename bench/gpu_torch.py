#!/usr/bin/env python3
"""The rival of bench/gpu.sh: the same network, rows and optimizer step in PyTorch, in the ways that PyTorch is fastest.

    gpu_torch.py base|large|tiny ROWS SECONDS [--device cuda|cpu] [--ways padded,packed] [--eager] [--score]
    gpu_torch.py tiny ROWS 0 --check [--device cuda|cpu]      does every way compute the same? exit 1 where one does not

Prints "name value" lines; of the ways that work here the best counts:
  padded    rows sorted by length, padded to the longest of a micro-batch, scaled_dot_product_attention with a mask
  packed    rows end to end, torch's or flash_attn's attention over packed rows; on a CPU, where there is neither, scaled_dot_product_attention with a
            mask of one block a row
each eager and with its layers under torch.compile. bfloat16 by autocast over float32 weights, fused AdamW. Rows are on the device before the clock runs.
A way is measured only once a small step of it has given the padded way's loss and gradients (what --check alone does).
"""
import argparse
import math
import os
import random
import sys
import time

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)

SHAPES = {"base": (105879, 768, 12, 12, 3072), "large": (105879, 1024, 24, 16, 4096), "tiny": (500, 128, 2, 2, 256)}
MICRO, PREPARED = 32768, 4  # tokens of a micro-batch, so that a step is one where there is room; steps with rows of their own
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lengths.inc"), encoding="ascii") as lines:
    LENGTHS = [int(n) for line in lines if not line.startswith("//") for n in line.split(",") if n.strip()]
# How far a way's loss and gradients may be from the padded one's in float32. On a CPU bfloat16 is seen at 4e-4 and 0.02; tokens that look at other rows
# make 0.008 and 0.18.
BARS = {torch.float32: (1e-5, 1e-4), torch.bfloat16: (3e-3, 5e-2)}


# ---- attention: q, k, v are ... x tokens x heads x size ----

def by_rows(q, k, v, p, mask, longest):
    """Rows x tokens: mask is rows x 1 x 1 x tokens."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, mask, p).transpose(1, 2)


def by_block(q, k, v, p, row, longest):
    """Packed rows without a library for them: a token looks at those of its own row."""
    q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, row[None, None, :, None] == row[None, None, None, :], p)[0].transpose(0, 1)


def by_torch(q, k, v, p, starts, longest):
    # It has no dropout of its own: the rival is spared it.
    return varlen_attn(q, k, v, starts, starts, longest, longest)


def by_flash(q, k, v, p, starts, longest):
    return flash_attn_varlen_func(q, k, v, starts, starts, longest, longest, dropout_p=p)


try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:
    varlen_attn = None
try:
    from flash_attn import flash_attn_varlen_func
except ImportError:
    flash_attn_varlen_func = None


def packed_attentions(device):
    if device == "cpu":
        return [by_block]
    return [f for f, there in ((by_torch, varlen_attn), (by_flash, flash_attn_varlen_func)) if there]


# ---- the network ----

class Layer(nn.Module):
    def __init__(self, hidden, heads, wide):
        super().__init__()
        self.heads = heads
        self.qkv, self.project = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden, 1e-12), nn.LayerNorm(hidden, 1e-12)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, attend, who, longest):
        q, k, v = self.qkv(x).chunk(3, -1)
        split = (*x.shape[:-1], self.heads, -1)
        a = attend(q.view(split), k.view(split), v.view(split), self.drop.p if self.training else 0.0, who, longest).reshape(x.shape)
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
        with torch.no_grad():  # BERT's own spread, so that attention is not all on one key
            for m in self.modules():
                if isinstance(m, (nn.Linear, nn.Embedding)):
                    m.weight.normal_(0, 0.02)

    def hidden(self, ids, places, attend, who, longest):
        x = self.drop(self.norm(self.word(ids) + self.kind + self.place(places)))
        for layer in self.layers:
            x = layer(x, attend, who, longest)
        return x

    def pool(self, x, real):
        """x: rows x tokens x hidden, of which `real` count."""
        real = real[:, :, None]
        mean = x.masked_fill(~real, 0).sum(1, dtype=torch.float32) / real.sum(1)
        most = x.masked_fill(~real, -math.inf).amax(1).float()
        return self.out(self.head_drop(torch.cat([mean, most], 1)))[:, 0]

    def padded(self, b, attend):
        x = self.hidden(b["ids"], torch.arange(b["longest"], device=b["ids"].device), attend, b["real"][:, None, None, :], b["longest"])
        return self.pool(x, b["real"])

    def packed(self, b, attend):
        x = self.hidden(b["ids"], b["places"], attend, b["row"] if attend is by_block else b["starts"], b["longest"])
        rows = x.new_zeros(b["real"].numel(), x.shape[1]).index_copy(0, b["row"] * b["longest"] + b["places"], x)  # padded for the pooling alone
        return self.pool(rows.view(*b["real"].shape, -1), b["real"])


# ---- rows ----

def micro_batches(lengths, vocabulary, device, rng, packed, micro=MICRO):
    """A step's rows as tensors, of at most `micro` tokens each: real ones where packed, else with the padding. The same rows either way."""
    rows = [(n, [rng.randrange(1, vocabulary) for _ in range(n)], float(rng.random() < 0.5)) for n in sorted(lengths)]
    groups, used = [[]], 0
    for one in rows:
        used = used + one[0] if packed else one[0] * (len(groups[-1]) + 1)
        if groups[-1] and used > micro:
            groups.append([])
            used = one[0]
        groups[-1].append(one)
    batches = []
    for group in groups:
        n = torch.tensor([one[0] for one in group])
        longest = int(n.max())
        real = torch.arange(longest)[None] < n[:, None]
        b = {"real": real, "label": torch.tensor([one[2] for one in group])}
        if packed:
            b["ids"] = torch.tensor([x for one in group for x in one[1]])
            b["starts"] = F.pad(n.cumsum(0), (1, 0)).int()
            b["row"], b["places"] = (t.contiguous() for t in real.nonzero().T)
        else:
            b["ids"] = torch.zeros(real.shape, dtype=torch.long)
            b["ids"][real] = torch.tensor([x for one in group for x in one[1]])
        batches.append({name: t.to(device) for name, t in b.items()} | {"longest": longest})
    return batches


# ---- steps ----

class Way:
    def __init__(self, name, attend, compiled):
        self.packed, self.attend, self.compiled = name == "packed", attend, compiled
        self.name = name + (f"_{attend.__name__}" if self.packed else "") + ("_compiled" if compiled else "")

    def prepare(self, model):
        if self.compiled:
            for layer in model.layers:  # one graph serves them all: compiled once
                layer.compile(dynamic=True)
        return model.packed if self.packed else model.padded

    def step(self, forward, batches, rows, score, kind):
        loss = 0.0
        for b in batches:
            with torch.autocast(b["ids"].device.type, torch.bfloat16, enabled=kind == torch.bfloat16), torch.set_grad_enabled(not score):
                logits = forward(b, self.attend)
                part = F.binary_cross_entropy_with_logits(logits.float(), b["label"], reduction="sum") / rows
                if not score:
                    part.backward()
            loss = loss + part.detach()
        return loss


def gradient_of(way, kind, device, rows):
    """Loss and gradient of one step without dropout, from the same weights and rows."""
    torch.manual_seed(7)
    model = Bert(SHAPES["tiny"]).to(device).train()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.p = 0.0
    with torch.no_grad():  # far from even attention, so that a look at a wrong token shows in 16 bits too
        for layer in model.layers:
            layer.qkv.weight.mul_(6)
    rng = random.Random(7)
    batches = micro_batches([rng.choice(LENGTHS) for _ in range(rows)], SHAPES["tiny"][0], device, random.Random(8), way.packed, 1024)
    loss = way.step(way.prepare(model), batches, rows, False, kind)
    return float(loss), torch.cat([p.grad.flatten().double().cpu() for p in model.parameters()])


def check(way, device, rows):
    """Whether the way computes what the padded one does in float32. Words, and True or False."""
    text, good = [], True
    loss, gradient = gradient_of(Way("padded", by_rows, False), torch.float32, device, rows)
    for kind, bars in BARS.items():
        if kind == torch.float32 and way.attend in (by_torch, by_flash):
            continue  # these take 16 bits alone
        other, apart = gradient_of(way, kind, device, rows)
        apart = float((apart - gradient).norm() / gradient.norm())
        off = abs(other - loss) / loss
        good = good and off <= bars[0] and apart <= bars[1]
        text.append(f"{str(kind)[6:]}: loss {off:.2g} (at most {bars[0]:g}), gradients {apart:.2g} (at most {bars[1]:g})")
    return "; ".join(text), good


def measure(way, o):
    torch.manual_seed(7)
    rng, shape = random.Random(7), SHAPES[o.shape]
    model = Bert(shape).to(o.device).train(not o.score)
    forward = way.prepare(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7, fused=o.device == "cuda")
    prepared = []
    for _ in range(PREPARED):
        lengths = [rng.choice(LENGTHS) for _ in range(o.rows)]
        prepared.append((micro_batches(lengths, shape[0], o.device, rng, way.packed), sum(lengths)))
    steps, tokens, begin = 0, 0, 0.0
    while True:
        batches, real = prepared[steps % PREPARED]
        way.step(forward, batches, o.rows, o.score, torch.bfloat16)
        if not o.score:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if o.device == "cuda":
            torch.cuda.synchronize()
        steps, tokens = steps + 1, tokens + real
        if steps == PREPARED:  # all shapes have been seen: nothing is compiled from here on
            begin, tokens = time.perf_counter(), 0
        passed = time.perf_counter() - begin
        if steps > PREPARED and passed > o.seconds:
            return tokens / passed, (steps - PREPARED) * o.rows / passed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("rows", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--ways", default="padded,packed")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--score", action="store_true")
    o = parser.parse_args()
    if o.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch has no device here", file=sys.stderr)
        return 77
    kinds = {"padded": [by_rows], "packed": packed_attentions(o.device)}
    best, wrong = (0.0, 0.0, "none"), False
    # One that needs no compiler first, so that there is a figure; then those that are likely to be the fastest.
    order = [(name, compiled) for name, compiled in (("packed", False), ("packed", True), ("padded", True), ("padded", False))
             if name in o.ways.split(",") and not (compiled and o.eager)]
    for way in [Way(name, attend, compiled) for name, compiled in order for attend in kinds[name]]:
        try:
            text, good = check(way, o.device, 24)
            print(f"# {way.name} {'computes the same' if good else 'COMPUTES SOMETHING ELSE'}: {text}", flush=True)
            wrong = wrong or not good
            if not good or o.check:
                continue
            tokens, rows = measure(way, o)
        except Exception as error:  # a way that this installation lacks
            print(f"# {way.name}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}", flush=True)
            wrong = wrong or o.check
            continue
        print(f"{way.name}_tokens_a_second {tokens:.6g}", flush=True)
        if tokens > best[0]:
            best = (tokens, rows, way.name)
            print(f"tokens_a_second {tokens:.6g}\nrows_a_second {rows:.6g}\n# the best so far: {way.name}", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
