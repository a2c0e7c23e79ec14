"""Every public callable, over the emulator: it has a docstring, and refuses wrong arguments by their names."""
import array
import inspect
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import mlaforge
from mlaforge import aiter, flashmla
from buffers import Buffer, EmulatorTest

H, R, P, N, V, PAGE, T = 2, 64, 32, 32, 32, 16, 2
C = R + P
WEIGHTS = {"q_a_proj": (96, 128), "q_a_layernorm": (96,), "q_b_proj": (H * (N + P), 96), "kv_a_proj_with_mqa": (C, 128), "kv_a_layernorm": (R,),
           "kv_b_proj": (H * (N + V), R), "o_proj": (128, H * V)}


class Odd:
    def __repr__(self):
        return "Odd()"


def public():
    """(name, callable) of the package and of the modules that are named after other libraries."""
    for module in (mlaforge, aiter, flashmla):
        names = getattr(module, "__all__", None) or [n for n, v in vars(module).items()
                                                     if n[0] != "_" and inspect.isfunction(v) and v.__module__ == module.__name__]
        for name in names:
            value = getattr(module, name)
            yield f"{module.__name__}.{name}", value
            for inner, x in vars(value).items() if inspect.isclass(value) else ():
                if inner[0] != "_" and (callable(x) or isinstance(x, property)):
                    yield f"{module.__name__}.{name}.{inner}", x


