"""vLLM's plugin (entry point group vllm.general_plugins), called in each of its processes, perhaps twice.

On a GPU `--attention-backend CUSTOM` asks for decode attention by mlaforge, and mla_prefill_backend CUSTOM of --attention-config for prefill attention.
$MLAFORGE_VLLM: "attention" asks for decode on vLLM's CPU platform, by the emulator, "prefill" for both; "sparse": CUSTOM is for models with an indexer, on a GPU;
"layer" for whole MLA layers on either. Unset: vLLM runs as before, unless CUSTOM is asked for."""
import os
import sys

from mlaforge.engines import unsupported

WANTED = ("attention", "prefill", "sparse", "layer")


def register():
    """The entry point. What was asked for and cannot be served ends the process by one line."""
    wanted = os.environ.get("MLAFORGE_VLLM")
    if wanted and wanted not in WANTED:
        sys.exit(f"mlaforge: MLAFORGE_VLLM is {wanted!r}, must be unset or one of {', '.join(WANTED)}")
    why = unsupported("vllm")
    if why:  # unless something was asked for CUSTOM stays unknown to vLLM, which says so to those who ask for it
        return sys.exit(why) if wanted else None
    from vllm.platforms import current_platform
    from vllm.v1.attention.backends.mla.prefill.registry import MLAPrefillBackendEnum as Prefill, register_mla_prefill_backend
    from vllm.v1.attention.backends.registry import AttentionBackendEnum as Decode, register_backend
    cpu = current_platform.is_cpu()
    if cpu and wanted == "sparse":
        sys.exit("mlaforge: MLAFORGE_VLLM is 'sparse', and vLLM's CPU platform has no sparse attention: it is for GPUs")
    # The CPU platform takes one of two backends by itself; AMX_MLA has a prefill of its own, which asks no prefill backend.
    decode = ({Decode.CUSTOM: "vllm_attention.SparseBackend" if wanted == "sparse" else "vllm_attention.Backend"} if not cpu else {} if not wanted else
              {Decode.CPU_MLA: "vllm_cpu.CpuBackend", Decode.AMX_MLA: "vllm_cpu.CpuBackend" if wanted == "prefill" else "vllm_cpu.AmxBackend"})
    for name, made in decode.items():
        register_backend(name, "mlaforge.engines." + made)
    for name in (Prefill.CUSTOM,) if not cpu else (Prefill.CPU, Prefill.ZEN_CPU) if wanted == "prefill" else ():
        register_mla_prefill_backend(name, "mlaforge.engines.vllm_attention.Prefill")
    if wanted == "layer":
        from mlaforge.engines import vllm_layer  # noqa: F401: it puts itself in vLLM's register
