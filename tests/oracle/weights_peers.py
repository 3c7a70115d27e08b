"""Does what `train` writes load where people expect it, and the other way round? Called by tests/unit/weights_peers_test.c.

    python weights_peers.py FOLDER

FOLDER holds config.json and model.safetensors as weights_save writes them, and arena.tsv: a line "name<TAB>shape<TAB>sha256 of the
float32 bytes" for each tensor. Checks the model with transformers' BertModel and with the notebook's module, then writes it back as
PyTorch saves models: zip.bin, legacy.bin, half.bin, bfloat.bin (float16, bfloat16), strided.bin (tensors with transposed strides),
bare.safetensors (transformers' own save_pretrained). Exits with a message when anything differs.
"""
import hashlib, os, sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import BertConfig, BertModel

folder = sys.argv[1]


def path(name):
    return os.path.join(folder, name)


def digest(tensor):
    return hashlib.sha256(tensor.detach().contiguous().numpy().tobytes()).hexdigest()


class Net(nn.Module):
    """The notebook's module."""

    def __init__(self, config, outputs, pooler):
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=pooler)
        self.out = nn.Linear(2 * config.hidden_size, outputs)


want = {}
for line in open(path("arena.tsv")):
    name, shape, sha = line.rstrip("\n").split("\t")
    want[name] = (tuple(int(n) for n in shape.split(",")), sha)

state = load_file(path("model.safetensors"))
assert state.keys() == want.keys(), "other tensors than the table's"
for name, (shape, sha) in want.items():
    assert tuple(state[name].shape) == shape and digest(state[name]) == sha, name

pooler = "bert.pooler.dense.weight" in want
model, info = BertModel.from_pretrained(folder, add_pooling_layer=pooler, output_loading_info=True)
assert not info["missing_keys"] and not info["mismatched_keys"], info
for name, value in model.state_dict().items():
    if "bert." + name in want:
        assert digest(value) == want["bert." + name][1], name
net = Net(BertConfig.from_pretrained(folder), want["out.weight"][0][0], pooler)
print(net.load_state_dict(state, strict=True))

torch.save(state, path("zip.bin"))
torch.save(nn.Module.state_dict(net), path("legacy.bin"), _use_new_zipfile_serialization=False)
torch.save({k: nn.Parameter(v.half()) for k, v in state.items()}, path("half.bin"))
torch.save({k: v.bfloat16() for k, v in state.items()}, path("bfloat.bin"))
torch.save({k: v.t().contiguous().t() if v.dim() == 2 else v for k, v in state.items()}, path("strided.bin"))
os.makedirs(path("bare"), exist_ok=True)
model.save_pretrained(path("bare"))
