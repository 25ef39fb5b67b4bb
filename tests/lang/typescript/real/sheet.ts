import { FormulaError } from "./formula/lexer";
import { cellsOf, cellsBetween, Operator, type Node } from "./formula/nodes";
import { Parser } from "./formula/parser";

export type Value = { ok: true; number: number } | { ok: false; reason: string };

interface Cell {
	formula: string;
	node?: Node;
	broken?: string;
}

type Reducer = (numbers: number[]) => number;

const functions = new Map<string, Reducer>([
	["SUM", (numbers) => numbers.reduce((a, b) => a + b, 0)],
	["MAX", (numbers) => Math.max(...numbers)],
	["MIN", (numbers) => Math.min(...numbers)],
	["MEAN", (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length],
	["COUNT", (numbers) => numbers.length],
]);

export class Sheet implements Iterable<[string, Value]> {
	readonly #cells = new Map<string, Cell>();
	readonly #values = new Map<string, Value>();
	readonly #open = new Set<string>();
	evaluations = 0;

	set(name: string, formula: string): void {
		const cell: Cell = { formula };
		try {
			cell.node = Parser.parse(formula);
		} catch (error) {
			if (!(error instanceof FormulaError)) throw error;
			cell.broken = `${error.message} (column ${error.at + 1})`;
		}
		this.#cells.set(name, cell);
		this.#forget(name);
	}

	/** What depends on a cell has to be worked out again; the rest is kept. */
	#forget(name: string): void {
		this.#values.delete(name);
		for (const [other, { node }] of this.#cells)
			if (node && this.#values.has(other) && cellsOf(node).includes(name)) this.#forget(other);
	}

	get(name: string): Value {
		const known = this.#values.get(name);
		if (known) return known;
		if (this.#open.has(name)) return { ok: false, reason: `${[...this.#open].join(" > ")} > ${name} is a circle` };
		this.#open.add(name);
		const value = this.#work(name);
		this.#open.delete(name);
		this.#values.set(name, value);
		return value;
	}

	#work(name: string): Value {
		const cell = this.#cells.get(name);
		if (!cell) return { ok: true, number: 0 };
		if (!cell.node) return { ok: false, reason: cell.broken ?? "empty" };
		this.evaluations++;
		try {
			const number = this.#evaluate(cell.node);
			return Number.isFinite(number) ? { ok: true, number } : { ok: false, reason: "not a number" };
		} catch (error) {
			return { ok: false, reason: error instanceof Error ? error.message : String(error) };
		}
	}

	#number(name: string): number {
		const value = this.get(name);
		if (!value.ok) throw new Error(value.reason.endsWith("circle") ? value.reason : `${name} is wrong`);
		return value.number;
	}

	#evaluate(node: Node): number {
		switch (node.type) {
			case "number":
				return node.value;
			case "cell":
				return this.#number(node.name);
			case "range":
				throw new Error("a range is no number");
			case "negate":
				return -this.#evaluate(node.operand);
			case "call":
				return this.#call(node.name, node.operands);
			case "binary": {
				const [left, right] = [this.#evaluate(node.left), this.#evaluate(node.right)];
				switch (node.operator) {
					case Operator.Add:
						return left + right;
					case Operator.Subtract:
						return left - right;
					case Operator.Multiply:
						return left * right;
					case Operator.Divide:
						return left / right;
					case Operator.Power:
						return left ** right;
				}
			}
		}
	}

	#call(name: string, operands: Node[]): number {
		const reduce = functions.get(name);
		if (!reduce) throw new Error(`no function ${name}`);
		return reduce(
			operands.flatMap((operand) =>
				operand.type === "range"
					? cellsBetween(operand.from, operand.to).map((cell) => this.#number(cell))
					: [this.#evaluate(operand)],
			),
		);
	}

	*[Symbol.iterator](): Iterator<[string, Value]> {
		for (const name of [...this.#cells.keys()].sort()) yield [name, this.get(name)];
	}
}
