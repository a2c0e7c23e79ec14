"""Two sides of one case in turns: CUDA graphs of many launches, the queue kept full, medians."""
import statistics
import time

import torch

PEAK_BYTES, PEAK_FLOPS = 4.0e12, 7.0e14  # for guesses of how many launches a graph takes; nothing is reported by them


def guess_us(case):
    flops = 2.0 * case.tokens * case.q_len * case.heads * (576 + 512)
    return 1e6 * max(case.tokens * 1152 / PEAK_BYTES, flops / PEAK_FLOPS) + 4.0


class Side:
    """`call(i)` launches copy i; everything it needs was allocated by a call on this stream before."""

    def __init__(self, name, call, copies, launches):
        self.name, self.call, self.copies, self.launches = name, call, copies, launches
        self.graph, self.note = None, ""

    def capture(self, stream):
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                self.launch()
            self.graph = graph
        except Exception as why:  # whatever the capture did not like: the case is timed all the same, and says so
            torch.cuda.synchronize()
            self.note = f"{self.name}: not captured ({str(why).splitlines()[0][:80]})"

    def launch(self):
        for i in range(self.launches):
            self.call(i % self.copies)

    @property
    def last_copy(self):
        return (self.launches - 1) % self.copies

    def once(self):
        """Microseconds a launch. The sleep in front keeps the device busy until all is queued: no host time is in it."""
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        us_ahead = 60 if self.graph else 150 * self.launches
        torch.cuda._sleep(int(us_ahead * 1980))
        start.record()
        self.graph.replay() if self.graph else self.launch()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3 / self.launches


def in_turns(sides, rounds, rest_s):
    """Median of each side's rounds, taken in turns after a rest; the order changes from round to round."""
    for side in sides:
        side.once()
    time.sleep(rest_s)
    times = [[] for _ in sides]
    for r in range(rounds):
        for k in range(len(sides)):
            i = (k + r) % len(sides)
            times[i].append(sides[i].once())
    return [statistics.median(t) for t in times]


def launches_for(case, copies, span_us=1200.0, most=200):
    wanted = int(span_us / guess_us(case)) + 1
    return max(1 if wanted == 1 else 2, min(most, max(wanted, copies)))
