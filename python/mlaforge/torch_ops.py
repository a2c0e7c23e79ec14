"""PyTorch's operators of all entry points: torch.ops.mlaforge.NAME, for torch.compile, torch.export and opcheck.

Loaded with mlaforge, or behind torch where that is imported later. A compiled function calls mlaforge.mla_decode_fwd as any
other does: where Dynamo traces it, it meets the operator instead. Outside of compiled graphs nothing changes. All operators write to tensors of the
caller's, which their schemas declare, and return nothing, so that their fake implementations have nothing to do; what an entry point makes for its
caller (out=None) the traced function makes beforehand, and a compiler sees it. Launches go to PyTorch's current stream."""
import ast
import inspect
import re

from .errors import needs

needs(__name__, "torch")

import torch

from . import aiter, context, numbered, torch_state
from .aiter import mla_decode_fwd, _out_columns
from .flashmla import flash_mla_sparse_fwd, flash_mla_with_kvcache
from .mla_append import concat_and_cache_mla, concat_and_cache_mla_rope_fused, concat_mla_q, fused_qk_rope_concat_and_cache_mla
from .mla_chunked_prefill import ChunkedPrefill
from .mla_dequant import mla_dequant
from .mla_gather_kv_b import gather_kv_b_proj, mla_gather_kv_b
from .mla_index import CTX_MOST, mla_index
from .mla_index_append import mla_index_append
from .mla_layer import Layer
from .mla_merge import merge_attn_states
from .mla_merge_parts import merge_attn_parts
from .mla_prefill import flash_attn_varlen_func, mla_prefill_varlen, refuse_others
from .mla_projections import mla_o_proj, mla_q_absorb, mla_q_b, mla_q_b_append, mla_qkv_a, mla_v_out
from .mla_q_scale import mla_q_scale

PARAMETER = re.compile(r"([\w!?()]+) (\w+)(?:=([^\s,]+))?")
LIBRARY = torch.library.Library("mlaforge", "FRAGMENT")
RARE = ("empty_lse",)  # their None in a schema is no value of the function's
TAGS = tuple(getattr(torch.Tag, name) for name in ("pt2_compliant_tag", "needs_exact_strides") if hasattr(torch.Tag, name))
LISTS = "Tensor qo_indptr, Tensor? kv_indptr, Tensor? kv_indices, Tensor? kv_last_page_lens"
ROTATED = "str? rope_style=None, Tensor? rope_table=None"


