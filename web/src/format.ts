// Formatting by the language's own tool, in a box like everything else; a message says if the machine has no such tool.
import { stream } from "./api";
import { toast } from "./dialog";
import { displayOf } from "./state";

/** Commands that format their standard input; other languages have no formatter. */
const TOOLS: Record<string, { name: string; command: string }> = {
  go: { name: "gofmt", command: "gofmt" },
  rust: { name: "rustfmt", command: "rustfmt --emit stdout" },
  c: { name: "clang-format", command: "clang-format --assume-filename=main.c" },
  cpp: { name: "clang-format", command: "clang-format --assume-filename=main.cpp" },
  java: { name: "clang-format", command: "clang-format --assume-filename=Main.java" },
  javascript: { name: "clang-format", command: "clang-format --assume-filename=main.js" },
  typescript: { name: "clang-format", command: "clang-format --assume-filename=main.ts" },
  python: { name: "black", command: "black -q -" },
  bash: { name: "shfmt", command: "shfmt" },
  sh: { name: "shfmt", command: "shfmt -ln posix" },
  perl: { name: "perltidy", command: "perltidy -st -se" },
};

const MISSING = 127; // as a shell ends when there is no such command

/** The formatted text; null: it stays as it is, and a message has said why. */
export async function formatted(language: string, code: string): Promise<string | null> {
  const tool = TOOLS[language];
  const tidy = `${code.replace(/[ \t]+$/gm, "").replace(/\n+$/, "")}\n`;
  const only = (why: string): string | null => {
    toast(`${why} ${tidy === code ? "Nothing to change." : "Trailing spaces were removed."}`);
    return tidy === code ? null : tidy;
  };
  if (!tool) return only(`No formatter for ${displayOf(language)} is available.`);
  try {
    const result = await stream("/v1/execute", { language: "bash", code: tool.command, stdin: code, timeout: 10, limits: { max_output: "4m" } }, {}, new AbortController().signal);
    if (result.status === "ok" && !result.truncated) {
      if (result.stdout === code) toast("Already formatted.");
      return result.stdout;
    }
    if (result.exit_code === MISSING) return only(`${tool.name} is not installed on this machine.`);
    toast(`${tool.name}: ${result.stderr.split("\n").find((line) => line.trim() !== "") ?? result.error_message ?? "cannot format this code"}`, "bad");
  } catch (error) {
    toast((error as Error).message, "bad");
  }
  return null;
}
