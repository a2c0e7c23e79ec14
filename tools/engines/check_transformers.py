"""transformers with patched and with stock models: logits and generate() against double precision. Called by tools/engines.sh."""
import copy
import sys
import threading
import time
import types

import torch
import transformers

import mlaforge
import tiny
from mlaforge.engines import graphs as recorder, transformers as ours, transformers_batching

PATCH = dict(page_size=16, kv_len=(64, 64), q_lens=(1, 4), prefill_tokens=16, positions=256)
ROWS = []


def row(name, good, text):
    ROWS.append(good)
    print(f"transformers  {name:34} {'ok  ' if good else 'FAIL'} {text}", flush=True)


def logits(model, ids, following, mask):
    """Logits of a prefill and of steps of one token."""
    cache, parts = transformers.DynamicCache(config=model.config), []
    for i, x in enumerate([ids, *following.split(1, 1)]):
        seen = None if mask is None else torch.cat([mask, mask.new_ones(len(ids), i)], 1)
        parts.append(model(x, use_cache=True, attention_mask=seen, past_key_values=cache).logits)
    return torch.cat(parts, 1).double()


def compare_logits(name, stock, mine, exact, mask):
    random = torch.Generator().manual_seed(7)
    ids, following = torch.randint(1, 90, (2, 40), generator=random), torch.randint(1, 90, (2, 6), generator=random)
    calls = sum(mine.mlaforge.calls.values())
    want, before, after = (logits(m, ids, following, mask) for m in (exact, stock, mine))
    seen = torch.ones(2, want.shape[1], dtype=torch.bool)
    if mask is not None:
        seen[:, :40] = mask.bool()
    error = lambda x: float((x - want)[seen].norm() / want[seen].norm())
    made = sum(mine.mlaforge.calls.values()) - calls
    good = made > 0 and error(after) <= tiny.LOG_ERROR * error(before)
    row(name, good, f"error of logits {error(after):.2e}, stock {error(before):.2e}; {made} calls of layers")


def generate(name, stock, mine, judge, ids, mask, **how):
    calls, start = sum(mine.mlaforge.calls.values()), time.time()
    first, made = ids.shape[1], {}
    for who, model in (("stock", stock), ("ours", mine)):
        model_how = {k: v(model) if callable(v) else v for k, v in how.items()}
        made[who] = model.generate(ids, attention_mask=mask, max_new_tokens=10, do_sample=False, **model_how)
    calls = sum(mine.mlaforge.calls.values()) - calls
    same, beams = 0, how.get("num_beams", 1) > 1
    worst = 0.0
    for b in range(len(ids)):
        prompt = ids[b][mask[b].bool()].tolist()
        a, s = (made[who][b, first:].tolist() for who in ("ours", "stock"))
        same += a == s
        if beams:  # what beams maximise is the whole text's log p
            total = lambda t: float(judge.log_p(prompt, t).gather(1, torch.tensor(t)[:, None]).sum())
            worst = max(worst, total(s) - total(a))
        else:
            worst = max(worst, *judge.regret(prompt, a))
    row(name, calls > 0 and worst <= tiny.REGRET, f"{same} of {len(ids)} rows as stock, worst regret {worst:.3f}; {calls} calls, {time.time() - start:.0f} s")


def modes(kind, stock, mine, judge):
    random = torch.Generator().manual_seed(7)
    ids, mask = torch.randint(1, 90, (2, 40), generator=random), torch.ones(2, 40, dtype=torch.long)
    mask[0, :25] = 0
    one = (ids[1:], mask[1:])
    again = (ids[1:, :4].repeat(1, 10), mask[1:])
    for name, (x, m), how in (
            ("greedy, left padding", (ids, mask), {}), ("3 beams, left padding", (ids, mask), dict(num_beams=3)), ("greedy, batch 1", one, {}),
            ("prompt lookup", again, dict(prompt_lookup_num_tokens=3)), ("assisted by the stock model", one, dict(assistant_model=lambda model: stock)),
            ("static cache", one, dict(cache_implementation="static")), ("no cache", one, dict(use_cache=False)),
            ("prefill_chunk_size 5", one, dict(prefill_chunk_size=5)), ("batch 5 after batch 2", (ids[1:].repeat(5, 1), mask[1:].repeat(5, 1)), {})):
        generate(f"{kind}: {name}", stock, mine, judge, x, m, **how)


