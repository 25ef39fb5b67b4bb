import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const word: string = readFileSync(join(__dirname, "data/in.txt"), "utf8").trim();
writeFileSync("/sandbox/output/out.txt", [...word].reverse().join(""));
