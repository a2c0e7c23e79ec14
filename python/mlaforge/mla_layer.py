"""An MLA layer in one call, from hidden states to hidden states, by weights as they lie in a checkpoint."""
import ctypes

from . import context, numbered
from .cache_format import PAIR_16, of_bytes_in_two, refusal, taken_by
from .calls import DTYPES as VIEWS, current_stream
from .context import _real, _struct
from .entry import entry, explained
from .errors import Owner
from .fields import PAGE_SIZE
from .library import I32, I64, PTR, LayerArgs, LayerDesc, LayerStage, LayerWeight, PlanInfo, PlanOpts, fast, library
from .mla_chunked_prefill import check_open, check_schedule, make_schedule
from .mla_index import TOPK_MOST, planar
from .mla_projections import ENCODINGS
from .tensors import check_page, check_tensor, dtype_name, empty, fail, row_stride, span, style_of, whole

__all__ = ["Layer"]

STYLES = {"pairs": 0, "halves": 1, "unrotated": 2}
DTYPES = {"bfloat16": 0, "float16": 1}
RESIDUAL, SPLIT_CACHE, TABLE_16, NO_NORMS, ROPE_ON_READ, KV_B_16, _, ROWS_ANYWHERE, _, _, _, KEEP_16, DEQUANT_NEVER, \
    INDEX_16, INDEX_HADAMARD, INDEX_FP32_SCALES, KEEP_NEVER = (1 << i for i in range(17))
SAME_TABLES, UINT8 = 1, 6  # MLAF_LAYER_SAME_TABLES; MLAF_VIEW_U8
INDEX_NORM, INDEX_MODULES = ("k_norm.weight", "k_norm.bias"), ("wq_b", "wk", "weights_proj", "k_norm")  # of an indexer
SIZE = ctypes.c_size_t
_SIGNATURES = {
    "mlaf_layer_create": (ctypes.c_int, [PTR, PTR, PTR, SIZE, PTR]),
    "mlaf_layer_destroy": (None, [PTR]),
    "mlaf_layer_copies_size": (SIZE, [PTR]),
    "mlaf_layer_weights_changed": (ctypes.c_int, [PTR, PTR]),
    "mlaf_layer_workspace_size": (SIZE, [PTR, PTR]),
    "mlaf_layer_prefill_crossover": (I64, [PTR, I64]),
    "mlaf_layer_prefill_words": (SIZE, [PTR, I32, PTR, PTR]),
    "mlaf_layer_prefill_schedule": (ctypes.c_int, [PTR, I32, PTR, PTR, PTR, SIZE]),
    "mlaf_layer_execute": (ctypes.c_int, [PTR, PTR, PTR]),
    "mlaf_layer_execute_stage": (ctypes.c_int, [PTR, SIZE, PTR, PTR]),
    "mlaf_layer_stages": (SIZE, [PTR]),
    "mlaf_layer_stage_at": (ctypes.c_int, [PTR, SIZE, PTR, PTR]),
}


def _functions():
    lib = library()
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _last_words(name):
    return ".".join(name.split(".")[-2:])


