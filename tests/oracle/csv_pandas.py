"""preprocess's reader of --csv pandas against pandas.read_csv itself: every CSV of the data and oracle folders, and random damaged files, cell for cell.

usage: csv_pandas.py CSV_CELLS [FILES [SEED]]        CSV_CELLS: the test program of that name; FILES: how many random ones (3000)
FRETSAW_DATA, FRETSAW_ORACLE name the folders (skipped where they are absent). Exit 0: all equal; 77: no pandas.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import pandas
except ImportError:
    print("csv_pandas.py: skipped: this python has no pandas")
    sys.exit(77)
if int(pandas.__version__.split(".")[0]) < 3:
    print(f"csv_pandas.py: skipped: pandas {pandas.__version__} is older than 3, and differs in corners (docs/formats.md)")
    sys.exit(77)
import io
from pathlib import Path

OPTIONS = dict(dtype=str, keep_default_na=False, encoding_errors="replace")


def theirs(path, delimiter):
    """(fault, header or None, columns, records): as csv_cells tells them. The names of rows that pandas makes of surplus fields come first."""
    try:
        frame = pandas.read_csv(path, sep=delimiter, **OPTIONS)
    except pandas.errors.EmptyDataError:
        return "", [], 0, []
    except pandas.errors.ParserError as e:
        if "EOF inside string" in str(e):
            return "unclosed quote", None, None, None
        assert "Expected" in str(e) and "saw" in str(e), e
        return "ragged record", None, None, None
    columns = len(frame.columns)
    return "", list(frame.columns), columns, frame.values.tolist()


def names_of(header):
    """The columns' names as pandas makes them: empty ones numbered, repeated ones numbered behind a point."""
    names = [n.split("\0")[0] or f"Unnamed: {i}" for i, n in enumerate(header)]
    order = [i for i, n in enumerate(header) if n.split("\0")[0]] + [i for i, n in enumerate(header) if not n.split("\0")[0]]
    counts = {}
    for i in order:
        name = old = names[i]
        count = counts.get(name, 0)
        while count > 0:
            counts[old] = count + 1
            name = f"{old}.{count}"
            count = count + 1 if name in names else counts.get(name, 0)
        names[i] = name
        counts[name] = count + 1
    return names


def difference(path, mine, delimiter):
    fault, names, columns, records = theirs(path, delimiter)
    if mine["fault"] != fault:
        return f"fault '{mine['fault']}', pandas '{fault}'"
    if fault:
        return None
    if len(mine["header"]) != columns:
        return f"{len(mine['header'])} columns, pandas {columns}"
    if "\0" not in "".join(mine["header"]) and names_of(mine["header"]) != names:
        return f"names {names_of(mine['header'])}, pandas {names}"
    leading = mine["width"] - len(mine["header"]) if mine["records"] else 0
    got = [r[leading:] for r in mine["records"]]
    if got != records:
        for i, (a, b) in enumerate(zip(got, records)):
            if a != b:
                return f"record {i + 1}: {a}, pandas {b}"
        return f"{len(got)} records, pandas {len(records)}"
    return None


def random_file(rng):
    """A table of the kind that the stage reads, or bytes that matter; most of the tables damaged in a few places."""
    kind = rng.randrange(4)
    if kind == 0:
        alphabet = rng.choice([b'aa,,""\n\n\r \t', b'a,\r\r  \n"', b'ab, \n', b'a,"\n\xc3\xa9\xff\0'])
        return b"h,i,j\n" * rng.randrange(2) + bytes(rng.choice(alphabet) for _ in range(rng.randrange(60)))
    end = rng.choice([b"\n", b"\r\n", b"\r"])
    width = rng.randrange(1, 5)
    rows = []
    for _ in range(rng.randrange(1, 8)):
        fields = []
        for _ in range(width):
            text = bytes(rng.choice(b"ab1 .\xc3\xa9") for _ in range(rng.randrange(6)))
            if rng.randrange(3) == 0:
                text = b'"' + text + rng.choice([b"", b'""', b",", b"\n", b"\r\n", b" "]) + b'"'
            fields.append(text)
        rows.append(b",".join(fields))
        if rng.randrange(6) == 0:
            rows.append(rng.choice([b"", b" ", b"\t \t", b",", b"x"]))
    data = bytearray(rng.choice([b"", b"", b"\xef\xbb\xbf"]) + end.join(rows) + end * rng.randrange(2))
    for _ in range(rng.randrange(3) if kind > 1 else 0):
        if data:
            at = rng.randrange(len(data))
            data[at:at + rng.randrange(2)] = rng.choice([b'"', b",", b"\n", b"\r", b" ", b"\0", b"", b"\n ", b"\r "])
    return bytes(data)


def run(program, files, delimiter):
    lines = "".join(f"{split} {path}\n" for split, path in files)
    out = subprocess.run([program, delimiter], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(out) == len(files), (len(out), len(files))
    wrong = 0
    for (split, path), line in zip(files, out):
        what = difference(path, json.loads(line), delimiter)
        if what:
            wrong += 1
            data = Path(path).read_bytes()
            print(f"{path}, split {split}: {what}: {data[:300]!r}")
    return wrong


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(10**9)
    print(f"pandas {pandas.__version__}, seed {seed}")
    rng = random.Random(seed)
    files = []
    for variable in ("FRETSAW_DATA", "FRETSAW_ORACLE"):
        if os.environ.get(variable):
            files += [(1 << 20, str(p)) for p in sorted(Path(os.environ[variable]).rglob("*.csv")) if "utf16" not in p.name]
    print(f"{len(files)} files of the data and oracle folders")
    wrong = run(program, files, ",")
    for delimiter in (",", "\t"):
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for i in range(count // 2):
                path = os.path.join(folder, f"{i}.csv")
                data = random_file(rng)
                Path(path).write_bytes(data if delimiter == "," else data.replace(b"\t", b" ").replace(b",", b"\t"))
                made.append((rng.choice([1, 2, 3, 5, 7, 1 << 20]), path))
            wrong += run(program, made, delimiter)
    print(f"{count} random files; {wrong} differ")
    return 1 if wrong else 0


sys.exit(main())
