#!/usr/bin/env python3
"""A step over ranks: simulated from measured kernels, held against measured steps, and foretold for clusters.

    scaling.py FOLDER --shape layers,hidden,heads,ffn,vocab --batch 8 [--cores 2] [--node-cores 32] [--node-memory 200]
               [--rates FOLDER --rates-shape layers,hidden,heads,ffn,vocab]

bench/scaling.sh makes the folder: kernels.jsonl and other.jsonl (one rank, one thread, two such trainings side by side), 1.jsonl, 2.jsonl, 4.jsonl
and 8.jsonl (the steps to reproduce), tokens.jsonl (their metrics), message (nanoseconds a byte between 2, 4 and 8 ranks of one machine), plan-2, plan-4,
plan-8, plan-64 (train --plan).
With --rates, FOLDER has the kernels, of another shape, and the first folder only plans: a lane's seconds grow as its products do.

The model is train/reduce.c's: lanes in equal parts of the step's rows; a rank folds its own lanes; the owner of each window of 4 MiB takes in every
other rank's pieces of it, folds them in tree order and updates it, while the next window is on its way; then parameters go to the other nodes.
On one machine ranks share its cores fairly, and a message costs the processor what was measured. Between nodes a window takes as long as the slower
of the processor and the link of the busiest node.
"""
import argparse
import json
import math
import re
import statistics
import sys

STRIPE, WINDOW = 1 << 22, 1 << 20  # parameters
HOP = 15e-6  # seconds a message takes at least between nodes


def pieces_of(first, end):
    """The aligned subtrees that make up lanes [first, end): how many lanes each has."""
    out = []
    while first < end:
        size = 1
        while first % (2 * size) == 0 and first + 2 * size <= end:
            size *= 2
        out.append(size)
        first += size
    return out


def makespan(work, cores):
    """Seconds until all of the one-threaded `work` is done when those that are not share the cores evenly."""
    left, time = sorted(work), 0.0
    while left:
        speed = min(1.0, cores / len(left))
        passed = left[0] / speed
        time += passed
        left = [w - left[0] for w in left if w > left[0]]
    return time


class Network:
    """Parameters and how many word rows tokens name: rows = a * tokens ** b, through two figures of --plan."""

    def __init__(self, shape, plans, tokens, batch):
        self.layers, self.hidden, _, self.ffn, self.vocab = shape
        self.parameters = int(re.search(r"parameters: (\d+) trained", plans["8"]).group(1))
        self.word = self.vocab * self.hidden
        points = []
        for name, lane_tokens in (("8", tokens), ("64", 64 / batch * tokens)):
            words = self.sent(plans[name]) - self.dense(plans[name])
            points.append((lane_tokens, words / (7 * (4 * self.hidden + 4))))  # 8 ranks of a lane, each to all but its own eighth
        (t0, r0), (t1, r1) = points
        self.power = math.log(r1 / r0) / math.log(t1 / t0)
        self.factor = r0 / t0**self.power

    @staticmethod
    def amount(text, what):
        value, unit = re.search(what + r" +([0-9.]+) ([GM])B", text).groups()
        return float(value) * (1e9 if unit == "G" else 1e6)

    def sent(self, plan):
        return self.amount(plan, "sent in all")

    def dense(self, plan):
        return self.amount(plan, "of it dense gradients")

    def rows(self, tokens):
        return min(self.vocab, self.factor * tokens**self.power)


class Kernels:
    """Seconds of one thread while every core works: a lane, an addition of one float, an update of one parameter."""

    def __init__(self, folder, network, lanes, cores):
        runs = [last_profile(f"{folder}/{name}.jsonl") for name in ("kernels", "other")]
        steps = runs[0]["steps"]
        mean = {name: statistics.mean(r["phases"].get(name, {"seconds": 0})["seconds"] for r in runs) / steps
                for r in runs for name in r["phases"]}
        apart = ("wait", "reduce", "update", "evaluate", "save")
        self.lane = sum(seconds for name, seconds in mean.items() if name not in apart) / lanes
        # One rank adds its lanes, then makes the word rows dense.
        self.add = mean["reduce"] / ((lanes - 1) * (network.parameters - network.word) + network.word)
        self.update = mean["update"] / network.parameters
        # Time that passes for a byte sent or received by each of 2, 4, 8 ranks at once, as a core's time.
        self.message = {}
        for line in open(f"{folder}/message"):
            ranks, nanoseconds = line.split()
            self.message[int(ranks)] = float(nanoseconds) * 1e-9 * min(1, cores / int(ranks))
        products = [n for n in mean if "gflop" in runs[0]["phases"][n] and runs[0]["phases"][n]["gflop"] > 0 and "attention" not in n]
        self.rate = sum(runs[0]["phases"][n]["gflop"] for n in products) / steps / sum(mean[n] for n in products)