class Entries(EmulatorTest):
    def new(self, *shape, dtype="bfloat16", values=None):
        return Buffer(self.ctx, shape, dtype, [0] * math.prod(shape) if values is None else values)

    def ints(self, *values, dtype="int32"):
        return self.new(len(values), dtype=dtype, values=values)

    def layer_arguments(self):
        weights = {f"model.layers.0.self_attn.{name}.weight": self.new(*shape) for name, shape in WEIGHTS.items()}
        return dict(weights=weights, heads=H, cos_sin_cache=self.new(64, P, dtype="float32"), scale=0.1, rank=R, rope=P, nope=N, v=V, page_size=PAGE,
                    batch=2, kv_len=(16, 16), q_lens=(1,), tp_rank=0, tp_size=1, style="neox", prefill_tokens=32)

    def calls(self):
        """(callable, good arguments), what stands behind * in signatures left out."""
        m, new, ints = mlaforge, self.new, self.ints
        long = lambda *values: ints(*values, dtype="int64")
        cache, table = new(4, PAGE, C), new(2, 1, dtype="int32", values=[0, 1])
        lists = dict(qo_indptr=ints(0, 1, 2), kv_indptr=ints(0, 1, 2), kv_indices=ints(0, 1), kv_last_page_lens=ints(3, 4))
        angles, half, kv_b = new(8, P, dtype="float32"), new(8, P // 2, dtype="float32"), new(H * (N + V), R)
        lse = lambda: new(H, 4, dtype="float32")
        layer = m.Layer(ctx=self.ctx, **self.layer_arguments())
        chunked_arguments = dict(heads=H, nope=N, rope=P, vdim=V, rank=R, dtype="bfloat16", layout="paged", page_tokens=PAGE, chunk_tokens=64, batch=2,
                                 tokens=4)
        chunked = m.ChunkedPrefill(ctx=self.ctx, **chunked_arguments)
        self.addCleanup(layer.close)
        self.addCleanup(chunked.close)
        yield m.mla_decode_fwd, dict(q=new(T, H, C), kv_buffer=new(4, PAGE, 1, C), o=new(T, H, R), **lists, max_seqlen_q=1, sm_scale=0.1,
                                     page_size=PAGE, lse=new(T, H, dtype="float32"), rope_style="gptj", rope_table=new(64, P, dtype="float32"))
        yield m.flash_mla_with_kvcache, dict(q=new(T, 1, H, C), k_cache=new(4, PAGE, 1, C), block_table=table, cache_seqlens=ints(3, 4), head_dim_v=R,
                                             softmax_scale=0.1)
        sparse = dict(attn_sink=new(H, dtype="float32"), topk_length=ints(3, 5))
        yield m.flash_mla_with_kvcache, dict(q=new(T, 1, H, C), k_cache=new(4, PAGE, 1, C), block_table=None, cache_seqlens=None, head_dim_v=R,
                                             softmax_scale=0.1, indices=new(T, 1, 5, dtype="int32"), **sparse)
        yield m.flash_mla_sparse_fwd, dict(q=new(T, H, C), kv=new(64, 1, C), indices=new(T, 1, 5, dtype="int32"), sm_scale=0.1, d_v=R, **sparse)
        yield m.concat_and_cache_mla, dict(kv_c=new(T, R), k_pe=new(T, P), kv_cache=cache, slot_mapping=long(0, 1), kv_cache_dtype="auto", scale=None)
        yield m.concat_and_cache_mla_rope_fused, dict(positions=long(0, 1), q_pe=new(T, H, P), k_pe=new(T, P), kv_c=new(T, R), cos_sin_cache=angles,
                                                      is_neox=True, slot_mapping=long(0, 1), kv_cache=cache, kv_cache_dtype="auto",
                                                      kv_cache_scale=None)
        yield m.fused_qk_rope_concat_and_cache_mla, dict(
            q_nope=new(T, H, R), q_pe=new(T, H, P), kv_c=new(T, R), k_pe=new(T, P), kv_cache=cache, q_out=new(T, H, C), slot_mapping=long(0, 1),
            k_scale=None, q_scale=None, positions=long(0, 1), cos_cache=half, sin_cache=half, is_neox=True, is_nope_first=True)
        yield m.concat_mla_q, dict(q_nope=new(T, H, R), q_pe=new(T, H, P), out=new(T, H, C))
        yield m.mla_dequant, dict(w=new(128, 128, dtype="float8_e4m3fnuz"), w_scale=new(1, 1, dtype="float32"), out=new(128, 128))
        yield m.mla_gather_kv_b, dict(kv_cache=cache, block_table=table, cu_seqlens=ints(0, 2, 4), seq_starts=ints(0, 0), kv_b_weight=kv_b,
                                      kv=new(4, H, N + V), k_pe=new(4, P), vdim=V)
        yield m.gather_kv_b_proj, dict(k_buffer=cache, k_scale=None, kv_indptr=ints(0, 1, 2), kv_indices=ints(0, 1),
                                       kv_prefix_sum_context_lens=ints(0, 2, 4), kv_proj_weight=kv_b, kv_proj_scale=None,
                                       k_prefix=new(4, H, N + P), v_prefix=new(4, H, V))
        yield m.mla_index, dict(q=new(2, 32, 128, dtype="float8_e4m3fn"), weights=new(2, 32, dtype="float32"), cache=new(4, PAGE, 132, dtype="uint8"),
                                block_table=table, lengths=ints(3, 16), topk=4, max_length=16, out=new(2, 4, dtype="int32"),
                                logits=new(2, 16, dtype="float32"))
        yield m.mla_index_append, dict(k=new(2, 128), norm_weight=new(128, dtype="float32"), norm_bias=new(128, dtype="float32"), slots=long(0, 17),
                                       positions=long(0, 1), cos_sin_cache=new(4, 64, dtype="float32"), cache=new(4, PAGE, 132, dtype="uint8"),
                                       q=new(2, 32, 128), weights=new(2, 32), seq_lens=ints(3, 16))
        yield m.merge_attn_states, dict(output=new(4, H, V), prefix_output=new(4, H, V), prefix_lse=lse(), suffix_output=new(4, H, V),
                                        suffix_lse=lse(), output_lse=lse())
        yield m.merge_attn_parts, dict(output=new(4, H, V), parts=new(2, 4, H, V), parts_lse=new(2, 4, H, dtype="float32"),
                                       output_lse=new(4, H, dtype="float32"))
        yield m.shard_lengths, dict(seq_lens=[7, 9], ranks=2, rank=1, interleave=1, q_len=1)
        yield m.shard_tokens, dict(tokens=[0, 1], ranks=2, rank=1, interleave=1)
        both = dict(cu_seqlens_q=ints(0, 2, 4), cu_seqlens_k=ints(0, 2, 4), max_seqlen_q=2, max_seqlen_k=2, softmax_scale=0.1, out=new(4, H, V))
        yield m.mla_prefill_varlen, dict(q=new(4, H, N + P), k_nope=new(4, H, N), k_pe=new(4, P), v=new(4, H, V), **both, lse=lse())
        yield m.flash_attn_varlen_func, dict(q=new(4, H, 64), k=new(4, H, 64), v=new(4, H, V), **both)
        yield aiter.flash_attn_varlen_func, dict(q=new(4, H, 64), k=new(4, H, 64), v=new(4, H, V), **both)
        yield m.mla_qkv_a, dict(x=new(T, 128), w=new(96 + C, 128), rank=R, rope=P, out=new(T, 96 + C))
        q_b = dict(x=new(T, 96), w=new(H * (N + P), 96), nope=N, norm_weight=new(96), eps=1e-6)
        yield m.mla_q_b, dict(q_b, rope=P, out=new(T, H * (N + P)))
        yield m.mla_q_b_append, dict(q_b, kv_c=new(T, R), k_pe=new(T, P), kv_cache=cache, slot_mapping=long(0, 1), positions=long(0, 1),
                                     cos_sin_cache=angles, kv_norm_weight=new(R), style="gptj")
        yield m.mla_o_proj, dict(x=new(T, H * V), w=new(128, H * V), v=V, residual=new(T, 128), out=new(T, 128))
        yield m.mla_v_out, dict(x=new(T, H, R), kv_b=new(H, N + V, R), v=V, out=new(T, H, V))
        yield m.mla_q_absorb, dict(x=new(T, H, N + P), kv_b=new(H, N + V, R), positions=long(0, 1), cos_sin_cache=angles, nope=N, style="neox",
                                   out=new(T, H, C))
        yield m.mla_q_scale, dict(q=new(T, H, 64), positions=long(0, 9000), beta=0.1, original=8192, out=new(T, H, 64))
        yield m.Layer, self.layer_arguments()
        yield layer.forward, dict(hidden=new(T, 128), positions=long(0, 1), slots=long(0, 17), cache=cache, seq_lens=ints(1, 2), block_table=table, q_len=1,
                                  out=new(T, 128), kv_len=8)
        for x in (layer, chunked):
            yield x.schedule, dict(new_tokens=[1, 2], context_tokens=[3, 4])
        yield layer.weights_changed, {}
        yield layer.stages, dict(batch=1, q_len=1, kv_len=8)
        yield layer.workspace_size, dict(batch=1, q_len=1, kv_len=8, pages=1)
        yield layer.prefill_crossover, dict(context_tokens=100)
        yield m.ChunkedPrefill, dict(chunked_arguments, crossover=0)
        yield chunked.forward, dict(schedule=chunked.schedule([2, 2], [3, 4]), q=new(4, H, N + P), k_nope=new(4, H, N), k_pe=new(4, P), v=new(4, H, V),
                                    kv_cache=cache, block_table=table, kv_b_weight=kv_b, softmax_scale=0.1, out=new(4, H, V), lse=lse())
        yield chunked.crossover, dict(keys=100)
        yield m.prefill_crossover, dict(rank=R, nope=N, vdim=V, keys=100)
        yield m.Context, dict(device="emu:gfx942", db_path=None, cache_dir=None, bundle=None, log_level=1, lengths=None, effort="estimate")
        yield self.ctx.warm_up, dict(heads=H, rank=R, rope=P, q_len=1, dtype="bfloat16", page_size=PAGE, batch=(1, 1), kv_len=(16, 16), rope_style="neox")
        yield self.ctx.alloc, dict(size=16)
        yield self.ctx.reserve_workspace, dict(size=16)
        yield self.ctx.plan_info, dict(problem=(H, R, P, 1, 0, 0, PAGE, 1, 16))
        self.memory = m.Buffer(self.ctx, (4,), "int32")  # tensors of other libraries are the context's during a call alone
        yield self.ctx.read, dict(pointer=self.memory.data_ptr(), size=16)
        yield self.ctx.write, dict(pointer=self.memory.data_ptr(), data=b"1234")
        yield m.Buffer, dict(ctx=self.ctx, shape=(2, 2), dtype="int32", data=bytes(16), strides=(2, 1))

    FREE = ("scale", "k_scale", "q_scale", "kv_cache_scale", "kv_proj_scale", "is_neox", "is_nope_first")  # anything, or not looked at here

    def test_wrong_arguments_are_named(self):
        tried = set()
        for call, good in self.calls():
            context = {"ctx": self.ctx} if "ctx" in inspect.signature(call).parameters and "ctx" not in good else {}
            for name, value in good.items():
                wrong = [Odd(), [Odd()]] + ["x"] * (not isinstance(value, (str, type(None)))) + [-1] * isinstance(value, mlaforge.Buffer)
                free = name in self.FREE or value is None and "indices" in good  # the tables that lists stand for
                for bad in () if free else wrong:
                    with self.subTest(call=call.__name__, name=name, bad=bad), self.assertRaises((mlaforge.MlafError, ValueError, TypeError)) as caught:
                        call(**{**good, name: bad}, **context)
                    self.assertRegex(str(caught.exception), rf"\b{re.escape(name)}\b", (call.__name__, name, bad))
            tried.add(getattr(call, "__qualname__", ""))
        missing = {f.__qualname__ for _, f in public() if not isinstance(f, property) and inspect.signature(f).parameters.keys() - {"self", "args", "kwargs"}}
        self.assertEqual(missing - tried - self.NOT_TRIED, set())

    def silly(self):
        """Values that are no sensible argument of anything; PyTorch's where it is there."""
        made = [Odd(), [Odd()], "x", b"x", -1, 1 << 70, 1.5, 1j, [1.5, 2.5], math.nan, {}, (), int, self.new(2, 2)]
        return made + ([] if torch is None else [torch.zeros(2, 2), torch.zeros(2)])

    # Arguments whose fault is said by another's name: they come together, or one's shape says the other's.
    TOGETHER = {"k_pe": "kv_cache|k_nope", "kv_c": "kv_cache", "rope_table": "rope_style", "cache_format": "kv_cache", "q_scale": "sm_scale", "kv_proj_weight": "k_prefix",
                "x": "norm_weight|residual", "extra_topk_length": "k_cache", "max_seqlen_q": "cu_seqlens_q"}

    def test_silly_values_of_any_argument_are_named(self):
        """Every argument of every entry, what stands behind * included. Some are taken: anything has a truth value."""
        here, away = os.getcwd(), tempfile.TemporaryDirectory()  # a string is a good name of a database, which is written then
        self.addCleanup(away.cleanup)
        self.addCleanup(os.chdir, here)
        os.chdir(away.name)
        tried = 0
        for call, good in self.calls():
            parameters = inspect.signature(call).parameters
            context = {"ctx": self.ctx} if "ctx" in parameters and "ctx" not in good else {}
            for name in parameters.keys() - {"self", "args", "kwargs"}:
                for bad in self.silly():
                    tried += 1
                    try:
                        made = call(**{**context, **good, name: bad})
                    except (mlaforge.MlafError, ValueError, TypeError) as why:
                        if name == "q_parts" and "no baseline family" in str(why):  # true enough, and this model has none
                            continue
                        wanted = name + ("|" + self.TOGETHER[name] if name in self.TOGETHER else "")
                        with self.subTest(call=call.__qualname__, name=name, bad=type(bad).__name__):
                            self.assertRegex(str(why), rf"\b({wanted})\b")
                    else:
                        made.close() if hasattr(made, "close") else None
        self.assertGreater(tried, 6000)

    # Callables without arguments that could be wrong, or whose arguments reach nothing.
    NOT_TRIED = {"MlafError", "set_default_context", "Buffer.new_empty", "Buffer.transpose", "Context.check", "Context.free", "Context.sync", "Context.use",
                 "Context.call", "Context.call_flash", "Context.call_sparse", "Context.run", "Context.run_library", "Context.execute", "Context.lend_workspace",
                 "Context.plan_for", "Layer.use"}

    def test_good_arguments_of_the_same_calls(self):
        """neox and gptj are rope styles of every entry that has one; Layer, ChunkedPrefill and Context are made in calls()."""
        for call, good in self.calls():
            if {"style", "rope_style"} & good.keys() and call is not mlaforge.Layer:
                call(**good, **({"ctx": self.ctx} if "ctx" in inspect.signature(call).parameters else {}))
        a, b = (mlaforge.Context.plan_for(self.ctx, f"mla_append:r64,p32,bf16,paged,{style},t1").value for style in ("neox", "halves"))
        self.assertIsNotNone(a and b)

    def said(self, call, *args, **named):
        with self.assertRaises(mlaforge.MlafError) as caught:
            call(*args, **named, ctx=self.ctx)
        return caught.exception.detail

    def test_what_newcomers_met(self):
        new, m = self.new, mlaforge
        self.assertEqual(self.said(m.Layer, **{**self.layer_arguments(), "q_lens": (0,)}), "q_lens is 0, must be 1..16")
        self.assertRegex(self.said(m.mla_qkv_a, new(T, 128), new(192, 128, dtype="float8_e4m3fn"), rank=R, rope=P),
                         "^w is float8_e4m3fn, and its scales are missing: hand over w_scale")
        self.assertEqual(self.said(m.mla_v_out, new(T, H, R), new(H, 64, R), v=96), "kv_b has 64 rows a head, must have at least v 96: it is [H, N+V, R]")
        decode = dict(q=new(T, H, C), kv_buffer=new(4, PAGE, 1, C), o=new(T, H, R), qo_indptr=self.ints(0, 1, 2), kv_indptr=self.ints(0, 1, 2),
                      kv_indices=self.ints(0, 1), kv_last_page_lens=self.ints(3, 4), max_seqlen_q=1)
        self.assertRegex(self.said(m.mla_decode_fwd, **decode, rope_style="neox"), "^rope_style is 'neox' and rope_table None: .* wants both")
        self.assertRegex(self.said(m.mla_decode_fwd, **{**decode, "kv_buffer": new(4, PAGE, 1, C, dtype="float16")}), "^kv_buffer is float16, must be bfloat16")
        self.assertRegex(self.said(m.mla_decode_fwd, **decode, page_size=8), "^page_size is 8, kv_buffer's shape says 16")

    def test_contexts_scales_and_columns(self):
        """A device's name for a context; a number in an array; columns that are no number of columns."""
        new = self.new
        decode = dict(q=new(T, H, C), kv_buffer=new(4, PAGE, 1, C), qo_indptr=self.ints(0, 1, 2), kv_indptr=self.ints(0, 1, 2),
                      kv_indices=self.ints(0, 1), kv_last_page_lens=self.ints(3, 4), max_seqlen_q=1)
        flash = dict(q=new(T, 1, H, C), k_cache=new(4, PAGE, 1, C), block_table=new(2, 1, dtype="int32"), cache_seqlens=self.ints(3, 4), head_dim_v=R)
        sparse = dict(q=new(T, H, C), kv=new(8, 1, C), indices=new(T, 1, 4, dtype="int32"), sm_scale=1, d_v=R)
        for call, good in ((mlaforge.mla_decode_fwd, {**decode, "o": new(T, H, R)}), (mlaforge.flash_mla_with_kvcache, flash),
                           (mlaforge.flash_mla_sparse_fwd, sparse), (mlaforge.Layer, self.layer_arguments()),
                           (mlaforge.merge_attn_states, {n: new(2, H, 32) for n in ("output", "prefix_output", "prefix_lse", "suffix_output", "suffix_lse")})):
            for bad in ("emu:gfx942", 3):
                with self.subTest(call=call.__name__, bad=bad), self.assertRaisesRegex(mlaforge.MlafError, f"ctx is {bad!r}, must be a mlaforge.Context"):
                    call(**good, ctx=bad)
        for columns in (-1, 0, 513, 1 << 40, -1 << 63, 1.5):
            self.assertRegex(self.said(mlaforge.mla_decode_fwd, **decode, o=None, head_dim_v=columns), f"^head_dim_v is {columns}, must be")
        self.assertRegex(self.said(mlaforge.mla_decode_fwd, **decode, o=new(T, H, R), sm_scale=new(4)), "^sm_scale (is|has) .*, must be a number")
        for number in (array.array("f", [0.5]), [0.1]):
            with self.assertRaisesRegex((mlaforge.MlafError, TypeError), "^(MLAF_E_ARG: )?scale is "):
                mlaforge.Layer(ctx=self.ctx, **{**self.layer_arguments(), "scale": number})

    def test_a_workspace_is_named(self):
        """It stands behind * in every call that takes one."""
        tried = 0
        for call, good in self.calls():
            for bad in ([1], 5, "x") if "workspace" in inspect.signature(call).parameters else ():
                with self.subTest(call=call.__qualname__, bad=bad), self.assertRaises(mlaforge.MlafError) as caught:
                    call(**good, workspace=bad, **({"ctx": self.ctx} if "ctx" in inspect.signature(call).parameters else {}))
                self.assertEqual(caught.exception.detail, f"workspace is {type(bad).__name__}, must be a tensor")
                tried += 1
        self.assertGreater(tried, 12)

    def test_strides_and_lists_are_of_the_caller_s_tensors(self):
        """C's structs have a member for each; Python's functions have not."""
        new, m = self.new, mlaforge
        index = dict(q=new(2, 32, 128, dtype="float8_e4m3fn"), weights=new(2, 32, dtype="float32"), cache=new(4, PAGE, 132, dtype="uint8"),
                     block_table=new(2, 1, dtype="int32"), lengths=self.ints(3, 16), topk=4, max_length=16)
        self.assertEqual(self.said(m.mla_index, **index, logits=Buffer(self.ctx, (2, 16), "float32", strides=(18, 1))),
                         "logits's token stride is 18, must be 0 or a multiple of 4 from 16 on")

        def pages(tokens, apart):
            return Buffer(self.ctx, (4, tokens, 1, 584), "uint8", strides=(apart, 584, 584, 1))
        sparse = dict(q=new(2, 1, 64, 512), block_table=None, cache_seqlens=None, head_dim_v=512, softmax_scale=0.1, is_fp8_kvcache=True)
        lists = dict(indices=new(2, 1, 8, dtype="int32"), k_cache=pages(64, 65 * 576))
        none, stride = new(2, 1, 0, dtype="int32"), "page stride is 1176, must be a multiple of 576 from 1728 on"
        flash = m.flash_mla_with_kvcache
        self.assertRegex(self.said(flash, **sparse, **{**lists, "k_cache": pages(2, 1176)}), f"^k_cache's {stride}")
        self.assertRegex(self.said(flash, **sparse, **{**lists, "indices": none}), "^indices's last dimension is 0, must be 1..")
        more = dict(**sparse, **lists, extra_k_cache=pages(2, 1728), extra_indices_in_kvcache=new(2, 1, 4, dtype="int32"))
        self.assertRegex(self.said(flash, **{**more, "extra_indices_in_kvcache": none}), "^extra_indices_in_kvcache's last dimension is 0, must be 1..")
        self.assertRegex(self.said(flash, **{**more, "extra_k_cache": pages(2, 1176)}), f"^extra_k_cache's {stride}")

    def test_one_rule_for_page_sizes(self):
        """1..65536 tokens, and what is said of a cache is what its shape says."""
        new, m = self.new, mlaforge
        lists = dict(qo_indptr=self.ints(0, 1, 2), kv_indptr=self.ints(0, 1, 2), kv_indices=self.ints(0, 0), kv_last_page_lens=self.ints(1, 1))
        decode = dict(q=new(T, H, C), o=new(T, H, R), **lists, max_seqlen_q=1)
        append = dict(kv_c=new(T, R), k_pe=new(T, P), slot_mapping=self.ints(0, 1, dtype="int64"), kv_cache_dtype="auto", scale=None)
        chunked = dict(heads=H, nope=N, rope=P, vdim=V, rank=R, chunk_tokens=64, batch=2, tokens=4)
        for page in (0, 65537):
            wants = f"{page}.*must be 1..65536$"
            wide = new(1, page, 1, C)
            self.assertRegex(self.said(m.Layer, **{**self.layer_arguments(), "page_size": page}), "^page_size is " + wants)
            self.assertRegex(self.said(m.ChunkedPrefill, **chunked, page_tokens=page), "^page_tokens is " + wants)
            self.assertRegex(self.said(m.concat_and_cache_mla, kv_cache=wide, **append), "^kv_cache has pages of " + wants)
            self.assertRegex(self.said(m.mla_decode_fwd, kv_buffer=wide, page_size=page, **decode), "^kv_buffer has pages of " + wants)
        self.assertEqual(self.said(m.mla_decode_fwd, kv_buffer=new(1, 32, 1, C), page_size=16, **decode), "page_size is 16, kv_buffer's shape says 32")
        with m.ChunkedPrefill(**chunked, page_tokens=16, ctx=self.ctx) as c, self.assertRaises(m.MlafError) as caught:
            c.forward(c.schedule([2, 2], [3, 4]), new(4, H, N + P), new(4, H, N), new(4, P), new(4, H, V), new(1, 32, C),
                      new(2, 1, dtype="int32"), new(H * (N + V), R))
        self.assertEqual(caught.exception.detail, "page_tokens is 16, kv_cache's shape says 32")
        layer = m.Layer(ctx=self.ctx, **self.layer_arguments())
        with self.assertRaises(m.MlafError) as caught:
            layer(new(T, 128), self.ints(0, 1, dtype="int64"), self.ints(0, 1, dtype="int64"), new(4, 32, C), self.ints(1, 2), new(2, 1, dtype="int32"))
        layer.close()
        self.assertEqual(caught.exception.detail, "page_size is 16, cache's shape says 32")

    def test_every_public_callable_has_a_docstring(self):
        self.assertEqual([name for name, value in public() if not inspect.getdoc(value)], [])

    def test_exit_with_a_context_of_the_module_is_silent(self):
        script = "import mlaforge\nctx = mlaforge.Context(device='emu:gfx942')\ndef f(): return ctx\n"
        done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        self.assertEqual(done.stdout, "")

    def test_version(self):
        self.assertRegex(mlaforge.__version__, r"^\d+\.\d+\.\d+")
        self.assertEqual(mlaforge.__version__, mlaforge.version())
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            mlaforge.nothing
