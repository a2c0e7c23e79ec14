-- The check's answers for rings, for rules.lua beside. Written by tools/protocol.lua known: do not edit.
-- Each kind of kernel has, for tiles of 1, 2, ... 9 boxes: rings of boxes + 1 to tiles * boxes that are refused;
-- and numbers of buffers that are right, where they are the ring.
return {
  sm90_few = {
    tiles = 4,
    ["gather,rope=0,wgs=1"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["gather,rope=0,wgs=2"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["gather,rope=1,wgs=1"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["gather,rope=1,wgs=2"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["tma,rope=0,wgs=1"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["tma,rope=0,wgs=2"] =
      { "", "3", "4 5", "5 6 7", "6 7 8 9", "7 8 9 11",
        "8 9 10 13", "9 10 11", "10 11 12" },
    ["tma,rope=1,wgs=1"] =
      { "", "3", "4 5", "5 6 7", "7 8 9", "9 10",
        "11", "", "" },
    ["tma,rope=1,wgs=2"] =
      { "", "3 5", "4 5 7 8", "5 6 7 9 10 11", "7 8 9 12 13 14", "8 9 10 11 15 16",
        "9 10 11 12 13 18", "10 11 13 14 15", "11 12 14 15 16 17" },
  },
  sm90_mid = {
    tiles = 3,
    ["boxes,rope=0"] =
      { "", "3", "4", "5 7", "6 8", "",
        "", "", "" },
    ["boxes,rope=1"] =
      { "", "3", "4 5", "5 6", "6 7 8", "",
        "", "", "" },
    ["gather,rope=0"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["gather,rope=1"] =
      { "", "", "", "", "", "",
        "", "", "" },
    ["pairs,rope=0"] =
      { "2 3", "", "4 5 6 7 8 9", "", "6 7 8 9 10 11 12 13 14 15", "",
        "8 9 10 11 12 13 14 15 16 17 18 19 20 21", "", "10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27" },
    ["pairs,rope=1"] =
      { "", "3 4 5 6", "", "5 6 7 8 9 10 11 12", "", "7 8 9 10 11 12 13 14 15 16 17 18",
        "", "9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24", "" },
  },
  sm90_many = { [2] = true, [4] = true, [6] = true, [8] = true },
  sm90_small_rank = { [3] = true, [4] = true, [5] = true, [6] = true, [7] = true, [8] = true },
  sm90_raw = { [2] = true, [3] = true, [4] = true, [5] = true, [6] = true },
  sm90_raw_mid = { [2] = true, [3] = true, [4] = true, [5] = true, [6] = true },
}
