"""FlashMLA's entry points for MLA decode with a paged cache."""
import struct
import threading

from .context import default_context
from .tensors import dtype_of, empty, fail, row_stride, stream_of, want_dense, want_int32, want_shape


class _Tables:
    """What get_mla_metadata returns: the page tables of one step in the layout the kernels read, made when the first layer comes with
    its block table. Later layers with the same block table reuse them without waiting for the device."""

    def __init__(self, cache_seqlens):
        self.cache_seqlens = cache_seqlens
        self._lock, self._key, self._value, self._stream = threading.Lock(), None, None, None

    def get(self, ctx, block_table, q_len, page_size, stream):
        key = (id(ctx), block_table.data_ptr(), tuple(block_table.shape), q_len, page_size)
        with self._lock:
            if self._key != key:
                self._free()
                self._value, self._key = _build(ctx, block_table, self.cache_seqlens, q_len, page_size, stream), key
                self._stream = stream
            return self._value

    def _free(self):
        if self._value:
            ctx, base = self._value[0], self._value[1]
            self._value = self._key = None
            ctx.sync(self._stream)  # launches that read them
            ctx.free(base)

    def __del__(self):
        try:
            self._free()
        except Exception:  # the context is gone, and its memory with it
            pass


def _ints(ctx, tensor, n):
    return struct.unpack(f"{n}i", ctx.read(tensor.data_ptr(), 4 * n)) if n else ()


def _build(ctx, block_table, cache_seqlens, q_len, page_size, stream):
    """(ctx, base, addresses of qo_indptr, kv_indptr, kv_last_page_lens, kv_indices, mean length), in one allocation."""
    batch, most = (int(x) for x in block_table.shape)
    ctx.sync(stream)
    lengths, table = _ints(ctx, cache_seqlens, batch), _ints(ctx, block_table, batch * most)
    qo, kv, last, indices = [0], [0], [], []
    for b, length in enumerate(lengths):
        pages = -(-length // page_size)
        if length < 0 or pages > most:
            fail(f"cache_seqlens[{b}] is {length}; block_table has room for {most * page_size} tokens")
        indices += table[b * most:b * most + pages]
        qo.append(qo[-1] + q_len)
        kv.append(kv[-1] + pages)
        last.append(length - (pages - 1) * page_size if pages else 0)
    words = qo + kv + last + (indices or [0])
    base = ctx.alloc(4 * len(words))
    ctx.write(base, struct.pack(f"{len(words)}i", *words))
    at_kv = base + 4 * len(qo)
    at_last = at_kv + 4 * len(kv)
    return ctx, base, base, at_kv, at_last, at_last + 4 * len(last), sum(lengths) // max(batch, 1)


def get_mla_metadata(cache_seqlens, num_heads_per_head_k=None, num_heads_k=1, *unused, **ignored):
    """(tile_scheduler_metadata, num_splits) of one step, to be passed to every layer's flash_mla_with_kvcache. Scheduling is the
    tuner's business here; what is kept are the step's page tables."""
    want_int32("cache_seqlens", cache_seqlens)
    return _Tables(cache_seqlens), None


def flash_mla_with_kvcache(q, k_cache, block_table, cache_seqlens, head_dim_v, tile_scheduler_metadata=None, num_splits=None,
                           softmax_scale=None, causal=False, *, ctx=None, stream=None):
    """(out [B, q_len, H, head_dim_v], lse [B, H, q_len] float32), made by q.new_empty, or mlaforge.Buffers where q has none.

    q [B, q_len, H, R+P]; k_cache [blocks, page_size, 1, R+P]; block_table [B, most] and cache_seqlens [B] int32. The first layer of a
    step reads both tables on the host (it waits for the device), later layers with the same metadata do not.
    """
    batch, q_len, heads, columns = want_shape("q", q, 4)
    blocks, page_size, kv_heads, kv_columns = want_shape("k_cache", k_cache, 4)
    if kv_heads != 1 or kv_columns != columns or not 0 < head_dim_v <= columns:
        fail(f"q {tuple(q.shape)}, k_cache {tuple(k_cache.shape)} and head_dim_v {head_dim_v} do not fit together")
    dtype = dtype_of("q", q)
    if dtype_of("k_cache", k_cache) != dtype:
        fail("q and k_cache must have one dtype")
    want_dense("q", q)
    if want_shape("block_table", block_table, 2)[0] != batch:
        fail(f"block_table has {block_table.shape[0]} rows, q {batch}")
    want_int32("block_table", block_table)
    want_int32("cache_seqlens", cache_seqlens, batch)
    ctx = ctx or default_context()
    out = empty(ctx, q, (batch, q_len, heads, head_dim_v), None)
    lse = empty(ctx, q, (batch, q_len, heads), "float32")
    if batch:
        stream = stream_of(q, stream)
        tables = tile_scheduler_metadata if isinstance(tile_scheduler_metadata, _Tables) else _Tables(cache_seqlens)
        _, _, qo, kv, last, indices, mean = tables.get(ctx, block_table, q_len, page_size, stream)
        problem = (heads, head_dim_v, columns - head_dim_v, q_len, 1 if causal and q_len > 1 else 0, dtype, page_size, batch,
                   max(1, min(mean, 1 << 24)))
        ctx.execute(problem, stream, batch=batch, total_q=batch * q_len, q=q.data_ptr(), ckv=k_cache.data_ptr(),
                    ckv_row_stride=row_stride("k_cache", k_cache), qo_indptr=qo, kv_indptr=kv, kv_indices=indices,
                    kv_last_page_lens=last, o=out.data_ptr(), lse=lse.data_ptr(), num_pages=blocks,
                    scale=softmax_scale if softmax_scale is not None else columns ** -0.5)
    return out, lse.transpose(1, 2)
