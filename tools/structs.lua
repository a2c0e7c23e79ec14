-- Structs of the public headers as Python's ctypes has them, for python/mlaforge/fields.py (tools/limits.lua python).
local STRUCTS = { -- header: Python's name, mlaf_...
  { "context", "CtxOpts", "ctx_opts" }, { "plan", "PlanOpts", "plan_opts" }, { "plan", "PlanInfo", "plan_info" },
  { "plan", "WarmUpOpts", "warm_up_opts" }, { "plan", "WarmUpResult", "warm_up_result" }, { "call", "Call", "call" },
  { "mla_decode", "ExecuteArgs", "execute_args" }, { "mla_append", "AppendArgs", "append_args" },
  { "mla_gather_kv_b", "GatherArgs", "gather_kv_b_args" }, { "mla_prefill", "PrefillArgs", "prefill_args" },
  { "mla_index", "IndexArgs", "index_args" },
  { "mla_index_append", "IndexAppendArgs", "index_append_args" }, { "projection", "ProjectionArgs", "projection_args" },
  { "projection", "QBArgs", "q_b_args" }, { "chunked_prefill", "ChunkedDesc", "chunked_prefill_desc" },
  { "chunked_prefill", "ChunkedArgs", "chunked_prefill_args" },
  { "layer", "LayerWeight", "layer_weight" }, { "layer", "LayerDesc", "layer_desc" }, { "layer", "LayerArgs", "layer_args" },
  { "layer", "LayerStage", "layer_stage" },
}
-- Letters of types (library.py): P is a pointer, s a text, N size_t, V a view.
local KINDS = { int32_t = "i", uint32_t = "I", int64_t = "q", size_t = "N", float = "f", double = "d", mlaf_view = "V",
  mlaf_log_fn = "P", mlaf_log_level = "i" }
for _, s in ipairs(STRUCTS) do KINDS["mlaf_" .. s[3]] = s[2] end

-- Members of a struct, in order, those of one type that follow each other behind its letter: "I:struct_size q:tokens,rows".
local function members(text, struct)
  local out, last = "", nil
  local body = assert(text:match("struct " .. struct .. " {\n(.-)\n} "), "there is no struct " .. struct)
  for statement in body:gsub("/%*.-%*/", ""):gsub("const ", ""):gmatch("[^;]+;") do
    local kind, names = statement:match("([%w_]+)%s+(.+);")
    if names:find("(", 1, true) then names = "*" .. names:match("%(%*([%w_]+)%)") end -- a function
    for star, name in names:gmatch("(%*?)([%w_]+)") do
      local letter = star == "*" and (kind == "char" and "s" or "P") or assert(KINDS[kind], struct .. ":" .. statement)
      out = out .. (letter == last and "," or (last and " " or "") .. letter .. ":") .. name
      last = letter
    end
  end
  return out
end

return function(read)
  local out = {}
  for i, s in ipairs(STRUCTS) do
    out[i] = ('    "%s": "%s",'):format(s[2], members(read("include/mlaforge/" .. s[1] .. ".h"), "mlaf_" .. s[3]))
  end
  return table.concat(out, "\n")
end
