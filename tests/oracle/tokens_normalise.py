#!/usr/bin/env python3
"""Writes tokens_normalise.tsv: NFD and NFC by Python's unicodedata (Unicode 14.0, Python 3.11).

  block   first code point in hex, digest    every code point of 4,096, surrogates left out, in the contexts below
  random  text, its NFD, its NFC             code points in hex with spaces between

A digest is the first 16 hex digits of the SHA-256 over, for each text: uint32 LE count and code points of NFD, then of NFC.
"""
import hashlib, random, struct, sys, unicodedata
from pathlib import Path

CONTEXTS = ("{0}", "{0}\u0301", "A\u0323{0}", "\u1100{0}", "{0}\u1161\u11a8", "{0}\u0338\u0345\u093c", "e{0}\u0301")
POOLS = [[c for c in map(chr, range(0x20000)) if unicodedata.combining(c)],
         [c for c in map(chr, range(0x30000)) if unicodedata.decomposition(c)[:1] not in ("", "<")],
         [chr(c) for c in (*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11a7, 0x11c3), *range(0xac00, 0xac40))],
         list("aeioucndAEIOUCN<=>\u03b1\u03b9\u09c7\u0d46\u0dd9\u1025")]


def record(text):
    out = b""
    for form in ("NFD", "NFC"):
        points = [ord(c) for c in unicodedata.normalize(form, text)]
        out += struct.pack(f"<{len(points) + 1}I", len(points), *points)
    return out


def shown(text):
    return " ".join(f"{ord(c):X}" for c in text)


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("needs Python 3.11, whose unicodedata is that of Unicode 14.0")
    rows = []
    for base in range(0, 0x110000, 4096):
        digest = hashlib.sha256()
        for c in range(base, base + 4096):
            if not 0xD800 <= c < 0xE000:
                for context in CONTEXTS:
                    digest.update(record(context.format(chr(c))))
        rows.append(("block", f"{base:X}", digest.hexdigest()[:16]))
    r = random.Random(14)
    for i in range(300):
        text = "".join(r.choice(r.choice(POOLS)) for _ in range(r.randint(1, 40 if i % 10 == 0 else 8)))
        rows.append(("random", shown(text), shown(unicodedata.normalize("NFD", text)), shown(unicodedata.normalize("NFC", text))))
    path = Path(__file__).with_suffix(".tsv")
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
