"""What the tensorboard package reads from RUN/tensorboard is what RUN/metrics.jsonl says, each step once and in order."""
import json
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = sys.argv[1]
steps, epochs = [], []
for line in open(f"{run}/metrics.jsonl", encoding="utf-8"):
    entry = json.loads(line)
    (epochs if "valid_rows" in entry else steps).append(entry)

reader = EventAccumulator(f"{run}/tensorboard", size_guidance={"scalars": 0})
reader.Reload()


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def same(tag, entries, name):
    read = [(event.step, event.value) for event in reader.Scalars(tag)]
    want = [(entry["step"], single(entry[name])) for entry in entries if isinstance(entry[name], float)]
    if read != want:
        sys.exit(f"{tag}: {len(read)} events, {len(want)} wanted: {read[:3]} ... {read[-3:]}, not {want[:3]} ... {want[-3:]}")


same("train/loss", steps, "loss")
same("train/learning_rate", steps, "lr")
same("valid/loss", epochs, "valid_loss")
same("valid/auc", epochs, "valid_auc")
rates = reader.Scalars("train/rows_per_second")
if [event.step for event in rates] != [entry["step"] for entry in steps] or not all(event.value > 0 for event in rates):
    sys.exit("train/rows_per_second is not there for every step")
times = [event.wall_time for event in rates]
if times != sorted(times) or not 1.7e9 < times[0] < 5e9:
    sys.exit(f"wall times: {times[:3]}")
print(f"tensorboard reads {len(steps)} steps and {len(epochs)} epochs")
