"""An engine's step as calls of layers, and transformers' paged cache as such a step, without an engine."""
import contextlib
import gc
import importlib.util
import math
import sys
import threading
import types
import unittest
import weakref

try:
    import torch
    from mlaforge.engines import graphs, layers, steps
except ImportError:
    torch = None


class Layer:
    """Stands for mlaforge.Layer: notes schedules and calls, and gives back twice its hidden states."""

    def __init__(self):
        self.schedules, self.calls = [], []

    def schedule(self, news, cached):
        self.schedules.append((news, cached))
        return "schedule"

    def workspace_size(self, batch, q_len, kv_len, pages):
        return 1000

    def __call__(self, x, positions, slots, rows, out=None, **named):
        self.calls.append(named)
        out = torch.empty_like(x) if out is None else out
        return out.copy_(2 * x)


def numbers(call):
    return {name: value.tolist() if torch.is_tensor(value) else value for name, value in call.named.items() if name != "workspace"}


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Steps(unittest.TestCase):
    def test_long_requests_are_cut(self):
        self.assertEqual(steps.pieces([5, 0, 2], [7, 3, 0], 2), [(0, 2, 7), (0, 2, 9), (0, 1, 11), (1, 0, 3), (2, 2, 0)])

    def test_requests_that_fit_are_not(self):
        for news, parts in (([3, 4, 4], [[3, 4], [4]]), ([8, 8], [[8], [8]]), ([9, 3], [[8], [1, 3]]), ([0, 0], [[0, 0]]), ([7, 0, 1, 1], [[7, 0, 1], [1]])):
            made = steps.parts(steps.pieces(news, [0] * len(news), 8), 8)
            self.assertEqual([[n for _, n, _ in part] for part in made], parts, news)
            self.assertEqual(sum(n for part in made for _, n, _ in part), sum(news))

    def calls(self, news, cached, kinds, most):
        layer, total = Layer(), sum(news)
        lens = torch.tensor([a + b for a, b in zip(news, cached)], dtype=torch.int32)
        table = torch.arange(3 * len(news), dtype=torch.int32).view(-1, 3)
        return steps.calls(layer, news, lens.tolist(), kinds, torch.arange(total), torch.arange(total) + 100, table, lens, most), layer

    def test_neighbours_of_one_kind_are_one_call(self):
        made, layer = self.calls([1, 2, 3, 4, 4, 1], [1, 1, 0, 0, 0, 3], [1, 2, 0, 0, 0, 1], 8)
        self.assertEqual([(call.kind, call.tokens.start, call.tokens.stop) for call in made],
                         [("decode", 0, 1), ("decode", 1, 3), ("prefill", 3, 10), ("prefill", 10, 14), ("decode", 14, 15)])
        self.assertEqual(layer.schedules, [([3, 4], [0, 0]), ([4], [0])])
        self.assertEqual([call.named["block_table"][:, 0].tolist() for call in made], [[0], [3], [6, 9], [12], [15]])
        self.assertEqual(numbers(made[1]), dict(seq_lens=[3], block_table=[[3, 4, 5]], q_len=2, kv_len=3, qo_indptr=None))
        self.assertEqual([x.tolist() for x in made[2].args], [list(range(3, 10)), list(range(103, 110))])
        self.assertEqual((made[0].named["workspace"].data_ptr() % 256, made[0].named["workspace"].numel() >= 1000), (0, True))

    def test_decode_of_one_token_is_one_call_of_any_number_of_requests(self):
        self.assertEqual([call.tokens for call in self.calls([1] * 9, [4] * 9, [1] * 9, 4)[0]], [slice(0, 9)])
        self.assertEqual([call.tokens for call in self.calls([2] * 5, [4] * 5, [2] * 5, 4)[0]], [slice(0, 4), slice(4, 8), slice(8, 10)])

    def test_a_long_prompt_is_calls_over_what_those_before_it_cached(self):
        made, layer = self.calls([20, 2], [5, 0], [0, 0], 8)
        self.assertEqual(layer.schedules, [([8], [5]), ([8], [13]), ([4, 2], [21, 0])])
        self.assertEqual([call.named["block_table"][:, 0].tolist() for call in made], [[0], [0], [0, 3]])

    def test_later_layers_take_the_lists_of_the_first(self):
        (call,), first = self.calls([1], [3], [1], 8)
        others, x = [first, Layer(), Layer(), first], torch.ones(1, 2)
        for layer in others:
            call(layer, x, None)
        self.assertEqual([layer.calls.pop(0)["same_tables"] for layer in others], [False, True, True, False])  # a recorded step begins anew

    def padded(self, mask, tokens, past=4, most=64, positions=None):
        rows = torch.zeros(2 * 3, 4, 6)  # three pages of four tokens a request
        mask = None if mask is None else torch.tensor(mask)
        self.layer = Layer()
        return steps.padded(self.layer, rows, (2, tokens), past, mask, positions, most, 4)

    def test_requests_side_by_side(self):
        step = self.padded(None, 1)
        (call,) = step.calls
        self.assertEqual((numbers(call), [x.tolist() for x in call.args], step.keep),
                         (dict(seq_lens=[5, 5], block_table=[[0, 1, 2], [3, 4, 5]], q_len=1, kv_len=5, qo_indptr=None), [[4, 4], [4, 16]], None))
        step = self.padded(None, 6, positions=torch.arange(6)[None] + 40)
        self.assertEqual((self.layer.schedules, step.calls[0].args[0].tolist(), step.calls[0].args[1].tolist()),
                         ([([6, 6], [4, 4])], [*range(40, 46)] * 2, [*range(4, 10), *range(16, 22)]))

    def test_padding_takes_no_rows(self):
        step = self.padded([[0, 1, 1, 1, 1], [1, 1, 1, 1, 1]], 1)
        self.assertEqual((step.calls[0].named["seq_lens"].tolist(), [x.tolist() for x in step.calls[0].args]), ([4, 5], [[3, 4], [3, 16]]))
        step = self.padded([[0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1]], 2)  # few tokens, one of them padding: a prefill
        self.assertEqual((self.layer.schedules, step.keep.tolist(), step.calls[0].args[1].tolist()), ([([2, 1], [3, 4])], [0, 1, 3], [3, 4, 16]))
        out = torch.full((4, 3), 9.0)
        step.run(self.layer, torch.arange(12.0).view(4, 3), None, out)
        self.assertEqual(out.tolist(), [[0, 2, 4], [6, 8, 10], [0, 0, 0], [18, 20, 22]])

    def test_another_mask_is_refused(self):
        for mask in ([[1, 1], [1, 1]], [[[[1]]]], [[1] * 5], [[1] * 5] * 3):
            with self.assertRaisesRegex(NotImplementedError, r"attention_mask has the shape \(.*\), must be \[2, 5\] for 4 cached and 1 new"):
                self.padded(mask, 1)

    def test_a_table_is_written_where_blocks_changed(self):
        table, cpu = steps.Table({}), torch.device("cpu")

        def of(requests):
            for name, blocks in requests.items():
                table.lists[name] = list(blocks)
            return table.of([table.row(name) for name in requests], cpu)
        first = of({"a": [7], "b": [3, 1]})
        self.assertEqual([first[0, :1].tolist(), first[1].tolist()], [[7], [3, 1]])
        self.assertEqual(of({"a": [7], "b": [3, 1]}).data_ptr(), first.data_ptr())  # nothing is copied
        for requests in ({"a": [7, 5], "b": [3, 1]}, {"a": [7, 5], "b": [3, 2]}, {"b": [3, 2]}, {"b": [3, 2], "a": [7, 5], "c": [4, 9, 8, 6, 2]}, {"a": [1]},
                         {"d": [1], "a": [7, 5], "b": [4, 9]}):
            made = of(requests)
            self.assertEqual([row[:len(blocks)].tolist() for row, blocks in zip(made, requests.values())], list(requests.values()))
            self.assertEqual(made.shape, (len(requests), max(map(len, requests.values()))))
        self.assertEqual([first[0, :1].tolist(), first[1].tolist()], [[7], [3, 1]])  # an earlier step may still read its own

    def test_blocks_that_grow_in_place_are_seen(self):
        table = steps.Table({"a": [5]})
        self.assertEqual(table.of([table.row("a")], torch.device("cpu")).tolist(), [[5]])
        table.lists["a"].append(6)
        self.assertEqual(table.of([table.row("a")], torch.device("cpu")).tolist(), [[5, 6]])

    def test_rows_of_requests_that_left_are_let_go(self):
        table = steps.Table({"a": [5], "b": [6]})
        rows = table.row("a"), table.row("b")
        self.assertIs(table.row("b"), rows[1])
        del table.lists["a"]
        table.lists["b"].append(7)
        table.row("b")
        self.assertEqual((list(table.rows), rows[0].tolist()), (["b"], [5]))  # a step that was prepared before still has its own


