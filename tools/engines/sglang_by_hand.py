"""SGLang's backend of ours with batches made by hand, on the emulator: graphs' tensors, target verify and draft extend, which SGLang's CPU device has not."""
import types

import torch

RANK, ROPE, HEADS, PAGE, DRAFTS = 512, 64, 4, 16, 4


class Pool:
    store_dtype = dtype = torch.bfloat16

    def __init__(self, cache):
        self.cache = cache

    def get_key_buffer(self, layer_id):
        return self.cache


def runner(random):
    rows = torch.randperm(12 * PAGE // PAGE, generator=random).view(3, 4)
    tokens = (rows[:, :, None] * PAGE + torch.arange(PAGE)).view(3, -1).int()
    cache = torch.randn(12 * PAGE, RANK + ROPE, generator=random).bfloat16()
    named = types.SimpleNamespace
    return named(token_to_kv_pool=Pool(cache), req_to_token_pool=named(req_to_token=tokens), page_size=PAGE, dtype=torch.bfloat16,
                 model_config=named(kv_lora_rank=RANK), server_args=named(speculative_num_draft_tokens=DRAFTS, speculative_eagle_topk=1))


def error(mode, graph):
    """Relative error against float64 of two steps; with a graph's tensors the second one has other lengths at the same addresses."""
    from sglang.srt.model_executor.forward_batch_info import ForwardMode
    from mlaforge.engines.sglang_backend import Backend
    random = torch.Generator().manual_seed(len(mode))
    of, worst, addresses = runner(random), 0.0, set()
    backend, layer = Backend(of), types.SimpleNamespace(tp_q_head_num=HEADS, head_dim=RANK + ROPE, layer_id=0, scaling=0.05)
    backend.init_cuda_graph_state(4, 4 * DRAFTS)
    width = 1 if mode == "DECODE" else DRAFTS
    for lens in ([30, 7, 50], [11, 40, 60]):
        ends = torch.tensor(lens)
        said = ends - DRAFTS if mode == "TARGET_VERIFY" else ends
        accepted = torch.tensor([2, 1, 4])  # of the drafts, which is what draft extend's lengths count outside of graphs
        said = ends - DRAFTS + accepted if mode == "DRAFT_EXTEND_V2" and not graph else said
        batch = types.SimpleNamespace(forward_mode=ForwardMode[mode], seq_lens=said, batch_size=3, req_pool_indices=torch.tensor([2, 0, 1]), spec_info=None,
                                      extend_seq_lens=accepted)
        if graph:
            backend.init_forward_metadata_out_graph(batch, in_capture=lens[0] == 30)
            backend.init_forward_metadata_in_graph(batch)
            addresses.add((backend.table.data_ptr(), backend.lens.data_ptr()))
        else:
            backend.init_forward_metadata(batch)
        q = torch.randn(3 * width, HEADS * (RANK + ROPE), generator=random).bfloat16()
        out = backend.forward_decode(q, None, None, layer, batch).view(3, width, HEADS, RANK)
        for b, (request, n) in enumerate(zip((2, 0, 1), lens)):
            rows = of.token_to_kv_pool.cache[of.req_to_token_pool.req_to_token[request][:n].long()].double()
            for i in range(width):
                seen = rows[:n - (width - 1 - i)]
                want = (q.view(3, width, HEADS, -1)[b, i].double() @ seen.T * 0.05).softmax(-1) @ seen[:, :RANK]
                worst = max(worst, float((out[b, i].double() - want).norm() / want.norm()))
    if graph and len(addresses) != 1:
        return float("inf")
    return worst
