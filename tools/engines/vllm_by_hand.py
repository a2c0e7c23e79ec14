"""vLLM's GPU class of ours with metadata made by hand, on the emulator: vLLM's GPU build is not here, and its prefill cannot be made without it."""
import torch

RANK, ROPE, HEADS, PAGE = 512, 64, 4, 64


def error(tokens, pair):
    """Relative error of out and the most of lse against float64; drafts of `tokens` query tokens, q as a pair or as one tensor."""
    from vllm.model_executor.layers.attention.mla_attention import MLACommonDecodeMetadata, MLACommonMetadata
    from mlaforge.engines import vllm_gpu
    random = torch.Generator().manual_seed(tokens)
    lens = torch.tensor([70, 5, 130], dtype=torch.int32)
    requests, most = len(lens), 3
    cache = torch.randn(requests * most, PAGE, RANK + ROPE, generator=random).bfloat16()
    table = torch.randperm(requests * most, generator=random).view(requests, most).int()
    q = torch.randn(requests * tokens, HEADS, RANK + ROPE, generator=random).bfloat16()
    one = object.__new__(vllm_gpu.Impl)
    one.kv_lora_rank, one.scale, one.kv_cache_dtype = RANK, 0.05, "auto"
    metadata = MLACommonMetadata(num_reqs=requests, max_query_len=tokens, max_seq_len=130, num_actual_tokens=len(q), query_start_loc=torch.arange(4) * tokens,
                                 slot_mapping=torch.zeros(len(q), dtype=torch.int64), num_decodes=requests, num_decode_tokens=len(q), num_prefills=0,
                                 decode=MLACommonDecodeMetadata(block_table=table, seq_lens=lens, dcp_tot_seq_lens=None))
    out, lse = one.forward_mqa((q[..., :RANK], q[..., RANK:]) if pair else q, cache, metadata, None)
    worst, far = 0.0, 0.0
    for b, n in enumerate(lens.tolist()):
        rows = cache[table[b].long()].reshape(-1, RANK + ROPE)[:n].double()
        for i in range(tokens):
            at, seen = b * tokens + i, n - (tokens - 1 - i)
            scores = q[at].double() @ rows[:seen].T * 0.05
            want = scores.softmax(-1) @ rows[:seen, :RANK]
            worst = max(worst, float((out[at].double() - want).norm() / want.norm()))
            far = max(far, float((lse[at].double() - scores.logsumexp(-1)).abs().max()))
    return worst, far
