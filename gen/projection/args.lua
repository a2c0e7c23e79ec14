-- The arguments of a product's launch, which the five share (mlaforge/projection.h): a table of each, with its sizes by
-- projection/products.lua. What each key means: tools/args_model.lua. No operation: sizes without expressions, of which the
-- kernel's block is made (op/projection_launch.h).
--   own   about, input: for the embedded header; joint: true where problems follow in a launch; files and
--         others: what the embedded loader has beside (tools/embed-files.lua)
local products = require("projection/products")

-- Numbers of words: of the rope style, and whether W[h] is [inner][outer].
local UNROTATED, LAYOUTS = 2, { outputs = "0", inputs = "1" }

local COMMENT = [[
%s: %s.
 *
 *   %s
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h.]]

local function embed(op, own)
  local out = {
    comment = COMMENT:format(op, own.about, own.input),
    header = "mlaforge/projection.h", args = "mlaf_projection_args", inside = {}, calls = false,
    files = { "record.c", "op/args_check.c", "op/args_launch.c", "op/projection.c" },
  }
  for _, key in ipairs({ "stem", "with", "execute", "also" }) do out[key] = own[key] end
  for _, file in ipairs(own.files or {}) do out.files[#out.files + 1] = file end
  return out
end

-- A place of w among its scales: no chunk of a sum that a kernel scales at once may lie in two blocks.
local function place(name, multiple)
  return { name, "int64_t", least = 0, most = 1 << 39, multiple = multiple,
    must = ("a multiple of %d from 0 on: a part that begins elsewhere in a block of 128 wants scales of its own"):format(
      multiple) }
end

return function(op, own)
  local row = op and products.row(op) or {}
  local by_inputs = LAYOUTS[row.layout]
  local function of(outputs, inputs) return by_inputs == "1" and inputs or by_inputs and outputs end
  local function of_both(expression) return op and expression end
  return {
    shared = "projection",
    count = { "tokens", most = "any" },
    flags = { { "TABLE_16", "cosines and sines are of the problem's dtype; else fp32" } },
    known_flags = true, strict = true,
    -- X and Y: rows of x and y with their rope columns. ROWS, COLUMNS: of W[h]. COSINES: of a row of the table, sines included
    -- where they have no tensor of their own. ACROSS, DOWN: scales.
    sizes = {
      { "T", of_both("tokens"), each = "token" }, { "H", row.heads, each = "head" }, { "INNER", row.inner },
      { "OUTER", row.outer }, { "P", row.turn }, { "X", of_both("INNER + P") }, { "Y", of_both("OUTER + P") },
      { "BY_INPUTS", by_inputs }, { "ROWS", of("OUTER", "INNER"), each = "row" }, { "COLUMNS", of("INNER", "OUTER") },
      { "DTYPE", of_both("dtype") }, { "WEIGHTS", of_both("weights") }, { "UNIT", of_both("2 - up(WEIGHTS, 2)") },
      { "NORM", row.norm }, { "RESIDUAL", row.residual },
      { "STYLE", row.style == '"unrotated"' and tostring(UNROTATED) or row.style },
      { "ROTATED", of_both(("P * (%d - STYLE)"):format(UNROTATED)) }, { "NUMBER", of_both("4 - 2 * flags") },
      { "TABLE", of_both("table_rows"), each = "row" }, { "COSINES", of_both("P - sin * up(P, 2)") },
      { "ACROSS", of_both("up(w_scale_column + COLUMNS, 128)") },
      { "DOWN", of_both("up(w_scale_row + H * ROWS, 128)"), each = "row" },
    },
    args = {
      { "x", "16", axes = "T H | X", strides = "rows", nested = true, multiple = 8, align = 16 },
      { "w", "UNIT", axes = "H ROWS | COLUMNS", strides = "rows", nested = true, align = 16 },
      { "y", "16", axes = "T H | Y", strides = "rows", nested = true, multiple = 8, align = 16, out = true },
      { "norm_weight", "16", axes = "| INNER", has = "NORM", align = 16 },
      { "residual", "16", axes = "T | OUTER", strides = "rows", multiple = 8, has = "RESIDUAL", align = 16 },
      { "positions", "i64", axes = "T", has = "ROTATED" },
      { "cos", "NUMBER", axes = "TABLE | COSINES", strides = "rows", stem = "table", has = "ROTATED", align = 16 },
      { "sin", "NUMBER", axes = "", has = "ROTATED", optional = true, align = 16 },
      { "w_scale", "f32", axes = "DOWN | ACROSS", strides = "rows", has = "WEIGHTS" },
      { "eps", "float" }, { "table_rows", "int64_t" }, place("w_scale_row", 32),
      place("w_scale_column", of(64, 128) or 64),
    },
    -- Strides of x, w, y, the residual and the table in bytes. Scales of 8-bit weights: W[h][r][c] times the scale of row
    -- (scale_first_row + h scale_head + r) / 128 and column (scale_first_column + c) / 128, whose rows lie scale_row bytes apart.
    block = [[x w y gain=norm_weight residual positions cos sin!ptr x_token=x.token x_head=x.head w_row=w.row w_head=w.head
      y_token=y.token y_head=y.head residual_token=residual.token table_row=cos.row table_rows tokens=T eps flags
      w_scale scale_row=w_scale.row scale_first_row=w_scale_row scale_head!i64 scale_first_column=w_scale_column]],
    scales_from = "w_scale", rows = "T", relations = true, cases = {}, joint = own and own.joint, embed = own and embed(op, own),
  }
end
