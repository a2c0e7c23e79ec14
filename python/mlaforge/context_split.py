"""Contexts that are split over ranks by their tokens (decode context parallel): token i of a request lies on rank
(i // interleave) % ranks, behind the tokens before it that this rank has. docs/context-split.md shows their use."""
from .tensors import fail, whole

_MOST = (1 << 31) - 1


def _checked(ranks, rank, interleave):
    whole("ranks", ranks, 1, _MOST)
    whole("rank", rank, 0, ranks - 1)
    whole("interleave", interleave, 1, _MOST // ranks)


def _at_most(x, most):
    """x within 0..most, of a number or a tensor."""
    return x.clamp(0, most) if hasattr(x, "clamp") else min(max(x, 0), most)


def _length(n, ranks, rank, interleave):
    """Tokens of the rank among the first n, a number or a tensor; n is 0 and up."""
    turn = ranks * interleave
    return n // turn * interleave + _at_most(n % turn - rank * interleave, interleave)


def _behind(seq_lens, q_len, causal):
    """The tokens of each request that its query tokens do not see, [q_len], on the device of a tensor."""
    import torch  # seq_lens is its tensor
    if not causal:
        return torch.zeros(q_len, dtype=seq_lens.dtype, device=seq_lens.device)
    return torch.arange(q_len - 1, -1, -1, dtype=seq_lens.dtype, device=seq_lens.device)


def _listed(name, value):
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        fail(f"{name} is {value!r}, must be a list of whole numbers or a PyTorch tensor")
    return [whole(name, x, -_MOST - 1, _MOST) for x in value]


def shard_lengths(seq_lens, ranks, rank, interleave=1, q_len=1, causal=True):
    """[B * q_len] of seq_lens [B]: of each query token, as a request of its own, the tokens of `rank` that it sees.

    seq_lens: cached tokens of each request on all ranks, the new ones included; a PyTorch tensor of int32 or int64, whose result is
    such a tensor on its device, made there without waiting (graphs may capture it), or a list of numbers, whose result is a list.
    causal: query token i of q_len sees the first seq_lens - (q_len - 1 - i); else all. Of a negative length 0 comes out."""
    _checked(ranks, rank, interleave)
    whole("q_len", q_len, 1, _MOST)
    if not isinstance(causal, (bool, int)):
        fail(f"causal is {causal!r}, must be True or False")
    if not hasattr(seq_lens, "data_ptr"):
        return [_length(_at_most(n - (q_len - 1 - i if causal else 0), _MOST), ranks, rank, interleave)
                for n in _listed("seq_lens", seq_lens) for i in range(q_len)]
    if not hasattr(seq_lens, "clamp") or seq_lens.dim() != 1 or seq_lens.is_floating_point():
        fail(f"seq_lens is {type(seq_lens).__name__} of the shape {tuple(seq_lens.shape)}, must be a list of numbers or a PyTorch tensor [B] of "
             "int32 or int64")
    seen = _at_most(seq_lens, _MOST)[:, None] - _behind(seq_lens, q_len, causal)
    return _length(_at_most(seen, _MOST), ranks, rank, interleave).reshape(-1)


def shard_tokens(tokens, ranks, rank, interleave=1):
    """The places of the tokens (their positions in a request, 0 and up) among those of `rank`, -1 where another rank has one: a list, or
    a PyTorch tensor on the device of `tokens`. mla_append skips slots of -1."""
    _checked(ranks, rank, interleave)

    def place(i):
        return i // interleave // ranks * interleave + i % interleave

    if hasattr(tokens, "data_ptr") and hasattr(tokens, "masked_fill"):
        return place(tokens).masked_fill(tokens // interleave % ranks != rank, -1)
    return [place(i) if i // interleave % ranks == rank else -1 for i in _listed("tokens", tokens)]
