const code: number = 7;
process.exit(code);
