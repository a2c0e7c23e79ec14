"""vLLM's GPU class of ours with metadata made by hand, on the emulator: vLLM's GPU build is not here, and its prefill cannot be made without it."""
import tempfile
import types

import torch

RANK, ROPE, HEADS, PAGE, SCALE = 512, 64, 4, 64, 0.05
KV_SCALE = 0.5


def stored(rows, kind):
    """(a cache of these rows [blocks, page, 576], the numbers that it holds as float64)."""
    if kind is None:
        return rows, rows.double()
    if kind is not torch.uint8:
        cache = (rows.float() / KV_SCALE).to(kind)
        return cache, cache.double() * KV_SCALE
    parts = rows[..., :RANK].float().view(*rows.shape[:2], RANK // 128, 128)
    scales = parts.abs().amax(-1) / 448
    codes = (parts / scales[..., None]).to(torch.float8_e4m3fn)
    latent = (codes.double() * scales[..., None].double()).flatten(2)
    cache = torch.cat((codes.flatten(2).view(torch.uint8), scales.contiguous().view(torch.uint8), rows[..., RANK:].contiguous().view(torch.uint8)), -1)
    return cache, torch.cat((latent, rows[..., RANK:].double()), -1)


def decode(q, cache, table, lens, counts):
    """(out, lse) of the class over a block table; counts: query tokens of each request."""
    from vllm.model_executor.layers.attention.mla_attention import MLACommonDecodeMetadata, MLACommonMetadata
    from mlaforge.engines.vllm_attention import Backend
    one, builder, tokens, most = object.__new__(Backend.get_impl_cls()), object.__new__(Backend.get_builder_cls()), sum(counts), int(lens.max())
    one.kv_lora_rank, one.scale, one.kv_cache_dtype = RANK, SCALE, "auto"
    starts = torch.tensor([0, *counts], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    made = builder._build_decode(block_table_tensor=table, seq_lens_device=lens, max_seq_len=most, query_start_loc_cpu=starts, query_start_loc_device=starts,
                                 num_decode_tokens=tokens, max_query_len=max(counts), dcp_tot_seq_lens_device=None)
    assert isinstance(made, MLACommonDecodeMetadata)
    metadata = MLACommonMetadata(num_reqs=len(counts), max_query_len=max(counts), max_seq_len=most, num_actual_tokens=tokens, query_start_loc=starts,
                                 slot_mapping=torch.zeros(tokens, dtype=torch.int64), num_decodes=len(counts), num_decode_tokens=tokens, num_prefills=0,
                                 decode=made)
    return one.forward_mqa(q, cache, metadata, types.SimpleNamespace(_k_scale=torch.tensor(KV_SCALE)))


def error(counts, pair, kind=None):
    """Relative error of out and the most of lse against float64; counts: query tokens of each request; q as a pair or as one tensor; kind: of the cache."""
    random = torch.Generator().manual_seed(sum(counts))
    lens = torch.tensor([70, 5, 130], dtype=torch.int32)
    requests, most = len(lens), 3
    cache, numbers = stored(torch.randn(requests * most, PAGE, RANK + ROPE, generator=random).bfloat16(), kind)
    table = torch.randperm(requests * most, generator=random).view(requests, most).int()
    q = torch.randn(sum(counts), HEADS, RANK + ROPE, generator=random).bfloat16()
    out, lse = decode((q[..., :RANK], q[..., RANK:]) if pair else q, cache, table, lens, counts)
    worst, far, at = 0.0, 0.0, 0
    for b, n in enumerate(lens.tolist()):
        rows = numbers[table[b].long()].reshape(-1, RANK + ROPE)[:n]
        for i in range(counts[b]):
            scores = q[at].double() @ rows[:n - (counts[b] - 1 - i)].T * SCALE
            want = scores.softmax(-1) @ rows[:n - (counts[b] - 1 - i), :RANK]
            worst = max(worst, float((out[at].double() - want).norm() / want.norm()))
            far = max(far, float((lse[at].double() - scores.logsumexp(-1)).abs().max()))
            at += 1
    return worst, far


def dcp_case(ranks, interleave, kind=None):
    """Contexts split over ranks (DCP): queries of all heads, the block table, each rank's rows and lengths as vLLM deals them out, perhaps none, and out and
    lse of float64."""
    from vllm.v1.attention.backends.utils import get_dcp_local_seq_lens
    random = torch.Generator().manual_seed(ranks)
    lens, most = torch.tensor([70, 5, 130, 1], dtype=torch.int32), 3
    cache, numbers = stored(torch.randn(len(lens), most * PAGE, RANK + ROPE, generator=random).bfloat16(), kind)
    q, parts = torch.randn(len(lens), HEADS, RANK + ROPE, generator=random).bfloat16(), []
    table = torch.randperm(len(lens) * most, generator=random).view(len(lens), most).int()
    for rank in range(ranks):
        local, own = get_dcp_local_seq_lens(lens, ranks, rank, interleave), torch.zeros(len(lens) * most, PAGE, cache.shape[-1]).to(cache.dtype)
        for b, n in enumerate(lens.tolist()):
            mine = [i for i in range(n) if i // interleave % ranks == rank]
            assert len(mine) == local[b]
            for at, i in enumerate(mine):
                own[table[b, at // PAGE], at % PAGE] = cache[b, i]
        parts.append((own, local))
    assert any(bool((local == 0).any()) for _, local in parts)
    scores = [q[b].double() @ numbers[b, :n].T * SCALE for b, n in enumerate(lens.tolist())]
    out = torch.stack([s.softmax(-1) @ numbers[b, :s.shape[1], :RANK] for b, s in enumerate(scores)])
    return q, table, parts, out, torch.stack([s.logsumexp(-1) for s in scores])


def dcp_error(ranks, interleave, kind=None):
    """Relative error against float64, and the most of lse: each rank has all heads' queries, and outputs are combined by the logarithms, as vLLM does."""
    q, table, parts, want, wanted = dcp_case(ranks, interleave, kind)
    made = [decode(q, own, table, local, [1] * len(q)) for own, local in parts]
    sums = torch.stack([lse.double() for _, lse in made])
    out = (sums.softmax(0)[..., None] * torch.stack([out.double() for out, _ in made])).sum(0)
    return float((out - want).norm() / want.norm()), float((sums.logsumexp(0) - wanted).abs().max())


def _corrected(out, lses, rank, ctx, is_lse_base_on_e):
    """vLLM's kernel between its two exchanges, which is Triton's and wants a GPU: this rank's share of outputs, and lse over all ranks."""
    total = lses.logsumexp(0)
    share = (lses[rank] - total).exp()[..., None]
    return torch.where(share == 0, 0, out.float() * share).to(out.dtype), total


def _exchange(rank, ranks, path, errors):
    from vllm.distributed import parallel_state
    from vllm.v1.attention.ops import dcp
    torch.set_grad_enabled(False)
    parallel_state.init_distributed_environment(ranks, rank, f"file://{path}", rank, "gloo")
    group = parallel_state.init_model_parallel_group([list(range(ranks))], rank, "gloo", group_name="dcp")
    q, table, parts, want, _ = dcp_case(ranks, 1)
    (own, local), mine = parts[rank], slice(rank * HEADS // ranks, (rank + 1) * HEADS // ranks)
    out, lse = decode(group.all_gather(q[:, mine].contiguous(), dim=1), own, table, local, [1] * len(q))
    dcp.correct_attn_out = _corrected
    out = dcp.cp_lse_ag_out_rs(out, lse, group, seq_lens=local, query_start_loc=torch.arange(len(q) + 1, dtype=torch.int32), is_lse_base_on_e=True)
    errors.put(float((out.double() - want[:, mine]).norm() / want[:, mine].norm()))


def dcp_exchange_error(ranks):
    """The most of ranks' relative errors where each is a process with its own heads and rows: vLLM gathers queries, and combines outputs, over gloo."""
    errors = torch.multiprocessing.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_exchange, (ranks, folder + "/ranks", errors), ranks)
    return max(errors.get() for _ in range(ranks))


def sparse_error(kind=None, topk=40):
    """Decode of the class over index lists, of 5 query tokens of two requests; vLLM's kernel that looks rows up is done by hand."""
    from mlaforge.engines.vllm_attention import SparseImpl
    random = torch.Generator().manual_seed(topk)
    cache, numbers = stored(torch.randn(6, PAGE, RANK + ROPE, generator=random).bfloat16(), kind)
    table, owner, lens = torch.tensor([[4, 1], [0, 5]]), [0, 0, 0, 1, 1], [100, 101, 102, 30, 31]
    lists = torch.full((8, topk), -1, dtype=torch.int32)
    for i, n in enumerate(lens):
        found = torch.randperm(n, generator=random)[:topk - 3 * i].int()
        lists[i, :len(found)] = found
    at = lists[:5].clamp_min(0).long()
    rows = torch.where(lists[:5] < 0, -1, table[torch.tensor(owner)].gather(1, at // PAGE) * PAGE + at % PAGE).int()
    q = torch.randn(5, HEADS, RANK + ROPE, generator=random).bfloat16()
    one = object.__new__(SparseImpl)
    one.kv_lora_rank, one.scale, one.kv_cache_dtype, one.topk_indices_buffer = RANK, SCALE, "fp8_ds_mla" if kind is torch.uint8 else "auto", lists
    one._convert_logical_to_physical_topk = lambda logical, metadata, **how: rows
    out, lse = one.forward_mqa((q[..., :RANK], q[..., RANK:]), cache, None, None)
    worst, far = 0.0, 0.0
    for i in range(5):
        keys = numbers.reshape(-1, RANK + ROPE)[rows[i][rows[i] >= 0].long()]
        scores = q[i].double() @ keys.T * SCALE
        want = scores.softmax(-1) @ keys[:, :RANK]
        worst, far = max(worst, float((out[i].double() - want).norm() / want.norm())), max(far, float((lse[i].double() - scores.logsumexp(-1)).abs().max()))
    return worst, far


def prefill_error(new=(5, 33), cached=(40, 7), heads=4, nope=128, v=128):
    """Relative error against float64 of the prefill hook: new tokens and a chunk of cached context apart, merged by their logs as vLLM does."""
    from mlaforge.engines.vllm_attention import Prefill
    random = torch.Generator().manual_seed(5)
    hook = Prefill(num_heads=heads, scale=SCALE, kv_lora_rank=RANK, qk_nope_head_dim=nope, qk_rope_head_dim=ROPE, v_head_dim=v, vllm_config=None)
    sums = lambda counts: torch.tensor([0, *counts], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    draw = lambda tokens, columns: torch.randn(sum(tokens), heads, columns, generator=random).bfloat16()
    q, k, values, old_k, old_v = draw(new, nope + ROPE), draw(new, nope + ROPE), draw(new, v), draw(cached, nope + ROPE), draw(cached, v)
    hook.prepare_metadata(types.SimpleNamespace(query_start_loc=sums(new), max_query_len=max(new)))
    out, lse = hook.run_prefill_new_tokens(q, k, values, True)
    chunk = types.SimpleNamespace(query_start_loc=sums(new), cu_seq_lens=sums(cached), max_query_len=max(new), max_seq_len=max(cached))
    old, old_lse = hook.run_prefill_context_chunk(chunk, q, old_k, old_v)
    share = torch.sigmoid(lse.double() - old_lse.double()).T[..., None]
    made, worst = out.double() * share + old.double() * (1 - share), 0.0
    for b, n in enumerate(new):
        x, of = slice(*sums(new)[b:b + 2].tolist()), slice(*sums(cached)[b:b + 2].tolist())
        keys, all_v = torch.cat((old_k[of], k[x])).double(), torch.cat((old_v[of], values[x])).double()
        scores = torch.einsum("qhc,khc->hqk", q[x].double(), keys) * SCALE
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(cached[b] + 1), float("-inf"))
        want = torch.einsum("hqk,khv->qhv", scores.softmax(-1), all_v)
        worst = max(worst, float((made[x] - want).norm() / want.norm()))
    return worst
