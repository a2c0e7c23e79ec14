-- The layout of Q's and K's columns in shared memory, by the Hopper kernels: slabs, each as wide as `width_of` says of what is
-- left of its source. `from`: the first column of that source; `column`: of Q.
return function(nope, rope, width_of)
  local list, column = {}, 0
  for source, all in ipairs({ nope, rope }) do
    local from = 0
    while from < all do
      local width = width_of(all - from, source)
      list[#list + 1] = { source = source, from = from, column = column, width = width }
      from, column = from + width, column + width
    end
  end
  return list
end
