"""vLLM's decode attention by mlaforge, on any platform."""
import math

from mlaforge.errors import needs

needs(__name__, "torch")

import torch

import mlaforge

CALLS = {"attention": 0, "layer decode": 0, "layer prefill": 0, "most query tokens": 0, "cached before prefill": 0}


class Decode:
    """forward_mqa of an implementation of vLLM's: absorbed queries over its paged latent cache."""
    can_return_lse_for_decode = True
    lse_base_on_e = True  # vLLM combines ranks (DCP) by it

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """q: [tokens, heads, 576], or a pair of 512 and 64 columns; returns out [tokens, heads, 512] and the natural logarithms [tokens, heads]."""
        if isinstance(q, tuple):
            q = torch.cat(q, -1)
        if kv_c_and_k_pe_cache.dtype != q.dtype:
            raise NotImplementedError(f"mlaforge: the cache is {kv_c_and_k_pe_cache.dtype} and queries are {q.dtype}, must be of one type: kv_cache_dtype is "
                                      f"{self.kv_cache_dtype!r}, must be 'auto'")
        decode, requests = attn_metadata.decode, attn_metadata.num_decodes
        tokens = q.shape[0] // requests
        out, lse = mlaforge.flash_mla_with_kvcache(
            q.view(requests, tokens, *q.shape[1:]), kv_c_and_k_pe_cache.unsqueeze(-2), decode.block_table, decode.seq_lens, self.kv_lora_rank,
            softmax_scale=self.scale, causal=attn_metadata.causal, mean_kv_len=attn_metadata.max_seq_len, empty_lse=-math.inf)
        CALLS["attention"] += 1
        CALLS["most query tokens"] = max(CALLS["most query tokens"], tokens)
        return out.flatten(0, 1), lse.transpose(1, 2).flatten(0, 1)  # lse lies as [requests, tokens, heads]
