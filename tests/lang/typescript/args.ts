const words: string[] = process.argv.slice(2);
for (const word of words) console.log(`[${word}]`);
