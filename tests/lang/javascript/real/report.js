// Cells are as wide as they look: a letter of two columns counts as two.
const width = (text) => [...text].reduce((sum, c) => sum + (/\p{Script=Han}|\p{Extended_Pictographic}/u.test(c) ? 2 : 1), 0);
const pad = (text, size, right) => (right ? ' '.repeat(size - width(text)) + text : text + ' '.repeat(size - width(text)));

export function* table(rows, columns) {
	const sizes = columns.map((c) => Math.max(width(c), ...rows.map((row) => width(String(row[c])))));

	yield columns.map((c, i) => pad(c, sizes[i], i > 0)).join('  ').trimEnd();
	yield sizes.map((size) => '-'.repeat(size)).join('  ');
	for (const row of rows)
		yield columns.map((c, i) => pad(String(row[c]), sizes[i], i > 0)).join('  ').trimEnd();
}

export function* histogram(counts, size) {
	const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
	const most = sorted[0]?.[1] ?? 1;
	const label = Math.max(...sorted.map(([key]) => width(key)));

	for (const [key, count] of sorted)
		yield `${pad(key, label)} ${'█'.repeat(Math.round((count / most) * size))} ${count}`;
}
