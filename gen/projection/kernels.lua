-- Kernels of the projections, OP/DESIGN: each is a row and no file of templates/, since all that it does is to tell a design's
-- body (templates/lib/projection/BODY.h) the product.
local loader = ...
local products = require("projection/products")
local side = require("projection/side")

local eight_bits = { weights = "weights" }
local sixteen_bits = { weights = "0" }

-- body, suffix of the source, what it is to readers, and what else its body is told of the product.
local designs = {
  dot = { "dot", ".cu", "dot products", sixteen_bits },
  dot_fp8 = { "dot", ".cu", "dot products over weights of 8 bits", eight_bits },
  lib = { "library", ".lib", "a library" },
  mfma = { "mfma", ".hip", "matrix instructions of CDNA", sixteen_bits },
  mfma_fp8 = { "mfma", ".hip", "matrix instructions of CDNA over weights of 8 bits", eight_bits },
  mma = { "mma", ".cu", "warp-wide matrix instructions", sixteen_bits },
  mma_fp8 = { "mma", ".cu", "warp-wide matrix instructions over weights of 8 bits", eight_bits },
  normed_fp8 = { "wide_fp8", ".cu", "wgmma over weights of 8 bits, up to 256 tokens at once, tokens' factors given",
    { lanes = "2", normed = "1", parts = "parts", weights = "weights" } },
  parts_fp8 = { "wide_fp8", ".cu", "wgmma over weights of 8 bits, up to 256 tokens at once, passes shared by blocks",
    { lanes = "2", normed = "0", parts = "parts", weights = "weights" } },
  ring = { "ring", ".cu", "wgmma and tensor copies", { tiles = "1" } },
  ring_fp8 = { "ring_fp8", ".cu", "wgmma and tensor copies over weights of 8 bits", eight_bits },
  staged = { "staged", ".hip", "matrix instructions of CDNA for many tokens" },
  direct_fp8 = { "stationary_fp8", ".cu", "weights of 8 bits that stay in registers, sums written from there",
    { direct = "1", split = "1", weights = "weights" } },
  stationary_fp8 = { "stationary_fp8", ".cu", "weights of 8 bits that stay in registers",
    { direct = "0", split = "1", weights = "weights" } },
  stay = { "stay", ".hip", "matrix instructions of CDNA whose weights stay in registers" },
  stream = { "stream", ".cu", "loads at the pace of memory" },
  stream_fp8 = { "stream_fp8", ".cu", "loads at the pace of memory, weights of 8 bits", eight_bits },
  wide_fp8 = { "wide_fp8", ".cu", "wgmma and tensor copies over weights of 8 bits, up to 256 tokens at once",
    { lanes = "1", normed = "0", parts = "1", weights = "weights" } },
  walk = { "ring", ".cu", "wgmma and tensor copies, several tiles of a head by a block",
    { split = "1", tiles = "tiles", ways = "1" } },
}

local USUAL = { "dot", "dot_fp8", "lib", "mfma", "mfma_fp8", "mma", "mma_fp8", "parts_fp8", "ring", "ring_fp8", "staged",
  "stream", "stream_fp8", "wide_fp8" }
local NEVER_APPENDS = { lib = true, normed_fp8 = true, parts_fp8 = true, wide_fp8 = true }

-- append: also with blocks behind the product's that append latent rows (side.lua).
local kernels_of = {
  { op = "mla_qkv_a", designs = USUAL },
  { op = "mla_q_b", designs = { "normed_fp8", table.unpack(USUAL) }, append = true },
  { op = "mla_q_absorb", designs = { "direct_fp8", "dot", "dot_fp8", "lib", "mfma", "mfma_fp8", "mma", "mma_fp8", "ring",
    "stationary_fp8", "stay", "stream", "stream_fp8", "walk" } },
  { op = "mla_v_out", designs = USUAL },
  { op = "mla_o_proj", designs = USUAL },
}

-- A request to a library has heads of its own, and neither norm nor rope columns.
local OF_LIBRARY = { "inner", "outer", "residual" }
local OF_KERNEL = { "inner", "outer", "norm", "residual", "turn", "style" }

local function text_of(op, design, appends)
  local product, library = products.row(op), design[2] == ".lib"
  local told = { ('layout = "%s"'):format(product.layout) }
  for _, name in ipairs(library and OF_LIBRARY or OF_KERNEL) do told[#told + 1] = name .. " = " .. product[name] end
  if library and product.heads ~= "heads" then told[#told + 1] = "heads = " .. product.heads end
  for name, value in sorted(design[4] or {}) do told[#told + 1] = name .. " = " .. value end
  local lines = { ("// %s by %s: %s."):format(op, design[3], product.says) }
  if appends then lines[2] = "// Blocks behind the product's append latent rows to the cache." end
  if library and product.aside then
    lines[#lines + 1] = ("// The kernel %s/aside does what the library leaves undone: %s."):format(op, product.aside)
  end
  if (design[4] or {}).normed == "1" then
    lines[#lines + 1] = ("// The kernel %s/factors squares its input, in a launch before."):format(op)
  end
  lines[#lines + 1] = '//@ contract(dtype == "bf16" or dtype == "f16", "dtype %s is not bf16 or f16", dtype)'
  lines[#lines + 1] = ('//@ include("lib/projection/%s.h", { %s })'):format(design[1], table.concat(told, ", "))
  return table.concat(lines, "\n") .. "\n"
end

-- name -> { suffix, text }, of what this build has a body for.
local kernels = {}
local function add(op, name, appends)
  local design = designs[name]
  if not loader.host.read("templates/lib/projection/" .. design[1] .. ".h") then return end
  kernels[op .. "/" .. name .. (appends and side.SUFFIX or "")] = { suffix = design[2], text = text_of(op, design, appends) }
end
for _, of in ipairs(kernels_of) do
  for _, name in ipairs(of.designs) do
    add(of.op, name, false)
    if of.append and not NEVER_APPENDS[name] then add(of.op, name, true) end
  end
end
return kernels
