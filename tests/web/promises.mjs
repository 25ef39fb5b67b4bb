// What the page promises: nothing is lost unasked, nothing is said that is not so, nobody is asked, and what stands above the
// code can be read.
//
//     node promises.mjs URL TOKEN [PATTERN]
import { createServer, request } from "node:http";
import { Visit, axeSource, begin, contains, equal, main, order, test, token, truth, url } from "./browser.mjs";

const toast = (page, text) => page.locator(".toast", { hasText: text });
const codeOf = (page) => page.evaluate(() => [...document.querySelectorAll(".editor-place .view-line")].sort((a, b) => a.offsetTop - b.offsetTop).map((line) => line.textContent.replaceAll("\u00a0", " ")).join("\n"));
const until = async (page, wanted) => page.waitForFunction((text) => document.querySelector(".editor-place .view-lines").textContent.replaceAll("\u00a0", " ").includes(text), wanted);
const upload = async (page, label, name, text) => {
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click(`[aria-label='${label}']`)]);
  await chooser.setFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
};
/** A cell of the session of the page, by the API: as another page or program of the same caller. */
async function api(visit, method, path, body) {
  const answer = await visit.page.request.fetch(`${url}${path}`, { method, headers: { Authorization: `Bearer ${token}` }, ...(body === undefined ? {} : { data: body }) });
  return answer.headers()["content-type"]?.includes("json") ? answer.json() : answer.text();
}
const cell = (visit, id, code) => api(visit, "POST", `/v1/sessions/${id}/execute`, { code });

// Colours

/** In the page: each text that is seen within an element, what colour it has on what; shadow roots are gone through. */
function textsIn(selector) {
  const deep = (root, found = []) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.matches(selector)) found.push(element);
      if (element.shadowRoot) deep(element.shadowRoot, found);
    }
    return found;
  };
  const parse = (text) => {
    const numbers = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...numbers.slice(0, 3).map((one) => one * scale), numbers[3] ?? 1];
  };
  const over = (front, back) => [0, 1, 2].map((at) => front[at] * front[3] + back[at] * (1 - front[3]));
  const light = (colour) => colour.map((one) => one / 255).map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)).reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const [widget] = deep(document).filter((element) => element.getBoundingClientRect().height > 0);
  if (!widget) return null;
  const found = [];
  const walk = (node) => {
    for (const child of node.childNodes) {
      if (child.nodeType === 1) {
        const { visibility, display, opacity } = getComputedStyle(child);
        if (visibility !== "hidden" && display !== "none" && opacity !== "0" && !child.closest(".disabled, [disabled], [aria-disabled=true]")) walk(child);
      } else if (child.nodeType === 3 && child.textContent.trim() && node.getBoundingClientRect().height > 3) {
        const layers = [];
        let closed = false;
        // Until a background that nothing shines through, which has to be the widget's own.
        for (let at = node; at; at = at === widget ? null : at.parentElement ?? at.getRootNode().host) {
          const colour = parse(getComputedStyle(at).backgroundColor);
          layers.push(colour);
          if (colour[3] === 1) {
            closed = true;
            break;
          }
        }
        const back = layers.reverse().reduce((below, layer) => over(layer, below), [255, 0, 255]);
        const front = over(parse(getComputedStyle(node).color), back);
        const [a, b] = [light(front), light(back)];
        found.push({ text: child.textContent.trim().slice(0, 30), closed, contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), colours: [front, back] });
      }
    }
  };
  walk(widget);
  return found;
}

/** Pixels of a picture, counted by colour: the page of a browser decodes it. */
async function coloursOf(page, picture) {
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    canvas.drawImage(bitmap, 0, 0);
    const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) {
      const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]).map(([key, count]) => [key.split(",").map(Number), count / (data.length / 4)]);
  }, picture.toString("base64"));
}

const isBlue = ([r, g, b]) => {
  const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
  return b === most && most - least > 60 && g < b - 20 && r < b - 60;
};

/** Rules about roles, names and sizes that Monaco's own markup does not keep, which the page cannot mend; all others hold there, too. */
const MONACOS = ["aria-allowed-attr", "aria-prohibited-attr", "aria-required-children", "aria-required-parent", "label-content-name-mismatch", "target-size"];

