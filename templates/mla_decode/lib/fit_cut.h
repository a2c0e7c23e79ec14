//@ -- The cost of a cut (mla_decode/lib/fit.h, gen/ops/mla_decode/plans/schedule.lua). shares: of several splits, where each
//@ -- share of a request pays the fixed cost, which the sum in fit_cuts() divides among them; or the family whose number it
//@ -- is. whole: of one split, rows of a request: a cut costs more where all requests run at once, and less of that where the
//@ -- longest, `most` pages, is short.
//@ needs("SCHEDULE_FIXED")
//@ local schedule = require("ops/mla_decode/plans/schedule")
//@ local cut = schedule.cut
//@ if shares then
#define FIT_CUT (${cut[shares == true and family .. "_shares" or shares]} - SCHEDULE_FIXED * (int)passes * (shares - 1) / shares)
//@ elseif whole then
#define FIT_CUT ((int)passes == 1 ? ${schedule.once_text(whole, 0)} : ${cut[family .. "_whole"]})
//@ elseif schedule.alike[family] then
#define FIT_CUT ${schedule.alike_text(cut[family], 0)}
//@ else
#define FIT_CUT ${cut[family]}
//@ end
