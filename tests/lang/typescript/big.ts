const size: number = 1 << 20;
process.stdout.write("x".repeat(size));