/** What is open can be read, on a background of its own, in no colour of another program; and axe finds nothing. */
async function legible(page, selector, name) {
  await page.waitForFunction(([text, of]) => (0, eval)(`(${text})`)(of)?.length > 0, [textsIn.toString(), selector]).catch(() => truth(false, `${name} is not open`));
  const texts = await page.evaluate(textsIn, selector);
  const bad = texts.filter((item) => !item.closed || item.contrast < 4.5).map((item) => `${item.text} (${item.closed ? item.contrast.toFixed(2) : "no background of its own"})`);
  equal(bad.join("; "), "", `${name}: what cannot be read`);
  // The same by what is really on the screen.
  const place = await page.evaluate((of) => {
    const deep = (root) => [...root.querySelectorAll("*")].flatMap((element) => [...(element.matches(of) ? [element] : []), ...(element.shadowRoot ? deep(element.shadowRoot) : [])]);
    const { x, y, width, height } = deep(document).find((element) => element.getBoundingClientRect().height > 0).getBoundingClientRect();
    return { x: Math.max(0, x), y: Math.max(0, y), width: Math.min(width, innerWidth - x), height: Math.min(height, innerHeight - y) };
  }, selector);
  const colours = await coloursOf(page, await page.screenshot({ clip: place }));
  truth(colours[0][1] > 0.4, `${name}: no colour is that of most of it: ${JSON.stringify(colours.slice(0, 3))}`);
  equal(JSON.stringify(colours.filter(([colour, share]) => share > 0.002 && isBlue(colour))), "[]", `${name}: blue on the screen`);
  // By the debugger, which the page's policy does not hold for.
  const found = await page.evaluate(async ([source, known]) => {
    if (!window.axe) (0, eval)(source);
    const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] });
    const isMonacos = ({ target: [path] }) => document.querySelector(Array.isArray(path) ? path[0] : path)?.closest(".monaco-editor, .quick-input-widget, .monaco-hover, .shadow-root-host") !== null;
    for (const item of violations) item.nodes = item.nodes.filter((node) => !known.includes(item.id) || !isMonacos(node));
    return violations.filter((item) => (item.impact === "serious" || item.impact === "critical") && item.nodes.length > 0)
      .map((item) => `${item.id}: ${item.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`).join(" ")}`);
  }, [axeSource, MONACOS]);
  equal(found.join("; "), "", `${name}: axe`);
}

for (const scheme of ["dark", "light"]) {
  test(`what_stands_above_the_code_can_be_read_${scheme}`, async (open) => {
    const visit = await open({ scheme, still: true });
    const { page } = visit;
    await visit.code("python", "from collections import Counter\ncounted = Counter('the')\nprint(f(:\n");
    await until(page, "print(f(:");
    await page.click(".editor-place .view-line >> nth=0", { button: "right" });
    await page.keyboard.press("ArrowDown");
    await legible(page, ".monaco-menu-container", "menu");
    await page.keyboard.press("Escape");
    await page.click(".editor-place .view-line >> nth=0");
    await page.keyboard.press("F1");
    await page.waitForSelector(".quick-input-widget");
    await page.keyboard.type("line");
    await legible(page, ".quick-input-widget", "palette");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+H");
    await page.waitForSelector(".find-widget.visible");
    await page.keyboard.type("count");
    await legible(page, ".find-widget", "find");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".editor-place .squiggly-error");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("F8");
    await legible(page, ".marker-widget", "a problem in its place");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+K");
    await page.keyboard.press("Control+I");
    await legible(page, ".monaco-hover:not(.hidden)", "hover");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("cou");
    await page.keyboard.press("Control+Space");
    await page.waitForSelector(".suggest-widget.visible .monaco-list-row.focused");
    await legible(page, ".suggest-widget", "suggestions");
    // Every colour of Monaco's is one of the page's, but for those of its parts that this page has not.
    const [own, foreign] = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement("i"));
      const partsOf = (value) => {
        probe.style.color = "";
        probe.style.color = value;
        return getComputedStyle(probe).color.match(/[\d.]+/g);
      };
      const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => /^:root/.test(rule.selectorText ?? "") && rule.style.getPropertyValue("--ember"));
      const root = getComputedStyle(document.documentElement);
      const names = new Set(rules.flatMap((rule) => [...rule.style]).filter((name) => name.startsWith("--")));
      const palette = new Set([...names].map((name) => root.getPropertyValue(name).trim()).filter((value) => value.startsWith("#")).map((value) => partsOf(value).slice(0, 3).join()));
      const css = [...document.querySelectorAll("style.monaco-colors")].map((style) => style.textContent).join("\n");
      const all = [...css.matchAll(/--vscode-([\w-]+): (#[0-9a-f]+|rgba?\([^)]*\));/gi)].map(([, name, value]) => [name, value, partsOf(value)]);
      const strange = all.filter(([name, , parts]) => parts[3] !== "0" && !palette.has(parts.slice(0, 3).join()) && !/^(diffEditor|merge|charts?-|minimap|multiDiff|breadcrumb|inlineEdit|inlineChat|peekView|editorOverviewRuler-(current|incoming|common)|activity)|-opacity$/.test(name));
      probe.remove();
      return [all.length - strange.length, strange.map(([name, value]) => `${name} ${value}`)];
    });
    truth(own > 300, `only ${own} colours are found`);
    equal(foreign.join("; "), "", "colours that are not the palette's");
  }, 80);
}

// Nothing is lost

test("a_file_of_a_session_is_not_replaced_unasked", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  const id = await page.inputValue(".place");
  const there = (path) => api(visit, "GET", `/v1/sessions/${id}/files/${path}`);
  await cell(visit, id, "for name in ('a.txt', 'b.txt', 'helper.py'): open('/sandbox/code/' + name, 'w').write('old ' + name)");
  await visit.panel("Files");
  await page.waitForSelector("[data-path='code/a.txt']");
  // A rename onto another.
  const rename = async (to, answer) => {
    await page.hover("[data-path='code/a.txt']");
    await page.click("[aria-label='Rename code/a.txt']");
    await page.fill("dialog input", to);
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog >> text=already exists in the session");
    await page.click(`dialog .button:has-text("${answer}")`);
    await page.waitForFunction(() => !document.querySelector("dialog"));
  };
  await rename("code/b.txt", "Cancel");
  equal(await there("code/b.txt"), "old b.txt", "a rename that was not confirmed");
  equal(await there("code/a.txt"), "old a.txt");
  // An upload.
  await upload(page, "Upload to the session", "b.txt", "new b");
  await page.waitForSelector("dialog >> text=already exists in the session");
  await page.click("dialog .button:has-text('Cancel')");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  equal(await there("code/b.txt"), "old b.txt", "an upload that was not confirmed");
  await upload(page, "Upload to the session", "b.txt", "new b");
  await page.click("dialog .button.primary:has-text('Replace')");
  await toast(page, "Uploaded b.txt").waitFor();
  equal(await there("code/b.txt"), "new b", "an upload that was confirmed");
  await rename("code/b.txt", "Replace");
  await page.waitForSelector("[data-path='code/a.txt']", { state: "detached" });
  equal(await there("code/b.txt"), "old a.txt", "a rename that was confirmed");
  // A tab that goes along with a cell.
  await visit.code("python", "print('ran')\n", [{ name: "helper.py", text: "x = 1\n" }]);
  await page.click(".run");
  await page.waitForSelector("dialog >> text=different version of code/helper.py");
  await page.click("dialog .button:has-text('Cancel')");
  await visit.ended();
  await visit.shown("Not run");
  equal(await there("code/helper.py"), "old helper.py", "a tab that was not confirmed");
  await page.click(".run");
  await page.click("dialog .button.primary:has-text('Replace and run')");
  await visit.shown("✓ exit 0");
  equal(await there("code/helper.py"), "x = 1\n");
  // What is ours is replaced without a question.
  await page.click("[role=tab] >> text=helper.py");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("x = 2");
  await page.click("[role=tab] >> text=main.py");
  await visit.run();
  equal(await there("code/helper.py"), "x = 2");
  // A file that was opened, and changed by a program meanwhile.
  await page.click("[data-path='code/b.txt']");
  await until(page, "old a.txt");
  await cell(visit, id, "open('/sandbox/code/b.txt', 'w').write('by the program')");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("!");
  await page.keyboard.press("Control+S");
  await page.waitForSelector("dialog >> text=has changed in the session");
  await page.click("dialog .button:has-text('Cancel')");
  equal(await there("code/b.txt"), "by the program");
}, 60);

test("two_tabs_keep_their_drafts", async (open) => {
  const first = await open();
  const type = async (page, text) => {
    await page.bringToFront();
    await page.click(".editor-place .view-lines");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(text);
    await page.waitForFunction((part) => Object.keys(localStorage).some((key) => key.startsWith("emberbox.draft.python.") && localStorage.getItem(key).includes(part)), text);
  };
  const other = async () => {
    const visit = Object.assign(Object.create(Object.getPrototypeOf(first)), { context: first.context, wrong: first.wrong, requests: first.requests });
    visit.page = await first.context.newPage();
    await visit.page.goto(`${url}/#token=${token}`);
    await visit.ready();
    return visit;
  };
  await type(first.page, "written_in_the_first = 1");
  const second = await other();
  // A new tab begins with what was written last, and has its own from then on.
  await until(second.page, "written_in_the_first");
  await type(second.page, "written_in_the_second = 2");
  await type(first.page, "first_again = 3");
  for (const [visit, text] of [[first, "first_again = 3"], [second, "written_in_the_second = 2"]]) {
    await visit.page.bringToFront();
    await visit.page.reload();
    await visit.ready();
    await until(visit.page, text);
  }
  // Each can have the other's; what it had can be had back.
  await first.page.bringToFront();
  const option = first.page.locator(".templates option", { hasText: "written_in_the_second" });
  await option.waitFor({ state: "attached" });
  await first.page.selectOption(".templates", await option.getAttribute("value"));
  await until(first.page, "written_in_the_second = 2");
  await toast(first.page, "Opened the draft.").locator("text=Undo").click();
  await until(first.page, "first_again = 3");
  // A tab that was duplicated has the same name in its storage.
  const name = await second.page.evaluate(() => sessionStorage.getItem("emberbox.tab"));
  await first.page.evaluate((own) => sessionStorage.setItem("emberbox.tab", own), name);
  await first.page.reload();
  await first.ready();
  await type(first.page, "of_the_twin = 4");
  await second.page.bringToFront();
  await second.page.waitForFunction((own) => sessionStorage.getItem("emberbox.tab") !== own, name);
  await second.page.reload();
  await second.ready();
  await until(second.page, "written_in_the_second = 2");
  await second.page.close();
});

