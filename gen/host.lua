-- The host for plain lua5.4: files under a root directory and SHA-256 in Lua. Used by gen/cli.lua and tests/lua.
--   dofile(root .. "/gen/host.lua")(root) -> loader
return function(root)
  local function read(path)
    local file = io.open(root .. "/" .. path, "rb")
    if not file then return nil end
    local text = file:read("a")
    file:close()
    return text
  end
  local host = { read = read, sha256 = dofile(root .. "/gen/sha256.lua") }
  function host.list(prefix)
    local dir, out = prefix:match("^(.*)/[^/]*$"), {}
    local pipe = assert(io.popen(("cd '%s' && LC_ALL=C find '%s' -type f 2>/dev/null | LC_ALL=C sort"):format(root, dir)))
    for line in pipe:lines() do
      if line:sub(1, #prefix) == prefix then out[#out + 1] = line end
    end
    pipe:close()
    return out
  end
  return assert(load(assert(read("gen/loader.lua"), "no gen/loader.lua under " .. root), "@gen/loader.lua"))(host)
end
