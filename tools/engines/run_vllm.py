"""One vLLM process: the settings as JSON in argv[1]. Prints RESULT and JSON: tokens and their log p, and calls of mlaforge."""
import json
import os
import sys

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # calls are counted in this process
os.environ.update({"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
                   "VLLM_CPU_OMP_THREADS_BIND": "nobind"})

import serve


def main(settings):
    from vllm import LLM, SamplingParams
    llm = LLM(os.environ["MLAF_ENGINES"] + "/served", skip_tokenizer_init=True, dtype="bfloat16", max_model_len=512, max_num_seqs=8, seed=0,
              **{"enforce_eager": True, **settings.get("llm", {})})
    asked = serve.prompts(settings.get("lengths", [5, 37, 1, 80]), settings.get("repeated", False))
    out, cached = [], 0
    for _ in range(settings.get("times", 1)):
        made = llm.generate([{"prompt_token_ids": p} for p in asked],
                            SamplingParams(max_tokens=12, temperature=0, ignore_eos=True, detokenize=False, logprobs=1))
        cached += sum(x.num_cached_tokens or 0 for x in made)
        for x in made:
            tokens = list(x.outputs[0].token_ids)
            out.append((list(x.prompt_token_ids), tokens, [row[t].logprob for row, t in zip(x.outputs[0].logprobs, tokens)]))
    from mlaforge.engines.vllm_attention import CALLS
    print("RESULT " + json.dumps({"out": out, "calls": {**CALLS, "prefix hits": cached}}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
