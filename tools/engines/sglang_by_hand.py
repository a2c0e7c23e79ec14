"""SGLang's backend of ours with batches made by hand: graphs' tensors, target verify and draft extend, which SGLang's CPU device has not.
check_sglang.py runs it on the emulator. `python sglang_by_hand.py cuda` runs it on a GPU, with graphs that are captured and replayed, and prints errors and
times of a step: tables, and attention of one layer."""
import statistics
import sys
import types

import torch

RANK, ROPE, HEADS, PAGE, DRAFTS = 512, 64, 4, 16, 4
MODES = ("DECODE", "TARGET_VERIFY", "DRAFT_EXTEND_V2", "EXTEND")
named = types.SimpleNamespace


class Pool:
    store_dtype = dtype = torch.bfloat16

    def __init__(self, cache):
        self.cache = cache

    def get_key_buffer(self, layer_id):
        return self.cache


def runner(requests, pages, page, device, used=None):
    """The part of SGLang's runner that the backend reads: a cache with random rows, and where each request's tokens lie, up to `used` of them."""
    filled = pages if used is None else -(-used // page)
    rows = torch.zeros(requests, pages, dtype=torch.int64, device=device)
    rows[:, :filled] = torch.randperm(requests * filled, device=device).view(requests, filled)
    tokens = (rows[:, :, None] * page + torch.arange(page, device=device)).view(requests, -1).int()
    cache = torch.randn(requests * filled * page, RANK + ROPE, device=device).bfloat16()
    return named(token_to_kv_pool=Pool(cache), req_to_token_pool=named(req_to_token=tokens), page_size=page, dtype=torch.bfloat16,
                 model_config=named(kv_lora_rank=RANK))


def backend_of(of):
    """The backend, where drafts are asked for."""
    from mlaforge.engines import sglang_backend
    sglang_backend.get_spec = lambda: named(speculative_num_draft_tokens=DRAFTS, speculative_eagle_topk=1)
    sglang_backend.get_memory = lambda: named(enable_unified_memory=False)
    return sglang_backend.Backend(of)


def batch_of(mode, ends, news, graph, requests, device):
    """A forward batch: requests of `ends` cached tokens, `news` of them new ones."""
    from sglang.srt.model_executor.forward_batch_info import ForwardMode
    said = ends
    if mode == "TARGET_VERIFY":
        said = [n - DRAFTS for n in ends]
    elif mode == "DRAFT_EXTEND_V2" and not graph:  # outside of graphs lengths count accepted drafts alone
        said = [n - DRAFTS + new for n, new in zip(ends, news)]
    of = dict(device=device)
    return named(forward_mode=ForwardMode[mode], seq_lens=torch.tensor(said, **of), batch_size=len(ends), req_pool_indices=torch.tensor(requests, **of), spec_info=None,
                 extend_seq_lens=torch.tensor(news, **of), extend_seq_lens_cpu=news, extend_prefix_lens_cpu=[n - new for n, new in zip(ends, news)])


def error(mode, graph, device="cpu", heads=HEADS, page=PAGE, steps=(([30, 7, 50], [2, 1, 4]), ([11, 40, 60], [2, 1, 4]))):
    """Relative error against float64 of two steps; with a graph's tensors the second one has other lengths at the same addresses."""
    torch.manual_seed(len(mode))
    of, worst, addresses, captured = runner(3, -(-64 // page), page, device), 0.0, set(), None
    backend, layer, chosen = backend_of(of), named(tp_q_head_num=heads, head_dim=RANK + ROPE, layer_id=0, scaling=0.05), (2, 0, 1)
    backend.init_cuda_graph_state(4, 4 * DRAFTS)
    for ends, news in steps:
        if mode == "EXTEND":
            ends, news = [20, 7, 64], [20, 3, 37]
        widths = news if mode == "EXTEND" else [1 if mode == "DECODE" else DRAFTS] * 3
        batch = batch_of(mode, ends, news, graph, chosen, device)
        q = torch.randn(sum(widths), heads * (RANK + ROPE), device=device).bfloat16()
        if not graph:
            backend.init_forward_metadata(batch)
            out = backend.forward_decode(q, None, None, layer, batch)
        else:
            backend.init_forward_metadata_out_graph(batch, in_capture=captured is None)
            addresses.add((backend.table.data_ptr(), backend.lens.data_ptr()))
            if device == "cpu":
                backend.init_forward_metadata_in_graph(batch)
                out = captured = backend.forward_decode(q, None, None, layer, batch)
            else:
                if captured is None:
                    still = q.clone()
                    backend.forward_decode(still, None, None, layer, batch)  # compiles
                    captured = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(captured):
                        backend.init_forward_metadata_in_graph(batch)
                        out = backend.forward_decode(still, None, None, layer, batch)
                still.copy_(q)
                captured.replay()
        at = 0
        for request, n, width in zip(chosen, ends, widths):
            rows = of.token_to_kv_pool.cache[of.req_to_token_pool.req_to_token[request][:n].long()].double()
            for i in range(width):
                seen = rows[:n - (width - 1 - i)]
                want = (q[at + i].view(heads, -1).double() @ seen.T * 0.05).softmax(-1) @ seen[:, :RANK]
                worst = max(worst, float((out.view(-1, heads, RANK)[at + i].double() - want).norm() / want.norm()))
            at += width
    return float("inf") if graph and len(addresses) != 1 else worst


def times(mode, page, heads=128, requests=64, ctx=1024, columns=4096):
    """us of a step on a GPU: tables (host, and device), and attention of a layer in a graph."""
    of = runner(requests, columns // page, page, "cuda", ctx)
    backend, layer = backend_of(of), named(tp_q_head_num=heads, head_dim=RANK + ROPE, layer_id=0, scaling=0.05)
    backend.init_cuda_graph_state(requests, requests * DRAFTS)
    batch = batch_of(mode, [ctx] * requests, [DRAFTS] * requests, True, list(range(requests)), "cuda")
    q = torch.randn(requests * (1 if mode == "DECODE" else DRAFTS), heads * (RANK + ROPE), device="cuda").bfloat16()
    backend.init_forward_metadata_out_graph(batch)
    backend.forward_decode(q, None, None, layer, batch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            backend.forward_decode(q, None, None, layer, batch)

    def us(call, n, events):
        import time
        found = []
        for _ in range(9):
            torch.cuda.synchronize()
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin = time.perf_counter()
            first.record()
            for _ in range(n):
                call()
            last.record()
            host = (time.perf_counter() - begin) * 1e6
            torch.cuda.synchronize()
            found.append(first.elapsed_time(last) * 1e3 if events else host)
        return statistics.median(found) / n
    tables = lambda: backend.init_forward_metadata_out_graph(batch)  # noqa: E731
    return us(tables, 20, False), us(tables, 20, True), us(graph.replay, 5, True) / 10


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    where = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    for heads, page in ((4, 16), (128, 1), (128, 64)) if where == "cuda" else ((4, 16),):
        for mode in MODES:
            for graph in (False, True) if mode != "EXTEND" else (False,):
                print(f"{mode.lower():16} {heads:3} heads, pages of {page:2}{', graph' if graph else '':7} error {error(mode, graph, where, heads, page):.1e}", flush=True)
    for mode in MODES[:3] if where == "cuda" else ():
        for page, columns in ((1, 4096), (1, 163840), (64, 4096), (64, 163840)):
            said = times(mode, page, columns=columns)
            print(f"{mode.lower():16} 64 requests of 1024 of at most {columns}, 128 heads, pages of {page:2}: "
                  + "tables {:.1f} us of host, {:.1f} of both; attention of a layer {:.1f} us".format(*said), flush=True)
