"""JAX's calls over the emulator, under jit, against double precision. Skips only where jax, or a C++ compiler for its handlers, is missing."""
import importlib.util
import math
import os
import shutil
import sys
import types
import unittest
import unittest.mock

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    jax = None

import mlaforge
from buffers import EmulatorTest

H, R, P, N, V, PAGE = 4, 64, 32, 32, 32, 16
SCALE = 0.1
BYTES = {"bfloat16": 2, "float32": 4, "int32": 4}


class WithoutJax(EmulatorTest):
    """A call is traced, with stand-ins for jax and numpy: this runs where neither is installed."""

    def test_a_decode_is_recorded(self):
        jnp = types.SimpleNamespace(**{name: name for name in BYTES})
        stubs = {"jax": types.SimpleNamespace(numpy=jnp), "jax.numpy": jnp, "numpy": types.SimpleNamespace(dtype=lambda name: types.SimpleNamespace(itemsize=BYTES[name]), int64=int)}
        with unittest.mock.patch.dict(sys.modules, stubs):
            spec = importlib.util.find_spec("mlaforge.jax")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            shapes = dict(q=((2, 1, H, R + P), "bfloat16"), k_cache=((4, PAGE, 1, R + P), "bfloat16"), block_table=((2, 2), "int32"), cache_seqlens=((2,), "int32"),
                          out=((2, 1, H, R), "bfloat16"), lse=((2, 1, H), "float32"))
            recorder = module._Recorder(self.ctx)
            module._flash_dense(**{name: module._Stand(self.ctx, i, *kind) for i, (name, kind) in enumerate(shapes.items())}, head_dim_v=R, softmax_scale=SCALE, causal=False,
                                mean_kv_len=None, ctx=recorder)
        self.assertEqual(recorder.made[0], "mlaforge_decode")


