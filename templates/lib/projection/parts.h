// Blocks that share a launch's tokens (CDNA): so many take a tile of outputs, and each takes other passes of the tokens. The
// grid is made by outputs of a block, which has TILE / TILE_BLOCKS of them on average.
//
// Workgroups are dealt out over the dies in turn, and each die has an L2. A tile's blocks are on one die, so its weights are
// there for all, but for the last tiles of a head. Side by side on a die are blocks with the same tokens.
//@ needs("TILES", "place_of")
//@ contract(parts == 1 or tile % parts == 0, "%d outputs of a tile are not shared by %d blocks", tile, parts)
//@ contract(parts == 1 or outer % tile == 0, "%d outputs are no tiles of %d, which %d blocks share", outer, tile, parts)
//@ local tiles = require("whole").ceil_div(outer, tile)
//@ local dealt = tiles // arch.xcds * arch.xcds -- in whole rounds over the dies
constexpr int TILE_BLOCKS = ${parts};

// A block's tile, counted head by head, and which of the tile's blocks it is.
struct share {
  u32 tile;
  int part;
};
MLAF_DEV share my_share() {
//@ if parts == 1 then
  return {my_block(), 0};
//@ else
  const u32 head = my_block() / (TILES * TILE_BLOCKS) * TILES, at = my_block() % (TILES * TILE_BLOCKS);
//@   if tiles <= arch.xcds then
  return {head + at / TILE_BLOCKS, int(at % TILE_BLOCKS)}; // a die has two tiles at most: the same tokens count for more
//@   elseif dealt == tiles then
  return {head + at % TILES, int(at / TILES)};
//@   else
  const u32 dealt = ${dealt}, left = TILES - dealt;
  if (at < dealt * TILE_BLOCKS) return {head + at % dealt, int(at / dealt)};
  return {head + dealt + (at - dealt * TILE_BLOCKS) % left, int((at - dealt * TILE_BLOCKS) / left)};
//@   end
//@ end
}
