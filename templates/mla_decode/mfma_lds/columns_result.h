//@ needs("BLOCKS", "WAVES")
//@ -- order=columns: this wave's 128 columns of all rows. Who made a row's P says what its sum was.
  __syncthreads();
//@ for slot = 0, g.waves - 1 do
//@   for b = 0, g.blocks - 1 do
  {
    const int rows = ((wave + ${slot}) % WAVES * BLOCKS + ${b}) * 16, first = rows + (lane >> 3);
    const float weight = weights[rows + (lane & 15)];
    const output out = output_at(to, final, part + w.row + first, w.row + first, lane, w.rows - first);
//@     for r = 0, 3 do
    {
      float x[8];
      asm volatile(
//@       for c = 0, 7 do
//@         local file, reg = plan.o_at(g, b, slot, c)
//@         if file == "v" then
          "v_mul_f32 %${c}, v${reg + r}, %8\n"
//@         else
          "v_accvgpr_read_b32 %${c}, a${reg + r}\n"
          "v_mul_f32 %${c}, %${c}, %8\n"
//@         end
//@       end
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : ${in_epilogue});
      write_o<${r}>(out, final, put, get, key, group ^ ${r // 2 * 2}, 128 * wave + ${32 * r}, x);
    }
//@     end
  }
//@   end
//@ end
