//@ -- What a cut costs (mla_decode/lib/fit.h, gen/ops/mla_decode/plans/schedule.lua). shares: of several splits, where each share
//@ -- of a request pays the fixed cost, which the sum in fit_cuts() divides among them.
//@ needs("SCHEDULE_FIXED")
//@ local cut = require("ops/mla_decode/plans/schedule").cut
//@ if shares then
#define FIT_CUT (${cut[family .. "_shares"]} - SCHEDULE_FIXED * (int)passes * (shares - 1) / shares)
//@ else
#define FIT_CUT ${cut[family]}
//@ end
