// A spreadsheet: `NAME = FORMULA` sets a cell, `show` prints them all, `count` how often a formula was worked out.
import { createInterface } from "node:readline";
import settings from "./format/settings.json";
import { table } from "./format/table.ts";
import { Sheet, type Value } from "./sheet.js";

const sheet = new Sheet();
const number = (value: Value): string => (value.ok ? String(Number(value.number.toFixed(settings.digits))) : "-");
const remark = (value: Value): string => (value.ok ? "" : value.reason);

function show(): void {
	console.log(
		table<[string, Value]>(
			[...sheet],
			[
				{ title: settings.titles.cell, text: ([name]) => name },
				{ title: settings.titles.value, text: ([, value]) => number(value), right: true },
				{ title: settings.titles.remark, text: ([, value]) => remark(value) },
			],
		),
	);
}

const commands: Record<string, () => void> = {
	show,
	count: () => console.log(`${sheet.evaluations} formulas worked out`),
};

let lineNumber = 0;
for await (const line of createInterface({ input: process.stdin })) {
	lineNumber++;
	const set = /^\s*([A-Z]\d+)\s*=\s*(.*)$/.exec(line);
	const command = commands[line.trim()];
	if (set) sheet.set(set[1]!, set[2]!.trimEnd());
	else if (command) command();
	else if (line.trim() !== "") console.log(`line ${lineNumber}: not understood: ${line.trim()}`);
}