test("a_draft_of_an_older_page_is_there", async (open) => {
  const visit = await open({ async before({ context }) {
    await context.addInitScript(() => localStorage.getItem("emberbox.done") ?? (localStorage.setItem("emberbox.drafts", JSON.stringify({ python: { language: "python", files: [{ name: "main.py", text: "from_long_ago = 1\n" }] } })), localStorage.setItem("emberbox.done", "1")));
  } });
  await until(visit.page, "from_long_ago");
});

test("an_uploaded_file_does_not_beat_a_tab", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Files");
  await visit.code("python", "import helper\nprint('it is', helper.x)\n", [{ name: "helper.py", text: "x = 'the tab'\n" }]);
  await upload(page, "Upload files", "helper.py", "x = 'the upload'\n");
  await page.waitForSelector("dialog >> text=helper.py is open in a tab");
  equal(await page.inputValue("dialog input"), "helper-2.py");
  await page.fill("dialog input", "helper.py");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .bad >> text=is open in a tab");
  await page.keyboard.press("Escape");
  await upload(page, "Upload files", "data.csv", "1");
  await page.waitForSelector(".side .file >> text=data.csv");
  await upload(page, "Upload files", "data.csv", "2");
  await page.click("dialog .button.primary:has-text('Replace')");
  // A tab that comes later, by a link: it is used, and that is said.
  await visit.code("python", "import helper\nprint('it is', helper.x, open('data.csv').read())\n", [{ name: "helper.py", text: "x = 'the tab'\n" }, { name: "data.csv", text: "of the tab" }]);
  await visit.run();
  await visit.shown("data.csv: the editor tab is used instead");
  await visit.shown("it is the tab of the tab");
  // Neither can take the other's name.
  await visit.code("python", "print(open('data.csv').read())\n");
  await page.click("[aria-label='New file']");
  await page.fill("dialog input", "data.csv");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .bad >> text=An uploaded file is already called data.csv");
  await page.keyboard.press("Escape");
  await visit.run();
  await visit.shown("2");
});

