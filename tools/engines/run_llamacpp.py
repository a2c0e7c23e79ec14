"""Greedy tokens by llama.cpp for prompts of token numbers, all in one batch, as one line of JSON. A child of check_llamacpp.py: settings as JSON."""
import ctypes
import json
import os
import sys

import llama_cpp as lc
import numpy as np


def backend(path):
    """Loads a ggml backend into the ggml that libllama uses: the package has several copies of that library."""
    ggml = ctypes.CDLL(os.path.join(os.path.dirname(lc.__file__), "lib", "libllama.so"))
    ggml.ggml_backend_load.restype = ctypes.c_void_p
    if not ggml.ggml_backend_load(path.encode()):
        raise SystemExit(f"Error: ggml did not load {path}")
    library = ctypes.CDLL(path)
    library.mlaf_ggml_calls.restype = ctypes.c_long
    return library


def context(model, settings, requests):
    how = lc.llama_context_default_params()
    how.n_ctx, how.n_seq_max, how.n_batch, how.n_ubatch, how.n_threads, how.n_threads_batch = 256 * requests, requests, 512, 512, 1, 1
    how.flash_attn_type, how.kv_unified = settings["flash"], settings["unified"]
    made = lc.llama_init_from_model(model, how)
    if not made:
        raise SystemExit("Error: llama_init_from_model failed")
    return made


def step(ctx, batch, new, at):
    """Decodes the new tokens of each request, which follow `at` others; returns the place in the batch of each one's last."""
    last, k = [], 0
    for request, tokens in enumerate(new):
        for i, token in enumerate(tokens):
            batch.token[k], batch.pos[k], batch.n_seq_id[k], batch.seq_id[k][0] = token, at[request] + i, 1, request
            batch.logits[k] = i + 1 == len(tokens)
            k += 1
        last.append(k - 1)
    batch.n_tokens = k
    if lc.llama_decode(ctx, batch):
        raise SystemExit("Error: llama_decode failed")
    return last


def generate(settings):
    model = lc.llama_model_load_from_file(settings["model"].encode(), lc.llama_model_default_params())
    if not model:
        raise SystemExit("Error: the model was not loaded")
    prompts = settings["prompts"]
    ctx = context(model, settings, len(prompts))
    words = lc.llama_vocab_n_tokens(lc.llama_model_get_vocab(model))
    batch, new, at = lc.llama_batch_init(512, 0, 1), prompts, [0] * len(prompts)
    out = [(prompt, [], []) for prompt in prompts]
    for _ in range(settings["tokens"]):
        last = step(ctx, batch, new, at)
        at = [n + len(tokens) for n, tokens in zip(at, new)]
        for request, place in enumerate(last):
            logits = np.ctypeslib.as_array(lc.llama_get_logits_ith(ctx, place), (words,)).astype(np.float64)
            best = int(logits.argmax())
            out[request][1].append(best)
            out[request][2].append(float(-np.log(np.exp(logits - logits[best]).sum())))
        new = [tokens[-1:] for _, tokens, _ in out]
    lc.llama_free(ctx)
    lc.llama_model_free(model)
    return out


def main():
    settings = json.loads(sys.argv[1])
    library = backend(settings["backend"]) if settings.get("backend") else None
    lc.llama_backend_init()
    out = generate(settings)
    calls = library.mlaf_ggml_calls() if library else 0
    print("RESULT " + json.dumps({"out": out, "calls": {"attention": calls}}))


if __name__ == "__main__":
    main()
