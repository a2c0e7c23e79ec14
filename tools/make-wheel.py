"""tools/make-wheel.py FOLDER VERSION PLATFORM OUT: a wheel of what lies in FOLDER, by the standard library alone (tools/package.sh).
FOLDER/LICENSE becomes part of the metadata.

The same bytes for the same files: entries are sorted and carry no time.
"""
import base64
import hashlib
import os
import runpy
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: mlaforge
Version: {version}
Summary: Specialised Multi-head Latent Attention decode kernels: generated, compiled, verified, tuned, served
License: MIT
License-File: LICENSE
Classifier: License :: OSI Approved :: MIT License
Requires-Python: >=3.8
{extras}"""
WHEEL = """Wheel-Version: 1.0
Generator: mlaforge
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def main(folder, version, platform, out):
    info = f"mlaforge-{version}.dist-info"
    engines = runpy.run_path(os.path.join(folder, "mlaforge", "engines", "__init__.py"))
    entries = {f"{info}/METADATA": (METADATA.format(version=version, extras=engines["extras"]()).encode(), 0o644),
               f"{info}/entry_points.txt": (engines["entry_points"]().encode(), 0o644),
               f"{info}/WHEEL": (WHEEL.format(platform=platform).encode(), 0o644)}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            inside = os.path.relpath(path, folder)
            with open(path, "rb") as f:
                entries[f"{info}/LICENSE" if inside == "LICENSE" else inside] = (
                    f.read(), 0o755 if os.access(path, os.X_OK) else 0o644)
    if f"{info}/LICENSE" not in entries:
        sys.exit(f"make-wheel.py: there is no {os.path.join(folder, 'LICENSE')}")
    record = ""
    for name, (data, _) in sorted(entries.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    entries[f"{info}/RECORD"] = ((record + f"{info}/RECORD,,\n").encode(), 0o644)
    with zipfile.ZipFile(os.path.join(out, f"mlaforge-{version}-py3-none-{platform}.whl"), "w", zipfile.ZIP_DEFLATED) as z:
        for name, (data, mode) in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