// Nothing is said that is not so

test("data_is_not_run", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "print('the program', 6 * 7)\n", [{ name: "data.csv", text: "print('the data ran')\n" }, { name: "other.py", text: "print('the other')\n" }]);
  await page.click("[role=tab] >> text=data.csv");
  equal(await page.getAttribute(".run", "title"), "Run main.py (Ctrl+Enter)");
  await visit.run();
  await visit.shown("the program 42");
  contains(await visit.output(), "main.py");
  truth(!(await visit.output()).includes("the data ran"), "a table was run as a program");
  await page.click("[role=tab] >> text=other.py");
  equal(await page.getAttribute(".run", "title"), "Run other.py (Ctrl+Enter)");
  await visit.run();
  await visit.shown("the other");
  // Nor a part of it.
  await page.click("[role=tab] >> text=data.csv");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Shift+Enter");
  await toast(page, "data.csv is not Python code").waitFor();
  truth(!(await visit.output()).includes("the data ran"), "a part of a table was run as a program");
});

test("shift_alt_f_formats", async (open) => {
  const visit = await open();
  const { page } = visit;
  await page.selectOption(".language", "go");
  await visit.code("go", "package main\nfunc main(){println( 1 )}\n");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Shift+Alt+KeyF");
  await until(page, "func main() { println(1) }");
});

test("stop_is_no_failure", async (open) => {
  const visit = await open();
  const { page } = visit;
  const stopped = async () => {
    await page.click(".run");
    await visit.shown("looping");
    await page.click(".stop");
    await visit.shown("■ stopped");
    await visit.ended();
    truth(!(await visit.output()).includes("✗"), `it is told as a failure: ${await visit.output()}`);
    equal(await page.locator(".card.error, .editor-place .line-why").count(), 0, "it is explained as an error");
    contains(await page.textContent(".status .last"), "stopped");
    // Nor in the history, which says how each of its runs ended.
    await page.click(".side [aria-label='Refresh']");
    const row = page.locator(".runs .run").first();
    await row.locator("text=stopped").waitFor();
    equal(await row.locator(".bad, .dot.killed, .dot.failed").count(), 0, "the history has it as a failure");
    await row.locator(".name").click();
    await page.waitForSelector("dialog >> text=stopped ·");
    equal(await page.locator("dialog .bad").count(), 0, "it is explained as an error");
    await page.keyboard.press("Escape");
  };
  await visit.panel("History");
  await visit.code("python", "print('looping', flush=True)\nwhile True: pass\n");
  await stopped();
  await page.click("[aria-label='Clear output']");
  await begin(visit);
  await stopped();
  // What fails by itself is one.
  await visit.code("python", "raise ValueError('by itself')\n");
  await visit.run();
  await visit.shown("✗ exit 1");
  await page.locator(".card.error").waitFor();
});

