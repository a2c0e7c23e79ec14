"""Prefill attention by the entry points and argument orders of FlashAttention and AITER."""
from . import context
from .calls import current_stream
from .context import _struct
from .entry import entry
from .library import PrefillArgs
from .tensors import check_place, check_sums, check_tensor, dtype_name, empty, fail, row_stride

__all__ = ["flash_attn_varlen_func", "mla_prefill_varlen"]

DTYPES = {"bfloat16": "bf16", "float16": "f16"}
ENCODINGS = {"float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz"}


def _put(args, name, tensor):
    """The address of [T, H, columns], and the strides of tokens and heads."""
    args[name] = tensor.data_ptr()
    args[name + "_token_stride"], args[name + "_head_stride"] = row_stride(tensor, 0, name), row_stride(tensor, 1, name)


def _put_scale(args, name, tensor, dtype):
    """A tensor's one scale: a float32 tensor of one element, or one such that was expanded, as FlashAttention's callers do."""
    if tensor is None:
        return
    if dtype not in ENCODINGS:
        fail(f"{name}_descale is set, and q is {dtype}: only inputs of 8 bits have scales")
    if not hasattr(tensor, "data_ptr"):
        fail(f"{name}_descale is {type(tensor).__name__}, must be a tensor of one float32 on the device: kernels read it there")
    if dtype_name(tensor) != "float32":
        fail(f"{name}_descale is {dtype_name(tensor)}, must be float32")
    check_place(f"{name}_descale", tensor)
    if any(n != 1 and s != 0 for n, s in zip(tensor.shape, tensor.stride())):
        fail(f"{name}_descale has the shape {tuple(tensor.shape)} and more than one scale; a tensor has one: one element, or expanded from it")
    args[name + "_scale"] = tensor.data_ptr()


def _number(name, n):
    try:
        return int(n)
    except (TypeError, ValueError, OverflowError):
        fail(f"{name} is {n!r}, must be a number: the longest request's tokens, at least about")


def _tuned(n, most):
    """Sizes are rounded up to a power of two: a plan serves any."""
    return min(1 << max(int(n) - 1, 0).bit_length(), most)


LONG = 4096  # new tokens: from that on a batch is planned for its longest request


