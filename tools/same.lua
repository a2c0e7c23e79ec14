-- Tells whether two trees of this project make the same machine code; shared by tools/same-code.lua and tools/rehash.lua. A tree
-- is a folder with gen/ and templates/, and what it says of a kernel is rendered by its own generator.
local same = {}
local bare = dofile(debug.getinfo(1, "S").source:match("^@(.*)/tools/[^/]*$") .. "/gen/bare.lua")

local NAME = "mlaf_same_kernel" -- every kernel's symbol here, so that a template's name is in no code object

function same.tree(root)
  local loader = dofile(root .. "/gen/host.lua")(root)
  return { root = root, loader = loader, emit = loader.require("emit"), sha256 = loader.host.sha256 }
end

-- The text as far as a compiler cares: without comments (gen/bare.lua) and checks (static_assert, #ifndef X #error #endif: no
-- code), with one name for all kernels. Lines stay lines, for the preprocessor's sake.
function same.bare(source, symbol)
  local out = {}
  for text in bare.kernel(source):gmatch("[^\n]+") do
    if text:find("^#endif") and (out[#out] or ""):find("^#error") and (out[#out - 1] or ""):find("^#if") then
      out[#out], out[#out - 1] = nil, nil
    elseif not text:find("^static_assert%(.*%);$") then
      out[#out + 1] = text
    end
  end
  return (table.concat(out, "\n"):gsub(symbol, NAME)) .. "\n"
end

-- Iterates over the names of a text: words that may be renamed are all that the text itself brings.
local function tokens(text)
  return text:gmatch("()([%a_][%w_]*)()")
end

-- Tells whether one text is the other with names changed one to one: then it is the same program. Names of the language and of
-- the compiler cannot take part, or the other text would not compile. Returns the names that changed.
function same.renamed(a, b)
  local to, from, changed, ends_a, ends_b = {}, {}, {}, 1, 1
  local next_b = tokens(b)
  for at_a, word_a, after_a in tokens(a) do
    local at_b, word_b, after_b = next_b()
    if not at_b or a:sub(ends_a, at_a - 1) ~= b:sub(ends_b, at_b - 1) then return nil end
    if to[word_a] == nil and from[word_b] == nil then
      to[word_a], from[word_b] = word_b, word_a
      if word_a ~= word_b then changed[#changed + 1] = word_a .. " -> " .. word_b end
    elseif to[word_a] ~= word_b or from[word_b] ~= word_a then
      return nil
    end
    ends_a, ends_b = after_a, after_b
  end
  if next_b() or a:sub(ends_a) ~= b:sub(ends_b) then return nil end
  return changed
end

-- A kernel of a tree: its bare text, and what it declares of its launch.
function same.render(tree, template, params, target)
  local source, _, declared, symbol = tree.emit.render(template, params, target)
  local says = {}
  for key, value in tree.loader.sorted(declared or {}) do says[#says + 1] = key .. "=" .. tostring(value) end
  return same.bare(source, symbol), table.concat(says, " ")
end

-- texts: list of { target, source, options }; wanted: also compile them. Returns for each { key, code } (code: SHA-256 of what
-- runs) or { error }. Equal texts are compiled once; what was compiled before is in the cache ($MLAF_CACHE_DIR).
function same.compile(build, texts, wanted)
  local scratch = os.tmpname()
  os.remove(scratch)
  assert(os.execute("mkdir -p " .. scratch))
  local at, lines, places = {}, {}, {}
  for i, t in ipairs(texts) do
    local id = t.target .. "\n" .. t.source
    if not at[id] then
      lines[#lines + 1] = ("%s\t%s/%d.src\t%s"):format(t.target, scratch, #lines, wanted and scratch .. "/code" or "-")
        .. (#t.options > 0 and "\t" .. table.concat(t.options, "\t") or "")
      local f = assert(io.open(("%s/%d.src"):format(scratch, #lines - 1), "wb"))
      f:write(t.source)
      f:close()
      at[id] = #lines
    end
    places[i] = at[id]
  end
  local f = assert(io.open(scratch .. "/list", "wb"))
  f:write(table.concat(lines, "\n"), #lines > 0 and "\n" or "")
  f:close()
  local answers, out = {}, {}
  local pipe = assert(io.popen(("'%s/compile-texts' '%s/mlaforge-worker' < %s/list"):format(build, build, scratch)))
  for line in pipe:lines() do
    local first, second = line:match("^(.-)\t(.*)$")
    answers[#answers + 1] = first == "error" and { error = second } or { key = first, code = second }
  end
  pipe:close()
  os.execute("rm -rf " .. scratch)
  assert(#answers == #lines, "compile-texts answered " .. #answers .. " of " .. #lines)
  for i, place in ipairs(places) do out[i] = answers[place] end
  return out, #lines
end

local STAGE_COLUMNS = { "template", "params", "symbol", "template_hash", "src_hash", "code_key" }

-- Places of the columns of each stage in a row: { name, template = index, ... }. Text 3 has a group of columns a stage, the
-- texts before it had the two of mla_decode.
local function stages_of(fields, at)
  local list = {}
  for group = 0, at.stage and #fields - at.stage or -1, at.stage and at.rows_per_wg - at.stage + 1 or 1 do
    local stage = { name = fields[at.stage + group] }
    for _, column in ipairs(STAGE_COLUMNS) do stage[column] = at[column] + group end
    list[#list + 1] = stage
  end
  for _, name in ipairs(at.stage and {} or { "decode", "combine" }) do
    local stage = { name = name }
    for _, column in ipairs(STAGE_COLUMNS) do stage[column] = at[name .. "." .. column] end
    if fields[stage.template] ~= "-" then list[#list + 1] = stage end
  end
  return list
end

-- The lines of a tuning text: { line }, of a choice { fields, at (column -> index), stages }.
function same.choices(path)
  local rows, at = {}, nil
  for line in io.lines(path) do
    local fields = {}
    for field in (line .. "\t"):gmatch("([^\t]*)\t") do fields[#fields + 1] = field end
    if line:find("^device\t") then
      at = {}
      for i, name in ipairs(fields) do at[name] = i end
      rows[#rows + 1] = { line = line }
    elseif at and not line:find("^#") and line ~= "" then
      rows[#rows + 1] = { fields = fields, at = at, stages = stages_of(fields, at) }
    else
      rows[#rows + 1] = { line = line }
    end
  end
  return rows
end

-- Tuning texts that are shipped, with the target their kernels are for.
same.shipped = { { file = "tuning/gfx942.tsv", target = "gfx942" }, { file = "tuning/nvidia-h200.tsv", target = "sm_90a" } }

return same
