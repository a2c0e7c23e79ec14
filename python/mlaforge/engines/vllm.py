"""vLLM's plugin (entry point group vllm.general_plugins), called in each of its processes, perhaps twice.

On a GPU `--attention-backend CUSTOM` asks for decode attention by mlaforge, and mla_prefill_backend CUSTOM of --attention-config for prefill attention.
$MLAFORGE_VLLM: "attention" asks for decode on vLLM's CPU platform, by the emulator, "prefill" for both; "sparse": CUSTOM is for models with an indexer, on a GPU;
"layer" for whole MLA layers on either. Unset: vLLM runs as before, unless CUSTOM is asked for."""
import os
import sys

from mlaforge.engines import unsupported

WANTED = ("attention", "prefill", "sparse", "layer")
PREFILL = "mlaforge.engines.vllm_attention.Prefill"


def register():
    """The entry point. What was asked for and cannot be served ends the process by one line."""
    wanted = os.environ.get("MLAFORGE_VLLM")
    if wanted and wanted not in WANTED:
        sys.exit(f"mlaforge: MLAFORGE_VLLM is {wanted!r}, must be unset or one of {', '.join(WANTED)}")
    why = unsupported("vllm")
    if why:
        if wanted:
            sys.exit(why)
        return  # CUSTOM stays unknown to vLLM, which says so to those who ask for it
    from vllm.platforms import current_platform
    from vllm.v1.attention.backends.mla.prefill.registry import MLAPrefillBackendEnum, register_mla_prefill_backend
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend
    if not current_platform.is_cpu():
        register_backend(AttentionBackendEnum.CUSTOM, f"mlaforge.engines.vllm_gpu.{'Sparse' if wanted == 'sparse' else ''}Backend")
        register_mla_prefill_backend(MLAPrefillBackendEnum.CUSTOM, PREFILL)
    elif wanted == "sparse":
        sys.exit("mlaforge: MLAFORGE_VLLM is 'sparse', and vLLM's CPU platform has no sparse attention: it is for GPUs")
    elif wanted:  # the CPU platform takes one of these two by itself; AMX_MLA has a prefill of its own, which asks no prefill backend
        register_backend(AttentionBackendEnum.CPU_MLA, "mlaforge.engines.vllm_cpu.CpuBackend")
        register_backend(AttentionBackendEnum.AMX_MLA, f"mlaforge.engines.vllm_cpu.{'Cpu' if wanted == 'prefill' else 'Amx'}Backend")
        if wanted == "prefill":
            for backend in (MLAPrefillBackendEnum.CPU, MLAPrefillBackendEnum.ZEN_CPU):
                register_mla_prefill_backend(backend, PREFILL)
    if wanted == "layer":
        from mlaforge.engines import vllm_layer
        vllm_layer.register()
