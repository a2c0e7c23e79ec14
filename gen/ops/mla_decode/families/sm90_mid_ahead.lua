-- sm90_mid for launches that know what is old (templates/mla_decode/sm90_mid_ahead.cu.in): a layer's. Fields: gen/ops.lua.
local sm90_mid = require("ops/mla_decode/families/sm90_mid")

-- Query tokens of a launch up to which it pays: there mla_q_absorb is many small blocks, and blocks of attention find room before
-- the last of them ends. One NVIDIA H200, 2026-11-30, layers of 64 heads, us before and now: 4 x 3897 74.5, 71.4; 9 x 705 71.4,
-- 71.7 (docs/lab/layer.md).
local MOST_TOKENS = 8

local rules = { function(p)
  if p.batch * p.q_len > MOST_TOKENS then
    return ("%d query tokens: blocks do not start before the launch before is over"):format(p.batch * p.q_len)
  end
end }

return {
  asked = true,
  template = "mla_decode/sm90_mid_ahead",
  body = "mla_decode/sm90_mid",
  arch = sm90_mid.arch,
  problem = sm90_mid.problem,
  combine = sm90_mid.combine,
  params = sm90_mid.params,
  rules = table.move(sm90_mid.rules, 1, #sm90_mid.rules, 2, rules),
  cost = sm90_mid.cost,
}
