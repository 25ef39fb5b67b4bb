// Words of a command line and variables, as people type them into a field.

/** Words as a shell would split them: blanks apart, quotes and backslashes as usual. */
export function words(text: string): string[] {
  const found: string[] = [];
  let word = "";
  let any = false;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quote) {
      if (c === quote) quote = "";
      else if (c === "\\" && quote === '"' && i + 1 < text.length) word += text[++i];
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      any = true;
    } else if (c === "\\" && i + 1 < text.length) {
      word += text[++i];
      any = true;
    } else if (/\s/.test(c)) {
      if (any) found.push(word);
      word = "";
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (quote) throw new Error(`Arguments: a closing ${quote} is missing.`);
  if (any) found.push(word);
  return found;
}

/** A word as it has to be written to be one. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** NAME=VALUE, one a line. */
export function variables(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    if (at <= 0) throw new Error(`Environment: "${line.trim()}" is not in the form NAME=VALUE.`);
    found[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return found;
}
