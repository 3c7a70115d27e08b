"""One byte of one file is another: it is found, or it makes no difference.

    flips.py BIN MAKE_DATA [--sample N | --all] [--seed N] [--only PART] [--keep]

Every file of a stopped run, of the data it trains on, of the model it began with, of token parts, of a finished run that scores rows and of its finished
predictions is changed in one byte, and the command that reads it is given again. The verdict: exit 3 with a message that names the file (for a
model's file, what it is), or exit 0 and the bytes that the undamaged input gives. --sample takes N seeded places of each file (3); --all takes every
byte of files up to 8 KiB and 300 seeded places of longer ones.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("bin")
parser.add_argument("make")
parser.add_argument("--sample", type=int, default=3)
parser.add_argument("--all", action="store_true")
parser.add_argument("--seed", type=int, default=int(time.time() * 1000) % 2**31)
parser.add_argument("--only", default="")
parser.add_argument("--keep", action="store_true")
args = parser.parse_args()
draw = random.Random(args.seed)
work = tempfile.mkdtemp(prefix="fretsaw-flips-")
os.chdir(work)
SMALL, LARGE_SAMPLE, STEPS = 8192, 300, 12
base = ["--lanes", "2", "--batch", "2", "--epochs", "2", "--max-length", "12", "--lr", "1e-3", "--micro-tokens", "24", "--threads", "1", "--cpu", "plain",
        "--checkpoint-every", "2", "--quiet"]
wrong, tried = [], {}
lock = threading.Lock()


def run(words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **more)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def must(words):
    code, said = run(words)
    if code != 0:
        sys.exit(f"wrong: exit {code}: {' '.join(words)}: {said}")


def train(out, data="data", model="model"):
    return [f"{args.bin}/train", "--model", model, "--train", f"{data}/train", "--valid", f"{data}/valid", "--out", out, *base]


def tree(folder, names=None):
    """The bytes of the files that must come out the same."""
    found = {}
    for here, _, files in os.walk(folder):
        for f in files:
            path = os.path.join(here, f)
            name = os.path.relpath(path, folder)
            if names is None or names(name):
                found[name] = open(path, "rb").read()
    return found


def promised(folder):
    with open(f"{folder}/last", "rb") as f:
        last = f.readline().decode(errors="replace").strip()
    return tree(folder, lambda n: n.startswith(("epoch-", last + "/")) or n in ("metrics.jsonl", "recipe.conf", "run.json", "provenance.json", "last", "best"))


def places(size):
    if args.all and size <= SMALL:
        return range(size)
    n = LARGE_SAMPLE if args.all else args.sample
    return sorted(draw.sample(range(size), min(n, size)))


def flip(path, at, new):
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(bytes([new]))


def each(part, folder, check, names=lambda n: True):
    """check(copy, name) with one byte of one file of a copy of the folder changed: None, or what is wrong."""
    if args.only and args.only != part:
        return
    jobs = []
    for name, text in sorted(tree(folder, names).items()):
        for at in places(len(text)):
            jobs.append((name, at, text[at], text[at] ^ draw.randint(1, 255)))

    def one(job):
        name, at, old, new = job
        copy = tempfile.mkdtemp(prefix="copy-", dir=work)
        shutil.copytree(folder, f"{copy}/{os.path.basename(folder)}")
        flip(f"{copy}/{os.path.basename(folder)}/{name}", at, new)
        try:
            trouble = check(copy, name)
        except subprocess.TimeoutExpired:
            trouble = "it does not end"
        with lock:
            tried[part] = tried.get(part, 0) + 1
            if trouble:
                wrong.append(part)
                print(f"wrong: {part}: {name}, byte {at}, {old:#04x} to {new:#04x}: {trouble}", flush=True)
        shutil.rmtree(copy)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    print(f"{part}: {tried.get(part, 0)} bytes of {len(set(j[0] for j in jobs))} files", flush=True)


def verdict(words, same, name, what=None):
    code, said = run(words)
    if code == 3:
        wanted = what or re.escape(os.path.basename(name))
        return None if re.search(wanted, said) else f"exit 3, but {wanted} is not named: {said[-300:]}"
    if code != 0:
        return f"exit {code}: {said[-300:]}"
    different = same()
    return different and f"exit 0, and {different} differs"


def compare(now, then):
    return next((n for n in sorted(set(now) | set(then)) if now.get(n) != then.get(n)), None)


def stopped_run(out):
    """A run told to stop on the way; how far it has come is as it may be."""
    while True:
        shutil.rmtree(out, ignore_errors=True)
        process = subprocess.Popen(train(out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (os.path.exists(f"{out}/metrics.jsonl") and open(f"{out}/metrics.jsonl").read().count('{"step":') >= STEPS * 2 // 3):
            time.sleep(0.0005)
        process.send_signal(signal.SIGTERM)
        if process.wait() == 75:
            return


def main():
    for name, rows, seed in (("train", 26, 5), ("valid", 9, 6)):
        must([args.make, ".", name, str(rows), "1", "2", str(seed), "60", "14", "0"])
    config = open("config.json").read()
    for key, value in (("hidden_size", 8), ("num_hidden_layers", 1), ("num_attention_heads", 2), ("intermediate_size", 8), ("max_position_embeddings", 12)):
        config = re.sub(rf'"{key}": \d+', f'"{key}": {value}', config)
    os.mkdir("shape"), os.mkdir("data")
    open("shape/config.json", "w").write(config)
    shutil.copy("vocab.txt", "shape")
    shutil.move("train", "data"), shutil.move("valid", "data")
    must([f"{args.bin}/train", "--init", "random", "--config", "shape", "--train", "data/train", "--out", "first", "--max-steps", "1", *base])
    os.mkdir("model")
    for f in ("config.json", "vocab.txt", "model.safetensors"):
        shutil.copy(f"first/epoch-1/{f}", "model")
    must(train("whole"))
    stopped_run("run")
    whole = promised("whole")

    each("run", "run", lambda copy, name: verdict(train(f"{copy}/run"), lambda: compare(promised(f"{copy}/run"), whole), name))
    each("data", "data", lambda copy, name: verdict(train(f"{copy}/new", f"{copy}/data"), lambda: compare(promised(f"{copy}/new"), whole), name))

    def with_model(copy, name):
        shutil.copytree("run", f"{copy}/run")
        return verdict(train(f"{copy}/run", model=f"{copy}/model"), lambda: compare(promised(f"{copy}/run"), whole), name,
                       re.escape(name) + "|initial weights|vocabulary|config")
    each("model", "model", with_model)

    shard = [f"{args.bin}/shard", "--quiet", "--shards", "2", "--seed", "3"]
    must([*shard, "--out", "shards", "data/train"])
    shards = tree("shards")
    each("parts", "data/train", lambda copy, name: verdict([*shard, "--out", f"{copy}/shards", f"{copy}/train"], lambda: compare(tree(f"{copy}/shards"), shards), name))

    def score(folder, out, more=()):
        return [f"{args.bin}/infer", "--quiet", "--threads", "1", "--cpu", "plain", "--run", folder, "--weights", "best", "--input", "data/valid", "--out", out, *more]
    must(score("whole", "scored/best.csv"))
    must([w if w != "best" else "last" for w in score("whole", "scored/last.csv", ("--block-rows", "4"))])
    best, last = open("scored/best.csv", "rb").read(), open("scored/last.csv", "rb").read()
    used = re.compile(r"(run\.json|best|epoch-\d/(config.json|vocab.txt|model.safetensors|state.json))$")
    each("finished", "whole", lambda copy, name: verdict(score(f"{copy}/whole", f"{copy}/now.csv"), lambda: open(f"{copy}/now.csv", "rb").read() != best and "the submission", name),
         used.match)
    each("predictions", "scored", lambda copy, name: verdict([w if w != "best" else "last" for w in score("whole", f"{copy}/scored/last.csv", ("--block-rows", "4"))],
                                                             lambda: open(f"{copy}/scored/last.csv", "rb").read() != last and "the submission", name),
         lambda n: n.endswith(".scores") or n == "last.csv")
    print(f"flips: {sum(tried.values())} bytes, {len(wrong)} wrong, seed {args.seed}")
    sys.exit(1 if wrong or not tried else 0)


try:
    main()
finally:
    if not args.keep:
        shutil.rmtree(work, ignore_errors=True)
