-- Partial results by decode family and schedule, and the combine families that merge them: a decode kernel and the combine kernel
-- behind it must agree.
local partials = {}

-- Families whose splits leave values of 16 bits (templates/mla_decode/lib/narrow.h).
local NARROW = { sm90_many = true, sm90_many_shares = true, sm90_many_whole = true, sm90_many_gather = true,
  sm90_many_gather_shares = true, sm90_many_gather_whole = true, sm90_mid = true, sm90_mid_shares = true, sm90_mid_gather = true,
  sm90_mid_gather_shares = true, sm90_mid_clusters = true, sm90_many_clusters = true,
  sm90_small_rank = true }

local SPLITS = { splits = true, turns = true, fitted = true, invariant = true }

function partials.bits(family, schedule) return NARROW[family] and SPLITS[schedule] and 16 or 32 end

-- Bytes of a row of `rank` values.
function partials.row_bytes(rank, bits) return rank * bits // 8 + (bits == 16 and 4 or 0) end

-- A combine family for partial results of 16 bits, by one for those of fp32: NAME_narrow of the same body.
function partials.narrow(x)
  local rules = table.move(x.rules, 1, #x.rules, 1, {})
  rules[#rules + 1] = function(p)
    if p.rank ~= 512 then return ("partial results of 16 bits have rank 512, not %d"):format(p.rank) end
  end
  x.body, x.template, x.rules = x.body or x.template, x.template .. "_narrow", rules
  return x
end

-- The combine family for splits of each request; fixed: behind a launch that may have cut its batch, with a request's fixed cost;
-- kind: "early": behind one split of such a launch, most of its blocks end before that one does where nothing is cut;
-- "early_once": the same where a cut costs another number if all requests run at once; "early_cluster2" and so on: behind one
-- whose clusters of so many blocks share requests; "mixed": behind several, all warps of a block share a row of many pieces;
-- "values": it is fused with the value projection; "invariant": behind launches that cut each request by its own length.
function partials.merge(family, fixed, kind)
  if kind == "invariant" then return "merge_invariant_" .. partials.bits(family, "invariant") end
  kind = fixed and "merge_" .. (kind or "fitted") .. "%d_" or "merge_"
  return kind:format(fixed) .. partials.bits(family, "splits")
end

return partials
