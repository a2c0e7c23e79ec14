"""AITER's entry points for MLA decode and for attention of new tokens."""
import math

from . import cache_format, context, mla_prefill, torch_state
from .entry import FAULTS, Arguments, entry
from .host import adopt, given
from .mla_append import joined_q, parts_or_joined
from .tensors import check_page, dtype_name, empty, fail, is_bytes, whole


def mla_decode_fwd(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q, sm_scale=None,
                   logit_cap=0.0, num_kv_splits=None, *, page_size=None, nhead_kv=1, lse=None, causal=True, mean_kv_len=None,
                   workspace=None, rope_style=None, rope_table=None, batch_invariant=False, q_scale=None, kv_scale=None,
                   block_table=None, seq_lens=None, head_dim_v=None, cache_format=None, ctx=None, stream=None):
    """o = softmax(sm_scale * q k^T) v over a paged latent cache; writes `o` (and `lse`, when given) and returns them.

    q [T, H, R+P], or a pair of tensors, q_nope [T, H, R] and q_pe [T, H, P] of any strides of tokens and heads, which most kernels read as they lie
    (others by one launch of mla_append's before); kv_buffer [pages, page_size, 1, R+P], or a pair of tensors, ckv [pages, page_size, R] and kpe [pages, page_size, P],
    each with or without a dimension of 1 before the last, as FlashInfer has them; o [T, H, R]; qo_indptr, kv_indptr [B+1], kv_indices, kv_last_page_lens [B]
    int32; lse [T, H] float32. sm_scale is any finite number, 0 included; None: 1/sqrt(R+P). With max_seqlen_q above 1 query tokens see the cache up to themselves
    (causal). num_kv_splits is the tuner's business here and not looked at. mean_kv_len helps to choose the kernel; without it the
    length of kv_indices does. Pages of kv_buffer may lie apart by any whole number of rows. Without `workspace` (a tensor) the
    context keeps one for the stream, or, while PyTorch captures, the graph does. batch_invariant: a request's output has the same bits
    alone and in any batch (docs/batch-invariance.md).

    block_table [B, most] and seq_lens [B] int32 take the place of kv_indptr, kv_indices and kv_last_page_lens, which are None then: queries stay
    ragged. They are read on the device at each launch. A length that block_table has no room for makes its request NaN.

    o None: it is made, of head_dim_v columns (None: those of ckv where kv_buffer is a pair). lse True: it is made.

    Of a cache whose rope columns are not rotated, rope_style says which columns turn together: "pairs" (2i and 2i+1) or "halves" (i
    and i + P/2), and rope_table [positions, P] float32 holds P/2 cosines, then P/2 sines of each position. Keys are rotated as they
    are read; q comes rotated. A request longer than the table becomes NaN.

    8-bit caches: kv_buffer [pages, page_size, 1, R+P] of float8_e4m3fn or float8_e4m3fnuz, or uint8 (e4m3fnuz on gfx942, else e4m3fn), with
    kv_scale, a tensor of one float32 on the device, read at each launch (None: 1): a key is its stored number times that. Or uint8 rows of
    R + 16 + 2P bytes (656 of DeepSeek-V3.2 and GLM-5), which hold their scales. q has 16 bits; or, of a cache with
    one scale, its type, with q_scale, a tensor as kv_scale: o is bfloat16 or float16 then. A number as q_scale goes into the softmax scale.
    cache_format: the name of what kv_buffer holds (docs/append.md) where its rows are as long as another one's: "fp8_planar".
    """
    if torch_state.mode() and (made := torch_state.watched(mla_decode_fwd, locals())) is not None:
        return made
    if ctx is None:
        ctx = context._default or context.default_context()
    try:
        if batch_invariant:
            ctx = ctx.with_batch_invariance()
        if logit_cap:
            fail(f"logit_cap is {logit_cap}; only 0 (none) is supported")
        if nhead_kv != 1:
            fail(f"nhead_kv is {nhead_kv}, must be 1: all heads of queries read one latent cache, and more KV heads are not served")
        if page_size is not None:
            check_page("kv_buffer", kv_buffer[0] if isinstance(kv_buffer, (tuple, list)) and kv_buffer else kv_buffer, page_size)
        # Plain calls are the compiled module's; it serves none whose outputs are to be made, nor bytes of which only the shapes say what they hold.
        if (block_table is None and seq_lens is None and kv_scale is None and q_scale is None and rope_style is None and cache_format is None and ctx._flash is not None
                and ctx.call(1 if causal else 0, int(max_seqlen_q), int(mean_kv_len) if mean_kv_len else 0, sm_scale, stream, workspace, q, kv_buffer, o, lse,
                             qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, rope_table=rope_table) is not None):
            return o, lse
        if q.__class__ in (tuple, list):
            q = joined_q(*q, ctx=ctx) if rope_style is not None else parts_or_joined(q, ctx=ctx)
        tables = qo_indptr, kv_indptr, kv_indices, kv_last_page_lens
        if block_table is not None or seq_lens is not None:
            tables = _block_table(*tables, block_table, seq_lens)
        if o is None or lse is True:
            o, lse = _outputs(ctx, q, kv_buffer, o, lse, head_dim_v)
        cache, sm_scale = _cache_of(ctx, q, kv_buffer, o, kv_scale, q_scale, cache_format), _scaled(sm_scale, q_scale, q)
        ctx.call(1 if causal else 0, int(max_seqlen_q), int(mean_kv_len or 0), sm_scale, stream, workspace, q, cache, o, lse, *tables,
                 rope_style=rope_style, rope_table=rope_table, unsaid=True)
    except FAULTS as why:
        _DECODE.explain(why, ctx, (), locals())
    return o, lse


