-- The constants of the fitted schedule on CDNA (templates/mla_decode/lib/fit_wave.h), in tokens' worth of a part's time. A decode
-- kernel and the combine kernel behind it must agree on `fixed`. cut(rows): what a cut costs more than a request's own begin and
-- end, by the rows of a workgroup (partial results of a row are written and read: 4 KB, as much as four tokens).
-- pace(groups): percent of that time that a token takes a workgroup alone; where so many groups of rows read the same tokens,
-- each waits less for memory. least(rows): tokens of a part at least. From modelled times (docs/lab/perf-log/gfx942-ragged.md).
return {
  fixed = 64, -- what a request costs a part whatever its length (Q, first loads, O), a multiple of 16
  reg = {
    cut = function(rows) return 112 + 2 * rows end,
    pace = function(groups) return math.min(100, 20 * groups) end,
    least = function(rows) return 8 * rows end,
  },
  lds = {
    cut = function(rows) return 44 + 2 * rows end,
    pace = function(groups) return math.min(100, 75 * groups) end,
    least = function(rows) return 2 * rows end,
  },
  -- order=columns: a token takes a workgroup of 64 rows half of that, a piece's begin and end 10 us. Its combine kernels are its
  -- own, so it has a `fixed` of its own: modelled, 128 heads, 48 x 1024, uniform, cut, 68.2 us with 64, 56.6 with 160, 54.3 with
  -- 256 and 384.
  columns = {
    fixed = 256,
    cut = function(rows) return 60 + 4 * rows end,
    pace = function(groups) return math.min(100, 75 * groups) end,
    least = function(rows) return 256 + 2 * rows end,
  },
}
