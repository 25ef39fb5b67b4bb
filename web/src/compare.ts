// Two texts side by side, line by line, as a table that can also be read aloud.
import { h } from "./dom";

const MOST = 2000; // lines of a text that are compared

type Row = [left: string | null, right: string | null];

/** The longest common lines kept together, the rest as left and right. */
export function rowsOf(left: string[], right: string[]): Row[] {
  const [n, m] = [left.length, right.length];
  // Lengths of the longest common subsequences from here to the ends.
  const common = new Uint16Array((n + 1) * (m + 1));
  const at = (i: number, j: number): number => i * (m + 1) + j;
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      common[at(i, j)] = left[i] === right[j] ? common[at(i + 1, j + 1)]! + 1 : Math.max(common[at(i + 1, j)]!, common[at(i, j + 1)]!);
  const rows: Row[] = [];
  let gone: string[] = [];
  let come: string[] = [];
  const settle = (): void => {
    for (let k = 0; k < Math.max(gone.length, come.length); k++) rows.push([gone[k] ?? null, come[k] ?? null]);
    gone = [];
    come = [];
  };
  let i = 0;
  let j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && left[i] === right[j]) {
      settle();
      rows.push([left[i++]!, right[j++]!]);
    } else if (j >= m || (i < n && common[at(i + 1, j)]! >= common[at(i, j + 1)]!)) {
      gone.push(left[i++]!);
    } else {
      come.push(right[j++]!);
    }
  }
  settle();
  return rows;
}

export function sideBySide(title: string, left: string, right: string, heads: [string, string]): HTMLElement {
  const cut = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n").slice(0, MOST));
  const rows = rowsOf(cut(left), cut(right));
  const same = rows.every(([a, b]) => a === b);
  let l = 0;
  let r = 0;
  const body = rows.map(([a, b]) => {
    const differs = a !== b;
    const cell = (text: string | null, number: number, sign: string): HTMLElement[] => [
      h("td", { class: "number" }, text === null ? "" : number),
      h("td", { class: `line${text === null ? " none" : differs ? ` differs ${sign}` : ""}` }, text ?? ""),
    ];
    return h("tr", {}, ...cell(a, a === null ? l : ++l, "gone"), ...cell(b, b === null ? r : ++r, "come"));
  });
  return h("section", { class: "compare" },
    h("h3", {}, title, " ", h("span", { class: "hint" }, rows.length === 0 ? "none in either" : same ? "identical" : "")),
    rows.length === 0 ? null : h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": title },
      h("table", { class: "diff" }, h("thead", {}, h("tr", {}, ...heads.flatMap((head) => [h("td", {}), h("th", { scope: "col" }, head)]))), h("tbody", {}, ...body))),
  );
}
