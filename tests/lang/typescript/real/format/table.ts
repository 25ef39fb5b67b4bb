export interface Column<Row> {
	title: string;
	text(row: Row): string;
	right?: boolean;
}

export function table<Row>(rows: readonly Row[], columns: ReadonlyArray<Column<Row>>): string {
	const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map((column) => column.text(row)))];
	const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]!.length)));
	return cells
		.map((line) =>
			line
				.map((text, index) => (columns[index]!.right ? text.padStart(widths[index]!) : text.padEnd(widths[index]!)))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}
