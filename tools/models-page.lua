-- lua5.4 tools/models-page.lua ROOT [FILE]: docs/models.md with its tables made anew, of tuning/models.tsv and the operations'
-- fields. A model uses an operation whose fields take its numbers.
local root, file = arg[1], arg[2]
package.path = root .. "/gen/?.lua" -- fields have the formats of caches

local function slurp(path)
  local f = assert(io.open(root .. "/" .. path, "rb"))
  local text = f:read("a")
  f:close()
  return text
end

-- Columns as the head of tuning/models.tsv lists them.
local COLUMNS = { "name", "heads", "rank", "rope", "nope", "v", "hidden", "q_rank", "eps", "base", "style", "factor", "fast",
  "slow", "original", "mscale", "mscale_all", "beta", "beta_original", "index_heads",
  "index_topk", "index_style", "unverified", "source" }

local function models()
  local out = {}
  for line in slurp("tuning/models.tsv"):gmatch("(.-)\n") do
    local m, i = {}, 0
    for cell in (line .. "\t"):gmatch("(.-)\t") do
      i = i + 1
      m[COLUMNS[i] or i] = tonumber(cell) or cell
    end
    if line:sub(1, 1) ~= "#" then
      assert(i == #COLUMNS, "tuning/models.tsv: " .. line)
      out[#out + 1] = m
    end
  end
  return out
end

-- Each operation of a model's layer: its name, its computation, the page that has more; `of`: which field is which of a model's
-- numbers, where the names differ; `where`: what must hold beside the ranges.
local function has_layer(m) return m.hidden > 0 end
local OPS = {
  { "mla_qkv_a", "hidden states to the low-rank query, latent and rope columns", "projections.md", where = has_layer },
  { "mla_q_b", "RMSNorm, low-rank query to query heads; may append to the cache in the same launch", "projections.md",
    where = has_layer, of = { q_rank = function(m) return m.q_rank > 0 and m.q_rank or m.hidden end } },
  { "mla_append", "RMSNorm, RoPE and quantisation of new tokens' rows, into the paged cache", "append.md", where = has_layer },
  { "mla_q_scale", "queries times a factor of their position", "projections.md#queries-times-a-factor-of-their-position",
    where = function(m) return m.beta > 0 end, of = { qdim = function(m) return m.nope + m.rope end } },
  { "mla_q_absorb", "RoPE, query heads into the latent space by W_UK", "projections.md", where = has_layer },
  { "mla_decode", "attention of one to 16 new tokens over the paged latent cache", "serving.md" },
  { "mla_v_out", "attention's rows to values by W_UV", "projections.md", where = has_layer },
  { "mla_o_proj", "values to hidden states, residual added", "projections.md", where = has_layer },
  { "mla_prefill", "attention of many new tokens over keys and values of each head", "prefill.md", where = has_layer,
    of = { vdim = "v" } },
  { "mla_gather_kv_b", "cached rows to keys and values of each head, for a prefill over a cached context",
    "chunked-prefill.md#keys-and-values-of-what-is-cached", where = has_layer, of = { vdim = "v" } },
  { "mla_merge", "two partial attentions by their log-sum-exp", "chunked-prefill.md#merge-two-partial-attentions",
    where = has_layer, of = { vdim = "v" } },
  { "mla_merge_parts", "attentions over N shards of a context by their log-sum-exp", "context-split.md#merge-n-parts",
    of = { vdim = "rank" } },
  { "mla_index_append", "the indexer's keys into its cache, its queries of 8 bits", "indexer.md#keys-and-queries",
    indexer = true },
  { "mla_index", "the cached tokens that sparse attention reads, selected by an indexer", "indexer.md", indexer = true },
  { "mla_dequant", "weights of 8 bits to weights of 16", "projections.md#weights-of-8-bits-as-numbers-of-16", weights = true },
}

local function takes(op, m)
  if op.where and not op.where(m) then return false end
  for _, f in ipairs(dofile(root .. "/gen/ops/" .. op[1] .. "/fields.lua")) do
    local from = op.of and op.of[f.field] or f.field
    local value
    if type(from) == "function" then value = from(m) else value = m[from] end
    local is_dim = f.key and not f.size and type(value) == "number"
    if is_dim and (value < f.least or value > f.most or value % f.multiple ~= 0) then return false end
  end
  return true
end

local function used_by(op, all)
  local yes, no, layers = {}, {}, 0
  for _, m in ipairs(all) do
    layers = layers + (has_layer(m) and 1 or 0)
    local to = takes(op, m) and yes or no
    to[#to + 1] = m.name
  end
  if op.indexer then return "deepseek-v3.2, glm-5 and others with an indexer (DSA)" end
  if op.weights then return "checkpoints with matrices of 8 bits" end
  if #no == 0 then return "all" end
  if op.where == has_layer and #yes == layers then return "all with a hidden size" end
  if #yes > #no then return "all but " .. table.concat(no, ", ") end
  return table.concat(yes, ", ")
end

local make = {}

function make.operations(all)
  local out = { "| operation | what it computes | used by |", "|---|---|---|" }
  for _, op in ipairs(OPS) do
    out[#out + 1] = ("| [`%s`](%s) | %s | %s |"):format(op[1], op[3], op[2], used_by(op, all))
  end
  return out
end

function make.models(all)
  local out = { "| model | heads | R | P | N | V | d | L | RoPE | beside that |", "|---|---|---|---|---|---|---|---|---|---|" }
  for _, m in ipairs(all) do
    local more = {}
    if m.hidden == 0 then more[1] = "`mla_decode` alone" end
    if m.hidden > 0 and m.q_rank == 0 then more[1] = "one `q_proj`: `mla_q_b` takes hidden states" end
    if m.beta > 0 then more[#more + 1] = "`mla_q_scale`" end
    if m.index_heads > 0 then more[#more + 1] = ("[indexer](layer.md#an-indexer), %d heads"):format(m.index_heads) end
    if m.factor > 0 then more[#more + 1] = ("YaRN %g"):format(m.factor) end
    if m.unverified ~= "-" then more[#more + 1] = "not confirmed: " .. m.unverified:gsub(",", ", ") end
    out[#out + 1] = ("| %s | %d | %d | %d | %d | %d | %s | %s | %s | %s |"):format(m.name, m.heads, m.rank, m.rope, m.nope, m.v,
      m.hidden > 0 and m.hidden or "-", m.q_rank > 0 and m.q_rank or "-", m.style, #more > 0 and table.concat(more, "; ") or "-")
  end
  return out
end

local all, page = models(), slurp("docs/models.md")
page = page:gsub("(<!%-%- (%l+) %-%->\n).-(<!%-%- end of %2 %-%->)", function(first, name, last)
  return first .. table.concat(make[name](all), "\n") .. "\n" .. last
end)
local to = file and assert(io.open(file, "wb")) or io.stdout
assert(to:write(page))
assert(to:flush())
