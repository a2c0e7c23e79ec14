"""FlashMLA's entry points for MLA decode with a paged cache."""
import math
import struct
import sys
from typing import NamedTuple

from . import cache_format, context, torch_state
from .calls import current_stream
from .errors import MlafError
from .entry import FAULTS, Arguments
from .host import adopt, given
from .tensors import empty, fail, is_bytes


INFINITY = math.inf


class Lists(NamedTuple):
    """Index lists, by their names in a mlaf_call and in the order in which the compiled module takes them."""
    indices: object = None
    topk_length: object = None
    attn_sink: object = None
    extra_cache: object = None
    extra_indices: object = None
    extra_topk_length: object = None


class SchedulerMetadata:
    """Nothing: lengths and tables are read on the device at each launch, and kernels are chosen by the tuner's data. One object
    serves any number of steps, layers and shapes."""
    __slots__ = ()


_METADATA = SchedulerMetadata()


def get_mla_metadata(*args, **kwargs):
    """(metadata, None) for flash_mla_with_kvcache, with FlashMLA's present signature (no arguments) or its earlier ones (all of them
    ignored). Costs nothing, and says nothing of lengths."""
    return _METADATA, None


def _outputs(ctx, q, head_dim_v):
    """out [B, q_len, H, head_dim_v] and lse [B, H, q_len] over memory of [B, q_len, H]."""
    batch, q_len, heads, columns = q.shape
    if not 0 < head_dim_v <= columns:
        fail(f"head_dim_v is {head_dim_v}, q {tuple(q.shape)}: they do not fit together")
    out = empty(ctx, q, (batch, q_len, heads, head_dim_v), "bfloat16" if is_bytes(q) else None)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(q, torch.Tensor):
        return out, q.new_empty_strided((batch, heads, q_len), (heads * q_len, 1, heads), dtype=torch.float32)
    return out, empty(ctx, q, (batch, q_len, heads), "float32").transpose(1, 2)


def _invert_torch(torch, lse, stream):
    """-inf to +inf, in the order of the stream: None, an address, or an object with cuda_stream."""
    address = None if stream is None else int(getattr(stream, "cuda_stream", stream))
    if address is None or not lse.is_cuda or address == current_stream(lse):
        lse.nan_to_num_(nan=math.nan, posinf=math.inf, neginf=math.inf)
        return
    with torch.cuda.stream(torch.cuda.ExternalStream(address, device=lse.device)):
        lse.nan_to_num_(nan=math.nan, posinf=math.inf, neginf=math.inf)


def _invert_on_host(ctx, lse, stream):
    """The same of a tensor whose library is not known: its memory is dense, whatever its dimensions' order."""
    count = math.prod(lse.shape)
    try:
        ctx.sync(None if stream is None else int(getattr(stream, "cuda_stream", stream)) or None)
    except MlafError as e:
        fail(f"empty_lse is inf, and of tensors that are not PyTorch's the host writes it once the stream is done, which failed: {e}. While a "
             "stream captures pass empty_lse=-math.inf")
    values = struct.unpack(f"{count}f", ctx.read(lse.data_ptr(), 4 * count)) if count else ()
    if -math.inf in values:
        ctx.write(lse.data_ptr(), struct.pack(f"{count}f", *(math.inf if x == -math.inf else x for x in values)))


def _with_empty(ctx, out, lse, value, stream):
    """(out, lse) once rows without keys have the value in lse, where kernels write -inf."""
    if value == math.inf:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(lse, torch.Tensor):
            _invert_torch(torch, lse, stream)
        else:
            _invert_on_host(ctx, lse, stream)
    return out, lse


_FORMATS = {}  # by all that _find_format() looks at: it takes as long as the rest of a call


def _fp8_format(ctx, q, k_cache, rank, said):
    """The format of is_fp8_kvcache, as mlaf_kv_format: tokens with scales of their own. said: its name, or True."""
    name = said if isinstance(said, str) else None  # True may be a tensor, which no key keeps
    try:
        key = k_cache.dtype, k_cache.shape[-1], q.shape[-1], rank, ctx.target, name
        known = _FORMATS.get(key)
    except (AttributeError, IndexError, TypeError):
        key = known = None
    if known is None:
        known = _find_format(ctx, q, k_cache, rank, name)
        if key is not None:
            _FORMATS[key] = known
    return known


