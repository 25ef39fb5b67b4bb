// Cells of TypeScript: esbuild takes the types out, and says where in the cell each piece was.
'use strict';
const { spawnSync } = require('node:child_process');

// All imports stay, used or not: another cell may use them.
const SETTINGS = JSON.stringify({ compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } });
const MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/;
const ERROR = /^(?:✘|X) \[ERROR\] (.*)\n\n +.*?:(\d+):(\d+):/m;

function strip(esbuild, code, name) {
	const words = ['--loader=tsx', '--jsx=transform', `--tsconfig-raw=${SETTINGS}`, '--sourcemap=inline', `--sourcefile=${name}`,
		`--target=node${process.versions.node}`, '--log-level=error', '--color=false', '--charset=utf8'];
	// <T>x is a cast in .ts and an element in .tsx.
	for (const loader of ['--loader=ts', '--loader=tsx']) {
		words[0] = loader;
		const made = spawnSync(esbuild, words, { input: code, encoding: 'utf8', maxBuffer: 64 << 20 });
		if (made.error)
			return { error: made.error, place: null };
		if (made.status === 0) {
			const found = MAP.exec(made.stdout);
			return { code: made.stdout.replace(MAP, ''), map: found && JSON.parse(Buffer.from(found[1], 'base64')) };
		}
		var [, message, line, column] = ERROR.exec(made.stderr) ?? [null, made.stderr.trim(), 1, 0];
		if (loader === '--loader=ts')
			var first = [message, line, column];
	}
	const error = new SyntaxError(first[0]);
	return { error, place: { line: Number(first[1]), column: Number(first[2]) + 1 } };
}

module.exports = { strip };
