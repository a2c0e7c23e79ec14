-- dofile(root .. "/tests/models/loader.lua")(root): the generator's loader, which finds the modules of tests/models as if they
-- were in gen/. No generator loads them: they do not travel in the library.
return function(root)
  local loader = dofile(root .. "/gen/host.lua")(root)
  local host, read = loader.host, loader.host.read
  host.read = function(path) return read(path) or read((path:gsub("^gen/", "tests/models/"))) end
  return loader
end