def _find_format(ctx, q, k_cache, rank, name):
    shape = getattr(k_cache, "shape", None)
    if not shape:
        fail("is_fp8_kvcache is True: k_cache is one tensor of bytes, [blocks, page_size, 1, 656 or 584]")
    kind = cache_format.of_bytes("k_cache", k_cache, q.shape[-1], rank, ctx.target, name)
    wanted = {f.operations["mla_decode"] - 1: f for f in cache_format.taken_by("mla_decode") if f.scale == "stored" and not f.second}
    if kind not in wanted:
        rows = " or ".join(dict.fromkeys(str(f.columns(rank, q.shape[-1] - rank)) for f in wanted.values()))
        fail(f"is_fp8_kvcache is True and k_cache has rows of {shape[-1]} numbers, must be uint8 or float8_e4m3fn with rows of "
             f"{rows} bytes; mla_decode_fwd takes caches with one scale for all")
    return kind


def _with_descales(ctx, q, k_cache, rank, descale_q, descale_k):
    """A cache of 8 bits with one scale, and q's, as calls take them."""
    if descale_q is None or descale_k is None:
        fail("descale_q and descale_k are the scales of q and k_cache of 8 bits: both are wanted")
    if not is_bytes(q):
        fail("descale_q is given, and q has 16 bits: of a cache of 8 bits with one scale mla_decode_fwd takes such queries, with kv_scale")
    return k_cache, cache_format.of_bytes("k_cache", k_cache, q.shape[-1], rank, ctx.target), descale_k, descale_q


def _ragged_outputs(ctx, q, head_dim_v, out, lse):
    """q [T, H, R+P], and out [T, H, head_dim_v] and lse [T, H], made where they are None."""
    if ctx.emulated:
        q, out, lse = (adopt(ctx, name, x) for name, x in (("q", q), ("out", out), ("lse", lse)))
    if len(q.shape) != 3:
        fail(f"q has shape {tuple(q.shape)}; with cu_seqlens_q 3 dimensions are expected")
    if not 0 < head_dim_v <= q.shape[2] or out is not None and tuple(out.shape[2:]) != (head_dim_v,):
        fail(f"head_dim_v is {head_dim_v}, q {tuple(q.shape)}, out {None if out is None else tuple(out.shape)}: they do not fit together")
    out = empty(ctx, q, (*q.shape[:2], head_dim_v), "bfloat16" if is_bytes(q) else None) if out is None else out
    return q, out, empty(ctx, q, tuple(q.shape[:2]), "float32") if lse is None else lse


def _check_out(out, head_dim_v):
    if out is not None and (len(out.shape) != 4 or head_dim_v != out.shape[3]):
        fail(f"head_dim_v is {head_dim_v}, out {tuple(out.shape)}: they do not fit together")


def _sparse(ctx, q, k_cache, rank, lists, scale, workspace, out, lse, stream):
    """Attention over index lists: (out, lse)."""
    q, out, lse = (adopt(ctx, name, x) if ctx.emulated else x for name, x in (("q", q), ("out", out), ("lse", lse)))
    if len(q.shape) != 4:
        fail(f"q has shape {tuple(q.shape)}; 4 dimensions are expected")
    _check_out(out, rank)
    if out is None or lse is None:
        made = _outputs(ctx, q, rank)
        out, lse = made[0] if out is None else out, made[1] if lse is None else lse
    ctx.call_sparse(0, 1, 0, scale, stream, workspace, q, k_cache, out, lse, **lists._asdict())
    return out, lse


