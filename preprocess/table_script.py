"""The frame of the scripts beside it that write a C file of tables: without options they write it, with --check they compare."""
import argparse, sys, unicodedata
from pathlib import Path

VERSION = "14.0.0"  # of Unicode, as Python 3.11 has it


def rows(items, width=128):
    line, out = "   ", []
    for item in items:
        if len(line) + len(item) + 2 > width:
            out.append(line)
            line = "   "
        line += " " + item + ","
    return "\n".join(out + [line]) + "\n"


def main(description, make, name):
    """`make()` gives the text of the file `name` beside the scripts. Returns the exit status: 1 when --check finds another text, 77 where
    this Python has another Unicode."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / name)
    arguments = parser.parse_args()
    if unicodedata.unidata_version != VERSION:
        print(f"this Python has Unicode {unicodedata.unidata_version}, not {VERSION}: run it with Python 3.11", file=sys.stderr)
        return 77
    text = make()
    if not arguments.check:
        arguments.out.write_text(text, encoding="ascii", newline="\n")
        return 0
    same = arguments.out.read_text(encoding="ascii") == text
    print(f"{arguments.out}: {'the same' if same else 'differs from what this script makes'}")
    return 0 if same else 1