test("a_cell_waits_for_another_pages", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  const id = await page.inputValue(".place");
  const other = cell(visit, id, "import time\nprint('other')\nwhile not __import__('os').path.exists('/tmp/go'): time.sleep(0.05)\n'done'");
  await page.waitForFunction(async ([where, key]) => (await (await fetch(where, { headers: { Authorization: `Bearer ${key}` } })).json()).status === "busy", [`${url}/v1/sessions/${id}`, token]);
  await visit.code("python", "print('after it')\n");
  await page.click(".run");
  await visit.shown("Waiting: another cell is running in this session");
  // Stopped while it waits, it is ours that ends, not the other.
  await page.click(".stop");
  await visit.shown("■ stopped");
  await visit.code("python", "print('after it', input('Who? '))\n");
  await page.click(".run");
  await page.waitForFunction(() => window.consoleText().split("Waiting: another cell").length === 3);
  // What is typed now would be the input of the other.
  await page.click(".console-place .xterm-screen");
  await page.keyboard.type("x");
  equal(await page.locator(".input-row").isVisible(), false, "input is taken for a cell that waits");
  await api(visit, "PUT", `/v1/sessions/${id}/files/tmp/go`, "x").catch(() => {});
  const shell = await api(visit, "GET", `/v1/sessions/${id}`);
  equal(shell.status, "busy", "the other cell was ended");
  await api(visit, "POST", `/v1/sessions/${id}/interrupt`, {});
  await other;
  await visit.shown("Who?");
  await page.locator(".input-row").waitFor();
  await page.fill(".input-row input", "me");
  await page.keyboard.press("Enter");
  await visit.shown("after it me");
  // The cell that was stopped while it waited has not run after all.
  equal((await api(visit, "GET", `/v1/sessions/${id}/cells`)).cells.map((done) => done.code.includes("Who?") || done.code.includes("other")).join(), "true,true", "cells that ran");
  await visit.shown("✓ exit 0");
});

test("results_of_an_earlier_run_go_when_a_container_runs", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "print(nubmers)\n");
  await visit.run();
  await page.locator(".card.error").waitFor();
  await visit.panel("Containers");
  await page.click("[aria-label='Profile shells'] >> text=Start");
  const card = page.locator("[aria-label='Container of shells']");
  await card.locator("input").fill("echo of the container");
  await card.locator("button[type=submit]").click();
  await visit.shown("of the container");
  await visit.shown("✓ exit 0");
  equal(await page.locator(".card.error, .editor-place .line-why").count(), 0, "what was said of an earlier run");
  await card.locator("[aria-label='Stop container']").click();
  await card.waitFor({ state: "detached" });
});

