"""A plugin beside ours, for engines whose work is done in other processes: each call of mlaforge adds a byte to $MLAF_CALLS, if that is set."""
import os

import mlaforge


def _counted(call, path):
    def counted(*args, **named):
        with open(path, "ab") as f:
            f.write(b".")
        return call(*args, **named)
    counted.counts = True
    return counted


def register():
    path = os.environ.get("MLAF_CALLS")
    for of, name in ((mlaforge, "flash_mla_with_kvcache"), (mlaforge, "mla_decode_fwd"), (mlaforge.Layer, "__call__")):
        if path and not hasattr(getattr(of, name), "counts"):
            setattr(of, name, _counted(getattr(of, name), path))
