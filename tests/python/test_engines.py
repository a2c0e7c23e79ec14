"""Adaptors of engines without an engine: versions, and transformers' with a stand-in for it where torch is there."""
import abc
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import types
import unittest

from mlaforge import engines

try:
    import torch
except ImportError:
    torch = None


class Versions(unittest.TestCase):
    def test_a_tested_version_is_taken(self):
        for engine, (first, _) in engines.TESTED.items():
            self.assertIsNone(engines.unsupported(engine, first))

    def test_another_version_gets_one_line_with_what_is_wanted(self):
        for engine, (first, end) in engines.TESTED.items():
            for version in ("0.0.1", end, "99.1.dev0+cpu"):
                said = engines.unsupported(engine, version)
                self.assertEqual(said, f"mlaforge: {engine} {version} was not tested, must be >={first},<{end}: pip install 'mlaforge[{engine}]'")

    def test_an_engine_that_is_missing_is_said(self):
        engines.TESTED["no-such-engine"] = ("1", "2")
        self.addCleanup(engines.TESTED.pop, "no-such-engine")
        self.assertEqual(engines.unsupported("no-such-engine"), "mlaforge: no-such-engine is not installed: pip install 'mlaforge[no-such-engine]'")

    def test_a_module_says_which_package_it_lacks(self):
        wanted = {"flashinfer": "torch", "torch_ops": "torch", "jax": "jax", "engines.transformers": "torch", "engines.transformers_cache": "transformers", "engines.layers": "torch", "engines.graphs": "torch",
                  "engines.vllm_attention": "torch", "engines.vllm_cpu": "torch", "engines.vllm_layer": "torch",
                  "engines.sglang_backend": "torch"}
        for name, package in wanted.items():
            without = f"import sys; sys.modules['{package}'] = None; import mlaforge.{name}"
            made = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
            last = made.stderr.strip().splitlines()[-1]
            self.assertRegex(last, rf"^ModuleNotFoundError: mlaforge.{name} needs .*{package} is not installed: pip install {package}$")

    def test_no_engine_is_imported(self):
        self.assertFalse({"transformers", "vllm", "sglang"} & set(sys.modules))


class ImportOrder(unittest.TestCase):
    """PyTorch imported behind mlaforge, with a stand-in for torch of a version."""

    def run_with(self, version, code):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w") as f:
                f.write(f"__version__ = {version!r}")
            path = os.pathsep.join((folder, os.environ.get("PYTHONPATH", "")))
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})

    def test_a_torch_that_takes_no_operators_is_imported_as_ever(self):
        made = self.run_with("2.5.1", "import sys, mlaforge; before = list(sys.meta_path); import torch; print(torch.__version__, len(before) - len(sys.meta_path))")
        self.assertEqual((made.stdout, made.stderr), ("2.5.1 1\n", ""))

    def test_whoever_asks_for_torch_alone_does_not_import_it(self):
        made = self.run_with("2.5.1", "import sys, mlaforge; from importlib.util import find_spec as f; print(bool(f('torch')), 'torch' in sys.modules)\n"
                                      "import torch; print('mlaforge.torch_ops' in sys.modules, any('mlaforge' in str(x) for x in sys.meta_path))")
        self.assertEqual((made.stdout, made.stderr), ("True False\nFalse False\n", ""))

    def test_operators_that_cannot_be_registered_do_not_fail_torch_s_import(self):
        made = self.run_with("2.6.0", "import mlaforge, torch; print(torch.__version__)")
        self.assertEqual(made.stdout, "2.6.0\n")
        self.assertRegex(made.stderr, "mlaforge's entry points are no operators of PyTorch: AttributeError: .*torch.* has no attribute 'library'")


