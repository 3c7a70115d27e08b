"""Reads a row file with h5py and hdf5plugin, and its ids with h5dump too, and compares it, value by value, with the text that the test wrote.

usage: python read_with_h5py.py ROWS.h5 EXPECTED.txt
"""
import os
import re
import shutil
import subprocess
import sys

import h5py
import hdf5plugin  # noqa: F401  (registers filter 32015)
import numpy as np


def texts(attribute):
    return [t.decode() if isinstance(t, bytes) else str(t) for t in np.ravel(attribute)]


def dumped(rows, dataset):
    """All values of a dataset of integers as h5dump prints them with hdf5plugin's filters."""
    where = dict(os.environ, HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH)
    out = subprocess.run(["h5dump", "-d", dataset, "-y", "-w", "0", rows], env=where, check=True, capture_output=True, text=True).stdout
    return np.array(re.search(r"DATA \{([^}]*)\}", out).group(1).replace(",", " ").split(), dtype=np.int64)


def main(rows, expected):
    with h5py.File(rows, "r") as f:
        assert int(f.attrs["fretsaw_rows"]) == 2
        names = {}
        f.visititems(lambda name, item: names.setdefault(name, item))
        for name, item in names.items():
            if isinstance(item, h5py.Dataset):
                assert item.chunks[0] == 65536 and item.maxshape[0] is None, name
                assert item.shuffle and "32015" in item._filters, name
        source, lang = texts(f.attrs["sources"])[::2], texts(f.attrs["langs"])
        ids, offsets = f["tokens/ids"][:], f["tokens/offsets"][:]
        id_bytes, id_offsets = f["rows/id_bytes"][:].tobytes(), f["rows/id_offsets"][:]
        label = f["rows/label"][:].view(np.uint32)
        columns = [f["rows/" + n][:] for n in ("number", "source", "lang", "text_hash")]
    if not shutil.which("h5dump"):
        print("h5dump is not here (Debian: hdf5-tools), skipped", file=sys.stderr)
    else:
        assert np.array_equal(dumped(rows, "/tokens/ids"), ids), "h5dump shows other ids than h5py"
    with open(expected) as wanted:
        count = 0
        for i, line in enumerate(wanted):
            number, s, l, t = (c[i] for c in columns)
            has = "%s|%d|%s|%s|%016x|%s|%s\n" % (
                id_bytes[id_offsets[i]:id_offsets[i + 1]].hex(), number, source[s], lang[l], t,
                "".join("%08x " % v for v in label[i]), "".join("%d " % v for v in ids[offsets[i]:offsets[i + 1]]))
            if has != line:
                sys.exit("row %d differs:\n%s%s" % (i, has, line))
            count += 1
    if count != len(offsets) - 1:
        sys.exit("%d rows expected, %d in the file" % (count, len(offsets) - 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
