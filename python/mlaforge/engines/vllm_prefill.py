"""vLLM's prefill attention over expanded heads by mlaforge: MLAPrefillBackendEnum.CUSTOM on a GPU, and the CPU platform's where it is asked for."""
from vllm.v1.attention.backends.mla.prefill.base import MLAPrefillBackend

import mlaforge
from mlaforge.engines.vllm_attention import CALLS


class Prefill(MLAPrefillBackend):
    """New tokens among themselves, and over chunks of their cached context, which vLLM gathers and merges."""

    @staticmethod
    def get_name():
        return "CUSTOM"

    def supports_out(self):
        """vLLM may hand over the tensor to write to."""
        return True

    def _run(self, q, k, v, queries, keys, most_q, most_k, causal, return_lse, out):
        return mlaforge.flash_attn_varlen_func(q, k, v, queries, keys, most_q, most_k, softmax_scale=self.scale, causal=causal, return_lse=return_lse, out=out)

    def run_prefill_new_tokens(self, q, k, v, return_softmax_lse, out=None, output_scale=None):
        """Causal attention of new tokens; with return_softmax_lse (out, lse [heads, tokens])."""
        if output_scale is not None:
            raise NotImplementedError("mlaforge: output_scale is given, must be None: outputs have 16 bits")
        CALLS["prefill"] += 1
        of = self._prefill_metadata
        return self._run(q, k, v, of.query_start_loc, of.query_start_loc, of.max_query_len, of.max_query_len, True, return_softmax_lse, out)

    def run_prefill_context_chunk(self, chunk, q, k, v, out=None):
        """Attention over a chunk of cached tokens: (out, lse [heads, tokens])."""
        CALLS["context"] += 1
        return self._run(q, k, v, chunk.query_start_loc, chunk.cu_seq_lens, chunk.max_query_len, chunk.max_seq_len, False, True, out)
