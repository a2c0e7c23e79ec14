"""FlashMLA's entry points for MLA decode with a paged cache."""
import sys

from . import context
from .tensors import empty, fail


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
    out = empty(ctx, q, (batch, q_len, heads, head_dim_v), None)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(q, torch.Tensor):
        return out, q.new_empty_strided((batch, heads, q_len), (heads * q_len, 1, heads), dtype=torch.float32)
    return out, empty(ctx, q, (batch, q_len, heads), "float32").transpose(1, 2)


def _refuse(is_fp8_kvcache, no_tables):
    if is_fp8_kvcache:
        fail("is_fp8_kvcache is True; caches of bfloat16 and float16 are served")
    if no_tables:
        fail("block_table and cache_seqlens are wanted")
    fail("indices, attn_sink, extra_k_cache, extra_indices_in_kvcache, topk_length and extra_topk_length (sparse decode) must be None")


def flash_mla_with_kvcache(q, k_cache, block_table, cache_seqlens, head_dim_v, tile_scheduler_metadata=None, num_splits=None,
                           softmax_scale=None, causal=False, is_fp8_kvcache=False, indices=None, attn_sink=None, extra_k_cache=None,
                           extra_indices_in_kvcache=None, topk_length=None, extra_topk_length=None, *, mean_kv_len=None,
                           workspace=None, out=None, lse=None, batch_invariant=False, ctx=None, stream=None):
    """(out [B, q_len, H, head_dim_v], lse [B, H, q_len] float32), made by q.new_empty, or mlaforge.Buffers where q has none.

    q [B, q_len, H, R+P]; k_cache [blocks, page_size, 1, R+P]; block_table [B, most] and cache_seqlens [B] int32, both on the device,
    where they are read at each launch, replays of graphs included. A length that block_table has no room for makes its request NaN.
    tile_scheduler_metadata and num_splits may be anything get_mla_metadata returned, or None. mean_kv_len (cached tokens of a
    request, about) helps to choose the kernel. `out` and `lse`: tensors to write to (lse [B, H, q_len] over memory of [B, q_len, H]).
    `workspace` and `batch_invariant` as in mla_decode_fwd. fp8 caches and sparse decode are not served.
    """
    if is_fp8_kvcache or indices is not None or extra_indices_in_kvcache is not None or extra_k_cache is not None or \
            topk_length is not None or extra_topk_length is not None or attn_sink is not None or block_table is None or \
            cache_seqlens is None:
        _refuse(is_fp8_kvcache, block_table is None or cache_seqlens is None)
    ctx = ctx or context._default or context.default_context()
    if batch_invariant:
        ctx = ctx.with_batch_invariance()
    causal, mean_kv_len, scale = 1 if causal else 0, int(mean_kv_len or 0), softmax_scale or 0.0
    made = ctx.call_flash(causal, head_dim_v, mean_kv_len, scale, stream, workspace, q, k_cache, out, lse, block_table, cache_seqlens)
    if made is not None:
        return made
    if len(q.shape) != 4:
        fail(f"q has shape {tuple(q.shape)}; 4 dimensions are expected")
    if out is not None and (len(out.shape) != 4 or head_dim_v != out.shape[3]):
        fail(f"head_dim_v is {head_dim_v}, out {tuple(out.shape)}: they do not fit together")
    if out is None or lse is None:
        made = _outputs(ctx, q, head_dim_v)
        out, lse = made[0] if out is None else out, made[1] if lse is None else lse
    ctx.call(causal, 0, mean_kv_len, scale, stream, workspace, q, k_cache, out, lse, block_table, cache_seqlens)
    return out, lse