class Operator:
    """One entry point as an operator. parameters: the schema's, by the function's names and in its order; a cache that may be a pair has a second
    tensor NAME_kpe, a number that may be a tensor a NAME_tensor, a flag that may be a word a NAME_word. makes: shape and type (None: the first tensor's) of an output that the caller left out. returns: names, "" for None. direct: a function of the schema's first values
    that makes a plain call and returns whether it did; and how many values it takes. plain: an operator of a plain call's values alone, which the traced
    function calls where no other value is given: PyTorch takes time for each value of a schema, given or not."""

    def __init__(self, function, parameters, makes=None, returns=None, name=None, owner=None, direct=None, plain=None):
        self.function, self.makes, self.returns, self.owner, self.direct, self.plain = function, makes or {}, returns, owner, direct, plain
        self.name = name or function.__name__
        parameters = f"int {owner}, {parameters}" if owner else f"{parameters}, int ctx=0"
        found = PARAMETER.findall(parameters)
        self.names = tuple(name for _, name, _ in found)
        self.defaults = {name: ast.literal_eval(text) for _, name, text in found if text}
        self.tensors = tuple(name for kind, name, _ in found if kind.startswith("Tensor"))
        self.pairs = tuple(name[:-4] for name in self.tensors if name.endswith("_kpe"))
        self.either = tuple((name.rpartition("_")[0], name, kind) for end, kind in (("_tensor", torch.Tensor), ("_word", str))
                            for name in self.names if name.endswith(end))
        self.objects = tuple(name for name in ("ctx", "schedule") if name in self.names)
        self.ignored = tuple(name for name in ("tile_scheduler_metadata", "num_splits") if name in self.names)
        signature = inspect.signature(function).parameters.values()
        self.positional = tuple(x.name for x in signature if x.kind == x.POSITIONAL_OR_KEYWORD and x.name != "self")
        self.positional = (owner, *self.positional) if owner else self.positional
        LIBRARY.define(f"{self.name}({parameters}) -> ()", tags=TAGS)
        LIBRARY.impl(self.name, self.kernel(), "CompositeExplicitAutograd")
        LIBRARY.impl(self.name, self._fake, "Meta")
        self.call = self.overload = getattr(torch.ops.mlaforge, self.name).default
        if plain is not None:
            plain.register(self._run_any)
        function._torchdynamo_inline = self.traced()

    def kernel(self):
        """The operator's work: what `direct` does with a plain call, else the entry point itself, by the schema's values as far as they are not defaults."""
        direct, most = self.direct or (lambda *values: False, 0)

        def run(*values):
            if len(values) > most or not direct(*values):
                self._run_any(dict(zip(self.names, values)))
        return run

    def _run_any(self, values):
        named = {name: value for name, value in values.items() if value is not None or name not in RARE}
        for name in self.objects:
            if name in named:
                named[name] = numbered.find(named[name], name) if named[name] else None
        for name in self.pairs:
            kpe = named.pop(name + "_kpe", None)
            if kpe is not None:
                named[name] = named[name], kpe
        for name, other, _ in self.either:
            value = named.pop(other, None)
            if value is not None:
                named[name] = value
        owner = (numbered.find(named.pop(self.owner), self.owner),) if self.owner else ()
        self.function(*owner, **named)

    def _fake(self, *values):
        """The fake implementation: outputs are the caller's. A caller of the operator itself is told of gradients here."""
        why = torch_state.gradient_wanted(dict(zip(self.names, values))) if torch.is_grad_enabled() else None
        if why is not None:
            raise RuntimeError(why)

    def traced(self):
        """The function that Dynamo traces in this one's place."""
        def call(*given, **named):
            values = dict(self.defaults)
            values.update(zip(self.positional, given))
            values.update(named)
            if values.pop("stream", None) is not None:
                raise RuntimeError("stream is given, must be None in a compiled graph: its launches go to PyTorch's current stream")
            for name in self.pairs:
                if isinstance(values[name], (tuple, list)):
                    values[name], values[name + "_kpe"] = values[name]
            for name, other, kind in self.either:
                if isinstance(values[name], kind):
                    values[name], values[other] = self.defaults[name], values[name]
            if torch.is_grad_enabled():
                why = torch_state.gradient_wanted({name: values.get(name) for name in self.tensors})
                if why is not None:  # no MlafError: Dynamo reports the text of exceptions that it can make
                    raise RuntimeError(why)
            for name in (*self.objects, *([self.owner] if self.owner else [])):
                thing = values[name]
                values[name] = thing.number if thing is not None and thing != 0 else 0
            for name in self.ignored:
                values[name] = None
            if isinstance(values.get("q"), (tuple, list)):  # an operator takes one tensor
                values["q"] = torch.cat(values["q"], -1)
            for name, make in self.makes.items():
                if values.get(name) is None or values[name] is True:
                    values[name] = make(values)
            given = None if self.plain is None else self.plain.given(values, self.defaults)
            if given is not None:
                self.plain.call(*given)
                return _returned(self.returns, values)
            given = [values[name] for name in self.names]
            while self.names[len(given) - 1] in self.defaults and given[-1] is self.defaults[self.names[len(given) - 1]]:
                given.pop()  # each costs the host time
            self.call(*given)
            return None if self.returns is None else _returned(self.returns, values)
        return call