test("what_is_cut_is_said_and_copied_as_said", async (open) => {
  const visit = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = visit;
  const copied = async (sentence) => {
    await page.click("[aria-label='Copy output']");
    await toast(page, sentence).waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await visit.code("python", "for n in range(20): print(n)\n");
  await visit.run();
  equal(await page.locator(".cut").isVisible(), false, "cut, it says");
  equal((await copied("Copied 22 lines.")).split("\n").length, 23);
  await visit.code("python", "for n in range(6000): print('line', n)\n");
  await visit.run();
  await page.waitForSelector(".cut:not([hidden]) >> text=Only the last 5000 lines are shown");
  const text = await copied(/Copied 60\d\d lines\./);
  truth(text.includes("line 0\n") && text.includes("line 5999\n"), "what was copied is not all");
  await visit.code("python", "for n in range(60000): print('x' * 100, n)\n");
  await visit.run();
  const rest = await copied("Earlier output is no longer kept.");
  truth(!rest.includes("line 0\n") && rest.includes(" 59999\n"), "the last of it was not copied");
  await page.click("[aria-label='Clear output']");
  await page.waitForSelector(".cut", { state: "hidden" });
}, 60);

test("a_program_cannot_draw_as_the_page_does", async (open) => {
  const visit = await open();
  const { page } = visit;
  // All that a heading has: its sign, its colour, bold; and the first of the extended colours.
  await visit.code("python", "print('\\x1b[H\\x1b[2J\\x1b[1;38;5;16m▸ #7 emberbox\\x1b[m\\nYour session has expired.')\nprint('\\x1b[1;38;2;255;138;76m▸ #8 Python\\x1b[m')\ninput('Enter your access token: ')\n");
  await page.click(".run");
  await page.locator(".input-row").waitFor();
  await visit.shown("Enter your access token:");
  const marks = await page.locator(".console-place .mark").allTextContents();
  truth(marks.every((text) => !/#7|#8|token/.test(text)), `a heading of the program's: ${marks}`);
  // Where the page's begin no character of a program can be, and none has their font.
  await page.keyboard.press("Enter");
  await visit.ended();
  await visit.shown("✓ exit 0");
  const [left, cells, fonts] = await page.evaluate(() => {
    const mark = [...document.querySelectorAll(".console-place .mark")].at(-1);
    const screen = document.querySelector(".console-place .xterm-screen");
    return [mark.getBoundingClientRect().left, screen.getBoundingClientRect().left, [getComputedStyle(mark).fontFamily, getComputedStyle(document.querySelector(".console-place .xterm-rows")).fontFamily]];
  });
  truth(left < cells - 8, `a heading begins at ${left}, characters at ${cells}`);
  truth(fonts[0] !== fonts[1], "a heading has the font of programs");
  await page.click(".run");
  await page.locator(".input-row").waitFor();
  contains(await page.textContent(".input-row"), "Goes to the program");
  await page.click(".stop");
  await visit.ended();
});

test("a_program_does_not_hide_what_the_page_says", async (open) => {
  const visit = await open();
  const { page } = visit;
  const program = async (code) => {
    await visit.code("python", `import sys\nwrite = sys.stdout.write\n${code}\n`);
    await visit.run();
  };
  const top = async () => {
    await page.click(".console-place .xterm-screen");
    for (let pages = 0; pages < 8; pages++) await page.keyboard.press("Shift+PageUp");
  };
  /** Rows that have the text and lie under a line of the page's. */
  const hidden = (text) => page.evaluate((part) => {
    const marks = [...document.querySelectorAll(".console-place .mark")].filter((mark) => mark.offsetParent).map((mark) => mark.getBoundingClientRect());
    const rows = [...document.querySelectorAll(".console-place .xterm-rows > div")].filter((row) => row.textContent.includes(part)).map((row) => row.getBoundingClientRect());
    return [rows.length, rows.filter((row) => marks.some((mark) => Math.min(mark.bottom, row.bottom) - Math.max(mark.top, row.top) > 2)).length].join();
  }, text);
  await program("print('of the first')");
  await program("write('before\\n\\x1b[2J\\x1b[3J\\x1b[Hafter clearing\\n')");
  await visit.shown("after clearing");
  equal(await hidden("after clearing"), "1,0", "a screen that was cleared: rows, and those under a line of the page's");
  // How it ended stands below what it wrote, not at the end of the screen.
  contains((await visit.output()).trim(), "after clearing\n✓ exit 0");
  // What was cleared can be scrolled back to.
  await top();
  for (const text of ["#1 Python", "of the first", "#2 Python", "before"]) await visit.shown(text);
  // Neither a reset nor what moves lines takes the page's away.
  await program("write('\\x1bc\\x1b[H' + '\\x1b[M' * 50 + '\\x1b[50T\\x1b[50S\\x1b[50L\\x1b[3;4r\\n')\nprint('of the third')");
  await top();
  for (const text of ["#1 Python", "#2 Python", "#3 Python"]) await visit.shown(text);
  // What a program leaves of modes is none of the next one's.
  await page.click("[aria-label='Clear output']");
  await program("write('\\x1b[?7l\\x1b(0\\x1b[4h\\x1b[?6h\\x1b[?1000h\\x1b[31m')");
  await program("print('lqk plain')\nprint('w' * 400)");
  await visit.shown("lqk plain");
  truth((await visit.output()).split("\n").filter((line) => /^w+\s*$/.test(line)).length > 2, "a long line is cut");
  equal(await page.locator(".console-place .enable-mouse-events").count(), 0, "the mouse is the program's");
  // With a terminal it has the screen to itself.
  await visit.panel("Run options");
  await page.getByLabel("Run in a terminal").check();
  await visit.code("python", "input('\\x1b[Hat home')");
  await page.click(".run");
  await visit.shown("at home");
  equal(await hidden("at home"), "1,0", "at the top of a program's own screen");
  await page.keyboard.press("Enter");
  await visit.ended();
}, 60);

test("the_status_is_asked_for_in_few_bytes", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "print(1)\n");
  await visit.run();
  let size = -1;
  await page.waitForResponse(async (answer) => {
    if (!answer.url().endsWith("/v1/status")) return false;
    size = (await answer.body()).length;
    return true;
  }, { timeout: 20_000 });
  truth(size > 20 && size < 200, `${size} bytes`);
  equal(visit.requests.filter((address) => address.endsWith("/metrics")).length, 0, "all metrics are asked for");
  await page.waitForFunction(() => /\d+ warm sandbox/.test(document.querySelector(".status .pool").textContent), undefined, { timeout: 20_000 });
});

test("no_command_line_in_what_is_advised", async (open) => {
  const visit = await open();
  const { page } = visit;
  const advice = async () => {
    const text = await page.textContent(".card.error");
    truth(!/--[a-z]|limits\.|\(files\)|stdin\)/.test(text), `a command line: ${text}`);
    return text;
  };
  await visit.code("python", "open('nope.csv')\n");
  await visit.run();
  contains(await advice(), "upload");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click(".card.error .button:has-text('Upload a file')")]);
  await chooser.setFiles({ name: "nope.csv", mimeType: "text/csv", buffer: Buffer.from("1") });
  await page.waitForSelector(".side .file >> text=nope.csv");
  await visit.run();
  await visit.shown("✓ exit 0");
  await visit.panel("Run options");
  await page.getByLabel("Time (seconds)").fill("1");
  await visit.code("python", "while True: pass\n");
  await visit.run();
  contains(await advice(), "raise the limit");
  await page.click(".card.error .button:has-text('Raise the limit')");
  equal(await page.evaluate(() => document.activeElement.getAttribute("data-field")), "Time (seconds)");
}, 60);

