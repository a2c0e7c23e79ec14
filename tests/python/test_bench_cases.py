"""The batches of tools/bench-server.py: what they promise, without a GPU."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from bench_server import cases  # noqa: E402

POOL = 21e9


class Sets(unittest.TestCase):
    def test_a_seed_gives_the_same_cases(self):
        for seed in (0, 1):
            a, b = (cases.build(["ragged", "offgrid", "pages"], seed, POOL, ROOT) for _ in range(2))
            self.assertEqual(a, b)
        self.assertNotEqual(cases.ragged(1), cases.ragged(2))

    def test_ragged_batches_are_of_every_kind(self):
        for seed in range(4):
            some = cases.ragged(seed)
            self.assertGreaterEqual(len(some), 18)
            self.assertEqual({c.name.split()[0] for c in some}, {"zipf", "lognormal", "uniform", "one_long", "empties"})
            for c in some:
                self.assertTrue(6 <= c.batch <= 384 and c.heads in cases.RAGGED_HEADS and c.q_len in (1, 2), c.name)
                self.assertGreater(len(set(c.lengths)), 1, c.name)
        fixed = cases.ragged(0)
        self.assertEqual({c.heads for c in fixed}, set(cases.RAGGED_HEADS))
        self.assertEqual({c.batch for c in fixed if c.name.startswith("one_long")}, {6, 24, 48})
        self.assertTrue(all(0 in c.lengths for c in fixed if c.name.startswith("empties")))

    def test_no_request_is_shorter_than_its_query_unless_empty_and_all_fit(self):
        for seed in range(4):
            for c in cases.build(["ragged", "offgrid", "pages", "equal"], seed, POOL, ROOT):
                self.assertTrue(all(n == 0 or n >= c.q_len for n in c.lengths), c.name)
                self.assertTrue(0 < c.tokens * cases.ROW_BYTES <= POOL, c.name)

    def test_off_grid_has_forty_shapes(self):
        for seed in range(3):
            some = cases.off_grid(seed, POOL)
            self.assertEqual(len(some), 40)
            for c in some:
                self.assertTrue(4 <= c.heads <= 128 and 2 <= c.batch <= 384 and 300 <= c.lengths[0] <= 65536 and c.q_len <= 4, c.name)
                self.assertEqual(len(set(c.lengths)), 1)

    def test_a_problem_has_the_mean_of_whole_pages(self):
        case = cases.Case("ragged", "", 24, 2, 16, [1, 0, 33])  # 1, 0 and 3 pages of 16
        self.assertEqual(case.problem(), (24, 512, 64, 2, 1, 0, 16, 3, 21))
        self.assertEqual(cases.Case("ragged", "", 24, 1, 64, [0]).problem()[-1], 1)

    def test_steps_stay_within_their_pool(self):
        for lengths, q_len in cases.server_steps(16, 300, 600000):
            self.assertTrue(0 < sum(lengths) <= 600000 and min(lengths) >= q_len)
