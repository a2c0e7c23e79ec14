-- include/mlaforge/OP.h, made of an operation's arguments (tools/args_model.lua) and kept in the tree.
local WIDTH = 130

-- Paragraphs wrapped to the width behind `prefix`; lines that begin with a blank stay as they are.
local function comment(text, prefix)
  local lines, line = {}, nil
  local function flush()
    if line then lines[#lines + 1] = line end
    line = nil
  end
  for raw in (text .. "\n"):gmatch("(.-)\n") do
    if raw == "" or raw:find("^ ") then
      flush()
      lines[#lines + 1] = raw
    else
      for word in raw:gmatch("%S+") do
        if line and #prefix + 3 + #line + 1 + #word > WIDTH - 3 then flush() end
        line = line and line .. " " .. word or word
      end
    end
  end
  flush()
  for i, l in ipairs(lines) do lines[i] = (prefix .. (i == 1 and "/* " or " * ") .. l):gsub("%s+$", "") end
  return table.concat(lines, "\n") .. " */"
end

local function behind(about) return about and " /* " .. about .. " */" or "" end

local function tensor_members(t, add)
  local member = t.name:match("[^.]+$")
  local strides = {}
  for i, a in ipairs(t.axes) do strides[i] = a.stride and a.stride:match("[^.]+$") end
  add(("  %s%s *%s;%s"):format(t.raw.out and "" or "const ", t.element.c, member, behind(t.raw.about)))
  if #strides > 0 then add(("  int64_t %s;%s"):format(table.concat(strides, ", "), behind(t.raw.stride_about))) end
end

-- Structs of tensors that occur under several names.
local function parts(m, add)
  for _, a in ipairs(m.raw.args) do
    if a.struct then
      add(comment(a.about, "") .. ("\ntypedef struct mlaf_%s_%s {"):format(m.x, a.struct))
      for _, raw in ipairs(a) do tensor_members(m.tensor[a.names[1] .. "." .. raw[1]], add) end
      add(("} mlaf_%s_%s;\n"):format(m.x, a.struct))
    end
  end
end

local function members(m, add)
  add(("  uint32_t struct_size; /* sizeof(%s), set by MLAF_%s_ARGS_INIT */"):format(m.struct, m.X))
  add(("  uint32_t flags; /* %s */"):format(m.raw.flags and ("MLAF_%s_*"):format(m.X) or "0"))
  add(("  int64_t %s;%s"):format(m.count.name, behind(m.count.about)))
  for _, a in ipairs(m.raw.args) do
    if a.struct then add(("  mlaf_%s_%s %s;"):format(m.x, a.struct, table.concat(a.names, ", ")))
    elseif m.scalar[a[1]] then add(("  %s %s;%s"):format(a[2], a[1], behind(a.about)))
    else tensor_members(m.tensor[a[1]], add) end
  end
end

local function constants(m, add)
  local flags = m.raw.flags or {}
  if #flags > 0 then add("enum {") end
  for i, f in ipairs(flags) do
    add(("  MLAF_%s_%s = 1u << %d%s%s"):format(m.X, f[1], i - 1, i < #flags and "," or "", behind(f[2])))
  end
  if #flags > 0 then add("};\n") end
  for _, a in ipairs(m.raw.args) do
    local most = a.within and ("%.1e"):format(a.within):gsub("%.0e", "e"):gsub("e([+-])0*(%d)", "e%1%2"):gsub("%+", "") .. "f"
    if most then add(("#define MLAF_%s_%s_MOST %s%s\n"):format(m.X, a[1]:upper(), most, behind(a.most_about))) end
  end
end

local CALL = [[
Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device memory on
the host.%s E_ARG names the argument. Thread-safe.]]

return function(m)
  local out = {}
  local function add(text) out[#out + 1] = text end
  add(comment(m.raw.head .. ("\n\nMade by tools/args.lua of gen/ops/%s/args.lua."):format(m.op), ""))
  add(("#ifndef MLAFORGE_%s_H\n#define MLAFORGE_%s_H\n\n#include \"mlaforge/operation.h\"\n"):format(m.OP, m.OP))
  constants(m, add)
  parts(m, add)
  add(comment(m.raw.about, "") .. ("\ntypedef struct %s {"):format(m.struct))
  members(m, add)
  add(("} %s;\n#define MLAF_%s_ARGS_INIT {.struct_size = sizeof(%s)}\n"):format(m.struct, m.X, m.struct))
  add(comment(CALL:format(m.raw.call_about and " " .. m.raw.call_about or ""), ""))
  add(([[
static inline mlaf_status mlaf_%s_execute(const mlaf_plan *plan, const %s *args, void *stream) {
  return mlaf_run(plan, "%s", args, stream);
}

#endif]]):format(m.x, m.struct, m.op))
  return table.concat(out, "\n") .. "\n"
end
