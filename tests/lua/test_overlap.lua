-- Launches that overlap: some thread of each CUDA kernel waits for the launch before, whatever is in memory (tests/models).
local loader = T.quick_loader(2048) -- symbols are in the texts, hashes of texts are not
local emit, golden = loader.require("emit"), dofile(T.root .. "/tools/golden.lua")
local overlap = dofile(T.root .. "/tests/models/overlap.lua")

-- Launched as ordinary kernels, one after the other: by tools and tests, and by a call between launches of a layer.
local APART = { concat_keys = true, read_ceiling = true, soak_compare = true }

local kernels -- list of { case, source }: rendered once for all tests
local function each_kernel(visit)
  local seen = {}
  if not kernels then
    kernels = {}
    for _, c in ipairs(golden.cases(loader, T.root)) do
      if loader.suffix(c.template) == ".cu" and not APART[c.template] then
        local made, source = pcall(emit.render, c.template, c.params, "sm_90a") -- some are for other targets only
        if made then kernels[#kernels + 1] = { c, source } end
      end
    end
  end
  for _, k in ipairs(kernels) do
    visit(k[1], k[2])
    seen[k[1].template] = true
  end
  return seen, #kernels
end

test("overlap: some thread of each CUDA kernel waits for the launch before on every path", function()
  local seen = each_kernel(function(c, source)
    local thread, why = overlap.waits(source)
    ok(thread, "%s: %s", c.name, tostring(why))
  end)
  for _, name in ipairs(loader.kernels()) do
    ok(seen[name] or APART[name] or loader.suffix(name) ~= ".cu", "no kernels.txt has a kernel of %s for sm_90a", name)
  end
end)

-- Each is found in every kernel: waits that only some launches reach, and ways out ahead of them.
local MISTAKES = {
  { "no wait", "\n([^\n/]*)wait_for_previous_launch%(%);", "\n%1;" },
  { "a wait where memory says so", "\n([^\n/]*)wait_for_previous_launch%(%);",
    "\n%1if (from_memory) wait_for_previous_launch();" },
  { "a wait in a loop that may not run", "\n([^\n/]*)wait_for_previous_launch%(%);",
    "\n%1for (int i = 0; i < from_memory; i++) wait_for_previous_launch();" },
  { "a way out ahead of it", '(\nextern "C" __global__.-%)%s*{\n)', "%1if (from_memory) return;\n" },
  { "a wait that does nothing", "griddepcontrol%.wait;", "" },
}

test("overlap: a kernel that may end without waiting is found", function()
  local _, n = each_kernel(function(c, source)
    for _, mistake in ipairs(MISTAKES) do
      local wrong, places = source:gsub(mistake[2], mistake[3])
      ok(places > 0, "%s: no place for '%s'", c.name, mistake[1])
      ok(not overlap.waits(wrong), "%s: '%s' is not found", c.name, mistake[1])
    end
  end)
  ok(n > 80, "%d kernels looked at", n)
end)

test("overlap: what a thread's number decides is computed, what memory decides is not", function()
  local function waits(body, more)
    return overlap.waits((more or "") .. [[
void wait_for_previous_launch() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
constexpr int THREADS = 128, WARPS = THREADS / 32;
extern "C" __global__ void __launch_bounds__(128) k(const args a) {
]] .. body .. "\n}\n")
  end
  eq(waits("const int warp = threadIdx.x >> 5; if (warp == WARPS - 1) wait_for_previous_launch();"), 96)
  eq(waits("if (threadIdx.x >= 128) wait_for_previous_launch();"), nil)
  eq(waits("if (a.batch > 3) return; wait_for_previous_launch();"), nil)
  eq(waits("if (a.batch > 3 && blockIdx.x > 0) return; wait_for_previous_launch();"), 0)
  eq(waits("if (a.batch > 3) wait_for_previous_launch(); else { work(); wait_for_previous_launch(); }"), 0)
  eq(waits("for (int k = 0;; k++) { if (k == 0) wait_for_previous_launch(); if (done(k)) return; }"), 0)
  eq(waits("for (int k = 0;; k++) { if (done(k)) return; if (k == 0) wait_for_previous_launch(); }"), nil)
  eq(waits("for (int k = 0; k < a.batch; k++) wait_for_previous_launch();"), nil)
  eq(waits("int k = 0; k = a.batch; if (k == 0) wait_for_previous_launch();"), nil)
  eq(waits("helper(a, 0);", "void helper(const args& a, int k) { if (k == 0) wait_for_previous_launch(); }\n"), 0)
  eq(waits("helper(a, 1);", "void helper(const args& a, int k) { if (k == 0) wait_for_previous_launch(); }\n"), nil)
  eq(waits("if (a.tokens > 0) {} if (0 < a.tokens) wait_for_previous_launch();"), 0)
  eq(waits("auto later = [&] { wait_for_previous_launch(); };"), nil)
end)
