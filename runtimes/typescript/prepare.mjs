// Once for a toolchain: the settings that depend on what is installed.
//
//   prepare.mjs TSC    leaves /sandbox/output/{defaults.json,fixed.json,target}
//
// Two tsconfig files, the one that a program's own may change and the one it may not, and esbuild's target.

import fs from "node:fs";
import path from "node:path";

const tsc = fs.realpathSync(process.argv[2]);
const major = Number(process.versions.node.split(".")[0]);

// Which edition of ECMAScript this Node.js has in full.
const editions = [
	[24, 2025],
	[22, 2024],
	[20, 2023],
	[18, 2022],
];
const wanted = editions.find(([node]) => major >= node)?.[1] ?? 2021;

// The compiler's own declarations lie beside the native program, or in ../lib of the script.
const libraries = [path.dirname(tsc), path.join(path.dirname(tsc), "../lib")].find((directory) =>
	fs.existsSync(path.join(directory, "lib.es5.d.ts")),
);
let edition = wanted;
while (edition > 2021 && !fs.existsSync(path.join(libraries ?? "", `lib.es${edition}.d.ts`))) edition--;

// Every node_modules that tsc is in, the nearest first, then the usual global ones.
const roots = [];
for (let at = tsc.lastIndexOf("/node_modules/"); at >= 0; at = tsc.lastIndexOf("/node_modules/", at - 1))
	roots.push(tsc.slice(0, at) + "/node_modules");
roots.push("/usr/local/lib/node_modules", "/usr/lib/node_modules", "/usr/share/nodejs");

const types = roots.find((root) => fs.existsSync(`${root}/@types/node/index.d.ts`));
// Without them nothing is checked (compile.needs of runtime.yaml), but --no-check needs the target.

const defaults = {
	strict: true,
	// Without dom: a program in a box has no document. fetch, URL and their like are in @types/node.
	lib: [`es${edition}`],
	types: ["node"],
	jsx: "react",
	allowJs: true,
	esModuleInterop: true,
	resolveJsonModule: true,
};

// How files are found, what they are compiled to and that tsc writes nothing: esbuild makes one program of them,
// whatever a tsconfig.json says. null takes a setting back.
const fixed = {
	target: `es${edition}`,
	module: "preserve",
	moduleResolution: "bundler",
	moduleDetection: "force",
	allowImportingTsExtensions: true,
	typeRoots: [`${types}/@types`, "/sandbox/code/node_modules/@types"],
	skipLibCheck: true,
	pretty: false,
	noEmit: true,
	composite: false,
	incremental: false,
	declaration: false,
	declarationMap: false,
	emitDeclarationOnly: null,
	baseUrl: null,
	rootDir: null,
	outDir: null,
	outFile: null,
	tsBuildInfoFile: null,
};

for (const [name, compilerOptions] of types ? Object.entries({ defaults, fixed }) : [])
	fs.writeFileSync(`/sandbox/output/${name}.json`, JSON.stringify({ compilerOptions }, null, "\t") + "\n");
fs.writeFileSync("/sandbox/output/target", `node${process.versions.node}\n`);
