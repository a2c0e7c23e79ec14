-- Build-time tool: tuning/known-hashes.txt -> a C table of runtime/db (known_hashes.h). A line that is wrong stops the build.
--   lua5.4 tools/known-hashes-table.lua IN.txt OUT.c
local path, out_path = assert(arg[1], "usage: lua5.4 known-hashes-table.lua IN.txt OUT.c"), assert(arg[2], "no OUT.c")

local rows = {}
for line in io.lines(path) do
  if line:sub(1, 1) ~= "#" then
    local now, earlier = line:match("^%S+\t%S+\t(%x+)\t([%x ]+)$")
    assert(now and #now == 64, "not 'template target hash earlier ones': " .. line)
    for was in earlier:gmatch("%x+") do
      assert(#was == 16, "not the first 16 digits of a hash: " .. was)
      rows[#rows + 1] = ('    {"%s", "%s"},'):format(was, now)
    end
  end
end
table.sort(rows)
local f = assert(io.open(out_path, "w"))
f:write("/* Made of ", path:match("[^/]*$"), " by tools/known-hashes-table.lua. */\n#include \"db/known_hashes.h\"\n\n",
  "const mlaf_known_hash mlaf_known_hashes[] = {\n", table.concat(rows, "\n"),
  "\n};\nconst size_t mlaf_n_known_hashes = sizeof mlaf_known_hashes / sizeof *mlaf_known_hashes;\n")
assert(f:close())
