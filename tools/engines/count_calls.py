"""A plugin beside ours: each call of flash_mla_with_kvcache adds a byte to $MLAF_ENGINES/calls, since SGLang's scheduler is a process of its own."""
import os

import mlaforge


def register():
    call = mlaforge.flash_mla_with_kvcache

    def counted(*args, **named):
        with open(os.environ["MLAF_ENGINES"] + "/calls", "ab") as f:
            f.write(b".")
        return call(*args, **named)
    mlaforge.flash_mla_with_kvcache = counted