class Plain:
    """An operator of an entry point's plain call. parameters: a schema of some of the entry point's, without defaults; values that may be None cost
    PyTorch more than others. direct: its work, a function of these values that makes a plain call and returns whether it did; or make: its whole kernel, of
    a function that makes any call of values by their names. pack: names of the entry point's whose values are the schema's first one, and the function that
    makes it, None where they do not fit in."""

    def __init__(self, name, parameters, direct=None, make=None, pack=((), None)):
        self.name, self.parameters, found = name, parameters, PARAMETER.findall(parameters)
        self.make = make or (lambda run_any: lambda *values: None if direct(*values) else run_any(dict(zip(self.names, values))))
        self.packed, self.pack = pack
        self.names = tuple(name for _, name, _ in found)
        self.own = self.names[1:] if self.pack else self.names
        self.wanted = tuple(name for kind, name, _ in found if not kind.endswith("?") and name in self.own)

    def register(self, run_any):
        """run_any: makes any call of the entry point, by values' names."""
        LIBRARY.define(f"{self.name}({self.parameters}) -> ()", tags=TAGS)
        LIBRARY.impl(self.name, self.make(run_any), "CompositeExplicitAutograd")
        LIBRARY.impl(self.name, lambda *values: None, "Meta")
        self.call = self.overload = getattr(torch.ops.mlaforge, self.name).default

    def given(self, values, defaults):
        """The operator's values of a call where all others are defaults, else None."""
        if not (all(values[name] is not None for name in self.wanted)
                and all(values[name] is default for name, default in defaults.items() if name not in self.own and name not in self.packed)):
            return None
        own = [values[name] for name in self.own]
        if self.pack is None:
            return own
        first = self.pack(*[values[name] for name in self.packed])
        return None if first is None else [first, *own]


def _returned(names, values):
    if isinstance(names, str):
        return values[names]
    return tuple(values[name] if name else None for name in names)


# --- plain calls, straight to the compiled module: an operator's way through PyTorch costs as much as the functions in between ---
def _decode(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q, sm_scale=None, lse=None, mean_kv_len=None):
    ctx = context._default or context.default_context()
    if ctx.emulated or ctx._address is None or kv_indptr is None or torch.is_grad_enabled():
        return False
    return ctx._run(ctx._address, ctx._plan_address, 1, max_seqlen_q, mean_kv_len or 0, sm_scale, None, None, q, kv_buffer, o, lse, qo_indptr, kv_indptr,
                    kv_indices, kv_last_page_lens) == 0


def _decode_plain(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, lse, max_seqlen_q, sm_scale):
    return _decode(q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q, sm_scale, lse)


def _flash(q, k_cache, block_table, cache_seqlens, head_dim_v, softmax_scale=None, causal=False, out=None, lse=None, mean_kv_len=None):
    ctx = context._default or context.default_context()
    if ctx.emulated or ctx._address is None or ctx._flash is None or block_table is None or cache_seqlens is None or torch.is_grad_enabled():
        return False
    return ctx._flash(ctx._address, ctx._plan_address, 1 if causal else 0, head_dim_v, mean_kv_len or 0, softmax_scale, None, None, q, k_cache, out, lse,
                      block_table, cache_seqlens, True).__class__ is tuple


def _layer(layer, hidden, positions, slots, cache, seq_lens=None, block_table=None, out=None, kv_len=0, q_len=1, workspace=None, same_tables=False):
    one = numbered.find(layer, "layer")
    if one._fast is None or one._ctx._address is None or one._ctx.emulated or torch.is_grad_enabled():
        return False
    made = one._run(one._fast, hidden, positions, slots, cache, seq_lens, block_table, q_len, None, out, None, None, None, None, None, kv_len, workspace,
                    None, None, same_tables, None, None)
    return made is not None and made.__class__ is not int


