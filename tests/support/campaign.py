"""The rounds of tests/campaign.sh.

A round starts a small training (a checkpoint every 3 steps), kills it, and resumes it, sometimes through a second kill. How it is killed goes round:
inside the writing of a checkpoint, one rank alone, all at any moment. What a checkpoint leaves is the trace that is counted: a hidden folder that
was not there before and is there when all processes have ended shows that the kill came between its making and its renaming. In the end metrics.jsonl, the weights, the optimizer's state and the provenance must be those of the undisturbed run, and before each resume
every checkpoint that was finished must still be there.

mpirun 4.1 sometimes goes on for good after a rank has died while the job was starting, though it has ended all ranks itself (docs/reproducibility.md).
Such rounds are counted, their mpirun is ended, and they go on; a rank that outlives a killed one is an error.
"""
import argparse
import filecmp
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

STEPS, EVERY, LANES = 30, 3, 4
parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=200)
parser.add_argument("--seed", type=int, default=int(time.time() * 1000) % 2**31)
parser.add_argument("--build", default="build/release")
parser.add_argument("--keep", action="store_true")
args = parser.parse_args()
draw = random.Random(args.seed)
bin_folder = os.path.join(os.path.abspath(args.build), "bin")
has_mpi = shutil.which("mpirun") is not None
work = tempfile.mkdtemp(prefix="fretsaw-campaign-")
counts = dict(kills=0, inside=0, alone=0, resumes=0, early=0, launcher=0)
print(f"campaign: {args.rounds} rounds, seed {args.seed}", flush=True)


def start(run, ranks, threads):
    words = [f"{bin_folder}/train", "--init", "random", "--config", work, "--train", f"{work}/train", "--out", run, "--lanes", str(LANES), "--batch", "4",
             "--epochs", "1", "--max-length", "40", "--lr", "1e-3", "--checkpoint-every", str(EVERY), "--micro-tokens", "64", "--quiet",
             "--threads", str(threads)]
    if ranks > 1:
        words = ["mpirun", "-np", str(ranks)] + words
    log = open(f"{work}/log", "ab")
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def ranks_of(process, ranks):
    """Process ids of the ranks: mpirun's children, or the program itself."""
    if ranks == 1:
        return [process.pid]
    try:
        return [int(p) for p in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()]
    except OSError:
        return []


def state(process):
    """The letter that /proc has for it: Z is one that has ended; None: it is gone."""
    try:
        return open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def lines(run):
    try:
        return open(f"{run}/metrics.jsonl", "rb").read().count(b'{"step":')
    except OSError:
        return 0


def being_written(run):
    """The hidden folders of checkpoints in the making, each with its inode: a later one of the same name is another."""
    try:
        return {(e.name, e.inode()) for e in os.scandir(run) if re.fullmatch(r"\.step-\d+\.tmp", e.name)}
    except OSError:
        return set()


def checkpoints(run):
    return [int(m[1]) for n in (os.listdir(run) if os.path.isdir(run) else []) if (m := re.fullmatch(r"step-(\d+)", n))]


