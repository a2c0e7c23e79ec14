"""SGLang's plugin (entry point group sglang.srt.plugins): `--attention-backend mlaforge`."""
import logging

from mlaforge.engines import unsupported

NAME = "mlaforge"


def register():
    """The entry point: makes the name known, and no more. A version that was not tested is said, and SGLang then does not know the name."""
    why = unsupported("sglang")
    if why:
        logging.getLogger(__name__).warning(why)
        return
    from sglang.srt.arg_groups.choices import ATTENTION_BACKEND_CHOICES
    from sglang.srt.layers.attention.attention_registry import ATTENTION_BACKENDS, register_attention_backend
    if NAME not in ATTENTION_BACKEND_CHOICES:
        ATTENTION_BACKEND_CHOICES.append(NAME)
    if NAME not in ATTENTION_BACKENDS:
        register_attention_backend(NAME)(_create)


def _create(runner):
    from sglang.srt.models.deepseek_common.attention_backend_handler import AttentionBackendRegistry
    from sglang.srt.models.deepseek_common.attention_forward_methods.forward_methods import AttnForwardMethod
    AttentionBackendRegistry.register(NAME, lambda attention, batch: AttnForwardMethod.MLA)
    from mlaforge.engines.sglang_backend import Backend
    return Backend(runner)
