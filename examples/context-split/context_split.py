"""One request whose context is split over GPUs: each rank attends to its tokens, NCCL gathers outputs and logs, merge_attn_parts
makes one of them. Checked against the same request on one GPU, and timed. No tensor library is needed.

    context_split.py [--tokens 1048576] [--ranks 2] [--transport nccl|none] [--interleave 1] [--q-len 1]

none: shards one after another on one GPU. MLAF_DEVICE=emu:gfx942 with --tokens 500 --transport none runs without a GPU."""
import argparse
import ctypes
import math
import random
import struct
import time

from mlaforge import Buffer, Context, default_context, flash_mla_with_kvcache, merge_attn_parts, shard_lengths

HEADS, RANK, ROPE, PAGE = 16, 512, 64, 64
ROW = 2 * (RANK + ROPE)  # bytes of a token
SCALE = 0.1352
O_BOUND, LSE_BOUND = 6e-3, 2e-3  # relative, of roundings to bf16; absolute


class Nccl:
    """The functions of NCCL that the example calls; RCCL has the same under the same names."""

    def __init__(self):
        for name, self.device in (("libnccl.so.2", "cuda"), ("libnccl.so", "cuda"), ("librccl.so.1", "hip"), ("librccl.so", "hip")):
            try:
                self.lib = ctypes.CDLL(name)
                break
            except OSError as e:
                why = e
        else:
            raise SystemExit(f"neither libnccl.so.2 nor librccl.so.1 is found: set LD_LIBRARY_PATH ({why})")
        self.lib.ncclGetErrorString.restype = ctypes.c_char_p
        self.comms = []

    def check(self, status):
        if status:
            raise SystemExit(f"NCCL: {self.lib.ncclGetErrorString(status).decode()}")

    def open(self, ranks):
        comms = (ctypes.c_void_p * ranks)()
        self.check(self.lib.ncclCommInitAll(comms, ranks, (ctypes.c_int * ranks)(*range(ranks))))
        self.comms = list(comms)

    def all_gather(self, members):
        """Every rank's block goes to all others."""
        self.check(self.lib.ncclGroupStart())
        for m, comm in zip(members, self.comms):
            size = ctypes.c_size_t(m.blocks.block)
            self.check(self.lib.ncclAllGather(ctypes.c_void_p(m.out.data_ptr()), ctypes.c_void_p(m.blocks.memory.data_ptr()), size, 0,
                                              ctypes.c_void_p(comm), None))
        self.check(self.lib.ncclGroupEnd())


class View:
    """A tensor within a buffer, from a byte on."""

    def __init__(self, memory, at, shape, strides, dtype):
        self.memory, self.at, self.shape, self.strides, self.dtype = memory, at, shape, strides, dtype

    def data_ptr(self):
        return self.memory.data_ptr() + self.at

    def stride(self):
        return self.strides

    def get_device(self):
        return self.memory.get_device()


