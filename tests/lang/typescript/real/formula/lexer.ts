export type TokenKind = "number" | "cell" | "word" | "sign" | "end";

export interface Token {
	readonly kind: TokenKind;
	readonly text: string;
	readonly at: number;
}

export class FormulaError extends Error {
	override name = "FormulaError";

	constructor(
		message: string,
		readonly at: number,
	) {
		super(message);
	}
}

const forms: ReadonlyArray<readonly [TokenKind, RegExp]> = [
	["number", /\d+(?:\.\d+)?/y],
	["cell", /[A-Z]\d+\b/y],
	["word", /[A-Z]+\b/y],
	["sign", /[-+*/^(),:]/y],
];

export function* tokens(text: string): Generator<Token, void, undefined> {
	let at = 0;
	scan: while (at < text.length) {
		if (text[at] === " ") {
			at++;
			continue;
		}
		for (const [kind, form] of forms) {
			form.lastIndex = at;
			const found = form.exec(text);
			if (found) {
				yield { kind, text: found[0], at };
				at = form.lastIndex;
				continue scan;
			}
		}
		throw new FormulaError(`what is "${text[at]}"?`, at);
	}
	yield { kind: "end", text: "", at };
}
