// Types from the API's description, a strict check of ours, Vite's build, and the pack of what it made.
//
//     node tools/build.mjs PACK
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { pack } from "./pack.mjs";
import { typesOf } from "./types.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

mkdirSync(join(root, "src/generated"), { recursive: true });
writeFileSync(join(root, "src/generated/api.ts"), typesOf(readFileSync(join(root, "../api/openapi.yaml"), "utf8")));

const checked = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", root], {
  stdio: ["ignore", 2, 2],
});
if (checked.status !== 0) process.exit(1);

await build({ root, configFile: join(root, "vite.config.mjs"), logLevel: "warn" });
const sizes = pack(join(root, "dist/site"), process.argv[2] ?? join(root, "dist/site.pack"));
console.log(`playground: ${sizes.files} files, ${sizes.plain} bytes, ${sizes.squeezed} by gzip`);