def _pack(layer, kv_len, q_len):
    """Three numbers as one value of a schema: each costs PyTorch a sixth of a microsecond or more."""
    return layer * 2 ** 40 + kv_len * 16 + (q_len - 1) if 0 < q_len <= 16 and 0 <= kv_len < 2 ** 32 else None


def _layer_plain(run_any, find=numbered.find, records=torch.is_grad_enabled):
    def run(call, hidden, positions, slots, cache, seq_lens, block_table, out):
        one = find(call >> 40, "layer")
        if one._fast is not None and one._ctx._address is not None and not one._ctx.emulated and not records():
            made = one._run(one._fast, hidden, positions, slots, cache, seq_lens, block_table, (call & 15) + 1, None, out, None, None, None, None, None,
                            call >> 4 & 0xffffffff, None, None, None, False, None, None)
            if made is not None and made.__class__ is not int:
                return
        run_any(dict(layer=call >> 40, hidden=hidden, positions=positions, slots=slots, cache=cache, seq_lens=seq_lens, block_table=block_table, out=out,
                     kv_len=call >> 4 & 0xffffffff, q_len=(call & 15) + 1))
    return run


# --- what entry points make for their callers ---
def _columns(first, count):
    """[T, columns] like x."""
    return lambda v: v["x"].new_empty((v["x"].shape[0], count(v[first])))


def _of_heads(columns):
    return lambda v: v["x"].new_empty((*v["x"].shape[:2], columns(v)))


def _wide(q):
    """The type of outputs of q, which may be of 8 bits."""
    return q.dtype if q.dtype in (torch.bfloat16, torch.float16) else torch.bfloat16


def _decode_out(v):
    columns = _out_columns((v["kv_buffer"],) if v["kv_buffer_kpe"] is not None else v["kv_buffer"], v["head_dim_v"])
    return v["q"].new_empty((*v["q"].shape[:2], columns), dtype=_wide(v["q"]))


def _decode_lse(v):
    return v["q"].new_empty(v["q"].shape[:2], dtype=torch.float32) if v["lse"] is True else None


def _flash_lse(v):
    if v["cu_seqlens_q"] is not None:
        return v["q"].new_empty(v["q"].shape[:2], dtype=torch.float32)
    batch, tokens, heads, _ = v["q"].shape
    return v["q"].new_empty((batch, tokens, heads), dtype=torch.float32).transpose(1, 2)


