#!/usr/bin/env python3
"""Cleaning against Python's own re and html, whose expressions are those of docs/cleaning.md.

usage: clean_reference.py FILTER [--strings N] [--seed S] [--all]
FILTER is the test program of cleaning. Random strings go through every choice of steps; comments/train.csv (FRETSAW_DATA, or ../shared/data) through
all steps together, and each fifth of it through one step alone, with --all all of it. Exit status 77 where this Python has another Unicode version.
"""
import argparse, csv, html, itertools, os, random, re, struct, subprocess, sys, time, unicodedata
from pathlib import Path

if unicodedata.unidata_version != "14.0.0":
    print(f"skipped: this Python has Unicode {unicodedata.unidata_version}, not 14.0.0")
    sys.exit(77)

PATTERNS = {
    "urls": (r"[Hh][Tt][Tt][Pp][Ss]?://\S+|(?<![0-9A-Za-z])[Ww][Ww][Ww]\.\S+", " "),
    "mentions": (r"(?<![0-9A-Za-z_])@\w+", " "),
    "ips": (r"(?<![0-9])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9])", " "),
    "repeats": (r"([^0-9\n])\1{2,}", r"\1\1"),
}
STEPS = ["entities", *PATTERNS]
COMPILED = {name: (re.compile(pattern), to) for name, (pattern, to) in PATTERNS.items()}


def clean(text, steps):
    for step in STEPS:
        if step in steps:
            text = html.unescape(text) if step == "entities" else COMPILED[step][0].sub(COMPILED[step][1], text)
    return text


def ours(program, steps, texts):
    packed = b"".join(struct.pack("<I", len(b)) + b for b in (t.encode() for t in texts))
    out = subprocess.run([program, ",".join(reversed(steps)) or "none"], input=packed, stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for _ in texts:
        (n,) = struct.unpack_from("<I", out, at)
        yield out[at + 4 : at + 4 + n].decode()
        at += 4 + n
    assert at == len(out)


def compare(program, steps, texts):
    changed = 0
    for text, got in zip(texts, ours(program, steps, texts), strict=True):
        want = clean(text, steps)
        changed += want != text
        if got != want:
            print(f"steps {steps}\ntext {text!r}\ngot  {got!r}\nwant {want!r}")
            sys.exit(1)
    return changed


def random_texts(draw, count):
    names = [n.rstrip(";") for n in html.entities.html5]
    spaces = " \t\n\x0b\x1c\x85\xa0\u1680\u2003\u2028\u3000"
    words = "aZ_0 9é я漢 ß Ⅷ ² ½ \u0301 \u200d ़ ٣ 𝟘 ª".replace(" ", "")
    pieces = [
        lambda: "&" + draw.choice(names) + draw.choice([";", "", "x", ";;"]),
        lambda: "&" + draw.choice(names)[: draw.randrange(1, 6)] + draw.choice(names)[:3] + draw.choice([";", ""]),
        lambda: "&#" + draw.choice(["", "x", "X"]) + "".join(draw.choices("0123456789aFg", k=draw.randrange(9))) + draw.choice([";", "", "&"]),
        lambda: f"&#{draw.choice([0, 9, 10, 13, 31, 127, 128, 129, 159, 160, 0xD800, 0xFDD0, 0xFFFE, 0x10FFFF, 0x110000, draw.randrange(0x120000)])};",
        lambda: "&" + "".join(draw.choices("abc\0é<# ", k=draw.randrange(40))) + ";",
        lambda: draw.choice(["http://", "HTTPS://", "hTtp:/", "https:", "www.", "WWW.", "ww.", "httpſ://", "://"]),
        lambda: "".join(draw.choices("@@@._" + words, k=draw.randrange(1, 6))),
        lambda: ".".join(str(draw.randrange(draw.choice([10, 256, 1000, 2000]))) for _ in range(draw.randrange(1, 6))),
        lambda: draw.choice(words + "!?.@&0123\n\t ") * draw.randrange(1, 6),
        lambda: draw.choice(spaces),
        lambda: draw.choice(words),
        lambda: chr(draw.choice([draw.randrange(0x80), draw.randrange(0x3000), draw.randrange(0xE000, 0x110000)])),
    ]
    return ["".join(draw.choice(pieces)() for _ in range(draw.randrange(1, 14))) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program"); parser.add_argument("--strings", type=int, default=800); parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FRETSAW_SEED", time.time_ns() % 10**9)))
    a = parser.parse_args()
    print(f"seed {a.seed}")
    every = [[s for s, on in zip(STEPS, choice) if on] for choice in itertools.product([0, 1], repeat=len(STEPS))]
    draw = random.Random(a.seed)
    for steps in every:
        texts = random_texts(draw, a.strings)
        if not steps:
            texts += [f"a{chr(c)}@{chr(c)}x www.{chr(c)}b {chr(c) * 3}" for c in range(0x110000) if not 0xD800 <= c < 0xE000]
            compare(a.program, STEPS, texts)
        compare(a.program, steps, texts)
    print(f"{a.strings} random strings for each of {len(every)} choices, and every code point: no difference")
    data = os.environ.get("FRETSAW_DATA") or str(Path(__file__).resolve().parents[2] / "../shared/data")
    path = Path(data) / "comments/train.csv"
    if not path.exists():
        print(f"no {path}: random strings alone")
        return
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as f:
        texts = [row["comment_text"] for row in csv.DictReader(f)]
    for steps, some in [([s], texts if a.all else texts[i :: len(STEPS)]) for i, s in enumerate(STEPS)] + [(STEPS, texts)]:
        print(f"{','.join(steps)}: {compare(a.program, steps, some)} of {len(some)} comments changed, no difference")


if __name__ == "__main__":
    main()
