// The page's texts: what the service advises is said in words of the page, beside the button that does it; and drafts that
// something else has taken the place of.
//
//     node texts.mjs URL TOKEN [PATTERN]
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { Visit, begin, contains, equal, main, test, token, truth, url } from "./browser.mjs";

const repository = new URL("../../", import.meta.url);
const require = createRequire(new URL("web/package.json", repository));
const toast = (page, text) => page.locator(".toast", { hasText: text });
const until = async (page, wanted) => page.waitForFunction((text) => document.querySelector(".editor-place .view-lines").textContent.replaceAll("\u00a0", " ").includes(text), wanted);

/** A source of the page that imports no other, as a module. */
async function sourceOf(name) {
  const { transformSync } = createRequire(require.resolve("vite"))("esbuild");
  const { code } = transformSync(readFileSync(new URL(`web/src/${name}`, repository), "utf8"), { loader: "ts", format: "esm" });
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

/** Every sentence that names an option: by the kind of the error, of the languages' files and of the sources in C. */
function advice() {
  const found = [];
  const add = (kind, text) => /--[a-z%][\w%-]*|\(limits\.|\(stdin\)/.test(text) && found.push([kind, text.replace(/%\.?\d*[a-z]/g, (sign) => ({ "%u": "128", "%.0f": "128" })[sign] ?? "memory").replace("--memory memory", "--memory 1g")]);
  const { parse } = require("yaml");
  for (const language of readdirSync(new URL("runtimes/", repository))) {
    let text = "";
    try {
      text = readFileSync(new URL(`runtimes/${language}/explain.yaml`, repository), "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      continue;
    }
    for (const [kind, { say }] of Object.entries(parse(text).kinds ?? {})) [say].flat().forEach((sentence) => sentence && add(kind, sentence));
  }
  const strings = (path) => readFileSync(new URL(path, repository), "utf8").replace(/"\s*\n\s*"/g, "");
  for (const [, kind, body] of strings("src/explain/common.c").matchAll(/\.name = "([\w-]+)"([^]*?)\n\t\}/g)) for (const [, sentence] of body.matchAll(/"((?:[^"\\]|\\.)*)"/g)) add(kind, sentence);
  // Of the layers, too, but for commands that are to be typed on the machine itself, and for what only the terminal prints.
  for (const [, sentence] of strings("src/api/doctor.c").matchAll(/"((?:[^"\\]|\\.)*)"/g)) if (!/^(?:systemd-run|--)|\\n$/.test(sentence)) add(null, sentence);
  for (const [, sentence] of strings("src/result/result_verdict.c").matchAll(/"((?:[^"\\]|\\.)*)"/g)) add(null, sentence);
  return found;
}

test("advice_is_in_words_of_the_page", async () => {
  const { actionOf, plain } = await sourceOf("advice.ts");
  const sentences = advice();
  truth(sentences.length > 35, `only ${sentences.length} sentences name an option`);
  const bad = [];
  for (const [kind, sentence] of sentences) {
    const text = plain(sentence);
    if (/--\w|limits\.|\((?:files|stdin)|\brequest\b| ,| {2}|[;,:]\.$/.test(text)) bad.push(`${sentence} => ${text}`);
    // Each has the button that does what it says.
    const action = /\bupload\b/.test(text) ? "upload" : /\braise the limit\b/.test(text) ? "limit" : /\bunder Run options\b/.test(text) ? "input" : null;
    if (kind && actionOf("failed", kind) !== action) bad.push(`${kind} has the button ${actionOf("failed", kind)}: ${text}`);
  }
  equal(bad.join("\n"), "");
  // What names no option has no such button: a missing #include is not uploaded.
  equal(actionOf("failed", "missing-header"), null);
  equal(actionOf("timeout", null), "limit");
});

test("a_refused_field_has_the_pages_name", async (open) => {
  const { refusal } = await sourceOf("advice.ts");
  equal(refusal("limits.memory: expected a size", "limits.memory"), "Memory: expected a size");
  equal(refusal("files.a/b: too large", "files.a/b"), "Files: too large");
  equal(refusal("unknown: what", "unknown"), "unknown: what");
  equal(refusal("there is no session", null), "there is no session");
  const visit = await open();
  const { page } = visit;
  await visit.panel("Run options");
  await visit.code("python", "print(1)\n");
  for (const [label, value] of [["Time (seconds)", "soon"], ["Memory", "lots"], ["Cores", "few"], ["Processes", "-1"], ["CPU time", "x"], ["Disk", "y"]]) {
    await page.getByLabel(label).fill(value);
    await page.click("[aria-label='Clear output']");
    await visit.run();
    await visit.shown("not run");
    contains(await visit.output(), `${label.replace(" (seconds)", "")}: `);
    truth(!/limits\.|timeout:|memory:|cpus:|pids:|cpu_time:|disk:/.test(await visit.output()), `a field of the API: ${await visit.output()}`);
    await page.getByLabel(label).fill("");
  }
});

test("only_code_is_run_as_code", async () => {
  const { isProgram } = await sourceOf("languages.ts");
  const runs = (language, names) => names.split(" ").filter((name) => isProgram(name, language)).join(" ");
  equal(runs("python", "main.py tool.py script data.csv DATA.CSV notes.ipynb model.pkl a.dat b.json page.html x.parquet y.npy z.sqlite c.js d.sh"), "main.py tool.py script");
  equal(runs("javascript", "main.js a.mjs b.cjs data.json c.ts"), "main.js a.mjs b.cjs");
  equal(runs("c", "main.c util.c util.h"), "main.c util.c");
  equal(runs("sqlite", "main.sql more.sql data.csv base.db"), "main.sql more.sql");
  equal(runs("r", "main.R other.r data.tsv"), "main.R other.r");
});

test("a_session_file_with_the_name_of_a_tab_has_its_path", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.panel("Files");
  await visit.code("python", "open('/sandbox/data/main.py', 'w').write('of_the_session = 1')\n");
  await visit.run();
  await page.click(".side .file .name:has-text('data')");
  await page.click("[data-path='data/main.py']");
  await page.locator("[role=tab]").nth(1).waitFor();
  equal((await page.locator("[role=tab]").allTextContents()).join(), "main.py,data/main.py");
});

