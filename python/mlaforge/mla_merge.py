"""Merging two partial attentions by their log-sum-exp, by vLLM's entry point and argument order.

Made by tools/args.lua of gen/ops/mla_merge/args.lua."""
import ctypes

from . import context
from .context import _struct
from .entry import entry
from .library import I64, PTR, U32
from .made import DTYPES, any_of, rows_of, run, tuned
from .tensors import dtype_name, fail

__all__ = ["merge_attn_states"]


class MergePart(ctypes.Structure):
    """mlaf_merge_part of include/mlaforge/mla_merge.h."""
    _fields_ = [("o", PTR), ("o_token_stride", I64), ("o_head_stride", I64), ("lse", PTR), ("lse_token_stride", I64),
                ("lse_head_stride", I64)]


class MergeArgs(ctypes.Structure):
    """mlaf_merge_args of include/mlaforge/mla_merge.h."""
    _fields_ = [("struct_size", U32), ("flags", U32), ("tokens", I64), ("prefix", MergePart), ("suffix", MergePart),
                ("o", PTR), ("o_token_stride", I64), ("o_head_stride", I64), ("lse", PTR), ("lse_token_stride", I64),
                ("lse_head_stride", I64)]


@entry(output="[T, H, V]", prefix_output="[T, H, V]", prefix_lse="[H, T]", suffix_output="[T, H, V]",
       suffix_lse="[H, T]", output_lse="[H, T]")
def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse=None, *, base_2=False,
                      ctx=None, stream=None):
    """vLLM's: the attentions prefix_output and suffix_output [T, H, V] of the same queries become output, by their logs [H, T].

    A part whose log is infinite has no say, whatever it holds. output may be one of the parts, and output_lse its log. All
    tensors may have strides of their own; a log [T, H] is passed as its transpose. base_2: logs are to the base 2."""
    ctx = context.of_call(ctx)
    dtype, shape = dtype_name(output, "output"), tuple(output.shape)
    if dtype not in DTYPES or len(shape) != 3:
        fail(f"output is {dtype} of the shape {shape}; accepted are {', '.join(DTYPES)} [T, H, V]")
    T, H, V = shape
    args = {"tokens": T, "flags": (2 if base_2 else 0),
            "prefix": MergePart(**rows_of("prefix_output", "o", prefix_output, dtype, (T, H, V), ("token", "head")),
                                **any_of("prefix_lse", "lse", prefix_lse, (H, T), ("head", "token"))),
            "suffix": MergePart(**rows_of("suffix_output", "o", suffix_output, dtype, (T, H, V), ("token", "head")),
                                **any_of("suffix_lse", "lse", suffix_lse, (H, T), ("head", "token"))),
            **rows_of("output", "o", output, dtype, (T, H, V), ("token", "head"))}
    if output_lse is not None:
        args.update(any_of("output_lse", "lse", output_lse, (H, T), ("head", "token")))
    run(ctx, f"mla_merge:h{H},v{V},{DTYPES[dtype]},t{tuned(T, 1048576)}", _struct(MergeArgs, **args), output, stream)
