// Findings of the service's check, as squiggles while the code is written.
import { api, ApiError, hasToken, type PolicyReport } from "./api";
import { later } from "./dom";
import type { Editor, Mark } from "./editor";
import { syntaxOf, knownOf } from "./languages";
import { language, reached } from "./state";

const PAUSE = 500; // milliseconds without a key

// A blocked import is not an error here: unless the policy is to block, such code runs all the same.
const level = (severity: string): Mark["severity"] => (severity === "high" ? "warning" : severity === "medium" ? "info" : "hint");

function marksOf(report: PolicyReport): Mark[] {
  return [
    ...report.syntax_errors.map((item): Mark => ({ line: item.line, column: item.column, message: item.message, severity: "error" })),
    ...report.imports.filter((item) => item.reason).map((item): Mark => ({ line: item.line, column: item.column, message: `${item.module}: ${item.reason}`, severity: level(item.severity) })),
    ...report.findings.map((item): Mark => ({ line: item.line, column: item.column, message: `${item.call}: ${item.reason}`, severity: level(item.severity) })),
  ];
}

/** Checks the visible file, if it is code of the language, after a pause in typing. */
export function checks(editor: Editor): { soon(): void; again(): void } {
  let can = true;
  const look = async (): Promise<void> => {
    const file = editor.active;
    if (!can || !file || !hasToken() || reached.get() !== "yes") return;
    if (editor.activeIndex > 0 && syntaxOf(file.name, language.get()) !== knownOf(language.get()).syntax) return;
    const code = file.model.getValue();
    try {
      const report = await api.check(language.get(), code);
      if (!file.model.isDisposed() && file.model.getValue() === code) editor.mark(file, "check", marksOf(report));
    } catch (error) {
      can = !(error instanceof ApiError && (error.status === 404 || error.status === 405));
    }
  };
  const soon = later(PAUSE, () => void look());
  return { soon, again: () => { can = true; soon(); } };
}