def flash_mla_with_kvcache(q, k_cache, block_table, cache_seqlens, head_dim_v, tile_scheduler_metadata=None, num_splits=None,
                           softmax_scale=None, causal=False, is_fp8_kvcache=False, indices=None, attn_sink=None, extra_k_cache=None,
                           extra_indices_in_kvcache=None, topk_length=None, extra_topk_length=None, *, cu_seqlens_q=None, max_seqlen_q=None,
                           mean_kv_len=None, workspace=None, out=None, lse=None, empty_lse=INFINITY, batch_invariant=False, descale_q=None, descale_k=None, ctx=None, stream=None):
    """(out [B, q_len, H, head_dim_v], lse [B, H, q_len] float32), made by q.new_empty, or mlaforge.Buffers where q has none.

    q [B, q_len, H, R+P]; k_cache [blocks, page_size, 1, R+P], or a pair as in mla_decode_fwd; block_table [B, most] and cache_seqlens [B] int32, both on the device,
    where they are read at each launch, replays of graphs included. A length that block_table has no room for makes its request NaN.
    tile_scheduler_metadata and num_splits may be anything get_mla_metadata returned, or None. mean_kv_len (cached tokens of a
    request, about) helps to choose the kernel. `out` and `lse`: tensors to write to (lse [B, H, q_len] over memory of [B, q_len, H]).
    `workspace` and `batch_invariant` as in mla_decode_fwd. softmax_scale: any finite number, 0 included; None: 1/sqrt(R+P). More than one KV head
    is not served.

    cu_seqlens_q [B+1] int32 on the device: request b has the query tokens cu_seqlens_q[b] up to cu_seqlens_q[b + 1] of q [T, H, R+P], at most
    max_seqlen_q; out is [T, H, head_dim_v] and lse [T, H]. Tokens behind the last request's are left alone: they pad captured graphs.

    is_fp8_kvcache: k_cache [blocks, page_size, 1, R + 16 + 2P], uint8 or float8_e4m3fn, whose tokens hold their scales (656 bytes of 512 + 64
    columns): R numbers of e4m3fn, a float32 scale for every 128 of them, any number, and P of q's type. Or [blocks, page_size, 1, 584], DeepSeek-V4's:
    a page has 576 bytes a token (448 of e4m3fn, 64 bf16), then 8 (7 powers of two for 64 columns each, float8_e8m0fnu, and one that means nothing),
    and is a multiple of 576 long; K and V are all 512 columns, q [B, q_len, H, 512] is bfloat16. With or without indices. Caches with one scale are
    refused; mla_decode_fwd takes them. is_fp8_kvcache="fp8_planar": as many bytes a token as of the first, but a page has the numbers of all its
    tokens, then all their scales, then all their P columns (AITER's); pages lie a multiple of R bytes apart.

    descale_q and descale_k, tensors of one float32 on the device: q and k_cache are both float8_e4m3fn (or float8_e4m3fnuz), and their values the stored
    numbers times these. out is bfloat16, or what is handed over.

    Sparse attention: indices [B, q_len, topk] int32, block * page_size + token in the block, in place of block_table and cache_seqlens,
    which are not looked at. Any topk from 1 on and any number of heads. An entry outside the cache (-1, say) is absent, one that comes twice counts
    twice. topk_length [B] int32 (or one for each query token): entries of each list that count; what lies behind them is not read. attn_sink [H]
    float32: out is multiplied by exp(lse) / (exp(lse) + exp(attn_sink)), lse is without it.

    extra_k_cache, a second cache of tokens of 584 bytes with a page_size of its own, and extra_indices_in_kvcache [B, q_len, extra_topk], its entries:
    each query token sees those of both lists, in one softmax. extra_topk_length as topk_length.

    empty_lse: what lse says of a row that sees no key. FlashMLA's is +inf, and so is this default; all other entries of this package say
    -inf, as their kernels do. +inf costs one small launch behind the call (PyTorch's nan_to_num_); for tensors of other libraries the
    host waits for the stream and writes it. With -math.inf there is neither.
    """
    if torch_state.mode() and (made := torch_state.watched(flash_mla_with_kvcache, locals())) is not None:
        return made
    # `not (...)` in place of this is seven bytecodes more: tests/python/test_host_cost.py
    sparse = False if (indices is None and topk_length is None and attn_sink is None and extra_k_cache is None
                       and extra_indices_in_kvcache is None and extra_topk_length is None) else True
    if not sparse and (block_table is None or cache_seqlens is None):
        fail("block_table and cache_seqlens are wanted")
    if ctx is None:
        ctx = context._default or context.default_context()
    try:
        if empty_lse != INFINITY and empty_lse != -INFINITY:
            fail(f"empty_lse is {empty_lse!r}, must be math.inf (FlashMLA's) or -math.inf")
        if batch_invariant:
            ctx = ctx.with_batch_invariance()
        causal, length, scale = 1 if causal else 0, int(mean_kv_len or 0), softmax_scale
        cache = (k_cache, _fp8_format(ctx, q, k_cache, head_dim_v, is_fp8_kvcache), None) if is_fp8_kvcache else k_cache
        codes = descale_q is not None or descale_k is not None  # outputs are not of q's type
        if codes:
            if is_fp8_kvcache:
                fail("is_fp8_kvcache is True and descale_q or descale_k is given: tokens with scales of their own are read with q of 16 bits")
            cache = _with_descales(ctx, q, k_cache, head_dim_v, descale_q, descale_k)
        if sparse:
            lists = Lists(indices, topk_length, attn_sink, extra_k_cache, extra_indices_in_kvcache, extra_topk_length)
            if cu_seqlens_q is not None or max_seqlen_q is not None:
                fail("cu_seqlens_q is given with indices, must be None: each query token has a list of its own")
            if causal:
                fail("causal is True with indices, must be False: lists say what each query token sees")
            if indices is None:
                given_too = next(name for name, x in zip(Lists._fields, lists) if x is not None)
                fail(f"indices is None, and {_NAMES.get(given_too, given_too)} is given: it comes with lists")
            made = None if codes else ctx.call_flash(0, head_dim_v, 0, scale, stream, workspace, q, cache, out, lse, *lists, empty_lse == INFINITY)
            if made is not None:
                return made
            out, lse = _sparse(ctx, q, cache, head_dim_v, lists, scale, workspace, out, lse, stream)
            return given(_with_empty(ctx, out, lse, empty_lse, stream))
        if cu_seqlens_q is not None or max_seqlen_q is not None:
            if cu_seqlens_q is None or max_seqlen_q is None:
                fail("cu_seqlens_q and max_seqlen_q are ragged queries: both are wanted")
            q, out, lse = _ragged_outputs(ctx, q, head_dim_v, out, lse)
            ctx.call(causal, int(max_seqlen_q), length, scale, stream, workspace, q, cache, out, lse, cu_seqlens_q, block_table, cache_seqlens,
                     unsaid=True)
            return given(_with_empty(ctx, out, lse, empty_lse, stream))
        made = None if codes else ctx.call_flash(causal, head_dim_v, length, scale, stream, workspace, q, cache, out, lse, block_table,
                                                 cache_seqlens, empty_lse == INFINITY)
        if made is not None:
            return made
        if ctx.emulated:
            q, out, lse = (adopt(ctx, name, x) for name, x in (("q", q), ("out", out), ("lse", lse)))
        if len(q.shape) != 4:
            fail(f"q has shape {tuple(q.shape)}; 4 dimensions are expected")
        _check_out(out, head_dim_v)
        if out is None or lse is None:
            made = _outputs(ctx, q, head_dim_v)
            out, lse = made[0] if out is None else out, made[1] if lse is None else lse
        ctx.call(causal, 0, length, scale, stream, workspace, q, cache, out, lse, block_table, cache_seqlens, unsaid=True)
        out, lse = _with_empty(ctx, out, lse, empty_lse, stream)
    except FAULTS as why:
        _FLASH.explain(why, ctx, (), locals())
    return given((out, lse))


