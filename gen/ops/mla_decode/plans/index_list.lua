-- Shared memory of kernels that read index lists themselves (templates/mla_decode/lib/index_list.h): a table of entries, behind
-- them those left of the entries before, fewer than a tile's, two counts of each of four warps, and a sink for each query row.
local index_list = {}

local ENTRIES = { 1024, 512, 256 } -- that the table may have at once

local function bytes(entries, rows) return 4 * (entries + 64) + 32 + 4 * rows end

-- Bytes of the smallest one, which kernels of so many rows leave room for.
function index_list.least(page_size, rows) return page_size == 1 and bytes(ENTRIES[#ENTRIES], rows) or 0 end

-- Entries of the table that fits behind so many bytes, the most of them, and its bytes; 0 and 0: none, or lists never come, which
-- have pages of 1. most: entries that producers have registers for; nil: any.
function index_list.fit(page_size, rows, behind, isa, most)
  for _, entries in ipairs(page_size == 1 and ENTRIES or {}) do
    local fits = behind + bytes(entries, rows) <= isa.lds_bytes and entries <= (most or entries)
    if fits then return entries, bytes(entries, rows) end
  end
  return 0, 0
end

return index_list
