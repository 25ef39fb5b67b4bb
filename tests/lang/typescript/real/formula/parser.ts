import { FormulaError, tokens, type Token, type TokenKind } from "./lexer.js";
import { Operator, type Node } from "./nodes.js";

const strength: Record<Operator, number> = {
	[Operator.Add]: 1,
	[Operator.Subtract]: 1,
	[Operator.Multiply]: 2,
	[Operator.Divide]: 2,
	[Operator.Power]: 3,
};

const isOperator = (text: string): text is Operator => text in strength;

export class Parser {
	readonly #tokens: Token[];
	#next = 0;

	constructor(text: string) {
		this.#tokens = [...tokens(text)];
	}

	static parse(text: string): Node {
		const parser = new Parser(text);
		const node = parser.#expression(0);
		parser.#take("end");
		return node;
	}

	get #token(): Token {
		return this.#tokens[this.#next]!;
	}

	#take(kind: TokenKind, text?: string): Token {
		const token = this.#token;
		if (token.kind !== kind || (text !== undefined && token.text !== text))
			throw new FormulaError(`expected ${text ?? kind}, found ${token.text || "the end"}`, token.at);
		this.#next++;
		return token;
	}

	#has(text: string): boolean {
		if (this.#token.text !== text) return false;
		this.#next++;
		return true;
	}

	#expression(least: number): Node {
		let left: Node = this.#has("-") ? { type: "negate", operand: this.#expression(2) } : this.#operand();
		for (;;) {
			const operator = this.#token.text;
			if (!isOperator(operator) || strength[operator] <= least) return left;
			this.#next++;
			// A power binds to the right: 2^3^2 is 2^(3^2).
			const right = this.#expression(operator === Operator.Power ? 2 : strength[operator]);
			left = { type: "binary", operator, left, right };
		}
	}

	#operand(): Node {
		const token = this.#token;
		if (this.#has("(")) {
			const inner = this.#expression(0);
			this.#take("sign", ")");
			return inner;
		}
		this.#next++;
		switch (token.kind) {
			case "number":
				return { type: "number", value: Number(token.text) };
			case "cell":
				return this.#has(":")
					? { type: "range", from: token.text, to: this.#take("cell").text }
					: { type: "cell", name: token.text };
			case "word":
				return { type: "call", name: token.text, operands: this.#operands() };
			default:
				throw new FormulaError(`expected a value, found ${token.text || "the end"}`, token.at);
		}
	}

	#operands(): Node[] {
		const operands: Node[] = [];
		this.#take("sign", "(");
		do operands.push(this.#expression(0));
		while (this.#has(","));
		this.#take("sign", ")");
		return operands;
	}
}
