"""The rival of bench/gpu.sh on this machine's processor: every way computes the same loss and gradients, also those over libraries for packed rows, which
stand-ins replace that check what they are given; and a way that computes something else is found.

    gpu_torch.py SOURCE      exit 77 without PyTorch
"""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/bench")
try:
    import torch
except ImportError:
    sys.exit(77)
import gpu_torch

calls = 0


def packed(q, k, v, starts_q, starts_k, longest_q, longest_k, dropout_p=0.0):
    """What both libraries promise, in float32 and row by row."""
    global calls
    calls += 1
    assert q.dtype == torch.bfloat16 and q.dim() == 3 and q.shape == k.shape == v.shape, (q.dtype, q.shape)
    assert starts_q is starts_k and starts_q.dtype == torch.int32 and starts_q[0] == 0 and starts_q[-1] == len(q), starts_q
    n = (starts_q[1:] - starts_q[:-1]).tolist()
    assert min(n) > 0 and max(n) == longest_q == longest_k and dropout_p == 0.0, (n, longest_q)
    rows = [torch.nn.functional.scaled_dot_product_attention(*(t.float().transpose(0, 1) for t in row)).transpose(0, 1)
            for row in zip(*(torch.split(t, n) for t in (q, k, v)))]
    return torch.cat(rows).to(q.dtype)


gpu_torch.varlen_attn = gpu_torch.flash_attn_varlen_func = packed
ways = [gpu_torch.Way("padded", gpu_torch.by_rows, False)]
ways += [gpu_torch.Way("packed", attend, False) for attend in gpu_torch.packed_attentions("cpu") + gpu_torch.packed_attentions("cuda")]
assert [w.name for w in ways] == ["padded", "packed_by_block", "packed_by_torch", "packed_by_flash"], ways
failures = 0
for way in ways:
    text, good = gpu_torch.check(way, "cpu", 24)
    print(way.name, text)
    failures += not good
failures += calls == 0


# A library whose tokens look at those of every row: found in bfloat16 too.
def blind(q, k, v, starts_q, starts_k, longest_q, longest_k):
    return gpu_torch.by_block(q, k, v, 0.0, torch.zeros(len(q)), longest_q)


gpu_torch.varlen_attn = blind
blind_way = gpu_torch.Way("packed", gpu_torch.by_torch, False)
text, good = gpu_torch.check(blind_way, "cpu", 24)
print("planted:", text)
failures += good
print("ok" if not failures else "wrong")
sys.exit(failures > 0)
