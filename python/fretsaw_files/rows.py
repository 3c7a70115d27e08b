"""Row files, version 1 (docs/formats.md of fretsaw)."""

import bisect
import hashlib
import json
import os
from typing import NamedTuple

import h5py
import hdf5plugin  # noqa: F401  (registers filter 32015)
import numpy as np

VERSION = 2


class Row(NamedTuple):
    id: str
    tokens: np.ndarray  # uint32, without [CLS] and [SEP], uncut
    label: np.ndarray  # float32, one a label; NaN: unlabelled
    lang: str  # "": none
    source: str  # name of the CSV
    number: int  # within that CSV, from 0


def _texts(attribute):
    return [t.decode() if isinstance(t, bytes) else str(t) for t in np.ravel(attribute).tolist()]


class _File:
    """One file, read whole into memory and closed, so that it goes to forked workers as it is."""

    def __init__(self, path):
        with h5py.File(path, "r", locking=False) as f:
            version = int(f.attrs.get("fretsaw_rows", 0))
            if version != VERSION:
                raise ValueError(f"{path}: not a row file of version {VERSION} (fretsaw_rows = {version})")
            self.labels, self.langs = _texts(f.attrs["labels"]), _texts(f.attrs["langs"])
            self.sources = _texts(f.attrs["sources"])[::2]
            self.tokenizer = dict(line.split("=", 1) for line in _texts(f.attrs["tokenizer"])[0].splitlines())
            self.tokens, self.offsets = f["tokens/ids"][:], f["tokens/offsets"][:]
            self.id_bytes, self.id_offsets = f["rows/id_bytes"][:].tobytes(), f["rows/id_offsets"][:]
            self.number, self.lang, self.source = (f["rows/" + name][:] for name in ("number", "lang", "source"))
            self.text_hash = f["rows/text_hash"][:]
            label = f["rows/label"][:] if self.labels else np.empty(0, np.float32)
            self.label = label.reshape(len(self.number), len(self.labels))

    def id(self, i):
        return self.id_bytes[self.id_offsets[i] : self.id_offsets[i + 1]].decode()

    def row(self, i):
        return Row(
            self.id(i),
            self.tokens[self.offsets[i] : self.offsets[i + 1]],
            self.label[i],
            self.langs[self.lang[i]] if self.langs else "",
            self.sources[self.source[i]],
            int(self.number[i]),
        )


class RowSet:
    """A folder of shards or parts in its global order, or one of their files. A sequence of Row; files are read when first needed, then kept."""

    def __init__(self, path, check=False):
        if os.path.isdir(path):
            manifest = os.path.join(path, "manifest.json")
            if not os.path.exists(manifest):
                raise FileNotFoundError(f"{manifest}: missing, so the folder is unfinished: run the same fretsaw command again")
            with open(manifest, "rb") as f:
                text = f.read()
            body, _, seal = text.rpartition(b' "sha256": "')
            if hashlib.sha256(body).hexdigest().encode() + b'"\n}\n' != seal:
                raise ValueError(f"{manifest}: does not agree with the SHA-256 at its end: make it again by the same fretsaw command")
            self.manifest = json.loads(text)
            files = self.manifest["files"]
            self._paths = [os.path.join(path, f["name"]) for f in files]
            counts = [f["rows"] for f in files]
            if check:
                for name, file in zip(self._paths, files):
                    self._check(name, file["sha256"])
            self._files = [None] * len(files)
        else:
            self.manifest, self._paths, self._files = None, [path], [_File(path)]
            counts = [len(self._files[0].number)]
        self._first = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).tolist()

    @staticmethod
    def _check(path, expected):
        digest = hashlib.sha256()
        with open(path, "rb") as f:
            for block in iter(lambda: f.read(1 << 20), b""):
                digest.update(block)
        if digest.hexdigest() != expected:
            raise ValueError(f"{path}: damaged, its SHA-256 is not that of manifest.json: make it again by the same fretsaw command")

    def _file(self, k):
        if self._files[k] is None:
            file = _File(self._paths[k])
            if len(file.number) != self._first[k + 1] - self._first[k]:
                raise ValueError(f"{self._paths[k]}: has {len(file.number)} rows, other than manifest.json says: it is of another set")
            self._files[k] = file
        return self._files[k]

    def __len__(self):
        return self._first[-1]

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i = int(i) % len(self)
        k = bisect.bisect_right(self._first, i) - 1
        return self._file(k).row(i - self._first[k])

    @property
    def labels(self):
        """Names of the labels."""
        return self._file(0).labels if self._paths else []

    @property
    def tokenizer(self):
        """Identity of the tokenizer: algorithm, lower, vocab (SHA-256), ..."""
        return self._file(0).tokenizer if self._paths else {}

    def arrays(self):
        """All rows end to end: tokens (uint32), offsets (rows + 1), label (rows x labels), text_hash, number, and the lists id, lang, source."""
        files = [self._file(k) for k in range(len(self._paths))]
        starts = np.concatenate([[0], np.cumsum([len(f.tokens) for f in files], dtype=np.int64)])
        return {
            "tokens": np.concatenate([f.tokens for f in files]) if files else np.empty(0, np.uint32),
            "offsets": np.concatenate([[0]] + [f.offsets[1:] + start for f, start in zip(files, starts)]).astype(np.int64),
            "label": np.concatenate([f.label for f in files]) if files else np.empty((0, 0), np.float32),
            "text_hash": np.concatenate([f.text_hash for f in files]) if files else np.empty(0, np.uint64),
            "number": np.concatenate([f.number for f in files]) if files else np.empty(0, np.int64),
            "id": [f.id(i) for f in files for i in range(len(f.number))],
            "lang": [f.langs[v] if f.langs else "" for f in files for v in f.lang],
            "source": [f.sources[v] for f in files for v in f.source],
        }
