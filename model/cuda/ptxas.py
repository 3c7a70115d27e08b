#!/usr/bin/env python3
"""What ptxas makes of every kernel: registers, spills, shared memory, for all architectures.

    model/cuda/ptxas.py --write [--nvcc NVCC] [--jobs N] [--out FOLDER]   compiles all and writes model/cuda/ptxas.txt
    model/cuda/ptxas.py --check [...]                                     compiles all; 1 if a kernel passes a limit or the table is another
    model/cuda/ptxas.py --table                                           compiles nothing: is the table that of these sources, and within limits

The limits: nothing spills and no kernel has a stack; shared memory within 48 KiB; registers as in LIMITS, so that as many threads fit on a
multiprocessor (65,536 registers) as the kernel was laid out for.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "model/cuda/kernels")
TABLE = os.path.join(ROOT, "model/cuda/ptxas.txt")
ARCHITECTURES = [75, 80, 86, 89, 90, 100]
SHARED = 48 << 10
# Registers a thread, by the beginning of the kernel's name; the first that fits counts.
LIMITS = [("attention_forward", 144), ("attention_backward_keys", 168), ("attention_backward_queries", 128), ("norm_backward", 224),
          ("norm_forward", 80), ("loss_forward", 80), ("", 64)]


def limit_of(kernel):
    return next(limit for name, limit in LIMITS if kernel.startswith(name))


def source_files():
    names = [os.path.join(FOLDER, f) for f in sorted(os.listdir(FOLDER)) if f.endswith((".cu", ".h"))]
    return names + [os.path.join(ROOT, "model/cuda/launch.h"), os.path.join(ROOT, "model/cuda/kernels.h")]


def sources_hash():
    """Of the code alone: comments and spaces do not count."""
    code = hashlib.sha256()
    for name in source_files():
        with open(name, encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        code.update(re.sub(r"\s+", "", text).encode())
    return code.hexdigest()


def demangle(names):
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")
    return [re.sub(r"^void ", "", re.sub(r"\(.*", "", n)).replace("(int)", "") for n in out[: len(names)]]


def compile_one(nvcc, source, arch, out):
    """[(mangled kernel, registers, stack, spill, shared)] of one source for one architecture."""
    target = os.path.join(out, "%s.%d.cubin" % (os.path.basename(source), arch))
    command = [nvcc, "-std=c++17", "-O3", "--fmad=false", "--Werror=all-warnings", "-I", ROOT,
               "-gencode", "arch=compute_%d,code=sm_%d" % (arch, arch),
               "-Xptxas", "-v", "-cubin", "-o", target, source]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s for sm_%d: %s" % (source, arch, done.stdout + done.stderr))
    rows, name, stack, spill = [], None, 0, 0
    for line in (done.stdout + done.stderr).split("\n"):
        begins = re.search(r"entry function '(\w+)'", line)
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        used = re.search(r"Used (\d+) registers", line)
        if begins:
            name = begins.group(1)
        if frame:
            stack, spill = int(frame.group(1)), int(frame.group(2)) + int(frame.group(3))
        if used:
            shared = re.search(r"(\d+) bytes smem", line)
            rows.append((name, int(used.group(1)), stack, spill, int(shared.group(1)) if shared else 0))
    return rows


def compile_all(nvcc, jobs, out):
    """{kernel: {architecture: (registers, stack, spill, shared)}}"""
    sources = [f for f in source_files() if f.endswith(".cu")]
    work = [(s, a) for s in sources for a in ARCHITECTURES]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (_, arch), rows in zip(work, pool.map(lambda w: compile_one(nvcc, w[0], w[1], out), work)):
            for kernel, row in zip(demangle([r[0] for r in rows]), rows):
                found.setdefault(kernel, {})[arch] = row[1:]
    return found


def lines_of(found, version):
    yield ("# Registers a thread (limit in brackets), bytes of shared memory a block, bytes of stack and spills. "
           "Written by model/cuda/ptxas.py --write.")
    yield "# sources %s" % sources_hash()
    yield "# %s" % version
    yield "%-42s %7s %7s %s  stack spill" % ("# kernel", "(limit)", "shared", " ".join("%6s" % ("sm_%d" % a) for a in ARCHITECTURES))
    for kernel in sorted(found):
        rows = [found[kernel][a] for a in ARCHITECTURES]
        yield "%-42s %7s %7d %s  %5d %5d" % (kernel.replace(", ", ","), "(%d)" % limit_of(kernel), max(r[3] for r in rows),
                                             " ".join("%6d" % r[0] for r in rows), max(r[1] for r in rows), max(r[2] for r in rows))


def faults(lines):
    """What in these lines passes a limit. Any kernel that is not spelled out in a table would be a fault of its own."""
    for line in lines:
        if line.startswith("#"):
            continue
        kernel, limit, shared, *rest = line.split()
        registers, stack, spill = [int(r) for r in rest[:-2]], int(rest[-2]), int(rest[-1])
        if max(registers) > int(limit.strip("()")) or int(limit.strip("()")) != limit_of(kernel.replace(",", ", ")):
            yield "%s: %d registers, the limit is %d" % (kernel, max(registers), limit_of(kernel.replace(",", ", ")))
        if int(shared) > SHARED:
            yield "%s: %s bytes of shared memory, a block has %d" % (kernel, shared, SHARED)
        if stack or spill:
            yield "%s: %d bytes of stack, %d of spills: none are allowed" % (kernel, stack, spill)


def version_of(nvcc):
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return [v for v in said.split("\n") if "release" in v][0].strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out")
    a = parser.parse_args()
    if a.check and not shutil.which(a.nvcc):
        print("skipped: no nvcc on this machine")
        return 77
    if a.write or a.check:
        out = a.out or tempfile.mkdtemp()
        os.makedirs(out, exist_ok=True)
        lines = list(lines_of(compile_all(a.nvcc, a.jobs, out), version_of(a.nvcc)))
        if a.write:
            with open(TABLE, "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
    with open(TABLE, encoding="utf-8") as f:
        table = f.read().rstrip("\n").split("\n")
    bad = list(faults(table))
    if table[1] != "# sources %s" % sources_hash():
        bad.append("model/cuda/ptxas.txt is not of these sources: build the target cuda_all")
    if a.check:
        bad += list(faults(lines))
        if lines[2] == table[2] and lines != table:
            bad.append("the same compiler gives another table: build the target cuda_all")
    for b in bad:
        print(b)
    verdict = "%d faults" % len(bad) if bad else "within limits"
    print("%d kernels, %d architectures, %s" % (sum(not t.startswith("#") for t in table), len(ARCHITECTURES), verdict))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
