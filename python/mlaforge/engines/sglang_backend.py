"""SGLang's attention backend by mlaforge: absorbed attention of decode, extend, target verify and draft extend over its latent cache."""
import itertools

from mlaforge.errors import needs

needs(__name__, "torch", "sglang")

import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend
from sglang.srt.mem_cache.memory_pool import KVWriteLoc
from sglang.srt.runtime_context import get_memory, get_spec

import mlaforge
from mlaforge.engines import refuse
from mlaforge.engines.steps import pieces

CALLS = {"decode": 0, "extend": 0, "verify": 0, "cached before extend": 0}
WIDE = 1 << 22  # entries of a step's block table from which a kernel that looks at lengths is worth its launch (one H200, 2026-11-30; docs/engines.md)
Q_MOST = 16  # query tokens of a request; a longer extend is several requests over the same pages


class Backend(AttentionBackend):
    """SGLang's own kernels append to the cache. A step's block table, lengths and query pointers are made once, for all its layers."""
    needs_cpu_seq_lens = False

    def __init__(self, runner):
        super().__init__()
        self.token_to_kv_pool, self.req_to_token_pool = runner.token_to_kv_pool, runner.req_to_token_pool  # SGLang looks for them here
        self.rows, self.page = runner.req_to_token_pool.req_to_token, runner.page_size
        self.rank, self.dtype = runner.model_config.kv_lora_rank, runner.dtype
        spec = get_spec()  # as SGLang resolved them; server_args holds what was given
        self.drafts = spec.speculative_num_draft_tokens or 1
        self.columns = -(-self.rows.shape[1] // self.page)
        self.fill, self.scratch = self._kernel(), self.rows.new_zeros((0, self.columns))
        refuse("the model has no kv_lora_rank: only MLA is served; take another --attention-backend", not self.rank)
        refuse(f"the cache is {self.token_to_kv_pool.dtype}, must be {self.dtype}: --kv-cache-dtype must be auto",
               self.token_to_kv_pool.store_dtype != self.dtype)
        refuse("enable_unified_memory is set: tables of SGLang's unified memory pool hold virtual rows, which this backend does not translate", get_memory().enable_unified_memory)
        refuse("speculative_eagle_topk is above 1: trees of drafts want a mask, and only chains are served", (spec.speculative_eagle_topk or 1) > 1)

    def support_triton(self):
        """SGLang's helpers in Triton may be used where there is a GPU."""
        return torch.cuda.is_available()

    # --- a step's tables ---
    def _kernel(self):
        """SGLang's kernel that fills a block table as far as lengths go, which lie on the device: a function of requests, lengths and the table."""
        if not self.rows.is_cuda or self.page & (self.page - 1) or self.page > 4096:
            return None
        from sglang.kernels.ops.attention.kv_indices import create_flashmla_kv_indices_triton as kernel, get_num_kv_index_blocks_flashmla as blocks
        wide = blocks(self.columns, self.page)
        return lambda requests, lens, table: kernel[(len(lens), wide)](self.rows, requests, lens, None, table, self.rows.stride(0), table.stride(0), self.page)

    def _pages(self, requests, columns, out=None):
        """Block table of these requests, so many pages wide: two launches."""
        table = torch.index_select(self.rows[:, :columns * self.page:self.page], 0, requests, out=out)
        return table.floor_divide_(self.page) if self.page > 1 else table

    def _table(self, requests, lens, graph):
        """Block table of a step whose lengths the host does not know, as wide as the longest request there may be. What lies behind a request's length is of
        earlier steps, and is not read."""
        n = len(lens)
        if not graph and len(self.scratch) < n:
            self.scratch = self.rows.new_zeros((max(n, 2 * len(self.scratch)), self.columns))
        table = (self.graph_table if graph else self.scratch)[:n]
        if self.fill is None or table.numel() < WIDE:
            return self._pages(requests, self.columns, table)
        self.fill(requests, lens, table)
        return table

    def _width(self, mode):
        """Query tokens of each request of a batch that has the same number for all; None: of an extend."""
        return 1 if mode.is_decode_or_idle() else self.drafts if mode.is_target_verify() or mode.is_draft_extend_v2() else None

    def _lengths(self, batch, graph):
        """Cached tokens with the new ones. Verify's lengths are without drafts; draft extend's windows are as wide for all, which graphs' lengths know."""
        lens, mode = batch.seq_lens, batch.forward_mode
        if mode.is_target_verify():
            return lens + self.drafts
        return lens - batch.extend_seq_lens + self.drafts if mode.is_draft_extend_v2() and not graph else lens

    def _extend(self, batch):
        """Pieces of up to Q_MOST new tokens, each with the tokens up to its last one."""
        news, cached = batch.extend_seq_lens_cpu, batch.extend_prefix_lens_cpu
        owners, counts, before = (list(x) for x in zip(*pieces(news, cached, Q_MOST))) if news else ([], [], [])
        lens = [n + past for n, past in zip(counts, before)]
        of = dict(device=self.rows.device)
        self.table = self._pages(batch.req_pool_indices[torch.tensor(owners, dtype=torch.int64, **of)], -(-max(lens, default=1) // self.page))
        self.lens, self.mean = torch.tensor(lens, dtype=torch.int32, **of), sum(lens) // max(len(lens), 1)
        # One token or Q_MOST: each number has kernels of its own, compiled in the first request that brings it.
        self.kind, self.longest = "extend", 1 if max(counts, default=1) == 1 else Q_MOST
        self.starts = torch.tensor([0, *itertools.accumulate(counts)], dtype=torch.int32, **of)
        CALLS["cached before extend"] += sum(cached)

    def init_forward_metadata(self, batch, graph=False):
        """Without a graph: tensors of this step's own."""
        self.width, n = self._width(batch.forward_mode), batch.batch_size
        if self.width is None:
            self._extend(batch)
            return
        self.lens = self.graph_lens[:n].copy_(self._lengths(batch, graph)) if graph else self._lengths(batch, graph).int()
        self.table = self._table(batch.req_pool_indices[:n], self.lens, graph)
        self.starts, self.mean, self.kind = None, 0, "decode" if batch.forward_mode.is_decode_or_idle() else "verify"

    def init_cuda_graph_state(self, max_bs, max_num_tokens):
        """Tensors that graphs read, as wide as the longest request there may be."""
        self.graph_table = torch.zeros((max_bs, self.columns), dtype=torch.int32, device=self.rows.device)
        self.graph_lens = torch.ones(max_bs, dtype=torch.int32, device=self.rows.device)

    def get_cuda_graph_seq_len_fill_value(self):
        """Cached tokens of a request that fills up a graph's batch."""
        return 1

    def init_forward_metadata_out_graph(self, batch, in_capture=False):
        """Before a capture, and before each replay: the step's tables, in the graph's tensors."""
        self.init_forward_metadata(batch, True)

    # --- a layer ---
    def _run(self, q, k, v, layer, batch, save_kv_cache=True, **more):
        others = [name for name, value in more.items() if value is not None]
        refuse(f"{', '.join(others)}: not served by this backend", others)
        if k is not None and save_kv_cache:
            self.token_to_kv_pool.set_kv_buffer(layer, KVWriteLoc.for_batch(batch), k, v)
        cache = self.token_to_kv_pool.get_key_buffer(layer.layer_id)
        cache = cache[:cache.shape[0] // self.page * self.page].view(-1, self.page, 1, layer.head_dim)
        shape = (layer.tp_q_head_num, layer.head_dim)
        q, how = (q.reshape(-1, *shape), dict(cu_seqlens_q=self.starts, max_seqlen_q=self.longest)) if self.starts is not None else (
            q.reshape(-1, self.width, *shape), {})
        out, _ = mlaforge.flash_mla_with_kvcache(q, cache, self.table, self.lens, self.rank, softmax_scale=layer.scaling, causal=True, mean_kv_len=self.mean, **how)
        CALLS[self.kind] += 1
        return out.reshape(-1, layer.tp_q_head_num * self.rank)

    forward_decode = forward_extend = _run