def batching(stock, mine, judge, title="generate_batch", **more):
    """generate_batch: requests of many lengths that come and go, over transformers' paged cache. Stock's fails on such models, so its error is generate()'s."""
    random = torch.Generator().manual_seed(3)
    prompts = [torch.randint(1, 90, (n,), generator=random).tolist() for n in (5, 37, 1, 80, 12)]
    prompts.append(prompts[3][:70] + [5, 6])  # its first blocks are another's
    greedy, errors = dict(max_new_tokens=10, do_sample=False, eos_token_id=-1, pad_token_id=0), []
    for prompt in prompts:
        made = stock.generate(torch.tensor([prompt]), **greedy, output_logits=True, return_dict_in_generate=True)
        text = made.sequences[0, len(prompt):]
        errors += judge.errors(prompt, text.tolist(), torch.cat(made.logits).float().log_softmax(-1).gather(1, text[:, None])[:, 0].tolist())
    bound = tiny.LOG_ERROR * tiny.rms(errors)
    for name, times, how, config in (("6 prompts", 1, {}, dict(num_blocks=60)), ("12 in a cache too small", 2, {}, dict(num_blocks=14)),
                                     ("sampled, 3 texts a prompt", 1, dict(do_sample=True, num_return_sequences=3), dict(num_blocks=60))):
        calls, start = sum(mine.mlaforge.calls.values()), time.time()
        asked = transformers.GenerationConfig(**{**greedy, **how})
        made = list(mine.generate_batch(prompts * times, asked, transformers.ContinuousBatchingConfig(return_logprobs=True, **config, **more)).values())
        calls = sum(mine.mlaforge.calls.values()) - calls
        whole = len(made) == len(prompts) * times * how.get("num_return_sequences", 1) and not any(x.error for x in made)
        texts = [(x.prompt_ids, x.generated_tokens, x.logprobs) for x in made if not x.error]
        error = tiny.rms([e for text in texts for e in judge.errors(*text)])
        worst = 0.0 if how else max((r for prompt, text, _ in texts for r in judge.regret(prompt, text)), default=9.0)
        row(f"{title}: {name}", whole and calls > 0 and error <= bound and worst <= tiny.REGRET,
            f"error of log p {error:.4f}, bound {bound:.4f}, " + (f"worst regret {worst:.3f}, " if not how else "") + f"{len(texts)} texts; {calls} calls, {time.time() - start:.0f} s")


def recorded_batching(stock, judge):
    """generate_batch with recorded steps, without CUDA: what is recorded runs again, over the tensors that steps write to."""
    from transformers.generation.continuous_batching import model_runner
    replays, runner = [], model_runner.ModelRunner

    def capture(self, forward, stream, *args):
        forward(*args)

        def replay():
            replays.append(args[1]["input_ids"].shape[1])
            forward(*args)
        self.inputs_and_outputs.set_graph(types.SimpleNamespace(replay=replay, reset=lambda: None))
    before = runner._capture_graph, model_runner.get_memory_pools, transformers_batching.RECORDED
    runner._capture_graph, model_runner.get_memory_pools, transformers_batching.RECORDED = capture, lambda: (None, None), ("cpu",)
    mine = ours.patch(copy.deepcopy(stock), **PATCH, graphs=True)
    try:
        batching(stock, mine, judge, "recorded batches", use_async_batching=False)
    finally:
        runner._capture_graph, model_runner.get_memory_pools, transformers_batching.RECORDED = before
    row("recorded batches: replays", len(replays) >= 20 and len(set(replays)) > 1, f"{len(replays)} steps of {sorted(set(replays))} requests were replayed")
    ours.unpatch(mine)


def kept_manager(stock, mine):
    """A manager that transformers keeps for the next generate_batch ends with the patch: its cache holds latent rows."""
    ask = transformers.GenerationConfig(max_new_tokens=3, do_sample=False, eos_token_id=-1, pad_token_id=0)
    once = lambda model: [(x.generated_tokens, str(x.error)) for x in model.generate_batch(
        [[5, 6, 7, 8]], ask, transformers.ContinuousBatchingConfig(num_blocks=8), persistent_manager=True).values()]
    first, again = once(mine), once(mine)
    ours.unpatch(mine)
    said, wanted = once(mine), once(copy.deepcopy(stock))
    ours.patch(mine, **PATCH)
    row("generate_batch: a manager that is kept", first == again == once(mine) and len(first[0][0]) == 3, f"{first[0][0]} three times")
    row("generate_batch: behind unpatch", said == wanted, f"what stock gives: {len(said)} texts, {said[0][1][:90] if said else ''}")
    mine.destroy_cached_continuous_batching_manager()


def threads(mine):
    """Threads that generate at once get the text that each gets alone, also where one makes layers anew for its requests."""
    ids = torch.randint(1, 90, (4, 1, 12), generator=torch.Generator().manual_seed(4))
    ids, made = [x.repeat(n, 1) for x, n in zip(ids, (1, 1, 3, 6))], {}
    alone = [mine.generate(x, max_new_tokens=8, do_sample=False).tolist() for x in ids]
    ours.patch(mine, **PATCH)  # layers for one request
    some = [threading.Thread(target=lambda i=i: made.update({i: mine.generate(ids[i], max_new_tokens=8, do_sample=False).tolist()})) for i in range(len(ids))]
    for thread in some:
        thread.start()
        time.sleep(0.5)
    for thread in some:
        thread.join()
    same = sum(made.get(i) == text for i, text in enumerate(alone))
    row("threads", same == len(alone), f"{same} of {len(alone)} texts as alone")


def compiled(stock, mine, judge):
    """Dynamo traces the model, and meets layers that it does not look into."""
    ids = torch.randint(1, 90, (1, 20), generator=torch.Generator().manual_seed(9))
    mine.forward = torch.compile(mine.forward, backend="eager")
    generate("torch.compile(model.forward)", stock, mine, judge, ids, torch.ones_like(ids))
    row("torch.compile(model.forward): graphs", torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0, f"{torch._dynamo.utils.counters['stats']['unique_graphs']} graphs")
    del mine.forward


