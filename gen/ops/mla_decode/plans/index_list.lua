-- Shared memory of kernels that read index lists themselves (templates/mla_decode/lib/index_list.h): a table of entries, behind
-- them those left of the entries before, fewer than a tile's, and two counts of each of four warps.
local index_list = {}

local ENTRIES = { 1024, 512, 256 } -- that the table may have at once

local function bytes(entries) return entries > 0 and 4 * (entries + 64) + 32 or 0 end

-- Bytes of the smallest one, which kernels leave room for.
function index_list.least(page_size) return page_size == 1 and bytes(ENTRIES[#ENTRIES]) or 0 end

-- Entries of the table that fits behind so many bytes, the most of them, and its bytes; 0 and 0: none, or lists never come, which
-- have pages of 1.
function index_list.fit(page_size, behind, isa)
  for _, entries in ipairs(page_size == 1 and ENTRIES or {}) do
    if behind + bytes(entries) <= isa.lds_bytes then return entries, bytes(entries) end
  end
  return 0, 0
end

return index_list
