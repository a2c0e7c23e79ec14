    asm volatile(
//@ for _, line in ipairs(b.lines) do
        "${line}\n"
//@ end
        : ${b.outs} : ${b.ins} : ${b.clobbers});
