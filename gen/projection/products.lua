-- The five products of a layer, y[t, h, :] = W[h] x[t, h, :], as expressions of their problems' fields: a row says it to the
-- kernels (projection/kernels.lua) and to families and models (products.of).
--
--   says            what the product does, for readers of a kernel
--   heads           tensors W[h] of a launch
--   inner, outer    values of a sum, outputs of a head
--   layout          of W[h]: "outputs" [outer][inner], "inputs" [inner][outer]
--   norm, residual  1: x goes through RMSNorm; the sum is added to what lies in y
--   turn, style     rope columns behind those of a sum, and how they are rotated
--   aside           what a library leaves to the kernel OP/aside, for readers
local products = {}

local rows = {
  mla_qkv_a = { says = "hidden states to low-rank query columns and the latent row",
    heads = "1", inner = "hidden", outer = "q_rank + rank + rope", layout = "outputs",
    norm = "0", residual = "0", turn = "0", style = '"unrotated"' },
  mla_q_b = { says = "low-rank columns, through RMSNorm where there is one, to query heads",
    heads = "1", inner = "q_rank", outer = "heads * (nope + rope)", layout = "outputs",
    norm = "norm", residual = "0", turn = "0", style = '"unrotated"', aside = "RMSNorm (norm ${norm})" },
  mla_q_absorb = { says = "queries into the latent space, (q_nope W_UK[h], rope(q_pe)); W_UK[h] is [N, R]",
    heads = "heads", inner = "nope", outer = "rank", layout = "inputs",
    norm = "0", residual = "0", turn = "rope", style = "style", aside = "rotating the ${rope} rope columns" },
  mla_v_out = { says = "values of each head from attention's rows, o[t, h] = W_UV[h] u[t, h]",
    heads = "heads", inner = "rank", outer = "v", layout = "outputs",
    norm = "0", residual = "0", turn = "0", style = '"unrotated"' },
  mla_o_proj = { says = "values of all heads to hidden states, the residual added where there is one",
    heads = "1", inner = "heads * v", outer = "hidden", layout = "outputs",
    norm = "0", residual = "residual", turn = "0", style = '"unrotated"' },
}

-- The operation whose manifest shows the parameters of designs that are the same for all (staged, parts_fp8, ring_fp8, wide_fp8).
products.shown = "mla_o_proj"

function products.row(op) return rows[op] end

-- The product of a problem's fields p: { heads, inner, outer, layout, norm }.
function products.of(op)
  local row, parts = rows[op], {}
  for _, name in ipairs({ "heads", "inner", "outer", "norm" }) do
    parts[#parts + 1] = name .. " = " .. row[name]:gsub("%a[%w_]*", "p.%0")
  end
  local text = ('local p = ... return { layout = "%s", %s }'):format(row.layout, table.concat(parts, ", "))
  return assert(load(text, "=product of " .. op, "t", {}))
end

return products
