#!/usr/bin/env python3
"""Triton's kernels on the emulator, against numpy in fp64: softmax, matmul, layer norm, flash attention, histogram on every target,
and the MLA decode kernels of vLLM and SGLang where their sources are given.

Not part of the tests: it needs Triton (pip install triton numpy) and no GPU. Compiled files stay in --out.

    tools/triton-check.py [--mlaforge build/mlaforge] [--arch gfx942 ...] [--only NAME ...] [--out DIR]
                          [--vllm FOLDER/OF/vllm] [--sglang FOLDER/OF/sglang]

FOLDER/OF/vllm is a checkout or an installed package; the kernels are taken from its files by their names, without importing the rest.
Exit code: 0 all agree, 1 some do not, 3 no Triton. What Triton itself refuses to compile for a target is listed, and is no failure."""
import argparse
import ast
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
try:
    import numpy as np
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as e:
    print(f"triton-check: {e}: pip install triton numpy", file=sys.stderr)
    sys.exit(3)

ARCHES = ("gfx942", "gfx950", "gfx90a")
rng = np.random.default_rng(1)


# --- kernels ---
@triton.jit
def softmax_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * cols + at, e / tl.sum(e, axis=0), mask=at < cols)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), OUT)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        y = tl.load(b + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=OUT)
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def scaled_matmul_kernel(a, sa, b, sb, c, N, K, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr,
                         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ra = k // PA + tl.arange(0, BK // PA)
        rb = k // PB + tl.arange(0, BK // PB)
        rs = k // 32 + tl.arange(0, BK // 32)
        x = tl.load(a + rm[:, None] * (K // PA) + ra[None, :])
        y = tl.load(b + rn[None, :] * (K // PB) + rb[:, None])
        xs = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :])
        ys = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :])
        acc = tl.dot_scaled(x, xs, FA, y, ys, FB, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def layer_norm_kernel(x, w, b, y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    on = at < cols
    v = tl.load(x + row * cols + at, mask=on, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / cols
    d = tl.where(on, v - mean, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / cols + eps)
    out = d * r * tl.load(w + at, mask=on, other=0.0) + tl.load(b + at, mask=on, other=0.0)
    tl.store(y + row * cols + at, out.to(y.dtype.element_ty), mask=on)


@triton.jit
def attention_kernel(q, k, v, o, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * S * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(q + head + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        rn = start + tl.arange(0, BN)
        y = tl.load(k + head + rn[None, :] * D + rd[:, None])
        s = tl.dot(x, y) * scale
        s = tl.where(rn[None, :] <= rm[:, None], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        fade = tl.exp(top - new)
        total = total * fade + tl.sum(p, axis=1)
        z = tl.load(v + head + rn[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc * fade[:, None])
        top = new
    tl.store(o + head + rm[:, None] * D + rd[None, :], acc / total[:, None])


@triton.jit
def histogram_kernel(x, h, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(h + tl.arange(0, BINS), tl.histogram(v, BINS, mask=at < n))


# --- number formats ---
def bf16(x):
    u = np.asarray(x, np.float32).view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(u):
    return (u.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def small(code, bits, man, bias, nan=None):
    """Value of a small float's code; `nan` is a code that has none."""
    code = np.asarray(code, np.int64)
    a, sign = code & ((1 << bits - 1) - 1), np.where(code >> bits - 1, -1.0, 1.0)
    e, m = a >> man, a & ((1 << man) - 1)
    return sign * np.where(e > 0, (m + (1 << man)) * 2.0 ** (e - bias - man), m * 2.0 ** (1 - bias - man))


FORMATS = {"fp8e4b8": (8, 3, 8), "fp8e4nv": (8, 3, 7), "fp8e5": (8, 2, 15), "fp8e5b16": (8, 2, 16), "e4m3": (8, 3, 7),
           "e5m2": (8, 2, 15), "e2m1": (4, 1, 1)}


def small_codes(name, shape):
    """Random codes of moderate numbers, so that sums keep their digits."""
    bits, man, bias = FORMATS[name]
    n = 1 << bits - 1
    low, high = (0, n) if bits < 8 else ((bias - 3) << man, (bias + 2) << man)
    c = rng.integers(low, high, shape) | (rng.integers(0, 2, shape) << bits - 1)
    return c.astype(np.uint8), small(c, bits, man, bias)


# --- a case: how to compile, launch and check ---
class Case:
    def __init__(self, name, fn, types, constants, grid, inputs, out, want, tolerance, warps=4, stages=2, arches=ARCHES):
        """types: argument -> Triton type; inputs: argument -> array or number, `out` the argument that is checked (an array of its
        shape and type); want: fp64."""
        self.__dict__.update(locals())

    def compile(self, arch):
        src = ASTSource(self.fn, {**self.types, **{k: "constexpr" for k in self.constants}},
                        {(list(self.fn.arg_names).index(k),): v for k, v in self.constants.items()})
        return triton.compile(src, target=GPUTarget("hip", arch, 64), options={"num_warps": self.warps, "num_stages": self.stages})


def uniform(*shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def case_softmax(arch):
    x = 4 * uniform(5, 781)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return Case("softmax", softmax_kernel, {"x": "*fp32", "y": "*fp32", "cols": "i32"}, {"BLOCK": 1024}, (5,),
                {"x": x, "y": np.zeros_like(x), "cols": 781}, "y", e / e.sum(1, keepdims=True), 1e-5)


def case_matmul(name, kind, arch, M=96, N=64, K=160, block=(32, 32, 32), transposed=False):
    tolerance, out, result = 1e-5, tl.float32, np.float32
    if kind == "bf16":
        a, b = bf16(uniform(M, K)), bf16(uniform(K, N))
        wa, wb = from_bf16(a), from_bf16(b)
    elif kind == "fp64":
        a, b = rng.uniform(-1, 1, (M, K)), rng.uniform(-1, 1, (K, N))
        wa, wb, tolerance, out, result = a, b, 1e-13, tl.float64, np.float64
    elif kind == "i8":
        a, b = rng.integers(-128, 128, (M, K), np.int8), rng.integers(-128, 128, (K, N), np.int8)
        wa, wb, tolerance, out, result = a.astype(float), b.astype(float), 0, tl.int32, np.int32
    else:
        (a, wa), (b, wb) = small_codes(kind, (M, K)), small_codes(kind, (K, N))
    strides = (K, 1, N, 1)
    if transposed:
        a, b, strides = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), (1, M, 1, K)
    p = "*" + kind
    return Case(name, matmul_kernel, {"a": p, "b": p, "c": {"fp64": "*fp64", "i8": "*i32"}.get(kind, "*fp32"), "M": "i32", "N": "i32", "K": "i32",
                                      "sam": "i32", "sak": "i32", "sbk": "i32", "sbn": "i32"},
                {"BM": block[0], "BN": block[1], "BK": block[2], "OUT": out}, (-(-M // block[0]), -(-N // block[1])),
                {"a": a, "b": b, "c": np.zeros((M, N), result), "M": M, "N": N, "K": K, "sam": strides[0], "sak": strides[1],
                 "sbk": strides[2], "sbn": strides[3]}, "c", wa @ wb, tolerance)


def case_strided(name, kind, arch, **more):
    """Strides that are literally 1 compile to wide loads; the kernel is specialised on them."""
    c = case_matmul(name, kind, arch, **more)
    for s in ("sam", "sak", "sbk", "sbn"):
        if c.inputs[s] == 1:
            c.constants[s] = 1
            del c.types[s], c.inputs[s]
    return c


def case_scaled(name, fa, fb, arch, block=32):
    M, N, K = 64, 64, 256
    def operand(fmt, rows):
        codes, values = small_codes(fmt, (rows, K))
        scale = rng.integers(120, 134, (rows, K // 32)).astype(np.uint8)
        values = values * np.repeat(2.0 ** (scale.astype(float) - 127), 32, axis=1)
        if fmt == "e2m1":
            codes = codes[:, 0::2] | codes[:, 1::2] << 4
        return codes, values, scale
    a, wa, sa = operand(fa, M)
    b, wb, sb = operand(fb, N)
    types = {"e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "e2m1": "*u8"}
    return Case(name, scaled_matmul_kernel, {"a": types[fa], "sa": "*u8", "b": types[fb], "sb": "*u8", "c": "*fp32", "N": "i32", "K": "i32"},
                {"FA": fa, "FB": fb, "PA": 2 if fa == "e2m1" else 1, "PB": 2 if fb == "e2m1" else 1, "BM": block, "BN": block, "BK": 128},
                (M // block, N // block), {"a": a, "sa": sa, "b": b, "sb": sb, "c": np.zeros((M, N), np.float32), "N": N, "K": K}, "c",
                wa @ wb.T, 1e-5)


def case_layer_norm(arch):
    x, w, b = bf16(3 * uniform(6, 500)), uniform(500), uniform(500)
    v = from_bf16(x)
    want = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * w + b
    return Case("layer norm", layer_norm_kernel, {"x": "*bf16", "w": "*fp32", "b": "*fp32", "y": "*fp32", "cols": "i32", "eps": "fp32"},
                {"BLOCK": 512}, (6,), {"x": x, "w": w, "b": b, "y": np.zeros((6, 500), np.float32), "cols": 500, "eps": 1e-5}, "y", want, 1e-5)


def case_attention(arch):
    heads, S, D = 2, 128, 64
    q, k, v = (bf16(uniform(heads, S, D)) for _ in range(3))
    wq, wk, wv = map(from_bf16, (q, k, v))
    s = np.einsum("hid,hjd->hij", wq, wk) / 8
    s = np.where(np.tril(np.ones((S, S), bool)), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    want = np.einsum("hij,hjd->hid", p / p.sum(-1, keepdims=True), wv)
    return Case("flash attention", attention_kernel, {"q": "*bf16", "k": "*bf16", "v": "*bf16", "o": "*fp32", "S": "i32", "scale": "fp32"},
                {"D": D, "BM": 64, "BN": 32}, (S // 64, heads),
                {"q": q, "k": k, "v": v, "o": np.zeros((heads, S, D), np.float32), "S": S, "scale": 0.125}, "o", want, 1e-2)


def case_histogram(arch):
    x = rng.integers(0, 128, 3000, np.int32)
    return Case("histogram", histogram_kernel, {"x": "*i32", "h": "*i32", "n": "i32"}, {"BLOCK": 1024, "BINS": 128}, (3,),
                {"x": x, "h": np.zeros(128, np.int32), "n": 3000}, "h", np.bincount(x, minlength=128).astype(float), 0)


# --- MLA decode kernels of others: stage 1 of the grouped decode, splits of the cache, and stage 2, which merges them ---
def take_kernels(path, names):
    """Functions (and what they call) out of a source file, without running the rest of it: its imports may need a GPU."""
    tree = ast.parse(open(path).read())
    jits = [n for n in tree.body if isinstance(n, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in n.decorator_list)]
    body = "import triton\nimport triton.language as tl\n\n" + "\n\n".join(
        "@triton.jit\n" + ast.unparse(ast.FunctionDef(**{**n.__dict__, "decorator_list": []})) for n in jits)
    file = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False)
    file.write(body)
    file.close()
    spec = importlib.util.spec_from_file_location("taken_" + os.path.basename(file.name)[:-3], file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, n) for n in names]


def mla_file(folder):
    """The file of FOLDER, or FOLDER itself, that has both stages: it has moved between versions."""
    for path, _, files in os.walk(folder):
        for f in sorted(files):
            if f.endswith("decode_attention.py"):
                text = open(os.path.join(path, f)).read()
                if "def _fwd_grouped_kernel_stage1" in text and "def _fwd_kernel_stage2" in text:
                    return os.path.join(path, f)
    raise SystemExit(f"triton-check: no *decode_attention.py under {folder} has _fwd_grouped_kernel_stage1 and _fwd_kernel_stage2")


class MlaCase:
    """Both stages of a grouped decode over one latent cache: 16 heads, rank 512 + 64, ragged requests, pages in random order. Versions
    differ in their arguments: each is looked up by its name below, and what has no value here becomes its default."""
    LORA, ROPE, HEADS, SPLITS = 512, 64, 16, 4

    def __init__(self, kind, folder):
        self.kind, self.name = kind, f"{kind} MLA decode"
        self.stages = take_kernels(mla_file(folder), ("_fwd_grouped_kernel_stage1", "_fwd_kernel_stage2"))
        self.page = 16 if kind == "vllm" else 1
        D, H, lengths = self.LORA + self.ROPE, self.HEADS, np.array([37, 100], np.int32)
        B, S, pages = len(lengths), self.SPLITS, -(-100 // self.page)
        table = rng.permutation(B * pages).astype(np.int32).reshape(B, pages)
        cache, q = bf16(uniform(B * pages * self.page, D)), bf16(uniform(B, H, D))
        slots = [np.array([table[b, t // self.page] * self.page + t % self.page for t in range(n)], np.int32) for b, n in enumerate(lengths)]
        self.want = np.zeros((B, H, self.LORA))
        for b, at in enumerate(slots):
            rows = from_bf16(cache[at])
            s = from_bf16(q)[b] @ rows.T * 0.05
            p = np.exp(s - s.max(1, keepdims=True))
            self.want[b] = p / p.sum(1, keepdims=True) @ rows[:, :self.LORA]
        width = self.LORA + (kind == "vllm")  # vLLM keeps the logarithm of a split's sum behind its row
        f32 = lambda *shape: np.zeros(shape, np.float32)
        mid, lse = f32(B, H, S, width), f32(B, H, S)
        self.grids = ((B, 1, S), (B, H))
        self.values = {
            "Q": ("*bf16", q), "K_Buffer": ("*bf16", cache), "V_Buffer": ("*bf16", cache), "sm_scale": ("fp32", 0.05),
            "sm_scale_withk": ("fp32", 0.05), "k_scale": ("*fp32", np.ones(1, np.float32)), "K_scale": ("*fp32", np.ones(1, np.float32)),
            "v_scale": ("*fp32", np.ones(1, np.float32)) if kind == "vllm" else ("fp32", 1.0), "Req_to_tokens": ("*i32", table), "B_Seqlen": ("*i32", lengths),
            "kv_indptr": ("*i32", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)), "kv_indices": ("*i32", np.concatenate(slots)),
            "num_kv_splits": ("*i32", np.full(B, S, np.int32)), "Att_Out": ("*fp32", mid), "Att_Lse": ("*fp32", lse), "Mid_O": ("*fp32", mid),
            "Mid_O_1": ("*fp32", lse), "o": ("*fp32", f32(B, H, self.LORA)), "O": ("*fp32", f32(B, H, self.LORA)), "lse": ("*fp32", f32(B, H)),
            "stride_req_to_tokens_b": ("i32", pages), "stride_qbs": ("i32", H * D), "stride_qh": ("i32", D), "stride_lse_bs": ("i32", H),
            "stride_mid_ob": ("i32", H * S * width), "stride_mid_oh": ("i32", S * width), "stride_mid_os": ("i32", width),
            "stride_obs": ("i32", H * self.LORA), "stride_oh": ("i32", self.LORA),
            "stride_buf_kpbs": ("i32", self.page * D), "stride_buf_vpbs": ("i32", self.page * D),
            **{f"stride_buf_{x}": ("i32", D) for x in ("kbs", "kh", "vbs", "vh", "kpage", "ktok", "vpage", "vtok")}}
        self.constants = {
            "kv_group_num": H, "q_head_num": H, "BLOCK_DMODEL": 512, "BLOCK_DPE": 64, "BLOCK_DV": 512, "BLOCK_N": 16, "BLOCK_H": 16,
            "NUM_KV_SPLITS": S, "MAX_KV_SPLITS": S, "PAGE_SIZE": self.page, "logit_cap": 0.0, "Lk": D, "Lv": self.LORA, "USE_FP8": False,
            "MIN_BLOCK_KV": 32, "xai_temperature_len": -1, "HAS_MLA": True, "IS_MLA": True, "HAS_SINK": False, "sink_ptr": None}

    def stage(self, i, arch):
        """Compiled, and the types of the arguments that remain."""
        fn, types, constants = self.stages[i], {}, {}
        for p in fn.params:
            if p.name in self.constants:
                constants[p.name] = self.constants[p.name]
            elif p.name in self.values:
                types[p.name] = self.values[p.name][0]
            elif p.has_default:
                constants[p.name] = p.default
            else:
                raise Failed(f"{fn.__name__} has an argument '{p.name}' that this script does not know")
        src = ASTSource(fn, {n: types.get(n, "constexpr") for n in fn.arg_names}, {(fn.arg_names.index(k),): v for k, v in constants.items()})
        options = {"num_warps": 4, "num_stages": 1 if i == 0 else 2, "matrix_instr_nonkdim": 16}
        return triton.compile(src, target=GPUTarget("hip", arch, 64), options=options), types


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p.add_argument("--mlaforge", default=os.path.join(root, "build", "mlaforge"))
    p.add_argument("--arch", action="append", choices=ARCHES)
    p.add_argument("--only", action="append", help="cases whose name contains this")
    p.add_argument("--out", help="keep code objects, arguments and results here")
    p.add_argument("--vllm")
    p.add_argument("--sglang")
    o = p.parse_args()
    out = o.out or tempfile.mkdtemp(prefix="triton-check-")
    os.makedirs(out, exist_ok=True)
    failed = 0
    for arch in o.arch or ARCHES:
        for make in cases(o):
            case = make(arch)
            if o.only and not any(x in case.name for x in o.only):
                continue
            start = time.time()
            try:
                error = (run_mla if isinstance(case, MlaCase) else run)(case, arch, o.mlaforge, out)
            except NotCompiled as e:
                print(f"{arch}  {case.name:28s} -           Triton does not compile it: {e}")
                continue
            except Failed as e:
                print(f"{arch}  {case.name:28s} FAILED      {e}")
                failed += 1
                continue
            print(f"{arch}  {case.name:28s} {error:.2e}    {time.time() - start:.1f} s", flush=True)
    return 1 if failed else 0


def cases(o):
    fp8 = lambda arch: "fp8e4b8" if arch == "gfx942" else "fp8e4nv" if arch == "gfx950" else "fp8e5"
    bf8 = lambda arch: "fp8e5b16" if arch == "gfx942" else "fp8e5"
    yield case_softmax
    yield lambda arch: case_matmul("matmul bf16", "bf16", arch)
    yield lambda arch: case_strided("matmul bf16, strides known", "bf16", arch, K=256, block=(64, 64, 64))
    yield lambda arch: case_strided("matmul bf16, transposed", "bf16", arch, M=128, N=128, K=128, block=(64, 64, 64), transposed=True)
    yield lambda arch: case_matmul("matmul fp8", fp8(arch), arch)
    yield lambda arch: case_strided("matmul fp8, strides known", fp8(arch), arch, M=128, N=128, K=256, block=(64, 64, 128))
    yield lambda arch: case_strided("matmul fp8, transposed", fp8(arch), arch, M=128, N=128, K=256, block=(64, 64, 128), transposed=True)
    yield lambda arch: case_strided("matmul bf8, transposed", bf8(arch), arch, M=128, N=128, K=256, block=(64, 64, 128), transposed=True)
    yield lambda arch: case_matmul("matmul fp64", "fp64", arch)
    yield lambda arch: case_strided("matmul i8, strides known", "i8", arch, M=128, N=128, K=256, block=(64, 64, 128))
    yield case_layer_norm
    yield case_attention
    yield case_histogram
    for fa, fb in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e2m1", "e5m2")):
        yield lambda arch, fa=fa, fb=fb: case_scaled(f"matmul scaled {fa} {fb}", fa, fb, arch)
        yield lambda arch, fa=fa, fb=fb: case_scaled(f"matmul scaled {fa} {fb} 16x16", fa, fb, arch, block=16)
    for kind in ("vllm", "sglang"):
        folder = getattr(o, kind)
        if folder:
            yield lambda arch, kind=kind, folder=folder: MlaCase(kind, folder)


# --- running ---
class Failed(Exception):
    pass


class NotCompiled(Exception):
    pass


SCALARS = {"i32": "i32", "i64": "i64", "fp32": "f32", "fp64": "f64", "i1": "i32"}


def launch(compiled, types, values, grid, arch, mlaforge, stem, outs):
    """Runs through `mlaforge profile --code --args`; the arrays of `outs`."""
    meta = compiled.metadata
    with open(stem + ".co", "wb") as f:
        f.write(compiled.asm["hsaco"])
    args, files = [], {}
    for name, kind in types.items():
        v = values[name]
        if not kind.startswith("*"):
            args.append({SCALARS[kind]: float(v) if kind.startswith("fp") else int(v)})
            continue
        files[name] = f"{stem}.{name}"
        v.tofile(files[name] + ".in")
        args.append({"buffer": v.nbytes, "fill": f"file:{files[name]}.in"})
        if name in outs:
            args[-1]["save"] = files[name] + ".out"
    text = {"kernel": meta.name, "grid": list(grid), "block": [64 * meta.num_warps], "lds": meta.shared, "args": args}
    for hidden in range(3):  # pointers to scratch memory that some versions of Triton append
        with open(stem + ".json", "w") as f:
            json.dump(text, f)
        cmd = [mlaforge, "profile", "--device", f"emu:{arch}", "--code", stem + ".co", "--args", stem + ".json"]
        r = subprocess.run(cmd, capture_output=True, text=True)
        if r.returncode == 0 or "arguments are missing" not in r.stderr:
            break
        text["args"].append({"u64": 0})
    if r.returncode != 0:
        raise Failed((r.stderr or r.stdout).strip().replace("\n", " ")[:600])
    return [np.fromfile(files[n] + ".out", values[n].dtype).reshape(values[n].shape) for n in outs]


def compiled(compile):
    try:
        return compile()
    except Failed:
        raise
    except Exception as e:  # whatever the compiler raises
        lines = [x for x in str(e).strip().split("\n") if x.strip()]
        raise NotCompiled(f"{type(e).__name__}: {lines[-1][:160] if lines else ''}") from e


def difference(got, want):
    if not np.all(np.isfinite(got)):
        raise Failed(f"{np.count_nonzero(~np.isfinite(got))} of {got.size} results are not finite")
    return float(np.max(np.abs(got - want)) / np.max(np.abs(want)))


def run(case, arch, mlaforge, out):
    k = compiled(lambda: case.compile(arch))
    stem = os.path.join(out, f"{arch}-{case.name}".replace(" ", "_").replace(",", ""))
    (got,) = launch(k, case.types, case.inputs, case.grid, arch, mlaforge, stem, [case.out])
    error = difference(got.astype(np.float64), case.want)
    if error > case.tolerance:
        raise Failed(f"differs by {error:.2e} of the largest, allowed {case.tolerance:.0e}")
    return error


def run_mla(case, arch, mlaforge, out):
    values = {k: v for k, (_, v) in case.values.items()}
    for i in (0, 1):
        k, types = compiled(lambda: case.stage(i, arch))
        outs = [n for n in (("Att_Out", "Att_Lse"), ("o", "O"))[i] if n in types]
        got = launch(k, types, values, case.grids[i], arch, mlaforge, os.path.join(out, f"{arch}-{case.kind}-stage{i + 1}"), outs)
        if i == 0:
            values["Mid_O"] = got[0]
            values["Mid_O_1"] = got[-1]
    error = difference(got[0].astype(np.float64), case.want)
    if error > 1e-2:
        raise Failed(f"differs by {error:.2e} of the largest, allowed 1e-2")
    return error


if __name__ == "__main__":
    sys.exit(main())