test("what_ran_when_the_service_was_killed_is_not_told_as_not_run", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import time\nprint('begun', flush=True)\ntime.sleep(60)\n");
  await page.click(".run");
  await visit.shown("begun");
  await order("stop");
  await visit.shown("✗ interrupted");
  truth(!(await visit.output()).includes("not run"), "not run, it says");
  // What nobody was there for did not run.
  await page.click(".run");
  await visit.shown("✗ not run");
  await order("start");
  await page.waitForFunction(() => document.querySelector(".banner").hidden);
});

// Sizes

/** In the page: parts that are seen and lie upon each other. */
function overlaps() {
  const controls = [...document.querySelectorAll(".bar > *, .out-head button, .input-row > *, .rail-button, .tab-row > .icon-button")].filter((element) => element.offsetParent !== null && !element.matches(".grow"));
  const parts = [".bar", ".rail", ".side", ".tab-row", ".editor-place", ".out-head", ".cut", ".console-place", ".input-row", ".results", ".session-terminal", ".status"]
    .map((name) => [name, document.querySelector(name)]).filter(([, element]) => element && element.offsetParent !== null && element.getBoundingClientRect().height > 0)
    .map(([name, element]) => [name, element.getBoundingClientRect()]);
  const found = [];
  for (const [a, one] of parts) for (const [b, other] of parts)
    if (a < b && Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 1) found.push(`${a} and ${b}`);
  for (const [name, box] of parts) if (box.height < 20) found.push(`${name} is ${box.height} high`);
  // Nothing that can be pressed is cut by what it is in, or too small to be used.
  for (const element of controls) {
    const [box, own] = [element.closest(".bar, .out-head, .input-row, .rail, .tab-row").getBoundingClientRect(), element.getBoundingClientRect()];
    const name = element.getAttribute("aria-label") ?? element.textContent;
    if (own.left < box.left - 1 || own.right > Math.min(box.right, innerWidth) + 1 || own.bottom > box.bottom + 1) found.push(`${name} is cut: ${Math.round(own.left)} to ${Math.round(own.right)} of ${Math.round(box.left)} to ${Math.round(box.right)}`);
    if (element.matches("input, select") && own.width < 60) found.push(`${name} is ${own.width} wide`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return found;
}

test("nothing_overlaps_in_small_windows", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await page.click("[aria-label='Session terminal']");
  await visit.code("python", "print(nubmers)\n");
  await visit.run();
  await page.locator(".card.error").waitFor();
  await visit.code("python", "print('x')\ninput('Which of the many towns of this country? ')\n");
  await page.click(".run");
  await page.locator(".input-row").waitFor();
  await visit.panel("Files");
  const settled = async (what) => {
    await page.waitForFunction((text) => (0, eval)(`(${text})`)().length === 0, overlaps.toString(), { timeout: 5000 }).catch(() => {});
    equal((await page.evaluate(overlaps)).join("; "), "", what);
  };
  // 1280 × 1024 and 1280 × 800 at 400 %, and windows that are 500 high; a panel takes its part of the wide ones.
  for (const [width, height] of [[1280, 500], [1024, 500], [800, 500], [761, 500], [390, 500], [320, 256], [320, 200]]) {
    await page.setViewportSize({ width, height });
    await page.waitForFunction(([w, h]) => innerWidth === w && innerHeight === h, [width, height]);
    for (const view of width > 760 ? [""] : ["Code", "Files", "Output"]) {
      if (view) await page.click(`.rail-button[aria-label='${view}']`);
      await settled(`${width} × ${height} ${view}`);
    }
    // The end of the output is seen in each of them, and that is the question.
    await visit.shown("Which of the many towns of this country?").catch(() => truth(false, `${width} × ${height}: the end of the output is not shown`));
    // Nor is what the page says cut, of whatever width the page was when it said so.
    await page.waitForFunction(() => [...document.querySelectorAll(".console-place .mark div")].every((line) => line.scrollHeight <= line.clientHeight + 1), undefined, { timeout: 5000 }).catch(() => truth(false, `${width} × ${height}: a line of the page's is cut`));
    // All of it can be scrolled to.
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    const bottom = await page.evaluate(() => document.querySelector(".app").getBoundingClientRect().bottom - innerHeight);
    truth(bottom <= 1, `${width} × ${height}: ${bottom} pixels cannot be reached`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.click(".stop");
  await visit.ended();
}, 80);

// Nobody is asked

test("html_asks_nobody", async (open) => {
  // A listener that counts what really comes, and one that the page itself comes from: 'self' is no way out either.
  const heard = [];
  const listen = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}`)));
  const other = createServer((asked, answer) => {
    heard.push(`other ${asked.url}`);
    answer.end();
  });
  other.on("connection", () => heard.push("connection"));
  const service = new URL(url);
  const between = createServer((asked, answer) => {
    if (asked.url.includes("probe")) heard.push(`self ${asked.url}`);
    const on = request({ host: service.hostname, port: service.port, path: asked.url, method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    on.on("error", () => answer.destroy());
    asked.pipe(on);
  });
  const [foreign, own] = [await listen(other), await listen(between)];
  const everything = (to) => `<style>@import "${to}/probe-import"; @font-face { font-family: f; src: url(${to}/probe-font) } p { font-family: f; background: url(${to}/probe-background); cursor: url(${to}/probe-cursor), auto }</style>
    <link rel="stylesheet" href="${to}/probe-sheet"><link rel="preload" as="image" href="${to}/probe-preload"><link rel="prefetch" href="${to}/probe-prefetch"><link rel="icon" href="${to}/probe-icon">
    <link rel="preconnect" href="${to}"><link rel="dns-prefetch" href="${to}"><link rel="modulepreload" href="${to}/probe-module"><link rel="manifest" href="${to}/probe-manifest">
    <meta http-equiv="refresh" content="0; url=${to}/probe-refresh"><base href="${to}/probe-base/">
    <img src="${to}/probe-img"><img srcset="${to}/probe-srcset 2x"><picture><source srcset="${to}/probe-source"><img src="probe-relative"></picture><input type="image" src="${to}/probe-input">
    <video src="${to}/probe-video" poster="${to}/probe-poster" autoplay></video><audio src="${to}/probe-audio" autoplay></audio><track src="${to}/probe-track">
    <svg><image href="${to}/probe-svg" /><use href="${to}/probe-use#a" /><filter id="q"><feImage href="${to}/probe-fe"/></filter><rect filter="url(#q)" width="9" height="9"/></svg>
    <iframe src="${to}/probe-frame"></iframe><object data="${to}/probe-object"></object><embed src="${to}/probe-embed"><table background="${to}/probe-table"><tr><td>x</td></tr></table>
    <script src="${to}/probe-script"></script><script>fetch("${to}/probe-fetch")</script><a id="followed" href="${to}/probe-followed" ping="${to}/probe-ping" attributionsrc="${to}/probe-attribution">follow</a><video src="data:application/vnd.apple.mpegurl,${encodeURIComponent(`#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n${to}/probe-segment.ts\n#EXT-X-ENDLIST`)}" autoplay muted></video><p>told</p><img id="inner" src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==">`;
  const visit = await open({ hash: `#token=${token}`, wait: false, async before(made) {
    made.page.goto = ((go) => (address, more) => go.call(made.page, address.replace(url, own), more))(made.page.goto);
  } });
  const { page } = visit;
  await visit.ready();
  // Otherwise it does ask: a page of the same text without the playground's care.
  const plain = await visit.context.newPage();
  await plain.setContent(everything(foreign));
  const eventually = async (is, what) => {
    for (let tries = 0; !is(); tries++) {
      truth(tries < 200, what);
      await new Promise((done) => setTimeout(done, 50));
    }
  };
  await eventually(() => ["probe-img", "probe-import", "probe-sheet", "probe-background", "probe-svg", "probe-poster"].every((name) => heard.some((line) => line.includes(name))), `the listener hears nothing: ${heard}`);
  await plain.close();
  await page.evaluate(() => fetch("/probe-control").catch(() => {}));
  await eventually(() => heard.some((line) => line.includes("self /probe-control")), "the way between hears nothing");
  heard.length = 0;
  await begin(visit);
  for (const to of [foreign, own, ""]) {
    await visit.code("python", `from IPython.display import HTML\nHTML(${JSON.stringify(everything(to))})\n`);
    await visit.run();
    const frame = page.frameLocator(".results iframe");
    equal(await frame.locator("p").textContent(), "told", "the page in the frame is not shown");
    // Pictures that are part of it are shown.
    await page.waitForFunction(() => document.querySelector(".results iframe"));
    // Looked at until it is: a promise to decode it is kept only when the browser draws the frame, which it may put off.
    const inner = () => frame.locator("#inner").evaluate((image) => (image.complete ? image.naturalWidth : 0));
    for (let tries = 0; (await inner()) !== 1; tries++) {
      truth(tries < 200, "a picture that is part of the result is not shown");
      await new Promise((done) => setTimeout(done, 50));
    }
    // Nor when somebody follows a link of it.
    await frame.locator("#followed").click();
  }
  await visit.code("python", `from IPython.display import Markdown\nMarkdown('![x](${foreign}/probe-markdown) ![y](/probe-markdown)\\n\\ntold')\n`);
  await visit.run();
  await page.frameLocator(".results iframe").locator("p >> nth=-1").waitFor();
  // Later than any of it: what is asked for on purpose.
  await page.evaluate(() => fetch("/probe-last").catch(() => {}));
  await eventually(() => heard.some((line) => line.includes("probe-last")), "the last is not heard");
  equal(heard.filter((line) => !line.includes("probe-last")).join("; "), "", "requests of a result");
  visit.wrong.length = 0;
  for (const server of [other, between]) server.closeAllConnections(), server.close();
}, 150);

await main();