test("a_file_that_cannot_be_read_is_said", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Files");
  // As the browser does for a folder that is dropped.
  await page.evaluate(() => {
    File.prototype.arrayBuffer = () => Promise.reject(new DOMException("A requested file or directory could not be found", "NotFoundError"));
  });
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("[aria-label='Upload files']")]);
  await chooser.setFiles({ name: "folder", mimeType: "", buffer: Buffer.from("") });
  await toast(page, "Could not read folder. Folders cannot be uploaded.").waitFor();
  equal(await page.locator(".side .file", { hasText: "folder" }).count(), 0, "it is uploaded");
});

// Drafts

async function type(page, text) {
  await page.bringToFront();
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
  await page.waitForFunction((part) => Object.keys(localStorage).some((key) => key.startsWith("emberbox.draft.") && localStorage.getItem(key).includes(part)), text);
}

/** Another page of the same browser. */
async function beside(visit) {
  const other = Object.assign(Object.create(Visit.prototype), { context: visit.context, wrong: visit.wrong, requests: visit.requests });
  other.page = await visit.context.newPage();
  await other.page.goto(`${url}/#token=${token}`);
  await other.ready();
  return other;
}

const choose = async (page, text) => {
  const option = page.locator(".templates optgroup option", { hasText: text });
  await option.waitFor({ state: "attached" });
  await page.selectOption(".templates", await option.getAttribute("value"));
};

test("what_was_replaced_is_there_later", async (open) => {
  const visit = await open();
  const { page } = visit;
  await type(page, "precious = 1");
  await page.selectOption(".templates", "Plot");
  await until(page, "import matplotlib");
  // Nobody has pressed Undo, and the page is loaded again.
  await toast(page, "Opened the example").locator("[aria-label='Dismiss']").click();
  await page.reload();
  await visit.ready();
  await until(page, "import matplotlib");
  // An example that nobody has changed is no draft.
  equal(await page.locator(".templates optgroup option").count(), 1, "drafts to choose from");
  await choose(page, "precious = 1");
  await until(page, "precious = 1");
  // Undo that is pressed late does not take what was written since.
  await page.selectOption(".templates", "Plot");
  await until(page, "import matplotlib");
  await type(page, "written_since = 3");
  await toast(page, 'Opened the example "Plot".').locator("text=Undo").click();
  await until(page, "precious = 1");
  await choose(page, "written_since = 3");
  await choose(page, "precious = 1");
  await until(page, "precious = 1");
  // A link with code of another language does not take that one's draft, either.
  await page.selectOption(".language", "lua");
  await type(page, "dear = 2");
  await page.selectOption(".language", "python");
  await until(page, "precious = 1");
  await visit.code("lua", "print('from a link')\n");
  await until(page, "from a link");
  await choose(page, "dear = 2");
  await until(page, "dear = 2");
});

test("a_ninth_tab_takes_no_draft_away", async (open) => {
  const first = await open();
  await type(first.page, "of_the_first = 1");
  const second = await beside(first);
  // Eight tabs that have written since: there is room for no ninth.
  await second.page.evaluate(() => {
    for (let n = 0; n < 8; n++) localStorage.setItem(`emberbox.draft.python.tab${n}`, JSON.stringify({ time: Date.now() + n, draft: { language: "python", files: [{ name: "main.py", text: `tab = ${n}` }] } }));
  });
  await first.page.evaluate(() => {
    window.removed = false;
    window.addEventListener("storage", (event) => (window.removed ||= event.newValue === null));
  });
  await type(second.page, "of_the_second = 2");
  await first.page.waitForFunction(() => window.removed && Object.keys(localStorage).some((key) => key.startsWith("emberbox.draft.python.") && localStorage.getItem(key).includes("of_the_first")));
  await first.page.bringToFront();
  await first.page.reload();
  await first.ready();
  await until(first.page, "of_the_first = 1");
  await second.page.close();
});

test("a_full_browser_is_said", async (open) => {
  const visit = await open();
  const { page } = visit;
  await type(page, "small = 1");
  // A replaced draft gives way; then nothing is left to.
  await page.evaluate(() => {
    localStorage.setItem("emberbox.draft.python.old-a", JSON.stringify({ time: 1, draft: { language: "python", files: [{ name: "main.py", text: "x".repeat(2000) }] } }));
    let size = 1 << 20;
    for (let n = 0; size > 0; ) {
      try {
        localStorage.setItem(`filler${n++}`, "x".repeat(size));
      } catch {
        size >>= 1;
      }
    }
  });
  await type(page, `large = '${"y".repeat(600)}'`);
  equal(await page.evaluate(() => localStorage.getItem("emberbox.draft.python.old-a")), null, "what was replaced");
  equal(await toast(page, "no room left").count(), 0, "it is said that there is no room");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText(`\nlarger = '${"z".repeat(4000)}'`);
  await toast(page, "This browser has no room left to save your code.").waitFor();
  await page.keyboard.press("Control+S");
  equal(await toast(page, "saved in this browser").count(), 0, "it is called saved");
  await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("filler")).forEach((key) => localStorage.removeItem(key)));
  await page.keyboard.press("Control+S");
  await toast(page, "saved in this browser").waitFor();
  await page.reload();
  await visit.ready();
  await until(page, "larger = ");
});

await main();