def read_plans(folder):
    return {name: open(f"{folder}/plan-{name}").read() for name in ("2", "4", "8", "64")}


def lane_products(shape):
    """Multiply-adds of the products over a token, but for attention's own."""
    layers, hidden, _, ffn, _ = shape
    return layers * (4 * hidden * hidden + 2 * hidden * ffn)


def last_profile(path):
    for line in open(path):
        if line.startswith('{"profile"'):
            return json.loads(line)["profile"]
    sys.exit(f"{path}: no profile; train with --profile")


def windows_of(network, first, end, stripe):
    """[(floats, in the word table)] of an owner's rounds."""
    size, word = min(stripe, WINDOW), network.word
    out = [(min(size, min(end, word) - at), True) for at in range(first, min(end, word), size)]
    return out + [(min(size, end - at), False) for at in range(max(first, word), end, size)]


class Step:
    """What each rank computes and moves in one step of `lanes` lanes of `tokens` tokens."""

    def __init__(self, network, lanes, tokens, ranks, stripe=STRIPE):
        self.network, self.lanes, self.tokens, self.ranks = network, lanes, tokens, ranks
        stripes = -(-network.parameters // stripe)
        self.first = [min(network.parameters, r * stripes // ranks * stripe) for r in range(ranks + 1)]
        self.pieces = [pieces_of(r * lanes // ranks, (r + 1) * lanes // ranks) for r in range(ranks)]
        self.windows = [windows_of(network, self.first[r], self.first[r + 1], stripe) for r in range(ranks)]
        rows = [sum(network.rows(tokens * n) for n in p) for p in self.pieces]
        width = 4 * network.hidden + 4
        self.dense_out, self.words_out = [len(p) for p in self.pieces], [r * width / network.word for r in rows]  # bytes a float of a word window
        self.all_pieces, self.all_words = sum(self.dense_out), sum(self.words_out)
        self.rounds = max(map(len, self.windows))

    def lane_work(self, rank, kernels):
        return sum(self.pieces[rank]) * kernels.lane

    def fold_work(self, rank, kernels):
        folds = sum(self.pieces[rank]) - len(self.pieces[rank])
        return folds * (self.network.parameters - self.network.word) * kernels.add

    def taken(self, k):
        """Bytes that come in for rank k's windows."""
        word = sum(floats for floats, in_words in self.windows[k] if in_words)
        dense = sum(floats for floats, in_words in self.windows[k] if not in_words)
        return word * (self.all_words - self.words_out[k]) + 4.0 * dense * (self.all_pieces - self.dense_out[k])

    def rounds_of(self, j):
        """(rank, bytes in, floats to add, floats to update) of the owners with a window in round j; bytes out of every rank."""
        owners, dense, words = [], 0, 0
        for k, windows in enumerate(self.windows):
            if j >= len(windows):
                continue
            floats, word = windows[j]
            if word:
                taken = floats * (self.all_words - self.words_out[k])
                adds = floats + floats * self.all_words / 4
                words += floats
            else:
                taken = 4.0 * floats * (self.all_pieces - self.dense_out[k])
                adds = floats * (self.all_pieces - 1)
                dense += floats
            owners.append((k, taken, adds, floats))
        out = [4.0 * dense * d + words * w for d, w in zip(self.dense_out, self.words_out)]
        for k, _, _, floats in owners:
            out[k] -= floats * (self.words_out[k] if self.windows[k][j][1] else 4.0 * self.dense_out[k])
        return owners, out

    def sent(self):
        return sum(map(self.taken, range(self.ranks)))

    def dense_sent(self):
        dense = [sum(floats for floats, word in windows if not word) for windows in self.windows]
        return sum(4.0 * n * (self.all_pieces - out) for n, out in zip(dense, self.dense_out))

    def on_one_machine(self, kernels, cores, threads):
        """Seconds of a step: every rank `threads` threads."""
        def share(work):
            return makespan([w / threads for w in work for _ in range(threads)], cores)
        lanes = share([self.lane_work(r, kernels) for r in range(self.ranks)])
        rest = share([self.fold_work(r, kernels) for r in range(self.ranks)])
        for j in range(self.rounds):
            owners, out = self.rounds_of(j)
            message = kernels.message.get(self.ranks, 0)
            work = [bytes_out * message for bytes_out in out]
            for k, taken, adds, floats in owners:
                work[k] += taken * message + adds * kernels.add + floats * kernels.update
            rest += share(work)
        return lanes, rest

    def on_nodes(self, kernels, node, link):
        """One rank a node: seconds of lanes, of reduction and update, of handing parameters on."""
        lanes = max(self.lane_work(r, kernels) for r in range(self.ranks)) / node.speed
        rest = max(self.fold_work(r, kernels) for r in range(self.ranks)) / node.memory
        for j in range(self.rounds):
            owners, out = self.rounds_of(j)
            took = max([taken for _, taken, _, _ in owners] + out) / link + (HOP * math.ceil(math.log2(self.ranks)) if self.ranks > 1 else 0)
            worked = max((adds * kernels.add + floats * kernels.update) / node.memory for _, _, adds, floats in owners)
            rest += max(took, worked) if self.ranks > 1 else worked
        return lanes, rest, sum(self.spread(k, link) for k in range(self.ranks))

    def spread(self, k, link):
        """One rank's slice to all other nodes: the best of a tree, a chain of 128 KiB pieces, scatter and all-gather."""
        n, size = self.ranks, 4.0 * (self.first[k + 1] - self.first[k])
        if n == 1 or size == 0:
            return 0
        depth = math.ceil(math.log2(n))
        return min(depth * (HOP + size / link), size / link + (n - 2) * (HOP + 131072 / link), 2 * size * (n - 1) / n / link + (depth + n - 1) * HOP)


class Node:
    def __init__(self, cores, efficiency, memory):
        self.speed, self.memory = cores * efficiency, memory


def compare(folder, network, kernels, tokens, cores):
    print(f"kernels, one thread with both cores busy: a lane {kernels.lane:.3f} s (products {kernels.rate:.0f} GFLOP/s), an addition "
          f"{12e-9 / kernels.add:.1f} GB/s, an update {28e-9 / kernels.update:.1f} GB/s, a byte sent or received {kernels.message[2] * 1e9:.2f} to "
          f"{max(kernels.message.values()) * 1e9:.2f} ns")
    print("ranks x threads   measured   simulated   error    lanes, reduction with update: simulated; measured, mean of the ranks")
    efficiency = 1.0
    for ranks in (1, 2, 4, 8):
        threads = cores if ranks == 1 else 1
        try:
            lines = [json.loads(line) for line in open(f"{folder}/{ranks}.jsonl")]
        except FileNotFoundError:
            continue
        measured = statistics.median([line["seconds"] for line in lines if "seconds" in line][1:])
        step = Step(network, 8, tokens, ranks)
        lanes, rest = step.on_one_machine(kernels, cores, threads)
        profile = last_profile(f"{folder}/{ranks}.jsonl")
        of_it = {name: part["seconds"] / profile["steps"] for name, part in profile["phases"].items()}
        moved = of_it["reduce"] + of_it["update"]
        computed = sum(seconds for name, seconds in of_it.items() if name not in ("reduce", "update", "evaluate", "save"))
        print(f"{ranks:5} x {threads}        {measured:8.3f} s {lanes + rest:9.3f} s {100 * ((lanes + rest) / measured - 1):+6.1f}%    "
              f"{lanes:.3f} + {rest:.3f} s; {computed:.3f} + {moved:.3f} s")
        if ranks == 1:
            efficiency = min(1.0, (lanes + rest) / measured)
    return efficiency


def check_bytes(network, plans, tokens):
    for ranks in (2, 4, 8):
        plan, step = plans[str(ranks)], Step(network, 8, tokens, ranks)
        print(f"moved with {ranks} ranks: {step.sent() * 1e-6:.1f} MB by the model, {network.sent(plan) * 1e-6:.1f} by --plan; "
              f"dense {step.dense_sent() * 1e-6:.1f} and {network.dense(plan) * 1e-6:.1f}")


def foretell(network, kernels, node, lane_rows, tokens, title, lanes_of, base_tokens):
    scaled = Kernels.__new__(Kernels)
    scaled.__dict__.update(kernels.__dict__, lane=kernels.lane * tokens / base_tokens)
    print(f"\n{title}; a node is one rank; seconds a step: lanes + reduction with update + parameters; rows/s; share of as many single nodes; "
          "memory of windows")
    print(f"{'ranks':>5} {'GB moved':>9} {'to one':>7}  {'25 Gb/s':^50}  {'100 Gb/s':^50}  {'windows':>9}")
    single = None
    for ranks in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        lanes = lanes_of(ranks)
        if lanes < ranks:
            continue
        step = Step(network, lanes, tokens, ranks)
        busiest = max(step.taken(k) for k in range(ranks))
        cells = []
        for gigabits in (25, 100):
            lane, rest, spread = step.on_nodes(scaled, node, gigabits * 1e9 / 8)
            total = lane + rest + spread
            rate = lanes * lane_rows / total
            if gigabits == 25 and ranks == 1:
                single = rate
            cells.append(f"{lane:7.2f} +{rest:6.2f} +{spread:5.2f} = {total:6.2f} {rate:8.0f} {100 * rate / single / ranks:4.0f}%")
        room = 2 * 4 * WINDOW * (step.all_pieces - 1) if ranks > 1 else 0
        print(f"{ranks:5} {step.sent() * 1e-9:9.1f} {busiest * 1e-9:7.2f}  {cells[0]:50}  {cells[1]:50}  {room * 1e-9:6.2f} GB")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("folder")
    args.add_argument("--shape", required=True)
    args.add_argument("--batch", type=int, default=8, help="rows a lane, as measured")
    args.add_argument("--cores", type=int, default=2, help="of the machine that was measured")
    args.add_argument("--node-cores", type=int, default=32)
    args.add_argument("--node-memory", type=float, default=200, help="GB/s that all cores of a node reach in the optimizer's pass")
    args.add_argument("--rates", help="folder with the kernels of another shape")
    args.add_argument("--rates-shape")
    o = args.parse_args()
    shape = [int(x) for x in o.shape.split(",")]
    plans = read_plans(o.folder)
    rates_shape = [int(x) for x in (o.rates_shape or o.shape).split(",")]
    lines = [json.loads(line) for line in open(f"{o.rates or o.folder}/tokens.jsonl")]
    tokens = statistics.mean(line["tokens"] for line in lines if "tokens" in line) / 8
    network = Network(shape, plans, tokens, o.batch)
    measured = Network(rates_shape, read_plans(o.rates), tokens, o.batch) if o.rates else network
    network.power, network.factor = measured.power, measured.factor  # a matter of the texts, not of the shape
    kernels = Kernels(o.rates or o.folder, measured, 8, o.cores)
    print(f"a lane: {o.batch} rows, {tokens:.0f} tokens, {network.rows(tokens):.0f} different words; "
          f"rows named grow as tokens to the {network.power:.2f}")
    check_bytes(network, plans, tokens)
    efficiency = compare(o.rates or o.folder, measured, kernels, tokens, o.cores)
    if o.rates:
        kernels.lane *= lane_products(shape) / lane_products(rates_shape)
    node = Node(o.node_cores, efficiency, o.node_memory / (28e-9 / kernels.update))
    print(f"\na node: {o.node_cores} cores like these, each {100 * efficiency:.0f}% of a core's rate as two threads of a rank have it here, "
          f"{o.node_memory:.0f} GB/s")
    row = tokens / o.batch
    foretell(network, kernels, node, 64, 64 * row, "lanes of 64 rows, as many as ranks", lambda ranks: ranks, tokens)
    foretell(network, kernels, node, 8, 8 * row, "1,024 lanes of 8 rows", lambda ranks: 1024, tokens)


if __name__ == "__main__":
    main()