def _planned(longest_q, longest_k, total_q, total_k, requests):
    """Requests, their new tokens and their keys that a plan is made for: the mean ones. Or, where the longest request has so many of
    the products that a new token's request has LONG in the mean, whatever the others have: requests of that many."""
    longest = max(min(longest_q, total_q), 0)
    weighted = longest * longest // max(total_q, 1)
    if weighted < LONG:
        return requests, min(longest_q, -(-total_q // requests)), min(longest_k, -(-total_k // requests))
    return -(-total_q // weighted), weighted, weighted + max(min(longest_k, total_k) - longest, 0)


@entry(q="[Tq, H, N+P]", k_nope="[Tk, H, N]", k_pe="[Tk, P] or [Tk, 1, P] or None", v="[Tk, H, V]", cu_seqlens_q="[B+1]",
       cu_seqlens_k="[B+1]", softmax_scale=float, out="[Tq, H, V]", lse="[H, Tq]")
def mla_prefill_varlen(q, k_nope, k_pe, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale=None, causal=False,
                       out=None, lse=None, *, q_descale=None, k_descale=None, v_descale=None, batch_invariant=False, ctx=None, stream=None):
    """Attention of q [Tq, H, N+P] over k_nope [Tk, H, N] with k_pe [Tk, P] of all heads (None: k_nope has N+P columns) and v [Tk, H, V].

    k_nope and v may be slices of kv_b's output [Tk, H, N+V]. cu_seqlens: int32 [batch + 1], read on the device only. causal: aligned to
    the last key. lse, float32 [H, Tq] or any strides, is written if given. The maxima say what to tune for, no more: the plan is
    that of requests of the mean length, where that is less; but of long ones where the longest request has most of the products.
    batch_invariant: a request's rows have the same bits alone and in any batch, and those of a prefix are the same in a longer request.

    q, k_nope, k_pe and v may be float8_e4m3fn or float8_e4m3fnuz: what matrix cores take, the latter on MI300X. Then each tensor is to
    be multiplied by its scale, float32 on the device, None for 1; k_pe by k's. out is bfloat16, or of the type of the one that is given.
    """
    ctx = context.of_call(ctx, batch_invariant)
    check_tensor("q", q, None, None, None, None)
    dtype, heads, cols = dtype_name(q), q.shape[1], q.shape[2]
    rope = 0
    if k_pe is not None:
        dtype_name(k_pe, "k_pe")
        if len(k_pe.shape) < 2:
            fail(f"k_pe has the shape {tuple(k_pe.shape)}, must be (any, any)")
        rope = k_pe.shape[-1]
    if dtype not in DTYPES and dtype not in ENCODINGS:
        fail(f"q is {dtype}; accepted are {', '.join((*DTYPES, *ENCODINGS))}")
    if cols % 16 or not 16 <= cols <= 256:
        fail(f"q has {cols} columns, must be a multiple of 16 up to 256")
    check_tensor("k_nope" if rope else "k", k_nope, dtype, None, heads, cols - rope)
    check_tensor("v", v, dtype, k_nope.shape[0], heads, None)
    vdim = v.shape[-1]
    check_tensor("cu_seqlens_q", cu_seqlens_q, "int32", None)
    check_tensor("cu_seqlens_k", cu_seqlens_k, "int32", cu_seqlens_q.shape[0])
    if out is None:
        out = empty(ctx, q, (q.shape[0], heads, vdim), "bfloat16" if dtype in ENCODINGS else None)
    out_dtype = dtype_name(out) if dtype in ENCODINGS else dtype
    if out_dtype not in DTYPES:
        fail(f"out is {out_dtype}; accepted are {', '.join(DTYPES)}")
    check_tensor("out", out, out_dtype, q.shape[0], heads, vdim)
    # Columns that are not split in two are taken as if they were: Q and K are whole either way.
    columns = (cols - rope, rope) if rope else (cols - 64, 64) if cols > 128 else (cols, 0)
    args = {"batch": cu_seqlens_q.shape[0] - 1, "scale": cols ** -0.5 if softmax_scale is None else float(softmax_scale),
            "total_q": q.shape[0], "total_k": k_nope.shape[0], "cu_seqlens_q": cu_seqlens_q.data_ptr(),
            "cu_seqlens_k": cu_seqlens_k.data_ptr()}
    for name, tensor in (("q", q), ("k", k_nope), ("v", v), ("o", out)):
        _put(args, name, tensor)
    for name, scale in (("q", q_descale), ("k", k_descale), ("v", v_descale)):
        _put_scale(args, name, scale, dtype)
    if rope:
        check_tensor("k_pe", k_pe, dtype, k_nope.shape[0], *[1] * (len(k_pe.shape) - 2), rope)
        args.update(k_pe=k_pe.data_ptr(), k_pe_token_stride=row_stride(k_pe, 0, "k_pe"))
    if lse is not None:
        head, token = check_sums("lse", lse, heads, q.shape[0])
        args.update(lse=lse.data_ptr(), lse_head_stride=head, lse_token_stride=token)
    longest = _number("max_seqlen_q", max_seqlen_q), _number("max_seqlen_k", max_seqlen_k)
    requests, tokens, keys = _planned(*longest, args["total_q"], args["total_k"], max(args["batch"], 1))
    problem = (f"mla_prefill:h{heads},n{columns[0]},p{columns[1]},v{vdim},{DTYPES[out_dtype]}"
               f"{',' + ENCODINGS[dtype] if dtype in ENCODINGS else ''}{',causal' if causal else ''},"
               f"b{_tuned(requests, 65536)},t{_tuned(tokens, 1 << 20)},s{_tuned(keys, 1 << 24)}")
    stream = current_stream(q) if stream is None else int(getattr(stream, "cuda_stream", stream))
    ctx.run(problem, _struct(PrefillArgs, **args), stream or None)
    return out


def refuse_others(dropout_p, window_size, softcap, alibi_slopes, return_attn_probs, block_table):
    """An error for the first of FlashAttention's options that is not served."""
    named = {"dropout_p": dropout_p == 0, "window_size": window_size is None or tuple(window_size) in ((-1, -1), (-1, -1, 0)), "softcap": softcap == 0,
             "alibi_slopes": alibi_slopes is None, "return_attn_probs": not return_attn_probs, "block_table": block_table is None}
    for name, usual in named.items():
        if not usual:
            fail(f"{name} is set, and mla_prefill has no such thing")


@entry(q="[Tq, H, D]", k="[Tk, H, D]", v="[Tk, H, V]", cu_seqlens_q="[B+1]", cu_seqlens_k="[B+1]", softmax_scale=float,
       out="[Tq, H, V]", window_size=tuple)
def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, causal=False,
                           window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False,
                           block_table=None, *, return_lse=False, out=None, q_descale=None, k_descale=None, v_descale=None,
                           batch_invariant=False, ctx=None, stream=None):
    """FlashAttention's: q [Tq, H, D], k [Tk, H, D], v [Tk, H, V] with D and V apart, e.g. 192 and 128; as many heads of keys as of
    queries. mlaforge.aiter has one of this name with AITER's order of arguments. With return_lse (out, lse [H, Tq]). What is not there is
    refused: dropout, windows, softcap, ALiBi, block tables. q, k and v of 8 bits: see mla_prefill_varlen; q_descale and its like, [B, H]
    there, must be one scale expanded to that."""
    refuse_others(dropout_p, window_size, softcap, alibi_slopes, return_attn_probs, block_table)
    ctx = context.of_call(ctx)
    check_tensor("q", q, None, None, None, None)
    lse = empty(ctx, q, (q.shape[1], q.shape[0]), "float32") if return_lse else None
    out = mla_prefill_varlen(q, k, None, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, out, lse,
                             q_descale=q_descale, k_descale=k_descale, v_descale=v_descale, batch_invariant=batch_invariant, ctx=ctx,
                             stream=stream)
    return (out, lse) if return_lse else out