def _block_table(qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, block_table, seq_lens):
    """A block table with lengths behind qo_indptr, as a call takes them."""
    for name, value in (("kv_indptr", kv_indptr), ("kv_indices", kv_indices), ("kv_last_page_lens", kv_last_page_lens)):
        if value is not None:
            fail(f"{name} is given beside a block table, must be None: block_table and seq_lens say what it says")
    for name, value in (("block_table", block_table), ("seq_lens", seq_lens)):
        if value is None:
            fail(f"{name} is None, must be a tensor: a block table comes with seq_lens")
    return qo_indptr, block_table, seq_lens


def _out_columns(kv_buffer, head_dim_v):
    """Columns of an `o` that is made."""
    if head_dim_v is None and isinstance(kv_buffer, (tuple, list)) and kv_buffer:
        return kv_buffer[0].shape[-1]
    if head_dim_v is None:
        fail("o is None, and one tensor holds all columns of the cache: head_dim_v, those of o, is wanted (512, say)")
    return whole("head_dim_v", head_dim_v, 1, 512)


def _outputs(ctx, q, kv_buffer, o, lse, head_dim_v):
    """(o, lse), made where they are None and True."""
    q = q[0] if q.__class__ is tuple else q
    q = adopt(ctx, "q", q) if ctx.emulated else q
    if len(q.shape) != 3:
        fail(f"q has shape {tuple(q.shape)}; 3 dimensions are expected")
    o = empty(ctx, q, (*q.shape[:2], _out_columns(kv_buffer, head_dim_v)), "bfloat16" if is_bytes(q) else None) if o is None else o
    return given((o, empty(ctx, q, tuple(q.shape[:2]), "float32") if lse is True else lse))


