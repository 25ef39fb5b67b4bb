const held: Buffer[] = [];
for (;;) held.push(Buffer.alloc(1 << 20, "x"));
