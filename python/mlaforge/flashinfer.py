"""FlashInfer's entry point for MLA over a paged cache: BatchMLAPagedAttentionWrapper, for PyTorch's tensors.

Queries and cache come in two tensors each, the columns without positions and those with. The cache is read so. Queries are, too, where strides of
tokens and heads are multiples of 16 bytes; others are put side by side by one launch, into memory that plan() has set aside. Rope columns of 8 bits that
lie in a tensor of their own are made 16 bits by each run: no kernel reads two tensors of 8 bits."""
import math

from .errors import needs

needs(__name__, "torch")

import torch

from .aiter import mla_decode_fwd
from .engines.steps import pieces
from .entry import check, explained
from .mla_append import parts_or_joined
from .tensors import dtype_name, fail, whole

__all__ = ["BatchMLAPagedAttentionWrapper"]

Q_MOST = 16  # query tokens of a request; longer ones become several requests over the same pages
LOG2_E = math.log2(math.e)
BYTES = torch.float8_e4m3fn
TABLE_SCALE = (128 + 64) ** -0.5


def _requests(qo_indptr, kv_indptr, kv_len, page_size, causal):
    """(query tokens, first entry of kv_indices, cached tokens) of each request that a launch has, from lists of numbers."""
    news = [last - first for first, last in zip(qo_indptr, qo_indptr[1:])]
    for b, (new, cached) in enumerate(zip(news, kv_len)):
        if new < 0 or cached < 0 or kv_indptr[b + 1] - kv_indptr[b] < -(-cached // page_size):
            fail(f"request {b} has {new} query tokens, {cached} cached tokens and {kv_indptr[b + 1] - kv_indptr[b]} pages of {page_size}: "
                 "none may be negative, and pages must hold all cached tokens")
    cut = pieces(news, [cached - new for new, cached in zip(news, kv_len)], Q_MOST)
    return [(n, kv_indptr[b], max(past + n, 0) if causal else kv_len[b]) for b, n, past in cut]


def _one_tensor(ckv, kpe):
    """True of two parts of one tensor's rows: kpe lies behind ckv, or has no columns."""
    return not kpe.shape[-1] or ckv.stride() == kpe.stride() and kpe.data_ptr() == ckv.data_ptr() + ckv.shape[-1] and ckv.stride(1) >= ckv.shape[-1] + kpe.shape[-1]


class BatchMLAPagedAttentionWrapper:
    """FlashInfer's class of this name. float_workspace_buffer and backend are not looked at. With use_cuda_graph, qo_indptr, kv_indptr, kv_indices and
    kv_len_arr are the tensors that graphs read: plan() writes to them, and the number of requests is theirs."""

    def __init__(self, float_workspace_buffer, use_cuda_graph=False, qo_indptr=None, kv_indptr=None, kv_indices=None, kv_len_arr=None, backend="auto",
                 *, ctx=None):
        self._ctx, self._device, self._graphs, self._plan = ctx, float_workspace_buffer.device, use_cuda_graph, None
        self._buffers, self._q, self._held = (qo_indptr, kv_indptr, kv_indices, kv_len_arr), None, None
        self._bytes, self._scale, self._kpe = False, None, None  # of caches of 8 bits: the latent's scale on the device, and rope columns of 16 bits
        if use_cuda_graph and any(x is None for x in self._buffers):
            fail("use_cuda_graph is True, and one of qo_indptr, kv_indptr, kv_indices and kv_len_arr is None: graphs read these tensors")

    @property
    def is_cuda_graph_enabled(self):
        """As the constructor was told."""
        return self._graphs

    @explained(qo_indptr="[B + 1]", kv_indptr="[B + 1]", kv_indices="[pages]", kv_len_arr="[B]", num_heads=int, head_dim_ckv=int, head_dim_kpe=int,
               page_size=range(1, 65537), causal=bool, sm_scale=float)
    def plan(self, qo_indptr, kv_indptr, kv_indices, kv_len_arr, num_heads, head_dim_ckv, head_dim_kpe, page_size, causal, sm_scale, q_data_type,
             kv_data_type, use_profiler=False):
        """For the launches until the next plan(): int32 qo_indptr [B + 1], kv_indptr [B + 1], kv_indices and kv_len_arr [B], on the device or the host; this
        waits for them. causal: query tokens see the cache up to themselves. sm_scale: a number. One type of 16 bits for queries and cache, or queries of
        bfloat16 and a cache of float8_e4m3fn."""
        if use_profiler:
            fail("use_profiler is True, must be False: there is no profiler here")
        if kv_data_type not in (q_data_type, BYTES):
            fail(f"kv_data_type is {kv_data_type}, must be {q_data_type}, as q_data_type, or {BYTES}")
        if kv_data_type == BYTES and q_data_type != torch.bfloat16:
            fail(f"q_data_type is {q_data_type}, and caches of 8 bits are for q_data_type=torch.bfloat16")
        self._bytes = kv_data_type == BYTES
        if self._bytes and self._scale is None:  # one for all plans: graphs write and read it
            self._scale = torch.empty(1, dtype=torch.float32, device=self._device)
        for name, value, least in (("num_heads", num_heads, 1), ("head_dim_ckv", head_dim_ckv, 1), ("head_dim_kpe", head_dim_kpe, 0)):
            whole(name, value, least, 1 << 16)
        queries, pages, lengths = (x.tolist() for x in (qo_indptr, kv_indptr, kv_len_arr))
        requests = _requests(queries, pages, lengths, page_size, causal)
        indices, used = kv_indices, [-(-n // page_size) for _, _, n in requests]
        if len(requests) != len(lengths) or any(b - a != n for a, b, n in zip(pages, pages[1:], used)):
            indices = torch.cat([kv_indices[first:first + n] for (_, first, _), n in zip(requests, used)])
        sums = lambda counts: torch.tensor([0, *torch.tensor(counts, dtype=torch.int64).cumsum(0).tolist()], dtype=torch.int32)
        lists = [sums([n for n, _, _ in requests]), sums(used), indices.int(),
                 torch.tensor([n - (p - 1) * page_size if p else 0 for (_, _, n), p in zip(requests, used)], dtype=torch.int32)]
        self._lists = self._fixed(lists, len(lengths)) if self._graphs else [x.to(self._device, non_blocking=True) for x in lists]
        tokens, shape = queries[-1], (queries[-1], num_heads, head_dim_ckv + head_dim_kpe)
        if self._q is None or self._q.dtype != q_data_type or self._q.shape[0] < tokens or self._q.shape[1:] != shape[1:]:
            self._q = torch.empty(shape, dtype=q_data_type, device=self._device)
        # Each number has kernels of its own, compiled by the first call that brings it: so there are five, and no launch has twice the rows.
        longest = 1 << max(max((n for n, _, _ in requests), default=1) - 1, 0).bit_length()
        self._plan = dict(max_seqlen_q=longest, sm_scale=float(sm_scale), causal=bool(causal), page_size=page_size,
                          mean_kv_len=max(sum(lengths) // max(len(lengths), 1), 1), ctx=self._ctx)
        self._rank, self._tokens = head_dim_ckv, tokens

    def _fixed(self, lists, said):
        """The lists in tensors that graphs read: the constructor's, with last pages in one that is made once. Where long queries are several requests
        each, tensors that the first plan makes; requests without queries fill up those of later ones. said: requests that plan() was told of."""
        names = ("qo_indptr", "kv_indptr", "kv_indices", "kv_len_arr")
        for name, buffer in zip(names, self._buffers):
            wanted = {"kv_indices": lists[2].shape[0], "kv_len_arr": said}.get(name, said + 1)
            if buffer.dtype != torch.int32:
                fail(f"{name} of the constructor is {buffer.dtype}, must be int32")
            if wanted > buffer.shape[0] and (name != "kv_indices" or said == lists[3].shape[0]) or name != "kv_indices" and wanted != buffer.shape[0]:
                fail(f"{name} of the constructor has {buffer.shape[0]} entries, and this plan {wanted}: graphs were made for the former")
        if self._held is None:
            requests, entries = lists[3].shape[0], max(lists[2].shape[0], self._buffers[2].shape[0])
            empty = lambda n: torch.empty(n, dtype=torch.int32, device=self._device)
            own = [empty(requests + 1), empty(requests + 1), empty(entries)] if requests > said else self._buffers[:3]
            self._held = [*own, empty(requests)]
        for name, buffer, values in zip(names, self._held, lists):
            n = values.shape[0]
            if n > buffer.shape[0]:
                fail(f"this plan has {n} entries of {name}, and the first one, for which graphs were made, {buffer.shape[0]}: a request with more "
                     f"than {Q_MOST} query tokens counts as several; plan the longest queries first")
            buffer[:n].copy_(values, non_blocking=True)
            if name != "kv_indices" and n < buffer.shape[0]:
                buffer[n:].fill_(0 if name == "kv_len_arr" else int(values[-1]))
        return self._held

    @explained(q_nope="[T, H, R]", q_pe="[T, H, P]", ckv_cache="[pages, page_size, R]", kpe_cache="[pages, page_size, P]", out="[T, H, R]", lse="[T, H]",
               kv_len="[T]", page_table="[T, pages]")
    def run(self, q_nope, q_pe, ckv_cache, kpe_cache, out=None, lse=None, return_lse=False, profiler_buffer=None, kv_len=None, page_table=None,
            return_lse_base_on_e=False, o_scale=None, *, ckv_scale=None, ckv_scale_arr=None, kpe_scale=None):
        """q_nope [T, H, R], q_pe [T, H, P], ckv_cache [pages, page_size, R], kpe_cache [pages, page_size, P]: out [T, H, R], and with return_lse lse [T, H]
        float32, to the base 2 unless return_lse_base_on_e. A row without keys has out 0 and lse -inf.

        A cache of 8 bits comes with numbers as ckv_scale and kpe_scale, by which stored values are multiplied; or without rope columns and with ckv_scale_arr
        [pages, page_size, R / 128] float32. Two parts of one tensor's rows are read as they lie. Other rope columns are made 16 bits, all pages, by each run.

        With kv_len [T] and page_table [T, pages], int32 on the device, plan() is not needed: each query token is a request of the scale 192 ** -0.5, as
        FlashInfer's backend "cutlass" has it, of any page size and number of heads."""
        for name, value in dict(profiler_buffer=profiler_buffer, o_scale=o_scale).items():
            if value is not None:
                fail(f"{name} is given, must be None: " + ("there is no profiler here" if name == "profiler_buffer" else "the output has 16 bits here"))
        scales = dict(ckv_scale=ckv_scale, ckv_scale_arr=ckv_scale_arr, kpe_scale=kpe_scale)
        given = [name for name, value in scales.items() if value is not None]
        if given and (not self._bytes or kv_len is not None):
            fail(f"{given[0]} is given, must be None: the cache has 16 bits" + (" where kv_len is given" if kv_len is not None else ", as plan() was told"))
        if kv_len is not None or page_table is not None:
            return self._run_table(q_nope, q_pe, (ckv_cache, kpe_cache), out, lse, return_lse, kv_len, page_table, return_lse_base_on_e)
        if self._plan is None:
            fail("plan() was not called")
        if q_nope.shape[0] != self._tokens or q_pe.shape[0] != self._tokens or q_nope.shape[-1] != self._rank:
            fail(f"q_nope has the shape {tuple(q_nope.shape)} and q_pe {tuple(q_pe.shape)}; plan() was told {self._tokens} query tokens of {self._rank} columns")
        out = torch.empty_like(q_nope, memory_format=torch.contiguous_format) if out is None else out
        if return_lse and lse is None:
            lse = torch.empty(q_nope.shape[:2], dtype=torch.float32, device=q_nope.device)
        q, cache, how = (q_nope, q_pe), (ckv_cache, kpe_cache), self._plan
        if self._bytes:
            q, cache, scale = self._of_bytes(*q, *cache, **scales)
            how = dict(how, kv_scale=scale)
        if self._tokens:
            mla_decode_fwd(parts_or_joined(q, self._q, self._ctx), cache, out, *self._lists, lse=lse, **how)
        if lse is not None and not return_lse_base_on_e:
            lse.mul_(LOG2_E)
        return (out, lse) if return_lse else out

    def _of_bytes(self, q_nope, q_pe, ckv_cache, kpe_cache, ckv_scale, ckv_scale_arr, kpe_scale):
        """(Q, cache, kv_scale) as mla_decode_fwd takes them of a cache of 8 bits. The scale of rope columns goes to q_pe."""
        names = dict(q_nope=torch.bfloat16, q_pe=torch.bfloat16, ckv_cache=BYTES, kpe_cache=BYTES)
        for (name, dtype), tensor in zip(names.items(), (q_nope, q_pe, ckv_cache, kpe_cache)):
            if tensor.dtype != dtype:
                fail(f"{name}.dtype is {tensor.dtype}, must be {dtype}, as plan() was told")
        if (ckv_scale is None) == (ckv_scale_arr is None):
            fail(f"Exactly one of ckv_scale or ckv_scale_arr is wanted for a cache of 8 bits, {'none' if ckv_scale is None else 'both'} given")
        for name, value in dict(ckv_scale=ckv_scale, kpe_scale=kpe_scale).items():
            if value is not None:
                check(name, float, value)
                if not 0 < abs(value) < math.inf:
                    fail(f"{name} is {value}, must be a finite number other than 0")
        rope, groups = kpe_cache.shape[-1], (*ckv_cache.shape[:2], ckv_cache.shape[-1] // 128)
        if rope and kpe_scale is None:
            fail("kpe_scale is None, must be the scale of kpe_cache, which has 8 bits")
        if ckv_scale_arr is not None and (not hasattr(ckv_scale_arr, "shape") or dtype_name(ckv_scale_arr) != "float32"):
            fail(f"ckv_scale_arr is {getattr(ckv_scale_arr, 'dtype', type(ckv_scale_arr).__name__)}, must be a tensor of float32")
        if getattr(ckv_scale_arr, "device", ckv_cache.device) != ckv_cache.device:
            fail(f"ckv_scale_arr is on {ckv_scale_arr.device}, must be on {ckv_cache.device}, as ckv_cache")
        if ckv_scale_arr is not None and ckv_scale_arr.shape != groups:
            fail(f"Invalid shape of ckv_scale_arr: {tuple(ckv_scale_arr.shape)}, must be {groups}, a scale for every 128 columns of ckv_cache")
        if ckv_scale_arr is not None and (rope or self._rank != 512):
            fail(f"kpe_cache has {rope} columns and ckv_cache {self._rank}, must be 0 and must be 512 with ckv_scale_arr: others come with one ckv_scale for all")
        if (ckv_cache.shape[-1], rope) != (self._rank, self._q.shape[-1] - self._rank):
            fail(f"ckv_cache has {ckv_cache.shape[-1]} columns and kpe_cache {rope}, must be {self._rank} and {self._q.shape[-1] - self._rank}, as plan() was told")
        if ckv_scale_arr is not None:
            return (q_nope, q_pe), (ckv_cache, ckv_scale_arr), None
        ckv_scale, kpe_scale = float(ckv_scale), float(kpe_scale or 0)
        self._scale.fill_(ckv_scale)
        one = ckv_cache.as_strided((*ckv_cache.shape[:2], self._rank + rope), ckv_cache.stride()) if _one_tensor(ckv_cache, kpe_cache) else None
        factor = kpe_scale / ckv_scale if one is not None and rope else kpe_scale
        q = q_nope, q_pe * factor if rope and not (one is not None and factor == 1) else q_pe
        if one is not None:
            return q, one, self._scale
        if self._kpe is None or self._kpe.shape != kpe_cache.shape:
            self._kpe = torch.empty(kpe_cache.shape, dtype=torch.bfloat16, device=self._device)
        return q, (ckv_cache, self._kpe.copy_(kpe_cache)), self._scale

    def _run_table(self, q_nope, q_pe, cache, out, lse, return_lse, kv_len, page_table, base_on_e):
        """A batch of one query token a request over a table of pages: (out, lse) or out."""
        if kv_len is None or page_table is None:
            fail("kv_len and page_table come together: one of them is None")
        tokens = q_nope.shape[0]
        out = torch.empty_like(q_nope, memory_format=torch.contiguous_format) if out is None else out
        out, lse = mla_decode_fwd((q_nope, q_pe), cache, out, torch.arange(tokens + 1, dtype=torch.int32, device=q_nope.device), None, None, None, 1, TABLE_SCALE,
                                  lse=True if return_lse and lse is None else lse, block_table=page_table, seq_lens=kv_len, ctx=self._ctx)
        if lse is not None and not base_on_e:
            lse.mul_(LOG2_E)
        return (out, lse) if return_lse else out

    forward = run
