"""vLLM's CPU platform with mlaforge's emulator for decode attention; the rest is the platform's own: CPU_MLA, or AMX_MLA on a host with AMX."""
from mlaforge.errors import needs

needs(__name__, "torch", "vllm")

import torch
from vllm.model_executor.layers.attention.mla_attention import MLACommonMetadataBuilder
from vllm.v1.attention.backends.mla.amx_mla import AMXMLABackend, AMXMLAImpl, AMXMLAMetadataBuilder
from vllm.v1.attention.backends.mla.cpu_mla import CPUMLABackend, CPUMLAImpl

from mlaforge.engines.vllm_attention import Decode, Ragged, backend


class CpuBuilder(Ragged, MLACommonMetadataBuilder):
    """Drafts run as decode."""
    reorder_batch_threshold = 1


class AmxBuilder(Ragged, AMXMLAMetadataBuilder):
    """Drafts run as decode."""
    reorder_batch_threshold = 1


class CpuImpl(Decode, CPUMLAImpl):
    """CPU_MLA's prefill, decode by mlaforge."""


class AmxImpl(Decode, AMXMLAImpl):
    """AMX_MLA's prefill, decode by mlaforge."""


CpuBackend = backend("CpuBackend", CPUMLABackend, CpuBuilder, CpuImpl, supported_dtypes=[torch.float16, torch.bfloat16])
AmxBackend = backend("AmxBackend", AMXMLABackend, AmxBuilder, AmxImpl)
