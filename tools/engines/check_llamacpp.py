"""Nodes of ggml beside its CPU kernel; where llama-cpp-python is installed, a tiny model with mlaforge's backend and without it. Called by
tools/engines.sh."""
import glob
import os
import subprocess
import sys
import tarfile

import gguf
import libggml
import numpy as np

import serve
import tiny

try:
    import llama_cpp
except ImportError:
    llama_cpp = None

SOURCE = os.path.join(serve.ROOT, "..", "..")
OURS = os.path.join(SOURCE, "integrations", "llamacpp")
WORK = os.path.join(os.environ["MLAF_ENGINES"], "llamacpp-check")
BUILT = os.path.dirname(os.path.realpath(os.environ["MLAF_LIBRARY"]))
PLACES = {"input_layernorm": "attn_norm", "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
          "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.o_proj": "attn_output",
          "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def headers():
    """ggml's headers out of the package's archive, which lies beside it (docs/llamacpp.md): pip does not install the one for backends."""
    found = glob.glob(os.path.join(sys.prefix, f"llama_cpp_python-{llama_cpp.__version__}.tar.gz"))
    if not found:
        raise SystemExit(f"check_llamacpp: {sys.prefix} has no archive llama_cpp_python-{llama_cpp.__version__}.tar.gz: docs/llamacpp.md says how to get it")
    with tarfile.open(found[0]) as archive:
        for member in archive.getmembers():
            folder, name = os.path.split(member.name)
            if member.isfile() and (folder.endswith("/ggml/include") or member.name.endswith("/ggml/src/ggml-backend-impl.h")):
                with open(os.path.join(WORK, name), "wb") as f:
                    f.write(archive.extractfile(member).read())


def build(made, sources, headers, libs, *flags):
    made = os.path.join(WORK, made)
    libraries = [f"-L{BUILT}", "-lmlaforge", f"-L{libs}", "-lggml", "-lggml-cpu", "-lggml-base", f"-Wl,-rpath,{BUILT},-rpath,{libs}"]
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-Wall", "-Wextra", *flags, f"-I{SOURCE}/include", f"-I{headers}",
                    *(os.path.join(OURS, s) for s in sources), "-o", made, *libraries], check=True)
    return made


def put(writer, name, tensor):
    writer.add_tensor(name, np.ascontiguousarray(tensor.float().numpy()))


def write_head(writer, c):
    R, P, N, V = c.kv_lora_rank, c.qk_rope_head_dim, c.qk_nope_head_dim, c.v_head_dim
    rope = c.rope_parameters
    for add, value in ((writer.add_block_count, c.num_hidden_layers), (writer.add_context_length, c.max_position_embeddings),
                       (writer.add_embedding_length, c.hidden_size), (writer.add_feed_forward_length, c.intermediate_size),
                       (writer.add_head_count, c.num_attention_heads), (writer.add_head_count_kv, 1), (writer.add_layer_norm_rms_eps, c.rms_norm_eps),
                       (writer.add_leading_dense_block_count, c.num_hidden_layers), (writer.add_vocab_size, c.vocab_size),
                       (writer.add_q_lora_rank, c.q_lora_rank), (writer.add_kv_lora_rank, R), (writer.add_key_length, R + P), (writer.add_value_length, R),
                       (writer.add_key_length_mla, N + P), (writer.add_value_length_mla, V), (writer.add_expert_feed_forward_length, c.moe_intermediate_size),
                       (writer.add_expert_count, 8), (writer.add_expert_used_count, 2), (writer.add_expert_shared_count, 1),
                       (writer.add_expert_weights_scale, 1.0), (writer.add_rope_dimension_count, P), (writer.add_rope_freq_base, rope["rope_theta"]),
                       (writer.add_rope_scaling_type, gguf.RopeScalingType.YARN), (writer.add_rope_scaling_factor, rope["factor"]),
                       (writer.add_rope_scaling_orig_ctx_len, rope["original_max_position_embeddings"]),
                       (writer.add_rope_scaling_yarn_log_mul, 0.1 * rope["mscale_all_dim"]), (writer.add_tokenizer_model, "no_vocab")):
        add(value)


def write_model(path):
    """The model that servers load, in float32: architecture deepseek2, no vocabulary."""
    model = tiny.model(**tiny.SERVED)
    c, weights = model.config, model.state_dict()
    writer = gguf.GGUFWriter(path, "deepseek2")
    write_head(writer, c)
    for ours, theirs in (("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")):
        put(writer, ours + ".weight", weights[theirs + ".weight"])
    for i in range(c.num_hidden_layers):
        for theirs, ours in PLACES.items():
            put(writer, f"blk.{i}.{ours}.weight", weights[f"model.layers.{i}.{theirs}.weight"])
        kv_b = weights[f"model.layers.{i}.self_attn.kv_b_proj.weight"].view(c.num_attention_heads, -1, c.kv_lora_rank)
        put(writer, f"blk.{i}.attn_k_b.weight", kv_b[:, :c.qk_nope_head_dim].transpose(1, 2))
        put(writer, f"blk.{i}.attn_v_b.weight", kv_b[:, c.qk_nope_head_dim:])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def nodes(table):
    package = list(libggml.__path__)[0]
    program = build("check_op", ["check_op.cpp", "mlaforge-ggml.cpp"], package + "/include", package + "/lib64")
    said = subprocess.run([program], text=True, stdout=subprocess.PIPE)
    for line in said.stdout.splitlines():
        table.row(line[5:].split("  ")[0], line.startswith("ok"), line[5:].partition("  ")[2].strip())
    table.row("the nodes' exit code", said.returncode == 0, "")


def models(table):
    headers()
    libs = os.path.join(os.path.dirname(llama_cpp.__file__), "lib")
    backend = build("libggml-mlaforge.so", ["ggml-mlaforge.cpp", "mlaforge-ggml.cpp"], WORK, libs, "-shared", "-fPIC", "-fvisibility=hidden")
    model = os.path.join(WORK, "tiny.gguf")
    write_model(model)
    settings = dict(model=model, prompts=serve.prompts([5, 37, 1, 80], False), tokens=12)
    run = lambda name, environment, how, **judged: table.run(name, "run_llamacpp.py", environment, {**settings, **how}, **judged)
    for unified in (0, 1):
        run(f"stock, flash attention, unified={unified}", {}, dict(flash=1, unified=unified))
    for name, environment, unified in (("lists, a cache a sequence", {}, 0), ("lists, one cache for all", {}, 1),
                                       ("lengths, a cache a sequence", {"MLAF_GGML_PREFIX": "1"}, 0)):
        run(name, environment, dict(flash=1, unified=unified, backend=backend), like=f"stock, flash attention, unified={unified}", count=["attention"])


def main():
    os.makedirs(WORK, exist_ok=True)
    table = serve.Table("llamacpp")
    nodes(table)
    if llama_cpp:
        models(table)
    else:
        print("llamacpp      models were NOT run: llama-cpp-python is not installed, see docs/llamacpp.md", flush=True)
    return 0 if table.good else 1


if __name__ == "__main__":
    sys.exit(main())