def graphs(stock, judge):
    """Recorded steps, without CUDA: what is recorded runs again, over the tensors that steps write to."""
    mine, replays = ours.patch(copy.deepcopy(stock), **PATCH, graphs=True), []

    def record(run):
        of = mine.mlaforge.graphs
        cache, lens, tokens = of.cache(), of.lens.clone(), of.ids.shape[1]
        made = run()
        of.lens.copy_(lens)  # a recording leaves what it would write as it was

        def replay():
            for layer in cache.layers:
                layer.length -= tokens  # it counts what it is given
            made.logits.copy_(run().logits)
            replays.append(tokens)
        return replay, made
    recorder.record = record
    random = torch.Generator().manual_seed(8)
    ids, mask = torch.randint(1, 90, (2, 40), generator=random), torch.ones(2, 40, dtype=torch.long)
    mask[0, :25] = 0
    for name, how, least in (("graphs: left padding", {}, 6), ("graphs: 3 beams", dict(num_beams=3), 0)):
        replays.clear()
        generate(name, stock, mine, judge, ids, mask, **how)
        row(f"{name}: replays", len(replays) >= least, f"{len(replays)} steps were replayed")
    ours.unpatch(mine)


def refusals(mine, ids):
    def refused(name, text, call):
        try:
            call()
            said = "nothing was refused"
        except (NotImplementedError, ValueError, mlaforge.MlafError) as why:
            said = str(why)
        row(f"refused: {name}", text in said, said.splitlines()[0][:120])
    refused("mask of 4 dimensions", "attention_mask has the shape", lambda: mine(ids, attention_mask=torch.ones(1, 1, ids.shape[1], ids.shape[1])))
    refused("too many positions", "must be at most 256", lambda: mine(ids[:, :1].expand(1, 300)))
    refused("packed sequences", "packed sequences", lambda: mine(ids[:, :6], position_ids=torch.tensor([[0, 1, 2, 0, 1, 2]]), use_cache=False))
    graphs = transformers.ContinuousBatchingConfig(use_cuda_graph=True)
    refused("recorded batches without a GPU", "steps are recorded on cuda", lambda: mine.generate_batch([[1]], continuous_batching_config=graphs))
    graphs = transformers.ContinuousBatchingConfig(use_cuda_graph=(True, True))
    refused("recorded prefills", "use_cuda_graph of continuous batching", lambda: mine.generate_batch([[1]], continuous_batching_config=graphs))
    with torch.enable_grad():
        refused("gradients", "hidden requires a gradient", lambda: mine(ids, use_cache=False))


def refused_patches(stock, ids):
    """A patch that fails leaves the model as it was."""
    mine = copy.deepcopy(stock)
    for wrong in (dict(page_size=0), dict(kv_len=(5, 1)), dict(q_lens=()), dict(q_lens=(0,)), dict(batch=1.5), dict(prefill_tokens=0), dict(positions=-1)):
        (name, _), said = *wrong.items(), "it was patched"
        try:
            ours.patch(mine, **{**PATCH, **wrong})
        except mlaforge.MlafError as why:
            said = str(why)
        row(f"refused: patch({name}={wrong[name]})", f": {name} is " in said and torch.equal(mine(ids).logits, stock(ids).logits), said.splitlines()[0][:120])
    try:
        said = ours.patch(mine.model, **PATCH) and "it was patched"
    except NotImplementedError as why:
        said = str(why)
    row("refused: a model without a head", "does not generate" in said and torch.equal(mine(ids).logits, stock(ids).logits), said[:120])


def main():
    torch.set_grad_enabled(False)
    for kind, how in (("dense", {}), ("experts", dict(first_k_dense_replace=2, initializer_range=0.05))):
        stock = tiny.model(**how)
        exact, mine = tiny.precise(stock), copy.deepcopy(stock)
        ours.patch(mine, **PATCH)
        padded = torch.ones(2, 40, dtype=torch.long)
        padded[0, :5] = 0
        compare_logits(f"{kind}: logits", stock, mine, exact, None)
        compare_logits(f"{kind}: logits, left padding", stock, mine, exact, padded)
        modes(kind, stock, mine, tiny.Judge(exact))
        if kind == "dense":
            refusals(mine, torch.randint(1, 90, (1, 12)))
            refused_patches(stock, torch.randint(1, 90, (1, 12)))
            threads(mine)
            kept_manager(stock, mine)
            batching(stock, mine, tiny.Judge(exact))
            recorded_batching(stock, tiny.Judge(exact))
            compiled(stock, mine, tiny.Judge(exact))
            graphs(stock, tiny.Judge(exact))
        ours.unpatch(mine)
        same = torch.equal(mine(torch.arange(1, 9)[None]).logits, stock(torch.arange(1, 9)[None]).logits)
        row(f"{kind}: unpatch gives stock's bits", same, "")
    return 0 if all(ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
