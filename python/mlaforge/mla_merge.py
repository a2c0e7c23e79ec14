"""Merging two partial attentions by their log-sum-exp, by vLLM's entry point and argument order."""
import ctypes

from . import context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import I64, PTR, U32
from .tensors import check_sums, check_tensor, dtype_name, fail, row_stride

__all__ = ["merge_attn_states"]

DTYPES = {"bfloat16": "bf16", "float16": "f16"}
BASE_2 = 2


class MergePart(ctypes.Structure):
    """mlaf_merge_part of include/mlaforge/mla_merge.h."""
    _fields_ = [("o", PTR), ("o_token_stride", I64), ("o_head_stride", I64), ("lse", PTR), ("lse_token_stride", I64),
                ("lse_head_stride", I64)]


class MergeArgs(ctypes.Structure):
    """mlaf_merge_args of include/mlaforge/mla_merge.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("tokens", I64), ("prefix", MergePart), ("suffix", MergePart), ("o", PTR),
                ("o_token_stride", I64), ("o_head_stride", I64), ("lse", PTR), ("lse_token_stride", I64), ("lse_head_stride", I64)]


def _values(name, tensor, dtype, shape):
    """[T, H, V]: the address, and the strides of tokens and heads."""
    check_tensor(name, tensor, dtype, *shape)
    token, head = row_stride(tensor, 0, name), row_stride(tensor, 1, name)
    return {"o": tensor.data_ptr(), "o_token_stride": token, "o_head_stride": head}


def _sums(name, tensor, tokens, heads):
    """[H, T] of any strides: the address, and the strides of tokens and heads; those of one may be anything."""
    head, token = check_sums(name, tensor, heads, tokens)
    return {"lse": tensor.data_ptr(), "lse_token_stride": token or 1, "lse_head_stride": head or 1}


@entry(output="[T, H, V]", prefix_output="[T, H, V]", prefix_lse="[H, T]", suffix_output="[T, H, V]", suffix_lse="[H, T]",
       output_lse="[H, T]")
def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse=None, *, base_2=False, ctx=None,
                      stream=None):
    """vLLM's: the attentions prefix_output and suffix_output [T, H, V] of the same queries become output, by their logs [H, T].

    A part whose log is infinite has no say, whatever it holds. output may be one of the parts, and output_lse its log. All tensors may
    have strides of their own; a log [T, H] is passed as its transpose. base_2: logs are to the base 2.
    """
    ctx = context.of_call(ctx)
    dtype, shape = dtype_name(output, "output"), tuple(output.shape)
    if dtype not in DTYPES or len(shape) != 3:
        fail(f"output is {dtype} of the shape {shape}; accepted are {', '.join(DTYPES)} [T, H, V]")
    tokens, heads, vdim = shape
    parts = {name: MergePart(**_values(f"{name}_output", o, dtype, shape), **_sums(f"{name}_lse", lse, tokens, heads))
             for name, o, lse in (("prefix", prefix_output, prefix_lse), ("suffix", suffix_output, suffix_lse))}
    args = {"tokens": tokens, "flags": BASE_2 if base_2 else 0, **parts, **_values("output", output, dtype, shape)}
    if output_lse is not None:
        args.update(_sums("output_lse", output_lse, tokens, heads))
    tuned = min(1 << max(tokens - 1, 0).bit_length(), 1 << 20)  # a plan serves any number
    stream = current_stream(output) if stream is None else int(getattr(stream, "cuda_stream", stream))
    ctx.run(f"mla_merge:h{heads},v{vdim},{DTYPES[dtype]},t{tuned}", _struct(MergeArgs, **args), stream or None)