_NAMES = {"extra_cache": "extra_k_cache", "extra_indices": "extra_indices_in_kvcache"}
_FLASH = Arguments(flash_mla_with_kvcache, {"is_fp8_kvcache": object, 
    "q": "[B, q_len, H, R+P], or [T, H, R+P] with cu_seqlens_q", "cu_seqlens_q": "[B+1]", "max_seqlen_q": int, "k_cache": "[blocks, page_size, 1, R+P], or a pair of [blocks, page_size, R] and [blocks, page_size, P]",
    "block_table": "[B, most] or None", "cache_seqlens": "[B] or None", "head_dim_v": int,
    "softmax_scale": float, "mean_kv_len": float, "out": "[B, q_len, H, head_dim_v] or [T, H, head_dim_v]", "lse": "[B, H, q_len] or [T, H]",
    "indices": "[B, q_len, topk]", "topk_length": "[B]", "attn_sink": "[H]", "extra_k_cache": "[blocks, page_size, 1, 584]",
    "extra_indices_in_kvcache": "[B, q_len, topk]", "extra_topk_length": "[B]",
    "descale_q": "[1] or []", "descale_k": "[1] or []"})


TOKENS_MOST = 32768  # of a launch: each is a request, and CUDA takes 65535 blocks in a dimension