def _shape(weights, said):
    """(hidden, rows of q_a or None, whether that is the fused one, dtype, dtype of matrices) by the last words of the weights' names.
    said: a dtype, or None."""
    if "o_proj.weight" not in weights:
        fail("o_proj.weight is missing among the layer's weights")
    for name, tensor in weights.items():
        dtype_name(tensor, name)
    o, fused, q_a = (weights.get(name) for name in ("o_proj.weight", "fused_qkv_a_proj_with_mqa.weight", "q_a_proj.weight"))
    for name in ("o_proj.weight", "q_a_proj.weight" if fused is None else "fused_qkv_a_proj_with_mqa.weight"):
        if weights.get(name) is not None:
            check_tensor(name, weights[name], None, None, None)
    matrices = dtype = dtype_name(o)
    if said is not None:
        dtype = str(said).rsplit(".", 1)[-1]
        if dtype not in DTYPES or matrices not in (dtype, *ENCODINGS):
            fail(f"dtype is {said}, o_proj.weight {matrices}; dtype must be {' or '.join(DTYPES)}, and that of weights of 16 bits")
    elif matrices in ENCODINGS:  # then norms, or kv_b_proj, say what hidden states are
        others = [dtype_name(t) for name, t in weights.items() if name.endswith(".weight") and dtype_name(t) in DTYPES]
        dtype = others[0] if others else "bfloat16"
    if dtype not in DTYPES:
        fail(f"o_proj.weight is {dtype}; accepted are {', '.join((*DTYPES, *ENCODINGS))}")
    return o.shape[0], (fused if fused is not None else q_a), fused is not None, dtype, matrices


def _norms_32(weights):
    """The weights, with the norm of the indexer's keys in float32."""
    def is_other(name, tensor):
        return _last_words(name) in INDEX_NORM and hasattr(tensor, "float") and dtype_name(tensor, name) != "float32"
    return {name: tensor.float() if is_other(name, tensor) else tensor for name, tensor in weights.items()}


def _weight(name, tensor, dtype, matrices, of_index):
    """of_index: the type of the indexer's matrices, None without one."""
    matrix = len(tensor.shape) == 2
    scale = name.endswith(".weight_scale_inv") or (of_index is not None and _last_words(name) in INDEX_NORM)
    if of_index is not None and _last_words(name) in ("wq_b.weight", "wk.weight", "weights_proj.weight"):
        matrices = dtype if _last_words(name) == "weights_proj.weight" else of_index
    if _last_words(name) == "kv_b_proj.weight" and matrices in ENCODINGS and dtype_name(tensor) == dtype:
        matrices = dtype
    check_tensor(name, tensor, "float32" if scale else matrices if matrix else dtype, *(None for _ in tensor.shape))
    return LayerWeight(name.encode(), tensor.data_ptr(), tensor.shape[0] if matrix else 1, tensor.shape[-1],
                       row_stride(tensor, 0) if matrix else 0)


def _cache_format(word):
    """(format, its number in the description) of a cache of 8 bits; (None, 0): it has the layer's type."""
    if word is None:
        return None, 0
    known = {f.name: f for f in taken_by("mla_append") if f.scale != "none" and "mla_decode" in f.operations and not f.own_columns}
    if word not in known:
        behind = next((f for f in taken_by("mla_decode") if f.name == word and f.own_columns), None)
        why = refusal("mla_decode", word) or refusal("mla_append", word)
        why = why or behind and "its tokens have columns of their own, which no layer with kv_b_proj makes; append them by concat_and_cache_mla"
        fail(f"cache is {word!r}, must be None or one of {', '.join(sorted(known))}" + (f": {why}" if why else ""))
    return known[word], known[word].operations["mla_decode"] - 1


