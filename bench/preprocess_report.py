"""Sizes of shards and the table of bench/preprocess.sh.

usage: preprocess_report.py FOLDER          with times.json (a line for each stage and number of ranks, round by round) and peer-NAME-ROUND.json in
                                            FOLDER, shards in FOLDER/shards
"""
import glob
import json
import os
import sys

import h5py
import hdf5plugin  # noqa: F401
import numpy as np

folder, longest = sys.argv[1], 192


def sizes_of_shards():
    """Bytes of ids + offsets + labels and of the files, as they are, and the first again with every row cut as the peers cut it."""
    stored = whole = 0
    parts, lengths, labels = [], [], []
    for path in sorted(glob.glob(os.path.join(folder, "shards", "*.h5"))):
        whole += os.path.getsize(path)
        with h5py.File(path) as f:
            names = [n for n in ("tokens/ids", "tokens/offsets", "rows/label") if n in f]
            stored += sum(f[n].id.get_storage_size() for n in names)
            ids, offsets = f["tokens/ids"][:], f["tokens/offsets"][:]
            length = np.diff(offsets)
            place = np.arange(len(ids)) - np.repeat(offsets[:-1], length)
            parts.append(ids[place < longest - 2])
            lengths.append(np.minimum(length, longest - 2))
            if "rows/label" in f:
                labels.append(f["rows/label"][:])
    ids, offsets = np.concatenate(parts), np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    path = os.path.join(folder, "cut.h5")
    with h5py.File(path, "w") as f:
        pack = {"shuffle": True, **hdf5plugin.Zstd(clevel=3)}
        f.create_dataset("ids", data=ids, chunks=(65536,), **pack)
        f.create_dataset("offsets", data=offsets.astype(np.int64), chunks=(65536,), **pack)
        if labels:
            f.create_dataset("labels", data=np.concatenate(labels), chunks=(65536, 1), **pack)
        cut = sum(f[n].id.get_storage_size() for n in f)
    os.remove(path)
    return stored, whole, cut


def seconds_of(stages):
    return sum(s["seconds"] - s["start"] for s in stages.values())


WAYS = {"preprocess and shard": ("preprocess", "shard"), "preprocess --shards": ("direct",)}


def fastest_rounds():
    """{way: {ranks: its stages in the fastest round}}."""
    rounds, best = {}, {way: {} for way in WAYS}
    with open(os.path.join(folder, "times.json")) as f:
        for line in f:
            one = json.loads(line)
            all_of = rounds.setdefault(one["ranks"], [])
            if one["stage"] == "preprocess":
                all_of.append({})
            all_of[-1][one["stage"]] = one
    for ranks in sorted(rounds):
        for way, names in WAYS.items():
            best[way][ranks] = min(({n: r[n] for n in names} for r in rounds[ranks]), key=seconds_of)
    return best


def main():
    best = fastest_rounds()
    for way in WAYS:
        for ranks, stages in best[way].items():
            each = ", ".join(f"{name} {s['seconds'] - s['start']:.2f} s and {s['start']:.2f} s of start-up (peak {max(s['memory']):.0f} MB a rank, {sum(s['memory']):.0f} MB in all)"
                             for name, s in stages.items())
            print(f"{way} np={ranks}: {seconds_of(stages):.2f} s: {each}")
        if 1 in best[way] and 2 in best[way]:
            print(f"{way}: np=2 is {seconds_of(best[way][1]) / seconds_of(best[way][2]):.2f} x np=1")
    stored, whole, cut = sizes_of_shards()
    print(f"fretsaw files: {whole / 1e6:.1f} MB, of it ids + offsets + labels {stored / 1e6:.1f} MB uncut, {cut / 1e6:.1f} MB cut at {longest}")
    peers = {}
    for path in sorted(glob.glob(os.path.join(folder, "peer-*.json"))):
        peers.setdefault(os.path.basename(path).split("-")[1], []).append(json.load(open(path)))
    for name in peers:
        peer = min(peers[name], key=lambda p: p["seconds"])
        print(f"pandas + {name}: {peer['rows']} rows, {peer['seconds']:.2f} s and {peer['start']:.2f} s of start-up, peak {peer['memory']:.0f} MB, "
              f"file {peer['file'] / 1e6:.1f} MB, ids + offsets + labels {peer['sets'] / 1e6:.1f} MB")
        for way in WAYS:
            print(f"    {way} is {peer['seconds'] / min(map(seconds_of, best[way].values())):.2f} x as fast")
        print(f"    sets of the same length {cut / peer['sets']:.3f} of theirs, whole files {whole / peer['file']:.3f}")


main()
