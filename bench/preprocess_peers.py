"""The peers' way from a CSV to stored tokens, as a Python user has it: pandas, a tokenizer on all cores, HDF5 with zstd; rows shuffled under a seed.

usage: preprocess_peers.py CSV VOCAB_FOLDER OUT.h5 nano|hf [MAX_LENGTH]
prints one line of JSON: rows, ids, seconds from the first row on, seconds of start-up (imports), peak memory in MB, bytes of ids + offsets + labels, of the file.
"""
import json
import os
import resource
import sys
import time

begin = time.perf_counter()
csv, vocab, out, tokenizer = sys.argv[1:5]
longest = int(sys.argv[5]) if len(sys.argv) > 5 else 192
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
import h5py  # noqa: E402
import hdf5plugin  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

words = os.path.join(vocab, "vocab.txt")
if tokenizer == "hf":
    from transformers import BertTokenizerFast

    encoder = BertTokenizerFast(vocab_file=words, do_lower_case=True)
else:
    from nanotoken import Tokenizer

    encoder = Tokenizer.from_vocab(words, lowercase=True)
ready = time.perf_counter()

frame = pd.read_csv(csv).sample(frac=1, random_state=42)
column = next(c for c in ("comment_text", "content", "text") if c in frame)
texts = [" ".join(t.split()) for t in frame[column].fillna("none").astype(str)]
if tokenizer == "hf":
    rows = encoder(texts, truncation=True, max_length=longest, return_token_type_ids=False, return_attention_mask=False)["input_ids"]
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    ids = np.fromiter((i for r in rows for i in r), np.uint32, offsets[-1])
else:
    encoded = encoder.encode_batch(texts, max_length=longest)
    ids, offsets = encoded.ids, encoded.offsets
labels = frame["toxic"].to_numpy(np.float32) if "toxic" in frame else np.zeros(len(frame), np.float32)
with h5py.File(out, "w") as f:
    pack = hdf5plugin.Zstd(clevel=3)
    f.create_dataset("ids", data=np.asarray(ids, np.uint32), chunks=(min(len(ids), 262144),), shuffle=True, **pack)
    f.create_dataset("offsets", data=np.asarray(offsets, np.int64))
    f.create_dataset("labels", data=labels)
    sizes = sum(f[name].id.get_storage_size() for name in ("ids", "offsets", "labels"))
end = time.perf_counter()
print(json.dumps({"rows": len(texts), "ids": int(len(ids)), "seconds": end - ready, "start": ready - begin,
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, "sets": sizes, "file": os.path.getsize(out)}))