def _index_logits(v):
    most = v["block_table"].shape[1] * v["cache"].shape[1] if v["max_length"] is None else v["max_length"]
    return v["q"].new_empty((v["q"].shape[0], -(-min(most, CTX_MOST) // 4) * 4), dtype=torch.float32)


def _prefill_out(v):
    return v["q"].new_empty((*v["q"].shape[:2], v["v"].shape[2]), dtype=_wide(v["q"]))


def _rows_of(first):
    return lambda v: torch.empty_like(v[first])


WEIGHTS = "Tensor? w_scale=None, Tensor(a!)? out=None, bool batch_invariant=False"
BY_HEAD = "Tensor? kv_b_scale=None, Tensor(a!)? out=None, bool batch_invariant=False"
APPENDED = "str kv_cache_dtype, Tensor? {}, bool power_of_two_scales=True"
OPERATORS = [
    Operator(mla_decode_fwd,
             f"Tensor q, Tensor kv_buffer, Tensor(a!) o, {LISTS}, SymInt max_seqlen_q, float? sm_scale=None, Tensor(b!)? lse=None, "
             "SymInt? mean_kv_len=None, float logit_cap=0.0, int? num_kv_splits=None, bool causal=True, Tensor? kv_scale=None, Tensor(c!)? workspace=None, SymInt? page_size=None, "
             f"int nhead_kv=1, {ROTATED}, bool batch_invariant=False, float? q_scale=None, Tensor? block_table=None, Tensor? seq_lens=None, "
             "SymInt? head_dim_v=None, str? cache_format=None, Tensor? kv_buffer_kpe=None, Tensor? q_scale_tensor=None", {"o": _decode_out, "lse": _decode_lse}, ("o", "lse"), direct=(_decode, 11),
             plain=Plain("mla_decode_plain", "Tensor q, Tensor kv_buffer, Tensor(a!) o, Tensor qo_indptr, Tensor kv_indptr, Tensor kv_indices, "
                         "Tensor kv_last_page_lens, Tensor(b!)? lse, SymInt max_seqlen_q, float? sm_scale", _decode_plain)),
    Operator(flash_mla_with_kvcache,
             "Tensor q, Tensor k_cache, Tensor? block_table, Tensor? cache_seqlens, SymInt head_dim_v, float? softmax_scale=None, bool causal=False, "
             "Tensor(a!)? out=None, Tensor(b!)? lse=None, SymInt? mean_kv_len=None, Tensor? tile_scheduler_metadata=None, Tensor? num_splits=None, "
             "bool is_fp8_kvcache=False, Tensor? indices=None, Tensor? attn_sink=None, Tensor? extra_k_cache=None, Tensor? extra_indices_in_kvcache=None, "
             "Tensor? topk_length=None, Tensor? extra_topk_length=None, Tensor(c!)? workspace=None, bool batch_invariant=False, float? empty_lse=None, "
             "Tensor? cu_seqlens_q=None, SymInt? max_seqlen_q=None, Tensor? k_cache_kpe=None, Tensor? descale_q=None, Tensor? descale_k=None, "
             "str? is_fp8_kvcache_word=None",
             {"out": lambda v: v["q"].new_empty((*v["q"].shape[:-1], v["head_dim_v"]), dtype=_wide(v["q"])), "lse": _flash_lse}, ("out", "lse"), direct=(_flash, 10),
             plain=Plain("flash_mla_plain", "Tensor q, Tensor k_cache, Tensor block_table, Tensor cache_seqlens, SymInt head_dim_v, float? softmax_scale, "
                         "bool causal, Tensor(a!) out, Tensor(b!) lse", _flash)),
    Operator(flash_mla_sparse_fwd,
             "Tensor q, Tensor kv, Tensor indices, float? sm_scale, SymInt d_v=512, Tensor? attn_sink=None, Tensor? topk_length=None, "
             "Tensor(a!)? out=None, Tensor(b!)? lse=None, Tensor(c!)? workspace=None, bool batch_invariant=False, float? empty_lse=None",
             {"out": lambda v: v["q"].new_empty((*v["q"].shape[:2], v["d_v"])),
              "lse": lambda v: v["q"].new_empty(v["q"].shape[:2], dtype=torch.float32)}, ("out", "", "lse")),
    Operator(concat_and_cache_mla,
             f"Tensor kv_c, Tensor? k_pe, Tensor(a!) kv_cache, Tensor slot_mapping, {APPENDED.format('scale')}"),
    Operator(concat_and_cache_mla_rope_fused,
             "Tensor positions, Tensor(a!) q_pe, Tensor(b!) k_pe, Tensor kv_c, Tensor cos_sin_cache, bool is_neox, Tensor slot_mapping, Tensor(c!) kv_cache, "
             + APPENDED.format("kv_cache_scale")),
    Operator(fused_qk_rope_concat_and_cache_mla,
             "Tensor q_nope, Tensor q_pe, Tensor kv_c, Tensor? k_pe, Tensor(a!) kv_cache, Tensor(b!) q_out, Tensor slot_mapping, Tensor? k_scale, "
             "Tensor? q_scale, Tensor positions, Tensor cos_cache, Tensor sin_cache, bool is_neox, bool is_nope_first, bool compute_all_q_rope=False"),
    Operator(concat_mla_q, "Tensor q_nope, Tensor q_pe, Tensor(a!)? out=None",
             {"out": lambda v: v["q_nope"].new_empty((*v["q_nope"].shape[:2], v["q_nope"].shape[2] + v["q_pe"].shape[2]))}, "out"),
    Operator(mla_dequant, "Tensor w, Tensor w_scale, Tensor(a!) out", returns="out"),
    Operator(mla_gather_kv_b,
             "Tensor kv_cache, Tensor block_table, Tensor cu_seqlens, Tensor? seq_starts, Tensor kv_b_weight, Tensor(a!) kv, Tensor(b!) k_pe, "
             f"Tensor? scale=None, SymInt? vdim=None, {ROTATED}, str? cache_format=None, Tensor? kv_cache_kpe=None"),
    Operator(gather_kv_b_proj,
             "Tensor k_buffer, Tensor? k_scale, Tensor kv_indptr, Tensor kv_indices, Tensor kv_prefix_sum_context_lens, Tensor kv_proj_weight, "
             "Tensor? kv_proj_scale, Tensor(a!) k_prefix, Tensor(b!) v_prefix, bool weight_preshuffle=False, bool shuffled_kv_cache=False, "
             f"{ROTATED}, Tensor? k_buffer_kpe=None"),
    Operator(mla_index,
             "Tensor q, Tensor weights, Tensor cache, Tensor block_table, Tensor lengths, SymInt topk, SymInt? max_length=None, Tensor(a!)? out=None, "
             "Tensor(b!)? logits=None",
             {"out": lambda v: v["q"].new_empty((v["q"].shape[0], v["topk"]), dtype=torch.int32), "logits": _index_logits}, "out"),
    Operator(mla_index_append,
             "Tensor k, Tensor norm_weight, Tensor norm_bias, Tensor slots, Tensor positions, Tensor cos_sin_cache, Tensor(a!) cache, Tensor? q=None, "
             "Tensor? weights=None, Tensor(b!)? q8=None, Tensor(c!)? w8=None, Tensor? seq_lens=None, Tensor(d!)? lengths=None, float? weights_scale=None, "
             "float eps=1e-6, str style=\"halves\", bool hadamard=False, bool power_of_two=True",
             {"q8": lambda v: None if v["q"] is None else torch.empty_like(v["q"], dtype=torch.float8_e4m3fn, memory_format=torch.contiguous_format),
              "w8": lambda v: None if v["q"] is None else v["q"].new_empty(v["q"].shape[:2], dtype=torch.float32),
              "lengths": lambda v: None if v["seq_lens"] is None else v["k"].new_empty(v["k"].shape[:1], dtype=torch.int32)}, ("q8", "w8", "lengths")),
    Operator(merge_attn_states,
             "Tensor(a!) output, Tensor prefix_output, Tensor prefix_lse, Tensor suffix_output, Tensor suffix_lse, Tensor(b!)? output_lse=None, "
             "bool base_2=False"),
    Operator(merge_attn_parts,
             "Tensor(a!) output, Tensor parts, Tensor parts_lse, Tensor(b!)? output_lse=None, bool in_base_2=False, bool out_base_2=False"),
    Operator(mla_prefill_varlen,
             "Tensor q, Tensor k_nope, Tensor? k_pe, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, "
             "float? softmax_scale=None, bool causal=False, Tensor(a!)? out=None, Tensor(b!)? lse=None, Tensor? q_descale=None, Tensor? k_descale=None, "
             "Tensor? v_descale=None, bool batch_invariant=False", {"out": _prefill_out}, "out"),
    Operator(mla_qkv_a, f"Tensor x, Tensor w, int rank=512, int rope=64, {WEIGHTS}", {"out": _columns("w", lambda w: w.shape[0])}, "out"),
    Operator(mla_q_b, f"Tensor x, Tensor w, int nope=128, int rope=64, Tensor? norm_weight=None, float eps=1e-6, {WEIGHTS}",
             {"out": _columns("w", lambda w: w.shape[0])}, "out"),
    Operator(mla_q_b_append,
             "Tensor x, Tensor w, Tensor kv_c, Tensor k_pe, Tensor(b!) kv_cache, Tensor slot_mapping, Tensor? positions=None, Tensor? cos_sin_cache=None, "
             "int nope=128, Tensor? norm_weight=None, Tensor? kv_norm_weight=None, float eps=1e-6, str style=\"pairs\", str kv_cache_dtype=\"auto\", "
             f"Tensor? scale=None, bool power_of_two_scales=True, {WEIGHTS}", {"out": _columns("w", lambda w: w.shape[0])}, "out"),
    Operator(mla_o_proj, f"Tensor x, Tensor w, int v=128, Tensor? residual=None, {WEIGHTS}",
             {"out": _columns("w", lambda w: w.shape[0])}, "out"),
    Operator(mla_v_out, f"Tensor x, Tensor kv_b, int v=128, {BY_HEAD}", {"out": _of_heads(lambda v: v["v"])}, "out"),
    Operator(mla_q_absorb,
             f"Tensor x, Tensor kv_b, Tensor? positions=None, Tensor? cos_sin_cache=None, int nope=128, str style=\"pairs\", {BY_HEAD}",
             {"out": _of_heads(lambda v: v["kv_b"].shape[2] + v["x"].shape[2] - v["nope"])}, "out"),
    Operator(mla_q_scale, "Tensor q, Tensor positions, float beta=0.1, int original=8192, Tensor(a!)? out=None", {"out": lambda v: v["q"]}, "out"),
    Operator(Layer.forward,
             "Tensor hidden, Tensor positions, Tensor slots, Tensor(a!) cache, Tensor? seq_lens=None, Tensor? block_table=None, Tensor(b!)? out=None, "
             "SymInt kv_len=0, SymInt q_len=1, Tensor(c!)? workspace=None, bool same_tables=False, Tensor? residual=None, int schedule=0, "
             "Tensor? qo_indptr=None, Tensor? kv_indptr=None, Tensor? kv_indices=None, Tensor? kv_last_page_lens=None, int? stage=None, "
             "Tensor(e!)? index_cache=None, Tensor(f!)? indices=None, Tensor(d!)? cache_kpe=None", {"out": _rows_of("hidden")}, "out", "layer", "layer",
             (_layer, 12),
             Plain("layer_plain", "SymInt call, Tensor hidden, Tensor positions, Tensor slots, Tensor(a!) cache, Tensor seq_lens, Tensor block_table, "
                   "Tensor(b!) out", make=_layer_plain, pack=(("layer", "kv_len", "q_len"), _pack))),
    Operator(ChunkedPrefill.forward,
             "int schedule, Tensor q, Tensor k_nope, Tensor k_pe, Tensor v, Tensor kv_cache, Tensor block_table, Tensor kv_b_weight, "
             "float? softmax_scale=None, Tensor? kv_scale=None, Tensor(a!)? out=None, Tensor(b!)? lse=None, Tensor? rope_table=None, "
             "Tensor(c!)? workspace=None, Tensor? kv_cache_kpe=None",
             {"out": lambda v: v["q"].new_empty((*v["q"].shape[:2], v["v"].shape[2]))}, "out", "chunked_prefill", "chunked_prefill"),
]


def _flash_attn(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                softcap=0.0, alibi_slopes=None, deterministic=False, return_attn_probs=False, block_table=None, *, return_lse=False, out=None, **more):
    """flash_attn_varlen_func as a compiler sees it: mla_prefill_varlen's operator, and a tensor for lse."""
    refuse_others(dropout_p, window_size, softcap, alibi_slopes, return_attn_probs, block_table)
    lse = q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32) if return_lse else None
    out = mla_prefill_varlen(q, k, None, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, out, lse, **more)
    return (out, lse) if return_lse else out


flash_attn_varlen_func._torchdynamo_inline = _flash_attn
aiter.flash_attn_varlen_func._torchdynamo_inline = aiter.flash_attn_varlen_func.__wrapped__  # which calls the former
