"""vLLM's CPU platform with mlaforge's emulator for decode attention; the rest is the platform's own: CPU_MLA, or AMX_MLA on a host with AMX."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.v1.attention.backends.mla.amx_mla import AMXMLABackend
from vllm.v1.attention.backends.mla.cpu_mla import CPUMLABackend

from mlaforge.engines.vllm_attention import Decode, Ragged, backend

CpuBackend, AmxBackend = (backend(__name__, name, of, (Ragged, of.get_builder_cls()), (Decode, of.get_impl_cls()), **more) for name, of, more in (
    ("CpuBackend", CPUMLABackend, dict(supported_dtypes=[torch.float16, torch.bfloat16])), ("AmxBackend", AMXMLABackend, {})))
