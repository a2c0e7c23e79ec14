"""python3 tools/api-python.py: the Python package as a page of Markdown for tools/api-reference.sh, of signatures and docstrings."""
import inspect
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
sys.dont_write_bytecode = True
import mlaforge
from mlaforge import aiter


def code(text):
    return "\n".join(["```py", text, "```", ""])


def signature(name, value):
    """One argument a line where the whole is long."""
    parameters = inspect.signature(value).parameters.values()
    parts, star = [], False
    for p in parameters:
        if p.name == "self":
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        parts.append(str(p))
    whole = f"{name}({', '.join(parts)})"
    if len(whole) <= 100:
        return whole
    lines, line = [], f"{name}("
    for i, part in enumerate(parts):
        piece = part + (", " if i < len(parts) - 1 else ")")
        if len(line + piece) > 100:
            lines.append(line.rstrip())
            line = " " * (len(name) + 1)
        line += piece
    return "\n".join(lines + [line])


def escaped(words):
    """Escapes what Doxygen or Markdown would take for markup; text in `...` is code already."""
    parts = words.split("`")
    return "`".join(part if i % 2 else re.sub(r"([\\@#<>*&%]|__)", r"\\\1", part) for i, part in enumerate(parts))


def text(value):
    """A docstring's paragraphs; what is indented is code."""
    out = []
    for paragraph in (inspect.getdoc(value) or "").split("\n\n"):
        out.append(code(inspect.cleandoc(paragraph)) if paragraph.startswith("    ") else escaped(paragraph) + "\n")
    return "\n".join(out)


def entry(level, name, value, shown):
    heading = f"{'#' * level} {name}" + " {#py_" + name.replace(".", "_") + "}\n"
    if isinstance(value, property):
        return "\n".join([heading, code(f"{shown}    # a property"), text(value)])
    if inspect.isclass(value):
        own = code(signature(shown, value)) if value is not mlaforge.MlafError else code(shown)
        parts = [heading, own, text(value)]
        for inner, member in vars(value).items():
            if inner[0] != "_" and (callable(member) or isinstance(member, property)):
                parts.append(entry(level + 1, f"{name}.{inner}", member, f"{name}.{inner}"))
        return "\n".join(parts)
    return "\n".join([heading, code(signature(shown, value)), text(value)])


print("# Python {#python}\n")
print(text(mlaforge))
print("[TOC]\n")
for public in sorted(mlaforge.__all__, key=str.lower):
    print(entry(2, public, getattr(mlaforge, public), f"mlaforge.{public}"))
print(entry(2, "aiter.flash_attn_varlen_func", aiter.flash_attn_varlen_func, "mlaforge.aiter.flash_attn_varlen_func"))