def _sparse_in_parts(q, kv, indices, sm_scale, d_v, attn_sink, topk_length, workspace, out, lse, empty_lse, ctx, stream):
    """flash_mla_sparse_fwd of more tokens than a launch takes."""
    out = empty(ctx, q, (*q.shape[:2], d_v), None) if out is None else out
    lse = empty(ctx, q, tuple(q.shape[:2]), "float32") if lse is None else lse
    for first in range(0, q.shape[0], TOKENS_MOST):
        some = slice(first, first + TOKENS_MOST)
        flash_mla_sparse_fwd(q[some], kv, indices[some], sm_scale, d_v, attn_sink, None if topk_length is None else topk_length[some],
                             workspace=workspace, out=out[some], lse=lse[some], empty_lse=empty_lse, ctx=ctx, stream=stream)
    return out, None, lse


def flash_mla_sparse_fwd(q, kv, indices, sm_scale, d_v=512, attn_sink=None, topk_length=None, *, workspace=None, out=None, lse=None,
                         empty_lse=INFINITY, batch_invariant=False, ctx=None, stream=None):
    """Sparse attention of new tokens, FlashMLA's prefill: (out [T, H, d_v], None, lse [T, H] float32).

    q [T, H, R+P]; kv [rows, 1, R+P]; indices [T, 1, topk] int32 (or [T, topk]), outside 0..rows - 1: absent; topk_length [T] int32; attn_sink
    [H] float32. sm_scale: any finite number. lse is the natural logarithm, as flash_mla_with_kvcache's, with its empty_lse. FlashMLA's second result, the largest logit of each
    row, is not computed: None stands in its place. More than 32768 tokens are several launches.
    """
    if torch_state.mode() and (made := torch_state.watched(flash_mla_sparse_fwd, locals())) is not None:
        return made
    if ctx is None:
        ctx = context._default or context.default_context()
    try:
        if batch_invariant:
            ctx = ctx.with_batch_invariance()
        if len(q.shape) == 3 and q.shape[0] > TOKENS_MOST and hasattr(q, "new_empty"):  # a Buffer has no parts
            return _sparse_in_parts(q, kv, indices, sm_scale, d_v, attn_sink, topk_length, workspace, out, lse, empty_lse, ctx, stream)
        if ctx.emulated:
            q, kv = (adopt(ctx, name, x) for name, x in (("q", q), ("kv", kv)))
        if len(q.shape) != 3 or len(kv.shape) != 3:
            fail(f"q has shape {tuple(q.shape)} and kv {tuple(kv.shape)}; 3 dimensions are expected")
        if kv.shape[1] != 1:
            fail(f"kv has {kv.shape[1]} KV heads, must have 1: all heads of queries read one latent cache, and more KV heads are not served")
        tokens, heads, columns = q.shape
        if not 0 < d_v <= columns:
            fail(f"d_v is {d_v}, q {tuple(q.shape)}: they do not fit together")
        out = empty(ctx, q, (tokens, heads, d_v), None) if out is None else out
        lse = empty(ctx, q, (tokens, heads), "float32") if lse is None else lse
        ctx.call_sparse(0, 1, 0, sm_scale, stream, workspace, q, kv, out, lse, indices=indices, topk_length=topk_length,
                        attn_sink=attn_sink)
        out, lse = _with_empty(ctx, out, lse, empty_lse, stream)
    except FAULTS as why:
        _SPARSE.explain(why, ctx, (), locals())
    return given((out, None, lse))


_SPARSE = Arguments(flash_mla_sparse_fwd, {
    "q": "[T, H, R+P]", "kv": "[rows, 1, R+P]", "indices": "[T, 1, topk] or [T, topk]", "sm_scale": float, "d_v": int,
    "attn_sink": "[H]", "topk_length": "[T]", "out": "[T, H, d_v]", "lse": "[T, H]"})
