"""SGLang's own unit tests of MLA backends (sglang.test.kits.attention_unittest, in its wheel) over backend mlaforge: rows of 512 + 64 columns, bf16.
`python sglang_kit.py cuda` runs them on a GPU, and prints a line each. Its cases of target verify in graphs want a prefix within a page: what they
write again behind their table does not follow it."""
import sys

import torch

ROWS = dict(kv_lora_rank=512, qk_rope_head_dim=64, dtype=torch.bfloat16)


def cases(device):
    """(name, function) of each case; a function raises AssertionError where numbers are wrong."""
    from mlaforge.engines import sglang
    sglang.register()
    from sglang.srt.model_executor.forward_batch_info import ForwardMode
    from sglang.test.kits.attention_unittest.attention_methods import mla_attention as mla
    from sglang.test.kits.attention_unittest.runner_modes import cuda_graph_decode_runner as decode, speculative_draft_extend_runner as drafts
    from sglang.test.kits.attention_unittest.runner_modes import speculative_target_verify_runner as verify
    how = dict(ROWS, device=device)
    made = [(case.name, lambda case=case: mla.run_mla_attention_case(None, case, **how)) for case in mla.make_mla_cases("mlaforge")]

    def case(mode, prefixes, news, page):
        return mla.MLAAttentionCase(name="case", backend="mlaforge", forward_mode=ForwardMode[mode], num_heads=4, page_size=page, prefix_lens=prefixes, extend_lens=news)
    for page in (1, 16):
        made += [(f"decode in a graph, pages of {page}", lambda page=page: decode.run_mla_cuda_graph_decode_case(None, case("DECODE", (14, 15, 16), (), page), **how)),
                 (f"target verify, pages of {page}", lambda page=page: verify.run_mla_eagle_verify_case(
                     None, case("TARGET_VERIFY", (14, 7), (4, 4), page), topk=1, **how)),
                 (f"draft extend in a graph, pages of {page}", lambda page=page: drafts.run_mla_draft_extend_v2_cuda_graph_case(
                     None, case("DRAFT_EXTEND_V2", (14, 7), (4, 4), page), **how))]
    return made + [("target verify in a graph, pages of 16", lambda: verify.run_mla_eagle_verify_cuda_graph_case(
        None, case("TARGET_VERIFY", (14, 7), (4, 4), 16), topk=1, **how))]


def failed(device="cpu", say=lambda *values: None):
    """Names of cases that failed, and how many there are."""
    wrong, found = [], cases(device)
    for name, run in found:
        try:
            run()
        except Exception as why:
            wrong.append(name)
            say("FAIL", name, type(why).__name__, str(why)[:300].replace("\n", " "))
        else:
            say("ok", name)
    return wrong, len(found)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    print(failed(sys.argv[1] if len(sys.argv) > 1 else "cpu", lambda *values: print(*values, flush=True)))
