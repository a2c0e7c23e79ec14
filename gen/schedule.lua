-- The balanced schedule's one constant by family: what a request costs a block whatever its length (Q, O), in tokens' worth of
-- time, a multiple of 64 (templates/lib/schedule.h). A decode kernel and the combine kernel behind it must agree on it. Measured
-- on one NVIDIA H200 (docs/perf-log.md); hopw has hop's.
return { hop = 320, hopp = 128, hopt = 128, hopw = 320 }