class Blocks:
    """The buffer that ranks exchange: of each a block of O [T, HEADS, RANK], then LSE [T, HEADS]."""

    def __init__(self, ctx, ranks, tokens):
        self.ranks, self.tokens = ranks, tokens
        self.o_bytes = 2 * tokens * HEADS * RANK
        self.block = (self.o_bytes + 4 * tokens * HEADS + 15) // 16 * 16
        self.memory = Buffer(ctx, (ranks * self.block,), "uint8")

    def of(self, rank):
        """(out [T, 1, HEADS, RANK], lse [T, HEADS, 1]) of a rank, as decode writes them."""
        row, at = HEADS * RANK, rank * self.block
        return (View(self.memory, at, (self.tokens, 1, HEADS, RANK), (row, row, RANK, 1), "bfloat16"),
                View(self.memory, at + self.o_bytes, (self.tokens, HEADS, 1), (HEADS, 1, HEADS), "float32"))

    def all(self):
        """(parts [ranks, T, HEADS, RANK], parts_lse [ranks, T, HEADS])."""
        return (View(self.memory, 0, (self.ranks, self.tokens, HEADS, RANK), (self.block // 2, HEADS * RANK, RANK, 1), "bfloat16"),
                View(self.memory, self.o_bytes, (self.ranks, self.tokens, HEADS), (self.block // 4, HEADS, 1), "float32"))


def draw(n, seed):
    """n numbers of bf16 between 2^-7 and 4, of either sign."""
    rng = random.Random(seed)
    out, high = bytearray(2 * n), bytes((0x3c + i % 4) | (i & 0x80) for i in range(256))
    out[0::2], out[1::2] = rng.randbytes(n), rng.randbytes(n).translate(high)
    return out


class Member:
    """A rank: its tokens in pages, its block, and the merged result."""

    def __init__(self, ctx, options, rank, tokens, q, blocks):
        run = options.interleave
        mine = b"".join(tokens[i * ROW:(i + run) * ROW] for i in range(rank * run, options.tokens, options.ranks * run))
        self.ctx, self.q, self.blocks, self.T = ctx, q, blocks, options.q_len
        self.cache, self.table = paged(ctx, mine, options.q_len)
        lengths = shard_lengths([options.tokens], options.ranks, rank, run, options.q_len)
        self.lengths = Buffer(ctx, (self.T,), "int32", struct.pack(f"{self.T}i", *lengths))
        self.out, self.lse = blocks.of(rank)
        self.merged = Buffer(ctx, (self.T, HEADS, RANK), "bfloat16")
        self.merged_lse = Buffer(ctx, (self.T, HEADS), "float32")

    def decode(self):  # each query token is a request with a length of its own
        flash_mla_with_kvcache(self.q, self.cache, self.table, self.lengths, RANK, softmax_scale=SCALE, out=self.out, lse=self.lse,
                               empty_lse=-math.inf, ctx=self.ctx)

    def merge(self):
        merge_attn_parts(self.merged, *self.blocks.all(), self.merged_lse, ctx=self.ctx)


def paged(ctx, rows, requests):
    """The cache of pages, what no token fills being NaN, and a block table for so many requests."""
    pages = max(1, -(-len(rows) // (PAGE * ROW)))
    cache = Buffer(ctx, (pages, PAGE, 1, ROW // 2), "bfloat16", bytes(rows) + b"\xff" * (pages * PAGE * ROW - len(rows)))
    return cache, Buffer(ctx, (requests, pages), "int32", struct.pack(f"{requests * pages}i", *list(range(pages)) * requests))


class Whole:
    """The same request on one GPU, its query tokens under the kernel's causal mask."""

    def __init__(self, ctx, options, tokens, q_bytes):
        T = options.q_len
        self.ctx, self.q = ctx, Buffer(ctx, (1, T, HEADS, ROW // 2), "bfloat16", q_bytes)
        self.cache, self.table = paged(ctx, tokens, 1)
        self.lengths = Buffer(ctx, (1,), "int32", struct.pack("i", options.tokens))
        self.out, lse = Buffer(ctx, (1, T, HEADS, RANK), "bfloat16"), Buffer(ctx, (1, T, HEADS), "float32")
        self.lse = lse.transpose(1, 2)

    def decode(self):
        flash_mla_with_kvcache(self.q, self.cache, self.table, self.lengths, RANK, softmax_scale=SCALE, causal=True, out=self.out,
                               lse=self.lse, empty_lse=-math.inf, ctx=self.ctx)


def wide(data):
    return [struct.unpack("f", struct.pack("I", bits << 16))[0] for (bits,) in struct.iter_unpack("H", data)]


def is_wrong(whole, member, rank):
    want, got = wide(whole.out.read()), wide(member.merged.read())
    off = math.sqrt(sum((a - b) ** 2 for a, b in zip(want, got)) / sum(a * a for a in want))
    logs = list(zip(struct.iter_unpack("f", whole.lse.read()), struct.iter_unpack("f", member.merged_lse.read())))
    good = off <= O_BOUND and all(abs(a - b) <= LSE_BOUND for (a,), (b,) in logs)
    print(f"rank {rank}: O differs by {off:.2e} (relative, bound {O_BOUND:.0e}), O and LSE {'ok' if good else 'WRONG'}")
    return not good


def time_of(members, call, n=20):
    """Microseconds of one of n calls in a row, the first three not counted."""
    for i in range(-3, n):
        if i == 0:
            for m in members:
                m.ctx.sync()
            start = time.perf_counter()
        call()
    for m in members:
        m.ctx.sync()
    return (time.perf_counter() - start) / n * 1e6


def report(members, whole, step, one_device):
    one, slowest = time_of(members, whole.decode), max(time_of(members, m.decode) for m in members)
    merging = time_of(members, members[0].merge)
    split = slowest + merging if one_device else time_of(members, step)
    print(f"one GPU {one:.1f} us, slowest shard {slowest:.1f}, merge {merging:.1f}, "
          f"{'slowest shard + merge' if one_device else 'all ranks, exchange and merge'} {split:.1f}: {split / one:.3f} of one GPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name, usual in (("tokens", 1 << 20), ("ranks", 2), ("interleave", 1), ("q-len", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--transport", choices=("nccl", "none"), default="nccl")
    options = parser.parse_args()
    one_device = options.transport == "none"
    nccl = None if one_device else Nccl()
    tokens, queries = draw(options.tokens * ROW // 2, 39), draw(options.q_len * HEADS * ROW // 2, 8)
    contexts = [default_context()] if one_device else [Context(device=f"{nccl.device}:{r}") for r in range(options.ranks)]
    members, shared = [], []
    for ctx in contexts:
        q = Buffer(ctx, (options.q_len, 1, HEADS, ROW // 2), "bfloat16", bytes(queries))
        shared.append((ctx, q, Blocks(ctx, options.ranks, options.q_len)))
    for rank in range(options.ranks):
        ctx, q, blocks = shared[0 if one_device else rank]
        members.append(Member(ctx, options, rank, memoryview(tokens), q, blocks))
    whole = Whole(contexts[0], options, tokens, bytes(queries))
    if nccl:
        nccl.open(options.ranks)

    def step():
        for m in members:
            m.decode()
        if nccl:
            nccl.all_gather(members)
        for m in members[:1 if one_device else None]:
            m.merge()

    print(f"{options.tokens} tokens over {options.ranks} ranks, transport {options.transport}, {contexts[0].device_name}")
    step()
    whole.decode()
    wrong = [is_wrong(whole, m, rank) for rank, m in enumerate(members[:1 if one_device else None])]
    if not contexts[0].emulated:  # the emulator has no times
        report(members, whole, step, one_device)
    raise SystemExit(any(wrong))


if __name__ == "__main__":
    main()
