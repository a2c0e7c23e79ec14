// Launch requirements of a CDNA decode kernel, and how it may cut its batch.
//@ -- q: gen/ops/mla_decode/q.lua; fitted, invariant: the schedule; per_cu: workgroups at once; paces, rows, pace: of
//@ -- gen/ops/mla_decode/plans/fit_wave.lua, for a workgroup's rows
//@ if fitted then
#define FIT_FIXED ${paces.fixed or require("ops/mla_decode/plans/fit_wave").fixed}
#define FIT_CUT ${paces.cut(rows)}
#define FIT_PACE ${pace}
#define FIT_LEAST ${paces.least(rows)}
//@ end
//@ local flags = q.flags + (fitted and 8 or 0) + (invariant and 512 or 0)
//@ if flags > 0 then include("lib/launch_wave.h", { launch = { flags = flags, per_cu = fitted and per_cu or 0 } }) end
//@ if fitted then include("mla_decode/lib/fit_wave.h") end
//@ if invariant then include("mla_decode/lib/own_cut.h") end
