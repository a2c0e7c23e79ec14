"""One SGLang process: the settings as JSON in argv[1]. Prints RESULT and JSON: tokens and their log p, and calls of mlaforge."""
import json
import os
import sys

import serve


def main(settings):
    import sglang
    calls = serve.count_elsewhere()  # SGLang's scheduler is a process of its own
    engine = sglang.Engine(model_path=os.environ["MLAF_ENGINES"] + "/served-sglang", skip_tokenizer_init=True, dtype="bfloat16",
                           context_length=512, max_total_tokens=2048, disable_overlap_schedule=True, max_running_requests=8, random_seed=0,
                           **{"attention_backend": "mlaforge", "device": "cpu", **settings.get("engine", {})})
    asked = serve.prompts(settings.get("lengths", [5, 37, 1, 80]), False)
    out, cached = [], 0
    for _ in range(settings.get("times", 1)):
        made = engine.generate(input_ids=asked, sampling_params={"max_new_tokens": 12, "temperature": 0, "ignore_eos": True}, return_logprob=True)
        for prompt, x in zip(asked, made):
            out.append((prompt, x["output_ids"], [row[0] for row in x["meta_info"]["output_token_logprobs"]]))
            cached += x["meta_info"]["cached_tokens"]
    engine.shutdown()
    print("RESULT " + json.dumps({"out": out, "calls": {"calls": calls(), "radix hits": cached}}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
