"""SGLang's attention backend by mlaforge: absorbed attention of decode, extend and verify over its latent cache."""
from mlaforge.errors import needs

needs(__name__, "torch", "sglang")

import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend
from sglang.srt.mem_cache.memory_pool import KVWriteLoc

import mlaforge

CALLS = {"decode": 0, "extend": 0, "cached before extend": 0}


class Backend(AttentionBackend):
    """Each new token of an extend is a request of its own, with the tokens up to itself. SGLang's own kernels append to the cache."""
    needs_cpu_seq_lens = False

    def __init__(self, runner):
        super().__init__()
        self.pool, self.rows, self.page = runner.token_to_kv_pool, runner.req_to_token_pool.req_to_token, runner.page_size
        self.rank, self.dtype = runner.model_config.kv_lora_rank, runner.dtype
        if not self.rank:
            raise NotImplementedError("mlaforge: the model has no kv_lora_rank: only MLA is served; take another --attention-backend")
        if self.pool.store_dtype != self.dtype:
            raise NotImplementedError(f"mlaforge: the cache is {self.pool.dtype}, must be {self.dtype}: --kv-cache-dtype must be auto")

    def support_triton(self):
        """SGLang's helpers in Triton may be used where there is a GPU."""
        return torch.cuda.is_available()

    def init_forward_metadata(self, batch):
        """Block table and lengths of a step, for all its layers."""
        rows, lens = self.rows[batch.req_pool_indices], batch.seq_lens
        self.decode = batch.forward_mode.is_decode_or_idle()
        if not self.decode:
            if batch.forward_mode.is_target_verify() or batch.spec_info is not None:
                raise NotImplementedError("mlaforge: speculative decoding is not served by this backend: take another --attention-backend")
            new, cached = batch.extend_seq_lens.long(), batch.extend_prefix_lens.long()
            rows = rows.repeat_interleave(new, 0)
            first = torch.repeat_interleave(new.cumsum(0) - new, new)
            lens = torch.arange(len(first), device=new.device) - first + cached.repeat_interleave(new) + 1
            CALLS["cached before extend"] += int(cached.sum())
        most = -(-int(lens.max()) // self.page) if len(lens) else 1
        self.table, self.lens = (rows[:, :most * self.page:self.page] // self.page).int().contiguous(), lens.int()
        self.mean = int(lens.float().mean()) if len(lens) else 1

    def _run(self, q, k, v, layer, batch, save_kv_cache=True, **more):
        if any(value is not None for value in more.values()):
            raise NotImplementedError(f"mlaforge: {', '.join(name for name, value in more.items() if value is not None)}: not served by this backend")
        if k is not None and save_kv_cache:
            self.pool.set_kv_buffer(layer, KVWriteLoc.for_batch(batch), k, v)
        cache = self.pool.get_key_buffer(layer.layer_id)
        cache = cache[:cache.shape[0] // self.page * self.page].view(-1, self.page, 1, layer.head_dim)
        q = q.reshape(-1, 1, layer.tp_q_head_num, layer.head_dim)
        out, _ = mlaforge.flash_mla_with_kvcache(q, cache, self.table, self.lens, self.rank, softmax_scale=layer.scaling, mean_kv_len=self.mean)
        CALLS["decode" if self.decode else "extend"] += 1
        return out.reshape(q.shape[0], -1)

    forward_decode = forward_extend = _run

    def init_cuda_graph_state(self, max_bs, max_num_tokens):
        """Graphs are refused: a step's table has as many columns as its longest request."""
        raise NotImplementedError("mlaforge: CUDA graphs are not served by this backend: start SGLang with --disable-cuda-graph")
