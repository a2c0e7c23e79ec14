"""Adaptors of engines without an engine: versions, and transformers' with a stand-in for it where torch is there."""
import importlib.util
import sys
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

    def test_no_engine_is_imported(self):
        self.assertFalse({"transformers", "vllm", "sglang"} & set(sys.modules))


class CacheLayerMixin:
    def __init__(self):
        self.keys = self.values = None
        self.is_initialized = False


@unittest.skipIf(torch is None, "torch is not installed")
class LatentRows(unittest.TestCase):
    """The cache of patched models, loaded with a stand-in for transformers.cache_utils."""

    @classmethod
    def setUpClass(cls):
        names = {"transformers": types.ModuleType("transformers"), "transformers.cache_utils": types.ModuleType("transformers.cache_utils")}
        names["transformers.cache_utils"].CacheLayerMixin = CacheLayerMixin
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

    def test_another_number_of_requests_is_refused(self):
        with self.assertRaisesRegex(ValueError, "the cache holds 2 requests, hidden states are of 3"):
            self.layer().reserve(torch.zeros(1), 3, 6)

    def test_a_module_that_was_not_patched_is_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "was not patched"):
            self.layer().update(None, None)


if __name__ == "__main__":
    unittest.main()