def kill(process, ranks, alone):
    """One rank alone, or everything at once."""
    victims = ranks_of(process, ranks)
    try:
        if alone and victims:
            os.kill(draw.choice(victims), signal.SIGKILL)
        else:
            for p in victims + [process.pid]:
                os.kill(p, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def disturb(run, kind):
    """Starts or resumes the run and kills it; whether it was still running."""
    ranks, threads = draw.randint(1, LANES) if has_mpi else 1, draw.randint(1, 2)
    if kind == "alone":
        ranks = max(ranks, 2) if has_mpi else 1
    process = start(run, ranks, threads)
    after = draw.randint(min(lines(run), STEPS - 1), STEPS - 1)
    before = being_written(run)
    deadline = time.time() + 120
    while process.poll() is None and lines(run) < after and time.time() < deadline:
        time.sleep(0.0005)
    if kind == "inside":
        while process.poll() is None and not being_written(run) - before and time.time() < deadline:
            pass
        time.sleep(draw.random() * 0.003)
    else:
        time.sleep(draw.random() * 0.02)
    hit = process.poll() is None and kill(process, ranks, kind == "alone" or (kind == "inside" and draw.random() < 0.3))
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        if any(state(p) not in (None, "Z") for p in ranks_of(process, ranks)):
            sys.exit(f"wrong: ranks go on after a kill ({kind}, {ranks} ranks)")
        counts["launcher"] += 1
        process.kill()
        process.wait()
    for _ in range(2000):  # ranks whose mpirun was killed end when they notice
        if not subprocess.run(["pgrep", "-f", f"--out {run} "], capture_output=True).stdout:
            break
        time.sleep(0.01)
    else:
        sys.exit(f"wrong: ranks of {run} are still there 20 s after the kill")
    if not hit:
        counts["early"] += 1
        return False
    counts["kills"] += 1
    counts["inside"] += bool(being_written(run) - before)
    counts["alone"] += kind == "alone"
    have, done = checkpoints(run), lines(run)
    sure = max(0, done - 1) // EVERY * EVERY  # the step after it has ended, so it was whole
    if sure and (not have or max(have) < sure):
        sys.exit(f"wrong: step {done} was finished, checkpoints {have} are left, {sure} is lost ({kind}, {ranks} ranks)")
    return True


def same(run, whole):
    names = ["metrics.jsonl", "recipe.conf", "run.json", "provenance.json", "last"]
    last = open(f"{whole}/last").readline().strip()
    names += [f"{folder}/{n}" for folder in (last, "epoch-1") for n in os.listdir(f"{whole}/{folder}")]
    for name in names:
        if not os.path.exists(f"{run}/{name}") or not filecmp.cmp(f"{run}/{name}", f"{whole}/{name}", shallow=False):
            return name
    left = [n for n in os.listdir(run) if "tmp" in n]
    return f"leftover {left}" if left else None


def main():
    subprocess.run([f"{bin_folder}/train_make_data", work, "train", str(LANES * 4 * STEPS), "1", "3", "5", "120", "60", "0"], check=True)
    whole = f"{work}/whole"
    if start(whole, 1, 1).wait() != 0:
        sys.exit(f"wrong: the undisturbed run failed: {open(f'{work}/log').read()[-500:]}")
    begin = time.time()
    for n in range(args.rounds):
        run = f"{work}/run"
        shutil.rmtree(run, ignore_errors=True)
        kind = ("inside", "alone", "any")[n % 3] if has_mpi else ("inside", "any")[n % 2]
        for again in range(1 + (draw.random() < 0.3)):
            disturb(run, kind)
        ranks, threads = draw.randint(1, LANES) if has_mpi else 1, draw.randint(1, 2)
        counts["resumes"] += 1
        code = start(run, ranks, threads).wait()
        wrong = f"exit {code}" if code else same(run, whole)
        if wrong:
            print(open(f"{work}/log").read()[-800:])
            args.keep = True
            sys.exit(f"wrong: round {n} ({kind}), resumed at {ranks} ranks, {threads} threads: {wrong}; kept in {work}")
        if (n + 1) % 20 == 0:
            print(f"  {n + 1} rounds, {time.time() - begin:.0f} s: {counts}", flush=True)
    print(f"campaign: {args.rounds} rounds equal to the undisturbed run; {counts['kills']} kills: {counts['inside']} inside the writing of a checkpoint, "
          f"{counts['alone']} of one rank alone; {counts['early']} runs had ended before their kill; {counts['launcher']} times mpirun alone went on; "
          f"seed {args.seed}")
    fifth = args.rounds / 5
    if counts["inside"] < fifth or (has_mpi and counts["alone"] < fifth):
        sys.exit(f"wrong: fewer than a fifth of the rounds were killed inside a checkpoint or at one rank: {counts}")


try:
    main()
finally:
    if not args.keep:
        shutil.rmtree(work, ignore_errors=True)