@unittest.skipIf(torch is None, "PyTorch is not installed")
class ManyLayers(unittest.TestCase):
    """Layers of a model, with stand-ins for mlaforge.Layer that note who made them, and whether they were closed."""

    def setUp(self):
        self.made = []

        class Made(Layer):
            def __init__(made, **of):
                super().__init__()
                made.of, made.closed = of, False
                self.made.append(made)

            def close(made):
                made.closed = True
        before, layers.mlaforge.Layer = layers.mlaforge.Layer, Made
        self.addCleanup(setattr, layers.mlaforge, "Layer", before)
        self.of = layers.Layers({"first": dict(page_size=4, heads=2), "second": dict(page_size=4, heads=3)}, dict(batch=1, prefill_tokens=8, q_lens=(1, 4)))

    def test_more_requests_make_layers_anew_once_for_each_power_of_two(self):
        first = self.of.begin(1)
        self.assertEqual((first.of, self.made[1].of["heads"]), (dict(page_size=4, heads=2, batch=1, prefill_tokens=8, q_lens=(1, 4)), 3))
        for batch, made in ((1, 2), (3, 4), (4, 4), (2, 4), (5, 6)):
            self.of.begin(batch)
            self.assertEqual((len(self.made), self.made[-1].of["batch"] >= batch), (made, True), batch)
        self.of.close()
        self.assertIsNot(self.of.begin(1), first)  # whoever goes on behind close() gets new ones

    def test_layers_end_with_the_last_forward_that_has_them(self):
        """close() frees what a call of another thread reads: those layers wait for its end."""
        began, closed, held = threading.Event(), threading.Event(), []

        def other():
            theirs = self.of.begin(1)
            began.set()
            closed.wait(10)
            held.append((theirs.closed, self.of.now.layers["first"] is theirs))
        thread = threading.Thread(target=other)
        thread.start()
        began.wait(10)
        self.of.begin(1)
        some = [weakref.ref(made) for made in self.made]
        self.made.clear()
        self.of.close()
        closed.set()
        thread.join()
        self.assertEqual((held, [one() for one in some]), ([(False, True)], [None, None]))

    def test_a_thread_s_forward_keeps_its_layers(self):
        mine, began, grown, ended = self.of.begin(1), threading.Event(), threading.Event(), []

        def other():
            theirs = self.of.begin(1)
            began.set()
            grown.wait(10)
            ended.append((self.of.now.layers["first"] is theirs, self.of.begin(1) is theirs))
        thread = threading.Thread(target=other)
        thread.start()
        began.wait(10)
        self.of.begin(6)
        grown.set()
        thread.join()
        self.assertEqual((ended, self.of.now.layers["first"] is mine), ([(True, False)], False))

    def test_recorded_steps_are_forgotten_with_the_layers_that_they_hold(self):
        holder = type("Inputs", (), {})()
        holder.graphs = {"a step": 1}
        self.of.recorded.add(holder)
        self.of.begin(1)
        self.assertEqual(holder.graphs, {"a step": 1})
        self.of.begin(2)
        self.assertEqual(holder.graphs, {})

    def test_calls_are_counted_by_kind(self):
        self.of.begin(1)
        call = steps.Call(Layer(), slice(0, 3), None, None, torch.zeros(1, 1, dtype=torch.int32), schedule="schedule")
        self.of.now.step = steps.Step([call])
        self.assertEqual(self.of.run("second", torch.ones(1, 3, 2), None).tolist(), [[[2.0] * 2] * 3])
        self.assertEqual(self.of.calls, {"decode": 0, "prefill": 1})


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Recording(unittest.TestCase):
    """A recording, with a stand-in for CUDA's."""

    def setUp(self):
        self.recording = False

        @contextlib.contextmanager
        def graph(made, **how):
            self.recording = True
            try:
                yield
            finally:
                self.recording = False
        cuda = types.SimpleNamespace(CUDAGraph=lambda: types.SimpleNamespace(replay="replay"), graph=graph)
        before, graphs.torch.cuda = graphs.torch.cuda, cuda
        self.addCleanup(setattr, graphs.torch, "cuda", before)

    def test_garbage_waits_for_its_end(self):
        """As a graph that nobody holds any more, whose end would end the recording."""
        ended, test = [], self

        class Held:
            def __init__(self):
                self.itself = self

            def __del__(self):
                ended.append(test.recording)

        def run():
            some = []
            for _ in range(20000):  # enough for a collection of the youngest objects
                some.append([some])
            return len(some)
        gc.collect()
        Held()
        self.assertEqual((graphs.record(run), gc.isenabled()), (("replay", 20000), True))
        gc.collect()
        self.assertEqual(ended, [False])  # whether it was recording when the object ended

    def test_a_recording_that_fails_leaves_the_collector(self):
        for before in (True, False):
            (gc.enable if before else gc.disable)()
            with self.assertRaisesRegex(RuntimeError, "no"):
                graphs.record(lambda: (_ for _ in ()).throw(RuntimeError("no")))
            self.assertEqual(gc.isenabled(), before)
        gc.enable()


