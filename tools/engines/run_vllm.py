"""One vLLM process: the settings as JSON in argv[1]. Prints RESULT and JSON: tokens and their log p, and calls of mlaforge."""
import json
import os
import sys

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # calls are counted in this process
os.environ.update({"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
                   "VLLM_CPU_OMP_THREADS_BIND": "nobind"})

import serve


def arriving(llm, asked, params, every, abort):
    """Requests that arrive two each `every` steps, as finished ones; the request of each number in `abort` is taken back at its third token. Counts
    preemptions, too."""
    engine, done, step, waiting, counts = llm.llm_engine, {}, 0, list(enumerate(asked)), {"preempted": 0, "aborted": 0, "most at once": 0}
    scheduler = engine.engine_core.engine_core.scheduler
    preempt = scheduler._preempt_request

    def counted(*values, **named):
        counts["preempted"] += 1
        return preempt(*values, **named)
    scheduler._preempt_request = counted
    inside = {}
    while waiting or engine.has_unfinished_requests():
        for n, prompt in waiting[:2] if step % every == 0 else ():
            inside[str(n)] = engine.add_request(str(n), {"prompt_token_ids": prompt}, params)
        waiting = waiting[2:] if step % every == 0 else waiting
        counts["most at once"] = max(counts["most at once"], engine.get_num_unfinished_requests())
        for x in engine.step():
            if x.finished:
                done[int(x.request_id)] = x
            elif int(x.request_id) in abort and len(x.outputs[0].token_ids) >= 3:
                engine.abort_request([x.request_id])
                abort.remove(int(x.request_id))
                counts["aborted"] += 1
        step += 1
    return [done[n] for n in sorted(done) if done[n].outputs[0].finish_reason != "abort"], counts


def counting():
    """Counts what vLLM asks of mlaforge in this process."""
    import mlaforge
    from mlaforge.engines.vllm_attention import Decode, Prefill
    counts = dict.fromkeys(("attention", "layer decode", "layer prefill", "prefill", "context", "ragged", "most query tokens", "cached before prefill"), 0)

    def watch(of, name, count):
        before = getattr(of, name)

        def watched(*args, **named):
            count(*args, **named)
            return before(*args, **named)
        setattr(of, name, watched)

    def add(name, n=1):
        counts[name] += n

    def decode(kind, longest, ragged):
        add(kind)
        add("ragged", int(ragged))
        counts["most query tokens"] = max(counts["most query tokens"], longest)
    watch(Decode, "forward_mqa", lambda one, q, cache, metadata, layer: decode("attention", metadata.decode.longest, metadata.decode.ragged))
    watch(Prefill, "run_prefill_new_tokens", lambda *values, **named: add("prefill"))
    watch(Prefill, "run_prefill_context_chunk", lambda *values, **named: add("context"))
    watch(mlaforge.Layer, "__call__", lambda *values, schedule=None, q_len=1, qo_indptr=None, **named: add("layer prefill") if schedule is not None else decode(
        "layer decode", q_len, qo_indptr is not None))
    watch(mlaforge.Layer, "schedule", lambda one, news, cached: add("cached before prefill", sum(cached)))
    return counts


def main(settings):
    from vllm import LLM, SamplingParams
    counted = counting()
    calls = serve.count_elsewhere() if settings.get("llm", {}).get("tensor_parallel_size") else int
    llm = LLM(os.environ["MLAF_ENGINES"] + "/served", skip_tokenizer_init=True, dtype="bfloat16", max_num_seqs=8, seed=0,
              **{"enforce_eager": True, "max_model_len": 512, **settings.get("llm", {})})
    asked = serve.prompts(settings.get("lengths", [5, 37, 1, 80]), settings.get("repeated", False))
    out, cached, counts = [], 0, {}
    params = SamplingParams(max_tokens=settings.get("new", 12), temperature=0, ignore_eos=True, detokenize=False, logprobs=1)
    for _ in range(settings.get("times", 1)):
        if "every" in settings:
            made, counts = arriving(llm, asked, params, settings["every"], settings.get("abort", []))
        else:
            made = llm.generate([{"prompt_token_ids": p} for p in asked], params)
        cached += sum(x.num_cached_tokens or 0 for x in made)
        for x in made:
            tokens = list(x.outputs[0].token_ids)
            out.append((list(x.prompt_token_ids), tokens, [row[t].logprob for row, t in zip(x.outputs[0].logprobs, tokens)]))
    print("RESULT " + json.dumps({"out": out, "calls": {**counted, "prefix hits": cached, "calls in ranks": calls(), **counts}}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
