import { readFileSync } from "node:fs";

const text: string = readFileSync(0, "utf8");
process.stdout.write(text.toUpperCase());
