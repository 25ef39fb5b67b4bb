process.stdout.write('x'.repeat(1 << 20));
