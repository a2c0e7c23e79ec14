"""vLLM's decode attention by mlaforge, on any platform."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.model_executor.layers.attention.mla_attention import QueryLenSupport

import mlaforge

CALLS = {"attention": 0, "layer decode": 0, "layer prefill": 0, "prefill": 0, "context": 0, "ragged": 0, "lists": 0, "most query tokens": 0,
         "cached before prefill": 0}


class Ragged:
    """Mixed into a builder of vLLM's: drafts of any numbers run as decode, and decode metadata says where each request's query tokens begin."""
    query_len_support = QueryLenSupport.VARLEN

    def _build_decode(self, *, query_start_loc_cpu, query_start_loc_device, **values):
        made = super()._build_decode(query_start_loc_cpu=query_start_loc_cpu, query_start_loc_device=query_start_loc_device, **values)
        lens = query_start_loc_cpu.diff()
        made.query_start_loc, made.longest, made.ragged = query_start_loc_device, int(lens.max()), bool((lens != lens[0]).any())
        return made


def backend(name, of, builder, impl, **more):
    """A backend of vLLM's, `of`, with another builder and implementation; name: the module's for it."""
    return type(name, (of,), {"get_builder_cls": staticmethod(lambda: builder), "get_impl_cls": staticmethod(lambda: impl), **more})


def joined(q):
    """Queries as one tensor: of a pair one launch makes it."""
    if not isinstance(q, tuple):
        return q
    return mlaforge.concat_mla_q(*q) if q[1].shape[-1] else q[0]


class Decode:
    """forward_mqa of an implementation of vLLM's: absorbed queries over its paged latent cache."""
    can_return_lse_for_decode = True
    lse_base_on_e = True  # vLLM combines ranks (DCP) by it

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """q: [tokens, heads, 576], or a pair of 512 and 64 columns; returns out [tokens, heads, 512] and the natural logarithms [tokens, heads]."""
        q, cache, scale = joined(q), kv_c_and_k_pe_cache, None
        if cache.dtype.itemsize == 1 and cache.dtype.is_floating_point:  # 8 bits, one scale for all; rows of 656 bytes hold theirs
            scale = layer._k_scale
        elif cache.dtype not in (q.dtype, torch.uint8):
            raise NotImplementedError(f"mlaforge: the cache is {cache.dtype} and queries are {q.dtype}, must be of one type, or the cache of 8 bits: "
                                      f"kv_cache_dtype is {self.kv_cache_dtype!r}")
        decode = attn_metadata.decode
        out, lse = mlaforge.mla_decode_fwd(
            q, cache.unsqueeze(-2), None, decode.query_start_loc, None, None, None, decode.longest, self.scale, lse=True, causal=attn_metadata.causal,
            mean_kv_len=attn_metadata.max_seq_len, kv_scale=scale, block_table=decode.block_table, seq_lens=decode.seq_lens, head_dim_v=self.kv_lora_rank)
        CALLS["attention"] += 1
        CALLS["ragged"] += decode.ragged
        CALLS["most query tokens"] = max(CALLS["most query tokens"], decode.longest)
        return out, lse
