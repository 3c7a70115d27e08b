"""Runs of train as transformers models."""

import json
import os

import torch
from safetensors.torch import load_file
from torch import nn
from transformers import BertConfig, BertModel, BertTokenizer


class RunModel(nn.Module):
    """The network of a run: BERT, mean and maximum over positions, dropout, linear. Its state dict has the names of the run's file."""

    def __init__(self, config, outputs, pooler, padded, dropout=0.3):
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=pooler)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(2 * config.hidden_size, outputs)
        self.padded = padded

    def forward(self, input_ids, attention_mask):
        """Logits, rows x labels."""
        hidden = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state
        if self.padded:  # as the notebook: over the padding too
            mean, most = hidden.mean(1), hidden.max(1).values
        else:
            real = attention_mask.unsqueeze(-1).bool()
            mean = hidden.masked_fill(~real, 0).sum(1) / real.sum(1)
            most = hidden.masked_fill(~real, float("-inf")).max(1).values
        return self.out(self.dropout(torch.cat([mean, most], 1)))


class Run:
    """A run folder at one of its weights: last, best, epoch-N or step-NNNNNN."""

    def __init__(self, folder, weights="last"):
        path = os.path.join(folder, "run.json")
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: missing; name the folder that train --out was given")
        with open(path, encoding="utf-8") as f:
            self.settings = json.load(f)
        named = os.path.join(folder, weights)
        if os.path.isfile(named):
            with open(named, encoding="utf-8") as f:
                weights = f.readline().strip()
        self.folder = os.path.join(folder, weights)
        if not os.path.exists(os.path.join(self.folder, "model.safetensors")):
            raise FileNotFoundError(f"{self.folder}: no weights of this run; there are: {', '.join(sorted(os.listdir(folder)))}")

    @property
    def labels(self):
        return self.settings["labels"]

    def config(self):
        return BertConfig.from_pretrained(self.folder)

    def bert(self):
        """The encoder alone."""
        return BertModel.from_pretrained(self.folder, add_pooling_layer=self._has_pooler(self._state()))

    def model(self, dropout=0.3):
        state = self._state()
        model = RunModel(self.config(), len(state["out.bias"]), self._has_pooler(state), self.settings["pooling"] == "padded", dropout)
        model.load_state_dict(state, strict=True)
        return model

    def tokenizer(self):
        """transformers' own, over the run's vocabulary; fretsaw's ids are those of it over the text split and joined by single spaces."""
        lower = "lower=yes" in self.settings["tokenizer"].splitlines()
        return BertTokenizer(os.path.join(self.folder, "vocab.txt"), do_lower_case=lower)

    def _state(self):
        return load_file(os.path.join(self.folder, "model.safetensors"))

    @staticmethod
    def _has_pooler(state):
        return "bert.pooler.dense.weight" in state