class Cache(types.SimpleNamespace):
    """transformers' lists: keys' half rows, of two layers, in blocks of 16."""

    def extend_read_and_write_indices(self, request, past, new, read, write):
        blocks = self.cache_allocators["full_attention"].block_table[request]
        write[0].extend(blocks[at // 4] * 16 + at % 4 for at in range(past, past + new))
        if read is not None:
            read[0].extend(range(past + new))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class PagedCache(unittest.TestCase):
    """A batch of transformers' continuous batching: pages of 4 tokens, two layers."""

    @classmethod
    def setUpClass(cls):
        before, sys.modules["transformers"] = sys.modules.get("transformers"), types.SimpleNamespace(ContinuousBatchingConfig=None)
        try:
            spec = importlib.util.find_spec("mlaforge.engines.transformers_batching")
            cls.module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(cls.module)
        finally:
            sys.modules.pop("transformers") if before is None else sys.modules.update(transformers=before)

    def cache(self, blocks):
        allocator = types.SimpleNamespace(layer_indices=[0, 2], block_table=blocks, block_physical_stride=16)
        return Cache(cache_allocators={"full_attention": allocator}, dtype=torch.bfloat16, cache_tensor=torch.zeros(12 * 2 * 4 * 6 * 2, dtype=torch.uint8))

    def step(self, requests, q_lens=(1,), most=64, padding=0):
        """requests: (blocks, cached, new). Returns the step, its layer and what transformers would hand over: half rows of keys, in blocks of 16."""
        blocks, layer, written = {str(i): list(b) for i, (b, _, _) in enumerate(requests)}, Layer(), [[]]
        of = self.module.Blocks(self.cache(blocks), 4, 6)
        of.extend("0", 0, 1, None, [[]])  # a batch before this one
        for i, (_, cached, new) in enumerate(requests):
            of.extend(str(i), cached, new, [[]], written)
        begun = []
        layers = types.SimpleNamespace(options=dict(q_lens=q_lens), most=most, begin=lambda *sizes: begun.append(sizes) or layer)
        ends = torch.tensor([0, *(c + n for _, c, n in requests)], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        named = dict(write_index=[torch.tensor(written[0] + [32] * padding)], cu_seq_lens_k={"full_attention": torch.cat([ends, ends[-1:].expand(padding)])})
        step = of.step(layers, torch.arange(len(written[0]) + padding)[None], named)
        self.assertEqual(begun, [(len(requests), max(c + n for _, c, n in requests))])
        return step, layer, written[0]

    def test_slots_and_pages_are_of_requests_blocks(self):
        step, layer, slots = self.step([((3, 7), 5, 1), ((2,), 2, 1), ((9, 1, 4), 4, 5)])
        self.assertEqual(slots, [113, 34, 16, 17, 18, 19, 64])
        decode, prefill = step.calls
        self.assertEqual((decode.named["seq_lens"].tolist(), decode.named["q_len"], decode.named["kv_len"], decode.tokens), ([6, 3], 1, 6, slice(0, 2)))
        self.assertEqual([row[:n] for row, n in zip(decode.named["block_table"].tolist(), (2, 1))], [[3, 7], [2]])
        self.assertEqual((prefill.named["block_table"].tolist(), prefill.tokens, layer.schedules), ([[9, 1, 4]], slice(2, 7), [([5], [4])]))
        self.assertEqual([x.tolist() for x in prefill.args], [[2, 3, 4, 5, 6], [4, 5, 6, 7, 16]])

    def test_padding_of_a_step_is_left_out(self):
        step, layer, _ = self.step([((3, 7), 5, 1), ((9, 1, 4), 4, 5)], padding=3)
        self.assertEqual(([call.tokens for call in step.calls], [x.tolist() for x in step.calls[1].args]), ([slice(0, 1), slice(1, 6)], [[1, 2, 3, 4, 5], [4, 5, 6, 7, 16]]))
        out = torch.full((9, 2), math.nan)
        step.run(layer, torch.ones(9, 2), None, out)
        self.assertEqual(out[:, 0].tolist(), [2.0] * 6 + [0.0] * 3)

    def test_a_recorded_step_reads_tensors_alone(self):
        """Replays see what transformers writes to its tensors behind the recording: requests that end, others' blocks, fewer of them."""
        blocks, layer = {"a": [3, 7], "b": [2]}, Layer()
        of = self.module.Blocks(self.cache(blocks), 4, 6)
        io = types.SimpleNamespace(num_q_tokens=4, max_length_k={"full_attention": 6})
        self.assertEqual((of.key(io), of.longest), ((4, 3), 6))
        table, positions, ends = torch.full((1, 4, 3), -1, dtype=torch.int32), torch.zeros(1, 4, dtype=torch.int32), torch.zeros(5, dtype=torch.int32)
        named = dict(block_table=table, write_index=[torch.zeros(4)], cu_seq_lens_k={"full_attention": ends})
        layers, begun = types.SimpleNamespace(begin=lambda *sizes: begun.append(sizes) or layer), []

        def numbers(requests):
            table.fill_(-1), positions.zero_(), ends.zero_()
            for i, (name, past) in enumerate(requests):
                of.fill(name, past, 1, table[:, i])
                positions[0, i], ends[i + 1:] = past, ends[i] + past + 1
            call, = of.step(layers, positions, named).calls
            self.assertEqual((call.kind, call.named["q_len"], call.named["kv_len"]), ("decode", 1, 6))
            return call.named["block_table"].tolist(), call.named["seq_lens"].tolist(), call.args[1].tolist()
        none = [-1, -1, -1]
        self.assertEqual(numbers([("a", 5), ("b", 2)]), ([[3, 7, -1], [2, -1, -1], none, none], [6, 3, 0, 0], [29, 10, -1, -1]))
        blocks["b"].append(5)
        blocks["c"] = [9]
        del blocks["a"]
        self.assertEqual(numbers([("b", 4), ("c", 0)]), ([[2, 5, -1], [9, -1, -1], none, none], [5, 1, 0, 0], [20, 36, -1, -1]))
        self.assertEqual((set(of.table.rows), set(begun)), ({"b", "c"}, {(4, 6)}))

    def test_tokens_of_the_step_before_are_carried_over(self):
        pair = lambda **positions: types.SimpleNamespace(host_io=types.SimpleNamespace(req_id_to_new_token_position=positions))
        io = types.SimpleNamespace(io_pairs=[pair(a=0, c=2, d=9), pair(b=0, c=1, a=2)], current_pair=0, max_batch_tokens=12)
        self.assertEqual(self.module.carried(io).tolist(), [2, -1, 1] + [-1] * 9)
        io.io_pairs[1] = pair()
        self.assertEqual(self.module.carried(io).tolist(), [-1] * 12)

    def test_managers_of_two_threads_leave_the_models_config(self):
        class Config:
            def get_text_config(self):
                return self
        config = Config()
        model = types.SimpleNamespace(config=config, init_continuous_batching=lambda: None)
        of, inside, end = self.module.Batching(model, types.SimpleNamespace(columns=6)), threading.Event(), threading.Event()

        def first():
            with of.latent_config():
                inside.set()
                end.wait(10)

        def second():
            with of.latent_config():
                end.set()
                some[0].join()
        some = [threading.Thread(target=first), threading.Thread(target=second)]
        some[0].start(), inside.wait(10), some[1].start()
        some[1].join(0.2)  # it waits for the first one, which without a lock would end before it
        end.set()
        [thread.join() for thread in some]
        self.assertIs(model.config, config)

    def test_nothing_is_listed_that_is_read(self):
        of, read = self.module.Blocks(self.cache({"a": [1, 2]}), 4, 6), [[]]
        of.extend("a", 5, 2, read, [[]])
        self.assertEqual(read, [[]])

    def test_a_layer_s_pages_are_where_transformers_lays_them(self):
        cache = self.cache({})
        rows = self.module.Blocks(cache, 4, 6).rows[2]
        rows[3, 1] = 7.0  # block 3, token 1, of the second layer: keys of 3 columns lie in the block's third quarter, values in its last
        self.assertEqual((tuple(rows.shape), cache.cache_tensor.view(torch.bfloat16).nonzero()[:, 0].tolist()), ((12, 4, 6), list(range(3 * 48 + 24 + 6, 3 * 48 + 24 + 12))))
        self.assertIs(cache.extend_read_and_write_indices.__self__, cache.mlaforge)

    def test_windows_are_refused(self):
        cache = self.cache({})
        cache.cache_allocators["sliding_attention"] = None
        with self.assertRaisesRegex(NotImplementedError, "a sliding window of continuous batching"):
            self.module.Blocks(cache, 4, 6)


if __name__ == "__main__":
    unittest.main()
