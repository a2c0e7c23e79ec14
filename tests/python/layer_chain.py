"""Shared by the checks of a layer by hand: its arithmetic in fp64, with a place for each rounding that a layer makes, and how far roundings
may carry an output.

A rounding moves a number by round_of(dtype) of itself, as root mean square over mantissas. What all of them come to is the mean over
chains in which each is a random move of that size. A layer's error is one draw of that; where few keys or few numbers decide an output,
a draw strays from its mean. The square of an error is a sum of parts of normal numbers, and such a sum passes its mean by more than
2 sqrt(x sum of squares) + 2 x largest with a chance of exp(-x) (Laurent and Massart 2000): `most`."""
import math

import torch

WIDE = torch.float64
KEYS = 6  # roundings on the way to a score


def round_of(dtype):
    return 2.0 ** {torch.bfloat16: -8, torch.float16: -11}[dtype] * math.sqrt(3 / (8 * math.log(2)) / 3)


class Exact:
    """Every number as it is."""

    def __call__(self, x, name=""):
        return x


class Rounded:
    """Each number that a layer keeps, rounded to its type."""

    def __init__(self, dtype=torch.bfloat16):
        self.dtype = dtype

    def __call__(self, x, name=""):
        return x.to(self.dtype).to(WIDE)


class Moved:
    """A random move of a rounding's size, in its place."""

    def __init__(self, dtype=torch.bfloat16):
        self.by = round_of(dtype)

    def __call__(self, x, name=""):
        return x * (1 + self.by * torch.randn(x.shape, device=x.device, dtype=WIDE))


def normed(x, gain, eps=1e-6):
    return x if gain is None else x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * gain


def turned(x, rows, style="pairs"):
    """The columns of x [T, ..., P] by rows [T, P] of a table, P/2 cosines and P/2 sines."""
    half = x.shape[-1] // 2
    t = rows.to(x.dtype).view(rows.shape[0], *[1] * (x.dim() - 2), 2 * half)
    c, s, out = t[..., :half], t[..., half:], torch.empty_like(x)
    a, b = (slice(0, None, 2), slice(1, None, 2)) if style == "pairs" else (slice(0, half), slice(half, None))
    out[..., a], out[..., b] = x[..., a] * c - x[..., b] * s, x[..., b] * c + x[..., a] * s
    return out


def narrow(w):
    """e4m3 with a scale for each 128 x 128, and what they stand for."""
    rows, cols = w.shape
    full = torch.zeros(-(-rows // 128) * 128, -(-cols // 128) * 128, device=w.device)
    full[:rows, :cols] = w.float()
    tiles = full.view(full.shape[0] // 128, 128, full.shape[1] // 128, 128)
    scale = (tiles.abs().amax((1, 3)) / 448).clamp_min(1e-12)
    wide = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)[:rows, :cols]
    codes = (w.float() / wide).to(torch.float8_e4m3fn)
    return codes, scale.contiguous(), codes.float().to(WIDE) * wide.to(WIDE)


def key_parts(p, q, k, v, o, scale, dtype, roundings=KEYS):
    """[..., T, S] parts of the square of an error of o, of each key: (p |v - o| d)^2, d what roundings of a score move it by."""
    apart = v.pow(2).sum(-1).unsqueeze(-2) + o.pow(2).sum(-1, keepdim=True) - 2 * o @ v.transpose(-1, -2)
    return p * p * apart * ((q * q) @ (k * k).transpose(-1, -2)) * (roundings * (scale * round_of(dtype)) ** 2)


def most(mean, gain, squares, largest, x, replicas):
    """The relative error that is passed with a chance of exp(-x): mean is that of its square over so many draws, gain what a part counts."""
    # Draws say the mean to within its own deviation, which the sum of squares tells, too.
    doubt = (2 * squares / replicas).sqrt()
    return (mean + gain * (doubt * math.sqrt(2 * x) + 2 * (x * squares).sqrt() + 2 * x * largest)).sqrt()