def _cache_of(ctx, q, kv_buffer, o, kv_scale, q_scale, said=None):
    """The cache as calls take it; one of 8 bits: its tensor, what it holds as mlaf_kv_format, and its scale and q's as tensors of one dimension."""
    of_q, columns = q_scale if hasattr(q_scale, "shape") else None, None
    if q.__class__ is tuple:
        q, columns = q[0], q[0].shape[-1] + q[1].shape[-1]
    if kv_scale is None and of_q is None and getattr(kv_buffer, "dtype", None) == getattr(q, "dtype", None):
        return kv_buffer
    if kv_scale is not None and not hasattr(kv_scale, "shape"):
        fail(f"kv_scale is {kv_scale!r}, must be a tensor of one float32 on the device")
    if isinstance(kv_buffer, (tuple, list)) and len(kv_buffer) == 2 and all(hasattr(x, "shape") for x in (q, *kv_buffer)):
        kind = cache_format.of_pair("mla_decode", kv_buffer, dtype_name(q, "q"))
        if kind is not None and kind.scale != "none":
            return tuple(kv_buffer), kind.operations["mla_decode"] - 1, kv_scale
        if kv_scale is not None:
            fail("kv_scale is given and kv_buffer is a pair of tensors, which have 16 bits: it must be None, or the latent have 8 bits")
    if isinstance(kv_buffer, (tuple, list)) or not all(hasattr(x, "shape") and len(x.shape) for x in (q, kv_buffer, o)):
        return kv_buffer
    return kv_buffer, cache_format.of_bytes("kv_buffer", kv_buffer, columns or q.shape[-1], o.shape[-1], ctx.target, said), kv_scale, of_q


def _scaled(sm_scale, q_scale, q):
    if q_scale is None:
        return sm_scale
    if hasattr(q_scale, "shape"):
        if is_bytes(q):
            return sm_scale
        fail("q_scale is a tensor, must be a number: q has 16 bits, and what it is to be multiplied by goes into the softmax scale on the host")
    return (1 / math.sqrt(q.shape[-1]) if sm_scale is None else sm_scale) * q_scale


_DECODE = Arguments(mla_decode_fwd, {
    "q": "[T, H, R+P], or a pair of [T, H, R] and [T, H, P]", "kv_buffer": "[pages, page_size, 1, R+P], or a pair of [pages, page_size, R] and [pages, page_size, P]",
    "o": "[T, H, R] or None", "qo_indptr": "[B+1]", "kv_indptr": "[B+1] or None", "kv_indices": "[pages] or None",
    "kv_last_page_lens": "[B] or None", "max_seqlen_q": int, "sm_scale": float, "page_size": int, "lse": "[T, H]", "mean_kv_len": float,
    "rope_table": "[positions, P]", "q_scale": float, "kv_scale": "[1] or []", "block_table": "[B, most]", "seq_lens": "[B]", "head_dim_v": int})


@entry(q="[Tq, H, D]", k="[Tk, H, D]", v="[Tk, H, V]", cu_seqlens_q="[B+1]", cu_seqlens_k="[B+1]", softmax_scale=float,
       out="[Tq, H, V]", window_size=tuple)
def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, min_seqlen_q=0, dropout_p=0.0,
                           softmax_scale=None, logits_soft_cap=0.0, causal=False, window_size=(-1, -1), bias=None, alibi_slopes=None,
                           deterministic=False, return_lse=False, return_attn_probs=False, how_v3_bf16_cvt=1, block_table=None, out=None,
                           cu_seqlens_q_padded=None, cu_seqlens_k_padded=None, sink_ptr=None, *, batch_invariant=False, ctx=None, stream=None):
    """mlaforge.flash_attn_varlen_func, which has FlashAttention's order of arguments, by AITER's. min_seqlen_q and how_v3_bf16_cvt are not
    looked at: any lengths are served, and numbers rounded to the nearest even. What else is not there is refused."""
    named = {"logits_soft_cap": logits_soft_cap == 0, "bias": bias is None, "cu_seqlens_q_padded": cu_seqlens_q_padded is None,
             "cu_seqlens_k_padded": cu_seqlens_k_padded is None, "sink_ptr": sink_ptr is None}
    for name, usual in named.items():
        if not usual:
            fail(f"{name} is set, and mla_prefill has no such thing")
    return mla_prefill.flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal,
                                              window_size, 0.0, alibi_slopes, deterministic, return_attn_probs, block_table,
                                              return_lse=return_lse, out=out, batch_invariant=batch_invariant, ctx=ctx, stream=stream)
