-- The constants of schedules that walk the whole batch, by family, in tokens' worth of time (templates/lib/schedule.h,
-- lib/fit.h).
return {
  -- What a request costs a block whatever its length (Q, O), a multiple of 64. A decode kernel and the combine kernel behind it
  -- must agree on it. Measured on one NVIDIA H200 (docs/perf-log.md); hopw and hopg have hop's, hoppg hopp's.
  fixed = { hop = 320, hopg = 320, hopp = 128, hoppg = 128, hopt = 128, hopw = 320 },
  -- What a cut costs more than a request's own begin and end: from 100 and 128 equal requests of 1024 to 16384 tokens, whole
  -- and cut, on the same device (docs/perf-log/ragged.md).
  cut = { hop = 500, hopg = 500, hopp = 500, hoppg = 500, hopt = 500, hopw = 500 },
}