class Plugins(unittest.TestCase):
    """Entry points with stand-ins for the engines' registers."""

    def modules(self, **made):
        """Puts modules of these names in place for a test; __ stands for a dot."""
        for name, values in made.items():
            name = name.replace("__", ".")
            module = types.ModuleType(name)
            vars(module).update(values)
            before = sys.modules.get(name)
            sys.modules[name] = module
            self.addCleanup(lambda n=name, b=before: sys.modules.pop(n) if b is None else sys.modules.update({n: b}))

    def version(self, engine, version):
        before = engines.importlib.metadata.version

        def found(name):
            if name != engine or version is None:
                raise engines.importlib.metadata.PackageNotFoundError(name)
            return version
        engines.importlib.metadata.version = found
        self.addCleanup(setattr, engines.importlib.metadata, "version", before)

    def vllm(self, wanted, cpu=True, version="0.32.1"):
        """Backends that the plugin registers, by the names of vLLM's."""
        from mlaforge.engines import vllm
        registered = {}
        platform = types.SimpleNamespace(is_cpu=lambda: cpu)
        names = types.SimpleNamespace(CUSTOM="CUSTOM", CPU_MLA="CPU_MLA", AMX_MLA="AMX_MLA")
        prefills = types.SimpleNamespace(CUSTOM="prefill CUSTOM", CPU="prefill CPU", ZEN_CPU="prefill ZEN_CPU")
        self.modules(vllm={}, vllm__platforms={"current_platform": platform}, vllm__v1={}, vllm__v1__attention={}, vllm__v1__attention__backends={},
                     vllm__v1__attention__backends__mla={}, vllm__v1__attention__backends__mla__prefill={},
                     vllm__v1__attention__backends__mla__prefill__registry={"MLAPrefillBackendEnum": prefills, "register_mla_prefill_backend": registered.__setitem__},
                     vllm__v1__attention__backends__registry={"AttentionBackendEnum": names, "register_backend": registered.__setitem__})
        self.version("vllm", version)
        self.addCleanup(os.environ.pop, "MLAFORGE_VLLM", None)
        os.environ.pop("MLAFORGE_VLLM", None)
        if wanted is not None:
            os.environ["MLAFORGE_VLLM"] = wanted
        vllm.register()
        vllm.register()
        return registered

    def test_vllm_that_was_not_asked_runs_as_before(self):
        self.assertEqual(self.vllm(None), {})
        self.assertEqual(self.vllm(None, version="9.0"), {})

    def test_vllm_on_a_cpu_gets_both_of_its_backends_replaced(self):
        self.assertEqual(self.vllm("attention"), {"CPU_MLA": "mlaforge.engines.vllm_cpu.CpuBackend", "AMX_MLA": "mlaforge.engines.vllm_cpu.AmxBackend"})

    def test_vllm_on_a_cpu_gets_its_prefill_replaced_where_that_is_wanted(self):
        prefill, backend = "mlaforge.engines.vllm_attention.Prefill", "mlaforge.engines.vllm_cpu.CpuBackend"
        self.assertEqual(self.vllm("prefill"), {"CPU_MLA": backend, "AMX_MLA": backend, "prefill CPU": prefill, "prefill ZEN_CPU": prefill})

    def test_vllm_on_a_gpu_learns_what_custom_is(self):
        self.assertEqual(self.vllm(None, cpu=False), {"CUSTOM": "mlaforge.engines.vllm_attention.Backend",
                                                      "prefill CUSTOM": "mlaforge.engines.vllm_attention.Prefill"})

    def test_vllm_on_a_gpu_takes_lists_where_that_is_wanted(self):
        self.assertEqual(self.vllm("sparse", cpu=False)["CUSTOM"], "mlaforge.engines.vllm_attention.SparseBackend")
        with self.assertRaisesRegex(SystemExit, "^mlaforge: MLAFORGE_VLLM is 'sparse', and vLLM's CPU platform has no sparse attention"):
            self.vllm("sparse")

    def vllm_gpu(self):
        class Base(abc.ABC):  # as vLLM's: a class that type() makes of it is said to be of the module abc
            def _build_decode(self, **values):
                return types.SimpleNamespace()
        self.vllm(None)
        common = {name: type(name, (Base,), {}) for name in ("MLACommonBackend", "MLACommonImpl", "MLACommonMetadataBuilder")}
        sparse = {name: type(name, (Base,), {}) for name in ("SparseMLACommonImpl", "SparseMLACommonMetadata", "SparseMLACommonMetadataBuilder")}
        self.modules(vllm__model_executor={}, vllm__model_executor__layers={}, vllm__model_executor__layers__attention={},
                     vllm__model_executor__layers__attention__mla_attention={**common, "QueryLenSupport": types.SimpleNamespace(VARLEN=3)},
                     vllm__model_executor__layers__attention__sparse_mla_attention=sparse,
                     vllm__v1__attention__backend={"AttentionCGSupport": types.SimpleNamespace(UNIFORM_BATCH=2), "MultipleOf": int},
                     vllm__v1__attention__backends__mla__prefill__base={"MLAPrefillBackend": Base})
        self.addCleanup(sys.modules.pop, "mlaforge.engines.vllm_attention", None)
        return importlib.import_module("mlaforge.engines.vllm_attention")

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_vllm_finds_backends_again_by_their_module_and_name(self):
        gpu = self.vllm_gpu()
        for made in (gpu.Backend, gpu.SparseBackend):
            self.assertIs(getattr(sys.modules[made.__module__], made.__qualname__), made)

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_vllm_gives_out_blocks_of_64_tokens(self):
        gpu = self.vllm_gpu()  # vLLM's own answer is its default, 16, where a backend takes blocks of any size
        self.assertEqual([made.get_preferred_block_size(16) for made in (gpu.Backend, gpu.SparseBackend)], [64, 64])

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_vllm_decodes_with_kernels_of_two_numbers_of_query_tokens(self):
        builder = self.vllm_gpu().Backend.get_builder_cls()()
        self.assertEqual(builder.reorder_batch_threshold, 1)  # the rest of a chunk is prefill, of any length
        builder.reorder_batch_threshold = 5  # four drafts
        for lens, longest, ragged in (((1, 1), 1, False), ((1, 0), 1, True), ((0, 0), 1, True), ((2, 1), 5, True), ((3, 3), 5, True), ((5, 5), 5, False)):
            begins = range(len(lens) + 1)  # only its length is looked at: no step waits for a tensor's values
            made = builder._build_decode(query_start_loc_cpu=None, query_start_loc_device=begins, max_query_len=max(lens), num_decode_tokens=sum(lens))
            self.assertEqual((made.longest, made.ragged), (longest, ragged), lens)

    def test_vllm_ends_by_one_line_where_it_cannot_serve_what_was_asked(self):
        for wanted, version, said in (("all", "0.32.0", "MLAFORGE_VLLM is 'all', must be unset or one of attention, prefill, sparse, layer"),
                                      ("layer", "0.40.0", "vllm 0.40.0 was not tested, must be >=0.32,<0.33"), ("attention", None, "vllm is not installed")):
            with self.assertRaisesRegex(SystemExit, f"^mlaforge: {said}"):
                self.vllm(wanted, version=version)

    def sglang(self, version="0.5.23"):
        from mlaforge.engines import sglang
        choices, backends = ["triton"], {}
        self.modules(sglang={}, sglang__srt={}, sglang__srt__arg_groups={}, sglang__srt__arg_groups__choices={"ATTENTION_BACKEND_CHOICES": choices},
                     sglang__srt__layers={}, sglang__srt__layers__attention={}, sglang__srt__layers__attention__attention_registry={
                         "ATTENTION_BACKENDS": backends, "register_attention_backend": lambda name: lambda make: backends.setdefault(name, make)})
        self.version("sglang", version)
        sglang.register()
        sglang.register()
        return choices, backends, sglang

    def test_sglang_learns_the_name_once(self):
        choices, backends, sglang = self.sglang()
        self.assertEqual((choices, backends), (["triton", "mlaforge"], {"mlaforge": sglang._create}))

    def test_another_sglang_is_told_by_one_line(self):
        with self.assertLogs("mlaforge.engines.sglang", "WARNING") as said:
            choices, backends, _ = self.sglang("0.6.0")
        self.assertEqual((choices, backends, len(set(said.output))), (["triton"], {}, 1))
        self.assertIn("sglang 0.6.0 was not tested", said.output[0])

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_sglang_s_backend_has_what_sglang_looks_for(self):
        spec, named = types.SimpleNamespace(speculative_num_draft_tokens=4, speculative_eagle_topk=1), types.SimpleNamespace
        base, memory = type("AttentionBackend", (), {}), named(enable_unified_memory=False)
        self.modules(sglang={}, sglang__srt={}, sglang__srt__layers={}, sglang__srt__layers__attention={}, sglang__srt__mem_cache={},
                     sglang__srt__layers__attention__base_attn_backend={"AttentionBackend": base}, sglang__srt__mem_cache__memory_pool={"KVWriteLoc": None},
                     sglang__srt__runtime_context={"get_spec": lambda: spec, "get_memory": lambda: memory})
        self.addCleanup(sys.modules.pop, "mlaforge.engines.sglang_backend", None)
        backend = importlib.import_module("mlaforge.engines.sglang_backend")
        pool, tokens = named(store_dtype=torch.bfloat16, dtype=torch.bfloat16), named(req_to_token=torch.arange(3 * 64, dtype=torch.int32).view(3, 64))
        runner = named(token_to_kv_pool=pool, req_to_token_pool=tokens, page_size=16, dtype=torch.bfloat16, model_config=named(kv_lora_rank=512), server_args=named())
        made = backend.Backend(runner)
        self.assertIs(made.token_to_kv_pool, pool)  # SGLang's forward context reads both from the backend
        self.assertIs(made.req_to_token_pool, tokens)
        self.assertEqual(made.drafts, 4)  # SGLang's own number: server_args has None where it was not given
        requests = torch.tensor([2, 0])
        self.assertEqual(made._pages(requests, 3).tolist(), [[8, 9, 10], [0, 1, 2]])
        made.init_cuda_graph_state(2, 8)
        mode = named(is_decode_or_idle=lambda: False, is_target_verify=lambda: True, is_draft_extend_v2=lambda: False)
        for lens in ([5, 9], [60, 1]):  # graphs read the same tensors
            made.init_forward_metadata_out_graph(named(forward_mode=mode, batch_size=2, req_pool_indices=requests, seq_lens=torch.tensor(lens)))
            self.assertEqual((made.lens.data_ptr(), made.table.data_ptr()), (made.graph_lens.data_ptr(), made.graph_table.data_ptr()))
            self.assertEqual((made.lens.tolist(), made.table.tolist(), made.width, made.kind), ([n + 4 for n in lens], [[8, 9, 10, 11], [0, 1, 2, 3]], 4, "verify"))
        eager = named(forward_mode=mode, batch_size=2, req_pool_indices=requests, seq_lens=torch.tensor([5, 9]))

        def fill(requests, lens, table):  # as SGLang's kernel does on a GPU: pages up to each length, nothing behind them
            for row, request, n in zip(table, requests.tolist(), lens.tolist()):
                row[:-(-n // 16)] = tokens.req_to_token[request, :n:16] // 16
        made.fill = fill
        for wide, lens, table in ((8, [5, 9], [[8, 0, 0, 0], [0, 0, 0, 0]]), (8, [40, 9], [[8, 9, 10, 0], [0, 0, 0, 0]]), (8, [5, 9], [[8, 9, 10, 0], [0, 0, 0, 0]]),
                                  (9, [5, 9], [[8, 9, 10, 11], [0, 1, 2, 3]])):  # a table of 8 entries: whole rows where that is cheaper
            backend.WIDE = wide
            eager.seq_lens = torch.tensor(lens)
            made.init_forward_metadata(eager)
            self.assertEqual((made.lens.tolist(), made.table.tolist()), ([n + 4 for n in lens], table))
        memory.enable_unified_memory = True
        with self.assertRaisesRegex(NotImplementedError, "^mlaforge: enable_unified_memory is set: .* hold virtual rows"):
            backend.Backend(runner)
        memory.enable_unified_memory, spec.speculative_eagle_topk = False, 2
        with self.assertRaisesRegex(NotImplementedError, "^mlaforge: speculative_eagle_topk is above 1"):
            backend.Backend(runner)

    def test_the_wheel_names_the_plugins_and_the_versions(self):
        for group, function in engines.ENTRY_POINTS.items():
            module, name = function.split(":")
            self.assertTrue(callable(getattr(importlib.import_module(module), name)))
            self.assertIn(f"[{group}]\nmlaforge = {function}\n", engines.entry_points())
        self.assertIn("Requires-Dist: vllm >=0.32,<0.33 ; extra == 'vllm'\n", engines.extras())


class DynamicLayer:
    """Transformers' class as far as the cache leans on it: keys and values are chosen from alike, along requests."""

    def __init__(self):
        self.keys = self.values = None
        self.is_initialized = False

    def choose(self, requests):
        self.keys, self.values = self.keys[requests], self.values[requests]

    def reorder_cache(self, beams):
        self.choose(beams)

    def batch_repeat_interleave(self, repeats):
        self.choose(torch.arange(len(self.keys)).repeat_interleave(repeats))

    def batch_select_indices(self, indices):
        self.choose(indices)


@unittest.skipIf(torch is None, "torch is not installed")
class LatentRows(unittest.TestCase):
    """The cache of patched models, loaded with a stand-in for transformers.cache_utils."""

    @classmethod
    def setUpClass(cls):
        names = {"transformers": types.ModuleType("transformers"), "transformers.cache_utils": types.ModuleType("transformers.cache_utils")}
        names["transformers.cache_utils"].DynamicLayer, names["transformers.cache_utils"].StaticLayer = DynamicLayer, type("StaticLayer", (DynamicLayer,), {})
        before = {name: sys.modules.get(name) for name in names}
        sys.modules.update(names)
        try:
            spec = importlib.util.find_spec("mlaforge.engines.transformers_cache")
            cls.module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(cls.module)
        finally:
            for name, module in before.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module

    def layer(self, batch=2, tokens=5, page=4, columns=3):
        made = self.module.LatentLayer(page, columns)
        rows = made.reserve(torch.zeros(1), batch, tokens)
        rows.copy_(torch.arange(rows.numel(), dtype=torch.float32).view(rows.shape))
        made.length = tokens
        return made

    def test_rows_stay_where_requests_are_when_pages_are_added(self):
        made = self.layer()
        before = made.rows.view(2, 8, 3).clone()
        made.reserve(torch.zeros(1), 2, 9)
        self.assertEqual(tuple(made.rows.shape), (8, 4, 3))  # twice as many pages
        self.assertTrue(torch.equal(made.rows.view(2, 16, 3)[:, :8], before))
        self.assertEqual(float(made.rows.view(2, 16, 3)[:, 8:].abs().sum()), 0)

    def test_beams_take_whole_requests(self):
        made = self.layer()
        before = made.rows.view(2, 8, 3).clone()
        made.reorder_cache(torch.tensor([1, 1]))
        self.assertTrue(torch.equal(made.rows.view(2, 8, 3), before[[1, 1]]))
        made.batch_repeat_interleave(3)
        self.assertEqual((made.batch, tuple(made.rows.shape)), (6, (12, 4, 3)))
        made.batch_select_indices(torch.tensor([0]))
        self.assertEqual((made.batch, tuple(made.rows.shape)), (1, (2, 4, 3)))

    def test_crop_takes_off_tokens_or_goes_to_a_length(self):
        for tokens, left in ((-2, 3), (0, 5), (4, 4), (7, 5), (-9, 0)):
            made = self.layer()
            made.crop(tokens)
            self.assertEqual(made.length, left, tokens)

    def test_reset_takes_rows_and_the_number_of_requests_away(self):
        made = self.layer()
        made.reset()
        self.assertEqual((made.length, made.batch, made.rows, made.is_initialized), (0, 0, None, False))
        self.assertEqual(made.reserve(torch.zeros(1), 3, 6).shape[0], 6)

    def test_another_number_of_requests_is_refused(self):
        with self.assertRaisesRegex(ValueError, "the cache holds 2 requests, hidden states are of 3"):
            self.layer().reserve(torch.zeros(1), 3, 6)

    def test_a_module_that_was_not_patched_is_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "was not patched"):
            self.layer().update(None, None)
