-- Prefill for batch-invariant plans: mfma and mma, whose rows add up their keys from the first one on, but for what a row's
-- past is worth (templates/mla_prefill/mfma_invariant.hip.in). Fields: gen/ops.lua.
local params = require("params")

local families = {}
for _, name in ipairs { "mfma", "mma" } do
  local of = require("ops/mla_prefill/families/" .. name)
  families[name .. "_invariant"] = params.merge(of, { asked = true, body = of.template, template = of.template .. "_invariant" })
end
return { families = families }
