"""vLLM's decode attention by mlaforge, and its prefill attention over expanded heads (MLAPrefillBackendEnum.CUSTOM, or the CPU platform's), on any platform."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

from vllm.model_executor.layers.attention.mla_attention import QueryLenSupport
from vllm.v1.attention.backends.mla.prefill.base import MLAPrefillBackend

import mlaforge
from mlaforge.engines import refuse


def joined(q):
    """Queries as one tensor: of a pair one launch makes it."""
    return q if not isinstance(q, tuple) else mlaforge.concat_mla_q(*q) if q[1].shape[-1] else q[0]


class Ragged:
    """Mixed into a builder of vLLM's: drafts of any numbers run as decode, and decode metadata says where each request's query tokens begin."""
    query_len_support = QueryLenSupport.VARLEN
    reorder_batch_threshold = 1  # query tokens of a request in decode; vLLM adds drafts

    def _build_decode(self, *, query_start_loc_device, max_query_len, num_decode_tokens, **values):
        made = super()._build_decode(query_start_loc_device=query_start_loc_device, max_query_len=max_query_len, num_decode_tokens=num_decode_tokens, **values)
        # One token, or the most there are drafts for: each number has kernels of its own, compiled in the first request that brings it.
        made.longest = 1 if max_query_len <= 1 else max(max_query_len, self.reorder_batch_threshold)
        made.query_start_loc, made.ragged = query_start_loc_device, num_decode_tokens != made.longest * (len(query_start_loc_device) - 1)
        return made


class Decode:
    """forward_mqa of an implementation of vLLM's: absorbed queries over its paged latent cache."""
    can_return_lse_for_decode = lse_base_on_e = True  # vLLM combines ranks (DCP) by it

    def forward_mqa(self, q, kv_c_and_k_pe_cache, attn_metadata, layer):
        """q: [tokens, heads, 576], or a pair of 512 and 64 columns; returns out [tokens, heads, 512] and the natural logarithms [tokens, heads]."""
        decode, kind = attn_metadata.decode, kv_c_and_k_pe_cache.dtype
        return mlaforge.mla_decode_fwd(
            joined(q), kv_c_and_k_pe_cache.unsqueeze(-2), None, decode.query_start_loc, None, None, None, decode.longest, self.scale, lse=True,
            causal=attn_metadata.causal, mean_kv_len=attn_metadata.max_seq_len, block_table=decode.block_table, seq_lens=decode.seq_lens,
            head_dim_v=self.kv_lora_rank, kv_scale=layer._k_scale if kind.itemsize == 1 and kind.is_floating_point else None)  # rows of 656 bytes hold theirs


class Prefill(MLAPrefillBackend):
    """New tokens among themselves, and over chunks of their cached context, which vLLM gathers and merges."""
    get_name = staticmethod(lambda: "CUSTOM")

    def supports_out(self):
        """vLLM may hand over the tensor to write to."""
        return True

    def run_prefill_new_tokens(self, q, k, v, return_softmax_lse, out=None, output_scale=None):
        """Causal attention of new tokens; with return_softmax_lse (out, lse [heads, tokens])."""
        if output_scale is not None:
            refuse("output_scale is given, must be None: outputs have 16 bits")
        of = self._prefill_metadata
        return mlaforge.flash_attn_varlen_func(q, k, v, of.query_start_loc, of.query_start_loc, of.max_query_len, of.max_query_len, softmax_scale=self.scale,
                                               causal=True, return_lse=return_softmax_lse, out=out)

    def run_prefill_context_chunk(self, chunk, q, k, v, out=None):
        """Attention over a chunk of cached tokens: (out, lse [heads, tokens])."""
        return mlaforge.flash_attn_varlen_func(q, k, v, chunk.query_start_loc, chunk.cu_seq_lens, chunk.max_query_len, chunk.max_seq_len,
                                               softmax_scale=self.scale, return_lse=True, out=out)


def backend(module, name, of, builder, impl, **more):
    """A backend of vLLM's, `of`, with another builder and implementation. On CUDA vLLM imports it again by its module and name."""
    return type(name, (of,), {"__module__": module, "get_builder_cls": staticmethod(lambda: builder), "get_impl_cls": staticmethod(lambda: impl), **more})
