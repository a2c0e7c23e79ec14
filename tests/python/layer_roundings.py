"""Measures how often a layer's roundings alone pass mlaf_form_bound (runtime/layer/forms.c), by hand, on the CPU:

    python3 tests/python/layer_roundings.py [--seeds 12]

Prefills of random layers in fp64, exactly and with each number that a layer keeps rounded to f16, whose bound is an eighth of bf16's.
No kernel takes part. Heads are taken together as layers of 1, 2, 4, 8 and 16. The bound is of one output, at 3 deviations: one of 740
may pass it.
"""
import argparse
import math

import torch

from layer_chain import WIDE as F, Exact, Rounded, normed, round_of, turned

D, L, R, P, N, V, HEADS = 2048, 1536, 512, 32, 96, 96, 16
ROUND, KEPT = round_of(torch.float16), Rounded(torch.float16)
SCALE = (N + P) ** -0.5
REQUESTS = [(0, 20), (0, 32), (0, 2), (28, 63), (27, 3), (0, 102)]  # cached, new tokens


def bound(heads, chunks):
    """mlaf_form_bound, and a rounding for each merge of a chunk."""
    return ROUND * math.sqrt(5 + chunks + 6 * SCALE ** 2 * (N + P) * (1 + 3 * math.sqrt(2 / heads)))


def table(positions):
    angle = positions[:, None].to(F) * 10000.0 ** (-torch.arange(0, P, 2, dtype=F) / P)
    return torch.cat([angle.cos(), angle.sin()], -1).float().to(F)


class Weights:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.a = self.draw(L + R + P, D, by=D ** -0.5)
        self.q_b = self.draw(HEADS, N + P, L, by=L ** -0.5)
        self.kv_b = self.draw(HEADS, N + V, R, by=R ** -0.5)
        self.o = self.draw(D, HEADS, V, by=V ** -0.5)
        self.q_gain, self.kv_gain = self.draw(L, by=0.1, mid=1), self.draw(R, by=0.1, mid=1)

    def draw(self, *shape, by=1.0, mid=0.0):
        return KEPT(torch.randn(*shape, generator=self.g) * by + mid)

    def heads(self, r, x, cached):
        """Each head's attention of x's tokens, [T, H, V], r at each number that is kept."""
        positions = torch.arange(cached.shape[0], cached.shape[0] + x.shape[0])
        t = table(positions)
        c = r(x @ self.a.T)
        low, latent = r(normed(c[:, :L], self.q_gain)), r(normed(c[:, L:L + R], self.kv_gain))
        rows = torch.cat([cached, torch.cat([latent, r(turned(c[:, L + R:], t))], -1)])
        q = r(torch.einsum("tl,hcl->thc", low, self.q_b))
        kv = r(torch.einsum("sr,hcr->shc", rows[:, :R], self.kv_b))
        s = torch.einsum("thn,shn->hts", q[..., :N], kv[..., :N]) + torch.einsum("thp,sp->hts", r(turned(q[..., N:], t)), rows[:, R:])
        s = (s * SCALE).masked_fill(torch.arange(rows.shape[0])[None] > positions[:, None], -math.inf)
        p = (s - s.max(-1, keepdim=True).values).exp()
        return r(torch.einsum("hts,shv->thv", r(p), kv[..., N:]) / p.sum(-1).T[..., None])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=12)
    found = {h: [] for h in (1, 2, 4, 8, 16)}
    for seed in range(parser.parse_args().seeds):
        w = Weights(seed)
        for past, n in REQUESTS:
            x, cached = w.draw(n, D), w.draw(past, R + P)
            right, kept = w.heads(Exact(), x, cached), w.heads(KEPT, x, cached)
            for h, ratios in found.items():
                for first in range(0, HEADS, h):
                    o = w.o[:, first:first + h].reshape(D, h * V).T
                    want = right[:, first:first + h].reshape(n, -1) @ o
                    off = KEPT(kept[:, first:first + h].reshape(n, -1) @ o) - want
                    ratios += (off.norm(dim=-1) / want.norm(dim=-1) / bound(h, past > 0)).tolist()
    for h, ratios in found.items():
        ratios.sort()
        beyond = sum(x > 1 for x in ratios)
        print(f"{h:2} heads, {len(ratios)} outputs: half within {ratios[len(ratios) // 2]:.2f} of the bound, 99.9 % within "
              f"{ratios[len(ratios) * 999 // 1000]:.2f}, all within {ratios[-1]:.2f}; {beyond} beyond ({beyond / len(ratios):.1e})")


if __name__ == "__main__":
    main()
