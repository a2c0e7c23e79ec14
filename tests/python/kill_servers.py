"""Servers and a tuner share one database, one cache and one device, and one of them is killed (SIGKILL) in the middle, again and again.

    PYTHONPATH=python MLAF_LIBRARY=build/libmlaforge.so.0 python3 tests/python/kill_servers.py build/mlaforge [device] [rounds] [large]

By hand; on emu:gfx942 (the default) a round takes some seconds, `large` takes DeepSeek-V3's shape in place of a small one. Every round
starts two servers, which warm up and decode what gives ones, and a tuner. One of the three is killed after a while, the others must
end well; then the database and the cache must be whole, with no temporary file of a dead process in the way, and a third server must
plan and decode over what is there. Exit code 1: one of that did not hold, or nobody was killed at work.
"""
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

LARGE = {"heads": (16, 32, 64, 128), "rank": 512, "rope": 64, "page": 64, "batch": (8, 8), "kv_len": (2048, 2048)}
SMALL = {"heads": (1, 2, 3, 4, 5, 6, 7, 8), "rank": 64, "rope": 32, "page": 16, "batch": (1, 4), "kv_len": (16, 128)}
ONE = 0x3f80  # 1.0 in bf16


def decode(ctx, shape, heads, batch=3):
    """Counts outputs that are not 1: with V all ones O is all ones."""
    from mlaforge import Buffer, mla_decode_fwd
    cols, page = shape["rank"] + shape["rope"], shape["page"]
    bf16 = lambda sizes, bits: Buffer(ctx, sizes, "bfloat16", struct.pack(f"{len(bits)}H", *bits))
    int32 = lambda values: Buffer(ctx, (len(values),), "int32", struct.pack(f"{len(values)}i", *values))
    o = Buffer(ctx, (batch, heads, shape["rank"]), "bfloat16")
    tensors = [bf16((batch, heads, cols), [0x3c00 + i % 97 for i in range(batch * heads * cols)]),
               bf16((2 * batch, page, 1, cols), [ONE] * (2 * batch * page * cols)), o, int32(list(range(batch + 1))),
               int32([2 * i for i in range(batch + 1)]), int32(list(range(2 * batch))), int32([1 + i % page for i in range(batch)])]
    mla_decode_fwd(*tensors, 1, 0.07, ctx=ctx)
    ctx.sync()
    return sum(bits != ONE for bits in struct.unpack(f"{batch * heads * shape['rank']}H", o.read()))


def server(seed, shape, times):
    import mlaforge
    rng, wrong, compiles = random.Random(seed), 0, 0
    for _ in range(times):
        with mlaforge.Context(device=os.environ["MLAF_DEVICE"]) as ctx:
            heads = rng.choice(shape["heads"])
            done = ctx.warm_up(heads=heads, rank=shape["rank"], rope=shape["rope"], page_size=shape["page"], batch=shape["batch"],
                               kv_len=shape["kv_len"])
            compiles += done["compiles"]
            wrong += decode(ctx, shape, heads)
    print(f"{compiles} compiled, {wrong} wrong")
    return wrong > 0


def start(args):
    return subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    program, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "emu:gfx942"
    rounds, large = int(sys.argv[3]) if len(sys.argv) > 3 else 8, "large" in sys.argv
    shape, rng, failed = LARGE if large else SMALL, random.Random(5), 0
    top, at_work = tempfile.mkdtemp(prefix="kill-servers-"), 0
    me = [sys.executable, os.path.abspath(__file__), "--server", "large" if large else "small"]
    for i in range(rounds):
        home = os.path.join(top, str(i // 2))  # every second round finds what the one before it left
        os.environ.update(MLAF_DB=os.path.join(home, "user.db"), MLAF_CACHE_DIR=os.path.join(home, "cache"), MLAF_DEVICE=device)
        os.makedirs(home, mode=0o700, exist_ok=True)
        heads = ",".join(str(h) for h in rng.sample(shape["heads"], 1 if large else 2))
        tuner = [program, "tune", "--device", device, "--heads", heads, "--rank", str(shape["rank"]), "--rope", str(shape["rope"]),
                 "--page-size", str(shape["page"]), "--batch", "2", "--ctx", str(shape["kv_len"][1]), "--max-candidates", "4"]
        names = ("server", "server", "tuner")
        times = ["1" if large else "3"]
        who = [start(me + [str(2 * i)] + times), start(me + [str(2 * i + 1)] + times), start(tuner)]
        victim, after = i % 3, rng.uniform(0.2, 2.2 if large else 6.0)  # large: a GPU, where all have ended after 4 s
        time.sleep(after)
        running = who[victim].poll() is None
        at_work += running
        who[victim].send_signal(signal.SIGKILL)
        told = [p.communicate()[0].strip().splitlines()[-1:] for p in who]
        bad = [f"{names[k]} ended with {p.returncode}: {told[k]}" for k, p in enumerate(who) if k != victim and p.returncode]
        for check in (["db", "check"], ["cache", "verify"]):
            done = subprocess.run([program] + check, capture_output=True, text=True)
            if done.returncode:
                bad.append(f"{' '.join(check)}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}")
        after_it = start(me + [str(2 * i), "1"])
        said = after_it.communicate()[0].strip().splitlines()[-1:]
        if after_it.returncode:
            bad.append(f"a server afterwards: {said}")
        print(f"round {i}: {names[victim]} killed after {after:.1f} s{'' if running else ' (had ended)'}; "
              f"{[t[0] if t else '' for k, t in enumerate(told) if k != victim]}, afterwards {said}: {'; '.join(bad) or 'whole'}", flush=True)
        failed += bool(bad)
    left = [name for _, _, files in os.walk(top) for name in files if name.endswith((".tmp", ".new"))]
    print(f"{rounds} rounds, {at_work} killed at work, {failed} failed; temporary files left: {len(left)} {left[:4]}")
    return failed > 0 or at_work == 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--server"]:
        sys.exit(server(int(sys.argv[3]), LARGE if sys.argv[2] == "large" else SMALL, int(sys.argv[4]) if len(sys.argv) > 4 else 3))
    sys.exit(main())
