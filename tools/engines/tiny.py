"""Tiny random models of DeepSeek-V3's form, dense or with experts, and how near to double precision an engine's tokens are."""
import copy
import json
import os
import shutil

import torch
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, mscale=1.0, mscale_all_dim=1.0, beta_fast=32, beta_slow=1,
            original_max_position_embeddings=64)
SMALL = dict(vocab_size=96, hidden_size=128, intermediate_size=192, moe_intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=4, n_shared_experts=1, n_routed_experts=8, routed_scaling_factor=2.5, kv_lora_rank=64, q_lora_rank=96,
             qk_rope_head_dim=32, v_head_dim=64, qk_nope_head_dim=32, n_group=2, topk_group=1, num_experts_per_tok=2, first_k_dense_replace=3,
             max_position_embeddings=4096, rms_norm_eps=1e-6, rope_parameters=YARN, bos_token_id=0, eos_token_id=95, pad_token_id=0,
             initializer_range=0.08)
# Servers' kernels want DeepSeek's latent row, 512 + 64.
SERVED = dict(kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, num_hidden_layers=2, first_k_dense_replace=2, vocab_size=256,
              max_position_embeddings=2048, initializer_range=0.1, eos_token_id=255, num_mtp_layers=0,
              rope_parameters={**YARN, "factor": 32.0})
SERVED_ERROR = 0.023  # of log p by vLLM's own attention on a CPU
LOG_ERROR, REGRET = 1.1, 0.15  # of stock's error; how much less likely than double precision's best a token may be


def model(dtype=torch.bfloat16, seed=0, **how):
    torch.manual_seed(seed)
    made = DeepseekV3ForCausalLM(DeepseekV3Config(**{**SMALL, **how})).eval()
    return made.bfloat16().to(dtype)


def precise(like, dtype=torch.float64):
    """The same weights in double precision; of experts float32, as transformers multiplies those in no other."""
    return copy.deepcopy(like).to(torch.float32 if like.config.first_k_dense_replace < like.config.num_hidden_layers else dtype)


def write(folder):
    """The model that servers load, and a copy with what SGLang reads beside it in config.json."""
    model(**SERVED).save_pretrained(folder + "/served")
    shutil.copytree(folder + "/served", folder + "/served-sglang", dirs_exist_ok=True)
    path = folder + "/served-sglang/config.json"
    with open(path) as f:
        config = json.load(f)
    config.update(moe_layer_freq=1, scoring_func="sigmoid", topk_method="noaux_tc")
    with open(path, "w") as f:
        json.dump(config, f)


class Judge:
    """Compares tokens and their log probabilities with double precision."""

    def __init__(self, exact):
        self.exact, self.memo = exact, {}

    @torch.no_grad()
    def log_p(self, prompt, made):
        """log p of all tokens at each place of `made` behind the prompt, both lists."""
        key = tuple(prompt), tuple(made)
        if key not in self.memo:
            ids = torch.tensor([list(prompt) + list(made)])
            self.memo[key] = torch.log_softmax(self.exact(ids).logits[0, len(prompt) - 1:-1].double(), -1)
        return self.memo[key]

    def regret(self, prompt, made):
        """By how much each token is less likely than the best one."""
        logs = self.log_p(prompt, made)
        return (logs.max(1).values - logs.gather(1, torch.tensor(made)[:, None])[:, 0]).tolist()

    def errors(self, prompt, made, said):
        """Log probabilities as an engine says them, less double precision's."""
        return (torch.tensor(said).double() - self.log_p(prompt, made).gather(1, torch.tensor(made)[:, None])[:, 0]).tolist()


def rms(errors):
    return (sum(e * e for e in errors) / max(len(errors), 1)) ** 0.5


if __name__ == "__main__":
    write(os.environ["MLAF_ENGINES"])