class Layer(Owner):
    """weights: tensors by their names in a checkpoint ("model.layers.3.self_attn.q_a_proj.weight": what stands before the last two words
    does not matter). q_b_proj, kv_b_proj and o_proj may be whole or this rank's; `heads` counts the whole model's. cos_sin_cache: a row a
    position, P/2 cosines and P/2 sines, float32 or of the weights' type. scale: of the softmax, positive, with
    YaRN's factor where the model has one; None: (nope + rope) ** -0.5.
    batch, q_lens and kv_len say what may come: most requests of a call, the numbers of query tokens a request, cached tokens from .. to;
    prefill_tokens the most new tokens of a prefill; prefill_chunk the cached tokens that it expands at a time, 0: 16384.
    prefill_crossover: what the function of that name shall say; 0: it finds out.
    Matrices may be float8_e4m3fn or float8_e4m3fnuz with their weight_scale_inv, float32, beside them.
    dtype: of hidden states and cache, bfloat16 or float16. None: what weights of 16 bits are; bfloat16 where there are none.
    rope_on_read: rope columns are cached as they are, and turned by attention; the table is float32 then.
    append_apart, absorb_apart, v_out_apart: deprecated, accepted and ignored until 1.0. Which stages share a kernel is tuned
    (mlaforge tune layer).
    dequant_many: False: matrices of 8 bits never become ones of 16 first, which rounds them once more. None: where that was tuned, else
    where it is estimated to be faster with more than 128 tokens. True: deprecated, as None.
    keep_16: True: matrices of 8 bits are made ones of 16 here, too, once: 2 bytes a weight of device memory beside PyTorch's. Calls of many
    tokens then take what layers of 16 bits take; with batch_invariant all calls do. None: some matrices, where that was measured to be faster
    (Hopper, more than 64 or 128 tokens): 49 to 265 MB of a DeepSeek-V3 layer (docs/layer.md). False: nothing is kept. Who changes weights in place
    calls weights_changed(), or keeps nothing.
    rows_anywhere: slots may be other rows that a call attends to than its requests' last ones.
    q_scale_beta, q_scale_original: queries times 1 + beta ln(1 + floor(position / original)), llama_4_scaling of the configs of Mistral-Large-3
    and Mistral-Small-4. 0: they are not scaled.
    cache: a format of 8 bits ("e4m3fn", say; docs/append.md): calls then take uint8 [pages, page, bytes of a token], or the float8 type of its latent;
    of a format of two tensors ("kpe16", say) a pair. cache_scale: a float32 tensor of one element, of formats with one scale for all: stored is
    value / scale. It is read at each call.
    index_topk: each query token attends to so many cached tokens, which an indexer selects (DeepSeek-V3.2, GLM-5); 0: to all. The weights have its
    wq_b, wk, k_norm and weights_proj then, and calls take index_cache. index_style: columns of its RoPE that rotate together, "halves" or "pairs".
    index_hadamard: its queries and keys are multiplied by the Hadamard matrix; index_power_of_two: their scales are powers of two (ue8m0).
    index_shared: the layer has no indexer, and takes the lists of one before it (GLM-5.2): calls take that one's indices.
    batch_invariant: a request's output has the same bits alone and in any batch, whatever it is called with.
    Plans for all of it are made here, so that no call compiles."""

    _handle = _fast = None

    @entry(weights=dict, heads=int, scale=float, cos_sin_cache="[positions, P]", cache=str)
    def __init__(self, weights, *, heads, cos_sin_cache=None, scale, rank=512, rope=64, nope=128, v=128, eps=1e-6, style="pairs",
                 norms=True, rope_on_read=False, residual=False, split_cache=False, tp_rank=0, tp_size=1, page_size=64, batch=1, q_lens=(1,),
                 kv_len=(1024, 1024), table_width=0, prefill_tokens=0, prefill_chunk=0, prefill_crossover=0, append_apart=False,
                 absorb_apart=False, v_out_apart=False, dequant_many=None, keep_16=None, rows_anywhere=False, q_scale_beta=0.0,
                 q_scale_original=0, dtype=None, cache=None, cache_scale=None, index_topk=0, index_style="halves",
                 index_hadamard=False, index_power_of_two=True, index_shared=False, batch_invariant=False, ctx=None):
        index_topk = whole("index_topk", index_topk or 0, 0, TOPK_MOST)
        if index_shared and not index_topk:
            fail("index_topk is 0, and index_shared is set: say how many entries the lists have")
        indexes = bool(index_topk and not index_shared)
        weights = _norms_32(weights) if indexes else weights
        self._ctx, self._lib = context.of_call(ctx, batch_invariant), _functions()
        style, lens = style_of("style", style, "unrotated"), q_lens if isinstance(q_lens, (tuple, list, set, frozenset, range)) else (q_lens,)
        first, last = span("kv_len", kv_len)
        named = {_last_words(name): tensor for name, tensor in weights.items()}
        hidden, q_a, fused, self._dtype, matrices = _shape(named, dtype)
        kv_b = named.get("kv_b_proj.weight")
        softmax_scale = None if scale is None else _real("scale", scale)
        if softmax_scale is not None and not softmax_scale > 0:
            fail(f"scale is {scale}, must be positive, or None for (nope + rope) ** -0.5")
        q_rank = 0 if q_a is None else q_a.shape[0] - (rank + rope if fused else 0)
        self._hidden, self._row, self._rank, self._rope = hidden, rank + rope, rank, rope
        self._page, self._residual = whole("page_size", page_size, *PAGE_SIZE), residual
        self._format, kind = _cache_format(cache)
        if cache_scale is not None:
            check_tensor("cache_scale", cache_scale, "float32", *([1] if len(getattr(cache_scale, "shape", ())) else []))
        self._row = self._format.columns(rank, rope) if kind else rank + rope
        self._behind = bool(kind) and self._format.behind
        self._split = split_cache or bool(kind) and self._format.second is not None
        self._second = (PAIR_16 if split_cache else self._format).of_second(rank, rope, self._dtype) if self._split else (0, self._dtype, 1)
        flags = (RESIDUAL if residual else 0) | (SPLIT_CACHE if split_cache else 0) | (0 if norms else NO_NORMS)
        flags |= (ROPE_ON_READ if rope_on_read else 0) | (ROWS_ANYWHERE if rows_anywhere else 0)
        flags |= (DEQUANT_NEVER if dequant_many is False else 0) | (KEEP_16 if keep_16 else 0 if keep_16 is None else KEEP_NEVER)
        flags |= KV_B_16 if matrices in ENCODINGS and kv_b is not None and dtype_name(kv_b) == self._dtype else 0
        table = {}
        if rope and style != "unrotated":
            number = dtype_name(cos_sin_cache, "cos_sin_cache")
            if number not in ("float32", self._dtype):
                fail(f"cos_sin_cache is {number}, must be float32 or {self._dtype}")
            check_tensor("cos_sin_cache", cos_sin_cache, number, None, rope)
            flags |= 0 if number == "float32" else TABLE_16
            table = {"cos": cos_sin_cache.data_ptr(), "table_rows": cos_sin_cache.shape[0], "table_row_stride": row_stride(cos_sin_cache, 0)}
        self._topk, self._indexes, index, of_index = index_topk, indexes, {"index_topk": index_topk}, None
        if indexes:
            for name in ("wq_b.weight", "weights_proj.weight"):
                if name not in named:
                    fail(f"{name} is missing among the layer's weights: index_topk is {index_topk}")
                check_tensor(name, named[name], None, None, None)
            of_index = dtype_name(named["wq_b.weight"])
            if of_index not in (self._dtype, matrices):
                fail(f"wq_b.weight is {of_index}, must be {matrices}" + (f" or {self._dtype}" if matrices != self._dtype else ""))
            flags |= (INDEX_16 if matrices in ENCODINGS and of_index == self._dtype else 0) | (INDEX_HADAMARD if index_hadamard else 0)
            flags |= 0 if index_power_of_two else INDEX_FP32_SCALES
            index.update(index_heads=named["weights_proj.weight"].shape[0], index_style=STYLES[style_of("index_style", index_style)])
        plan = PlanOpts.from_buffer_copy(self._ctx._plan_opts)
        desc = _struct(LayerDesc, flags=flags, hidden=hidden, heads=heads, q_rank=q_rank, rank=rank, rope=rope, nope=nope, v=v,
                       dtype=DTYPES[self._dtype], rope_style=STYLES[style], tp_rank=tp_rank, tp_size=tp_size,
                       page_size=page_size, batch_max=batch, q_lens=sum(1 << q - 1 for q in {whole("q_lens", q, 1, 16) for q in lens}), ctx_min=first,
                       ctx_max=last, table_width=table_width, prefill_tokens=prefill_tokens, prefill_chunk=prefill_chunk,
                       prefill_crossover=prefill_crossover, q_scale_beta=q_scale_beta, q_scale_original=q_scale_original, eps=eps,
                       cache_format=kind, cache_scale=None if cache_scale is None else cache_scale.data_ptr(),
                       scale=softmax_scale or 0.0, plan=ctypes.addressof(plan),
                       weights=list(ENCODINGS).index(matrices) + 1 if matrices in ENCODINGS else 0, **table, **index)
        listed = [_weight(name, tensor, self._dtype, matrices, of_index) for name, tensor in weights.items()
                  if len(tensor.shape) in (1, 2) and (indexes or _last_words(name).split(".")[0] not in INDEX_MODULES)]
        handle = PTR()
        self._ctx.check(self._lib.mlaf_layer_create(self._ctx._handle, ctypes.byref(desc), (LayerWeight * len(listed))(*listed),
                                                    len(listed), ctypes.byref(handle)))
        self._handle, self._held, self.number = handle, (weights, cos_sin_cache, cache_scale), numbered.register(self)
        self.use(fast())

    def use(self, module):
        """Make calls by the compiled module, or by ctypes (None). What a layer starts with is the module where it is there."""
        self._fast = self._run = None
        if module is not None:
            functions = self._lib.mlaf_layer_execute, self._lib.mlaf_layer_execute_stage, self._lib.mlaf_layer_workspace_size
            self._run = module.forward
            self._fast = module.layer(*(ctypes.cast(function, PTR).value for function in functions), self._handle.value,
                                      self._ctx.ordinal, DTYPES[self._dtype], self._hidden, self._rank, self._page, self._split, self._second[0],
                                      VIEWS[self._second[1]], self._second[2], UINT8 if self._format else DTYPES[self._dtype],
                                      -1 if self._behind else self._row, self._topk, self._indexes)

    def close(self):
        """None of its launches may still run."""
        if self._handle:
            self._fast = None
            self._lib.mlaf_layer_destroy(self._handle)
            self._handle = None

    __del__ = close

    @property
    def copies_size(self):
        """Bytes of device memory that copies of 16 bits of 8-bit matrices take; 0: there are none, and weights may be changed without a word."""
        check_open(self._handle)
        return self._lib.mlaf_layer_copies_size(self._handle)

    @explained()
    def weights_changed(self, *, stream=None):
        """Weights were changed in place: makes the copies of 16 bits anew, on PyTorch's current stream or `stream`, behind what is there, without
        waiting. Later calls on that stream and replays of captured graphs take them; no call may run on another one meanwhile."""
        context.of_call(self._ctx)
        check_open(self._handle)
        tensor = next(iter(self._held[0].values()))
        stream = (current_stream(tensor) if stream is None else int(getattr(stream, "cuda_stream", stream))) or None
        self._ctx.check(self._lib.mlaf_layer_weights_changed(self._handle, stream))

    # --- a call ---
    def _cache(self, cache):
        """Pages of rows at one distance: [pages, page, any 1, columns]; of a split cache a pair."""
        if self._split != isinstance(cache, (tuple, list)):
            fail(f"cache must be a pair of tensors where split_cache is set or its format is {' or '.join(of_bytes_in_two('mla_decode'))}, else one tensor")
        fields = {}
        width, second_dtype, unit = self._second
        tensors = zip(("cache", "cache_kpe"), cache, (self._rank, width)) if self._split else [("cache", cache, self._row)]
        for name, tensor, columns in tensors:
            dtype_name(tensor, name)
            wanted = second_dtype if name == "cache_kpe" else self._dtype
            if self._format and name == "cache":
                wanted = "uint8" if dtype_name(tensor) == "uint8" else "float8_" + self._format.latent
            check_tensor(name, tensor, wanted, None, None, *([1] if len(tensor.shape) == 4 else []), columns)
            check_page(name, tensor, self._page)
            page = row_stride(tensor, 0)
            if self._behind:  # rows of codes, and behind them what a page has else
                page = page if tensor.shape[0] > 1 else 0
                if page % self._rank or row_stride(tensor, 1) not in (0, columns):
                    fail(f"pages of {name} are {page} bytes apart and their tokens {row_stride(tensor, 1)}, must be a multiple of {self._rank} and {columns}")
                return {name: tensor.data_ptr(), "page_rows": page // self._rank, "num_pages": tensor.shape[0]}
            row = row_stride(tensor, 1) or (page if self._page == 1 else 0) or columns  # of pages of a token each is a row
            if page and page % row:
                fail(f"pages of {name} are {page} elements apart, no whole number of rows of {row}")
            apart = page // row if page and page != row * self._page else 0
            if fields.get("page_rows", apart) != apart:
                fail("pages of the two caches lie differently far apart")
            times = unit if name == "cache_kpe" else 1  # beside a latent of bytes strides are bytes
            fields.update({name: tensor.data_ptr(), name + "_row_stride": row * times, "page_rows": apart, "num_pages": tensor.shape[0]})
        return fields

    def _tables(self, batch, tables, prefill):
        """Addresses of index tensors. A call wants a block table with lengths, or lists; a prefill pages of either."""
        sizes = {"block_table": None, "seq_lens": batch, "qo_indptr": batch + 1, "kv_indptr": batch + 1,
                 "kv_indices": None, "kv_last_page_lens": batch}
        table = tables["block_table"] is not None
        shared = self._topk and not self._indexes  # pages stand in the lists
        wanted = ["block_table"] if table else [] if shared else ["kv_indptr", "kv_indices"]
        wanted += [] if prefill else ["seq_lens"] if table or shared else ["qo_indptr", "kv_last_page_lens"]
        fields = {}
        for name, tensor in tables.items():
            if tensor is None and name in wanted:
                fail(f"{name} is missing: a block table with seq_lens, or four lists are wanted; of a prefill a schedule, and pages of either")
            if tensor is not None:
                check_tensor(name, tensor, "int32", *([batch] if name == "block_table" else []), sizes[name])
                fields[name] = tensor.data_ptr()
        if table:
            fields.update(block_table_width=tables["block_table"].shape[1], block_table_stride=row_stride(tables["block_table"], 0))
        elif tables["kv_indices"] is not None:
            fields["kv_indices_size"] = tables["kv_indices"].shape[0]
        return fields

    def _index(self, cache, pages):
        """The indexer's cache, as many planar pages as the other has."""
        if not self._indexes:
            return {} if cache is None else fail("index_cache is given, and the layer has no indexer: it must be None")
        if cache is None:
            fail("index_cache is missing: the layer has an indexer")
        said = planar(cache, "index_cache")
        if said["num_pages"] != pages:
            fail(f"index_cache has {said['num_pages']} pages, cache has {pages}: their page ids are the same")
        check_page("index_cache", cache, self._page)
        return {"index_cache": said["cache"], "index_page_stride": cache.stride()[0] if pages > 1 else 0}

    def _lists(self, indices, tokens):
        """An indexer's output where they are given, else another layer's."""
        if indices is None:
            return {} if self._indexes or not self._topk else fail("indices is missing: the layer takes the lists of another one")
        if not self._topk:
            fail("indices is given, and the layer attends to all cached tokens: it must be None")
        check_tensor("indices", indices, "int32", tokens, self._topk)
        if tokens > 1 and row_stride(indices, 0) not in (0, self._topk):
            fail(f"rows of indices are {row_stride(indices, 0)} elements apart, must be dense: {self._topk}")
        return {"indices": indices.data_ptr()}

    def _rows(self, name, tensor, tokens):
        check_tensor(name, tensor, self._dtype, tokens, self._hidden)
        return {name: tensor.data_ptr(), name + "_token_stride": row_stride(tensor, 0)}

    def _workspace(self, args, hidden, given, stream):
        """Sets the call's workspace; returns the object that keeps it alive."""
        return self._ctx.lend_workspace(args, lambda: self._lib.mlaf_layer_workspace_size(self._handle, ctypes.byref(args)), hidden, given,
                                        stream)

    @entry(hidden="[T, d]", positions="[T]", slots="[T]",
           cache="[pages, page, R+P] or [pages, page, 1, R+P], of a split cache a pair", seq_lens="[B]",
           block_table="[B, pages]", residual="[T, d]", out="[T, d]", qo_indptr="[B+1]", kv_indptr="[B+1]",
           kv_indices="[pages]", kv_last_page_lens="[B]", stage=int, index_cache="[pages, page, 132]", indices="[T, index_topk]")
    def forward(self, hidden, positions, slots, cache, seq_lens=None, block_table=None, *, q_len=1, residual=None, out=None,
                qo_indptr=None, kv_indptr=None, kv_indices=None, kv_last_page_lens=None, schedule=None, kv_len=0, workspace=None, stream=None,
                stage=None, same_tables=False, index_cache=None, indices=None):
        """[T, d] hidden states to [T, d]. positions and slots [T] int64, a slot of -1 writes nothing; cache [pages, page, R+P]; seq_lens [B] int32
        counts the new tokens. q_len: most query tokens of a request, T = B q_len unless qo_indptr says more. kv_len, about how many tokens
        requests have cached, helps to choose plans. stage: that one of stages() alone. same_tables: block_table, seq_lens and qo_indptr say
        what they said at the call before, of this layer or another one of its shape, with the same workspace= on the same stream: what was
        made of them is taken, and a launch is saved. True for all layers of a step but the first.

        index_cache: of a layer with an indexer, uint8 [pages, page, 132], whose pages and slots are those of cache: a page is its keys, 128 bytes each,
        then their float32 scales. Such a layer wants a block table, and T / B query tokens of each request.
        indices: int32 [T, index_topk], rows of the cache. A layer with an indexer writes its lists there, one with index_shared reads them.

        With a schedule it is a prefill: requests have as many new tokens as schedule() was told, T in all."""
        if schedule is not None:
            check_schedule(schedule)
        if self._fast is not None and self._ctx._address is not None:
            made = self._run(self._fast, hidden, positions, slots, cache, seq_lens, block_table, q_len, residual, out, qo_indptr, kv_indptr,
                             kv_indices, kv_last_page_lens, None if schedule is None else schedule.passed, kv_len, workspace, stream,
                             stage, same_tables, index_cache, indices)
            if made.__class__ is int:
                self._ctx.check(made)
            elif made is not None:
                return made
        context.of_call(self._ctx)
        check_open(self._handle)
        rows = self._rows("hidden", hidden, None)
        tokens = hidden.shape[0]
        tables = {"block_table": block_table, "seq_lens": seq_lens, "qo_indptr": qo_indptr, "kv_indptr": kv_indptr,
                  "kv_indices": kv_indices, "kv_last_page_lens": kv_last_page_lens}
        counted = [x for x in (qo_indptr, kv_indptr) if x is not None]
        if seq_lens is None and not counted and schedule is None:
            fail("seq_lens is missing: a block table with seq_lens, or four lists are wanted")
        if schedule is None:
            check_tensor("seq_lens" if seq_lens is not None else "lists", counted[0] if seq_lens is None else seq_lens, "int32", None)
        batch = schedule.batch if schedule is not None else seq_lens.shape[0] if seq_lens is not None else counted[0].shape[0] - 1
        y = out if out is not None else empty(self._ctx, hidden, (tokens, self._hidden), None)
        check_tensor("slots", slots, "int64", tokens)
        check_tensor("positions", positions, "int64", tokens)
        fields = {**rows, **self._rows("out", y, tokens), **self._cache(cache),
                  **self._tables(batch, tables, schedule is not None)}
        fields.update(self._index(index_cache, fields["num_pages"]))
        fields.update(self._lists(indices, tokens))
        if schedule is not None:
            fields.update(schedule=ctypes.addressof(schedule.host), schedule_device=schedule.device.data_ptr(), schedule_words=schedule.words)
        if residual is not None:
            fields.update(self._rows("residual", residual, tokens))
        if same_tables and workspace is None:
            fail("same_tables is for calls with a workspace of the caller's: hand one over (workspace=), the same as before")
        args = _struct(LayerArgs, flags=SAME_TABLES if same_tables else 0, batch=batch, q_len=q_len, tokens=tokens, positions=positions.data_ptr(), slots=slots.data_ptr(),
                       ctx=kv_len, **fields)
        if not tokens:
            return y
        stream = (current_stream(hidden) if stream is None else int(getattr(stream, "cuda_stream", stream))) or None
        held = self._workspace(args, hidden, workspace, stream)
        status = (self._lib.mlaf_layer_execute(self._handle, ctypes.byref(args), stream) if stage is None
                  else self._lib.mlaf_layer_execute_stage(self._handle, stage, ctypes.byref(args), stream))
        del held
        self._ctx.check(status)
        return y

    __call__ = forward

    @explained(new_tokens=list, context_tokens=list)
    def schedule(self, new_tokens, context_tokens):
        """A prefill's, of lists of numbers, one for each request. It is copied to the device, and serves all layers of this shape in a step."""
        return make_schedule(self._ctx, self._lib, self._handle, "mlaf_layer_prefill", new_tokens, context_tokens)

    @explained(context_tokens=int)
    def prefill_crossover(self, context_tokens):
        """New tokens of one request over so many cached ones from which on a prefill is faster than calls with few query tokens."""
        return self._lib.mlaf_layer_prefill_crossover(self._handle, context_tokens)

    @explained()
    def stages(self, batch=1, q_len=1, kv_len=0):
        """Stages of a call of so many requests, in order: name, operation, problem, variant, rung, least bytes and flops."""
        args, found = _struct(LayerArgs, batch=whole("batch", batch, 1, 1 << 20), q_len=q_len, ctx=kv_len), []
        for i in range(self._lib.mlaf_layer_stages(self._handle)):
            stage, info = _struct(LayerStage), PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
            status = self._lib.mlaf_layer_stage_at(self._handle, i, ctypes.byref(args), ctypes.byref(stage))
            if status and i:  # fewer, where matrices of 16 bits serve that have kernels for two stages
                break
            self._ctx.check(status)
            self._ctx.check(self._lib.mlaf_plan_query(stage.plan, ctypes.byref(info)))
            found.append({"name": stage.name.decode(), "operation": stage.operation.decode(), "problem": info.problem.decode(),
                          "variant": info.variant.decode(), "rung": info.rung.decode(), "bytes": stage.bytes, "flops": stage.flops})
        return found

    @explained(batch=int, q_len=int, kv_len=int, pages=int)
    def workspace_size(self, batch=None, q_len=1, kv_len=0, pages=0):
        """Bytes that the largest call in range needs; with a batch those of a call of so many requests, over a block table of so many pages each."""
        if batch is None:
            return self._lib.mlaf_layer_workspace_size(self._handle, None)
        some = 1 if pages else None  # an address that nobody reads
        args = _struct(LayerArgs, batch=batch, q_len=q_len, ctx=kv_len, block_table=some, block_table_width=pages, block_table_stride=pages)
        size = self._lib.mlaf_layer_workspace_size(self._handle, ctypes.byref(args))
        if size == SIZE(-1).value:
            fail(f"{batch} requests of {q_len} query tokens are no call of this layer: batch and q_lens say which may come")
        return size
