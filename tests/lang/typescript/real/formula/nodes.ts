export const enum Operator {
	Add = "+",
	Subtract = "-",
	Multiply = "*",
	Divide = "/",
	Power = "^",
}

export type Node =
	| { type: "number"; value: number }
	| { type: "cell"; name: string }
	| { type: "range"; from: string; to: string }
	| { type: "negate"; operand: Node }
	| { type: "binary"; operator: Operator; left: Node; right: Node }
	| { type: "call"; name: string; operands: Node[] };

/** Every cell that a node reads itself, ranges written out. */
export function cellsOf(node: Node): string[] {
	switch (node.type) {
		case "number":
			return [];
		case "cell":
			return [node.name];
		case "range":
			return cellsBetween(node.from, node.to);
		case "negate":
			return cellsOf(node.operand);
		case "binary":
			return [...cellsOf(node.left), ...cellsOf(node.right)];
		case "call":
			return node.operands.flatMap(cellsOf);
		default:
			return node satisfies never;
	}
}

export function cellsBetween(from: string, to: string): string[] {
	const columns = [from.charCodeAt(0), to.charCodeAt(0)].sort((a, b) => a - b) as [number, number];
	const rows = [Number(from.slice(1)), Number(to.slice(1))].sort((a, b) => a - b) as [number, number];
	const names: string[] = [];
	for (let row = rows[0]; row <= rows[1]; row++)
		for (let column = columns[0]; column <= columns[1]; column++) names.push(String.fromCharCode(column) + row);
	return names;
}