@unittest.skipIf(jax is None or not (os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")), "jax or a C++ compiler is not installed")
class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = mlaforge.Context(device="emu:gfx942")
        mlaforge.set_default_context(cls.ctx)
        from mlaforge import jax as ours
        cls.ours = ours

    @classmethod
    def tearDownClass(cls):
        mlaforge.set_default_context(None)  # the context stays open: XLA keeps its address

    def setUp(self):
        self.random = np.random.default_rng(3)

    def new(self, *shape, dtype="bfloat16"):
        return jnp.asarray(self.random.standard_normal(shape), dtype=dtype)

    def close(self, got, want, most=5e-3):
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        self.assertLess(np.linalg.norm(got - want) / np.linalg.norm(want), most)

    def test_vmap_maps_one_call_after_another(self):
        q, cache = self.new(3, 2, 1, H, R + P), self.new(4, PAGE, 1, R + P)
        table, lens = jnp.asarray([[0, 2], [3, 1]], jnp.int32), jnp.asarray([5, 30], jnp.int32)
        call = lambda x: self.ours.flash_mla_with_kvcache(x, cache, table, lens, R, SCALE)[0]
        self.assertTrue(np.array_equal(np.asarray(jax.vmap(call)(q), np.float32), np.stack([np.asarray(call(x), np.float32) for x in q])))

    def test_decode_under_jit(self):
        q, cache = self.new(3, 2, H, R + P), self.new(12, PAGE, 1, R + P)
        table = jnp.asarray(self.random.permutation(12)[:9].reshape(3, 3), jnp.int32)
        step = jax.jit(lambda q, lens: self.ours.flash_mla_with_kvcache(q * 1, cache, table, lens, R, SCALE, causal=True))
        for lens in ([5, 17, 40], [48, 2, 33]):  # the second time without a trace
            out, lse = step(q, jnp.asarray(lens, jnp.int32))
            for b, n in enumerate(lens):
                rows = np.asarray(cache, np.float64)[np.asarray(table)[b]].reshape(-1, R + P)[:n]
                for i in range(2):
                    scores = np.asarray(q, np.float64)[b, i] @ rows[:n - 1 + i].T * SCALE
                    weights = np.exp(scores - scores.max(1, keepdims=True))
                    self.close(out[b, i], weights / weights.sum(1, keepdims=True) @ rows[:n - 1 + i, :R])
                    self.assertLess(np.abs(np.asarray(lse)[b, :, i] - np.log(np.exp(scores).sum(1))).max(), 1e-3)

    def test_append_writes_to_a_donated_cache(self):
        cache, latent, rope = self.new(4, PAGE, R + P), self.new(3, R), self.new(3, P)
        want = np.asarray(cache, np.float64).reshape(-1, R + P)
        want[[5, 40]] = np.concatenate((np.asarray(latent, np.float64), np.asarray(rope, np.float64)), 1)[[0, 2]]
        slots = jnp.asarray([5, -1, 40], jnp.int32)
        kept = self.ours.concat_and_cache_mla(latent, rope, cache, slots)
        made = jax.jit(self.ours.concat_and_cache_mla, donate_argnums=2)(latent, rope, cache + 0, slots)
        for x in (kept, made):
            self.assertTrue((np.asarray(x, np.float64).reshape(-1, R + P) == want).all())
        self.assertFalse((np.asarray(cache, np.float64).reshape(-1, R + P) == want).all())  # not donated: as before

    def test_prefill_and_merge_of_two_halves(self):
        q, k, rope, v = self.new(6, H, N + P), self.new(10, H, N), self.new(10, P), self.new(10, H, V)
        ints = lambda *x: jnp.asarray(x, jnp.int32)
        part = jax.jit(lambda a, b: self.ours.mla_prefill_varlen(q, k[a:b], rope[a:b], v[a:b], ints(0, 6), ints(0, b - a), 6, b - a, SCALE),
                       static_argnums=(0, 1))
        out, lse = jax.jit(self.ours.merge_attn_states)(*part(0, 4), *part(4, 10))
        x, keys = np.asarray(q, np.float64), np.concatenate((np.asarray(k, np.float64), np.broadcast_to(np.asarray(rope, np.float64)[:, None], (10, H, P))), 2)
        scores = np.einsum("qhc,khc->hqk", x, keys) * SCALE
        weights = np.exp(scores)
        self.close(out, np.einsum("hqk,khv->qhv", weights / weights.sum(2, keepdims=True), np.asarray(v, np.float64)), 8e-3)
        self.assertLess(np.abs(np.asarray(lse) - np.log(weights.sum(2))).max(), 2e-3)

    def test_wrong_arguments_are_refused_by_name(self):
        q, cache = self.new(1, 1, H, R + P), self.new(2, PAGE, 1, R + P, dtype="float16")
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "mlaforge: the cache is float16, must be bfloat16"):  # where it runs
            jax.block_until_ready(jax.jit(lambda q: self.ours.flash_mla_with_kvcache(q, cache, jnp.zeros((1, 1), jnp.int32), jnp.ones(1, jnp.int32), R))(q))
        with self.assertRaisesRegex(mlaforge.MlafError, "kv_cache has the shape"):
            self.ours.concat_and_cache_mla(self.new(1, R), self.new(1, P), self.new(2, PAGE, R), jnp.zeros(1, jnp.int32))

    def test_marks_are_told_from_numbers(self):
        filled = bytearray(48)
        for at, value in ((0, 5), (8, (3 << 40) + 96), (16, (1 << 40) - 1), (24, -1 & (1 << 64) - 1), (32, 1 << 40)):
            filled[at:at + 8] = value.to_bytes(8, "little")
        places, clean = self.ours._places(bytes(filled))
        self.assertEqual(places.tolist(), [8, 2, 96, 32, 0, 0])
        self.assertEqual(bytes(clean)[8:16] + bytes(clean)[32:40], bytes(16))
        self.assertEqual(bytes(clean)[16:32], bytes(filled[16:32]))
