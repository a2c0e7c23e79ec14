"""One decode step by AITER's and by FlashMLA's function, without a tensor library. With V all ones O is all ones."""
import struct

import mlaforge
from mlaforge import Buffer, flash_mla_with_kvcache, get_mla_metadata, mla_decode_fwd

BATCH, HEADS, RANK, ROPE, PAGE, PAGES = 3, 16, 512, 64, 64, 4
COLS = RANK + ROPE
ONE = 0x3f80  # 1.0 in bf16

ctx = mlaforge.default_context()  # $MLAF_DEVICE, else the first GPU; without one: MLAF_DEVICE=emu:gfx942


def bf16(shape, bits):
    return Buffer(ctx, shape, "bfloat16", struct.pack(f"{len(bits)}H", *bits))


def int32(shape, values):
    return Buffer(ctx, shape, "int32", struct.pack(f"{len(values)}i", *values))


def wrong(o):
    return sum(bits != ONE for bits in struct.unpack(f"{BATCH * HEADS * RANK}H", o.read()))


q_bits = [0x3c00 + i % 97 for i in range(BATCH * HEADS * COLS)]  # around 0.01
cache = bf16((PAGES, PAGE, 1, COLS), [ONE] * (PAGES * PAGE * COLS))

# requests of 64, 74 and 1 tokens in pages 2, 0 3 and 1
o = Buffer(ctx, (BATCH, HEADS, RANK), "bfloat16")
mla_decode_fwd(bf16((BATCH, HEADS, COLS), q_bits), cache, o, int32((4,), [0, 1, 2, 3]), int32((4,), [0, 1, 3, 4]),
               int32((4,), [2, 0, 3, 1]), int32((3,), [64, 10, 1]), 1, 0.07)

lengths = int32((3,), [64, 74, 1])
metadata, num_splits = get_mla_metadata(lengths, HEADS, 1)
out, lse = flash_mla_with_kvcache(bf16((BATCH, 1, HEADS, COLS), q_bits), cache, int32((3, 2), [2, 0, 0, 3, 1, 0]), lengths, RANK,
                                  metadata, num_splits, 0.07)

print(f"mlaforge {mlaforge.version()} on {ctx.device_name}: {wrong(o)} and {wrong(out)} of {BATCH * HEADS * RANK} outputs wrong")
raise SystemExit(wrong(o) + wrong(out) > 0)
