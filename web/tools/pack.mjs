// A directory of built files as one block: see src/daemon/front/site.h for its form.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".ttf": "font/ttf",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".json": "application/json",
};

function* walk(directory, prefix = "") {
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    if (statSync(path).isDirectory()) yield* walk(path, `${prefix}/${name}`);
    else yield [`${prefix}/${name}`, path];
  }
}

export function pack(directory, output) {
  const lines = [];
  const blocks = [];
  const sizes = { files: 0, plain: 0, squeezed: 0 };
  let offset = 0;
  const add = (bytes) => {
    const at = offset;
    blocks.push(bytes);
    offset += bytes.length;
    return at;
  };
  for (const [name, path] of walk(directory)) {
    const type = TYPES[extname(name)];
    if (!type) throw new Error(`${name}: no Content-Type is known for it; add one to tools/pack.mjs`);
    if (/[\t\n]/.test(name)) throw new Error(`${JSON.stringify(name)} cannot stand in a pack`);
    const plain = readFileSync(path);
    let squeezed = gzipSync(plain, { level: 9 });
    if (squeezed.length > plain.length * 0.95) squeezed = Buffer.alloc(0);
    const etag = `"${createHash("sha256").update(plain).digest("hex").slice(0, 20)}"`;
    // Vite puts a hash into the names of all that is in assets.
    const life = name.startsWith("/assets/") ? "forever" : "anew";
    const where = [add(plain), plain.length, add(squeezed), squeezed.length];
    lines.push([name === "/index.html" ? "/" : name, type, etag, life, ...where].join("\t"));
    sizes.files++;
    sizes.plain += plain.length;
    sizes.squeezed += squeezed.length || plain.length;
  }
  writeFileSync(output, Buffer.concat([Buffer.from(`emberbox-site 1\n${lines.join("\n")}\n\n`), ...blocks]));
  return sizes;
}
