// A module by what it says, not by its name.
import { readFile, writeFile } from 'node:fs/promises';

const text = (await readFile('data/in.txt', 'utf8')).trimEnd();
await writeFile('/sandbox/output/out.txt', [...text].reverse().join(''));
