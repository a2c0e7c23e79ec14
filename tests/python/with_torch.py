"""Both entry points on a real GPU with PyTorch's tensors, against PyTorch in float64; then mla_decode_fwd in a captured graph.

PYTHONPATH=python MLAF_LIBRARY=build/libmlaforge.so.0 python3 tests/python/with_torch.py [device]      (device: cuda or hip; auto)
"""
import os
import sys

import torch

import mlaforge

HEADS, RANK, ROPE, PAGE = 16, 512, 64, 64
COLS = RANK + ROPE


def reference(q, cache, table, length, scale, causal_back):
    """One request's query tokens [n, H, COLS] over `length` cached tokens."""
    pages = -(-length // PAGE)
    rows = cache[table[:pages]].reshape(-1, COLS)[:length].double()
    scores = torch.einsum("nhc,tc->nht", q.double(), rows) * scale
    if causal_back:
        n = q.shape[0]
        for i in range(n):
            scores[i, :, length - (n - 1 - i):] = float("-inf")
    return torch.einsum("nht,tr->nhr", scores.softmax(-1), rows[:, :RANK]), scores.logsumexp(-1)


def relative(a, b):
    return float((a.double() - b).norm() / b.norm())


def main():
    device = torch.device("cuda")
    torch.manual_seed(1)
    ctx = mlaforge.Context(device=sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MLAF_DEVICE"))
    mlaforge.set_default_context(ctx)
    print("device ", ctx.device_name, ctx.target, "mlaforge", mlaforge.version(), "torch", torch.__version__)
    worst = 0.0
    for lengths, q_len in (([1000, 1, 64, 4097], 1), ([777, 65], 2)):
        batch, most = len(lengths), max(-(-n // PAGE) for n in lengths)
        cache = torch.randn(batch * most + 3, PAGE, COLS, device=device, dtype=torch.bfloat16)
        table = torch.randperm(batch * most + 3, device=device)[:batch * most].reshape(batch, most).to(torch.int32)
        q = torch.randn(batch * q_len, HEADS, COLS, device=device, dtype=torch.bfloat16)
        scale = COLS ** -0.5
        want = [reference(q[b * q_len:(b + 1) * q_len], cache, table[b], n, scale, q_len > 1) for b, n in enumerate(lengths)]
        want_o, want_lse = torch.cat([o for o, _ in want]), torch.cat([s for _, s in want])

        pages = [-(-n // PAGE) for n in lengths]
        ints = lambda x: torch.tensor(x, device=device, dtype=torch.int32)
        kv_indptr = ints([0] + list(torch.tensor(pages).cumsum(0)))
        indices = torch.cat([table[b, :n] for b, n in enumerate(pages)]).contiguous()
        last = ints([n - (p - 1) * PAGE for n, p in zip(lengths, pages)])
        qo = ints([i * q_len for i in range(batch + 1)])
        o = torch.empty(batch * q_len, HEADS, RANK, device=device, dtype=torch.bfloat16)
        lse = torch.empty(batch * q_len, HEADS, device=device, dtype=torch.float32)
        call = lambda: mlaforge.mla_decode_fwd(q, cache.unsqueeze(2), o, qo, kv_indptr, indices, last, q_len, scale, lse=lse)
        call()
        torch.cuda.synchronize()
        error, lse_error = relative(o, want_o), float((lse.double() - want_lse).abs().max())
        print(f"aiter     q_len {q_len}: O {error:.2e}, lse {lse_error:.2e}")
        worst = max(worst, error)

        seqlens = ints(lengths)
        metadata = mlaforge.get_mla_metadata(seqlens, q_len * HEADS, 1)
        out, flse = mlaforge.flash_mla_with_kvcache(q.reshape(batch, q_len, HEADS, COLS), cache.unsqueeze(2), table, seqlens, RANK,
                                                    *metadata, softmax_scale=scale, causal=True)
        torch.cuda.synchronize()
        error = relative(out.reshape(batch * q_len, HEADS, RANK), want_o)
        lse_error = float((flse.transpose(1, 2).reshape(batch * q_len, HEADS).double() - want_lse).abs().max())
        print(f"flashmla  q_len {q_len}: O {error:.2e}, lse {lse_error:.2e}")
        worst = max(worst, error)

        expected = o.clone()
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(side):
            call()  # this stream's workspace
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side):
            call()
        o.zero_()
        for _ in range(1000):
            graph.replay()
        torch.cuda.synchronize()
        same = bool(torch.equal(o, expected))
        print(f"graph     q_len {q_len}: 1000 replays, bit-equal {same}")
        worst = max(worst, 0.0 if same else 1.0)
    print("ok" if worst < 5e-3 else "WRONG")
    return worst >= 5e-3


if __name__ == "__main__":
    sys.exit(main())
