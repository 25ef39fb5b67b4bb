// The editor, its files, and programs that ask, as somebody uses them who works with the page all day.
//
//     node workbench.mjs URL TOKEN [PATTERN]
import { begin, contains, equal, main, order, test, truth, unharmed } from "./browser.mjs";

const tabsOf = (page) => page.locator("[role=tab]").evaluateAll((all) => all.map((tab) => tab.firstChild.textContent));
const until = (page, wanted) => page.waitForFunction((text) => [...document.querySelectorAll(".editor-place .view-line")].sort((a, b) => a.offsetTop - b.offsetTop).map((line) => line.textContent.replaceAll("\u00a0", " ")).join("\n").includes(text), wanted);
const toast = (page, text) => page.locator(".toast", { hasText: text });

test("a_program_in_a_fresh_box_is_answered", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import sys\nname = input('Who? ')\nprint('Hello,', name)\nprint('rest:', repr(sys.stdin.read()))\n");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+Enter");
  await visit.shown("Who?");
  // It takes the keyboard by itself: nobody has typed since.
  const field = page.locator(".input-row input");
  await field.waitFor();
  await page.waitForFunction(() => document.activeElement === document.querySelector(".input-row input"));
  await page.keyboard.type("émile");
  await page.keyboard.press("Enter");
  await visit.shown("Hello, émile");
  // What is typed at the console is meant for it, too; then the end.
  await page.click(".console-place .xterm-screen");
  await page.keyboard.type("xy");
  equal(await field.inputValue(), "xy");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+d");
  await visit.shown("rest: 'xy\\n'");
  await visit.shown("exit 0");
  equal(await field.isVisible(), false, "it is still asked for");
});

test("a_program_with_a_terminal_has_every_key", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Run options");
  await page.getByLabel("Run in a terminal").check();
  await visit.code("bash", "[ -t 0 ] && [ -t 1 ] && echo ready $(stty size)\nread -rsn1 a; read -rsn1 b; echo \"keys $a$b\"\nread -r line; echo \"line $line\"\n");
  await page.click(".run");
  await visit.shown("ready");
  truth(/ready \d+ \d+/.test(await visit.output()), "it is not told how large it is");
  // It has the keyboard; keys come in their order, one by one.
  await page.keyboard.type("xy");
  await visit.shown("keys xy");
  equal(await page.locator(".input-row").isVisible(), false, "it is asked for a line");
  await page.keyboard.type("in the order typed, quickly");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Enter");
  await visit.shown("line in the order typed, quickl");
  await visit.shown("exit 0");
  // The next is none, and its keys are nobody's.
  await page.getByLabel("Run in a terminal").uncheck();
  await visit.code("bash", "[ -t 0 ] || echo no terminal\n");
  await visit.run();
  await visit.shown("no terminal");
});

test("who_types_code_is_not_interrupted", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import time\ntime.sleep(0.4)\ninput('Who? ')\n");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+Enter");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("#");
  await visit.shown("Who?");
  await page.locator(".input-row").waitFor();
  await page.keyboard.type(" still here");
  await until(page, "# still here");
  await page.click(".stop");
  await visit.shown("■ stopped");
});

test("a_short_run_moves_nothing", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "print('short')\n");
  await page.evaluate(() => {
    window.rowSeen = false;
    new MutationObserver(() => (window.rowSeen ||= !document.querySelector(".input-row").hidden)).observe(document.querySelector(".input-row"), { attributes: true });
  });
  for (let i = 0; i < 3; i++) await visit.run();
  equal(await page.evaluate(() => window.rowSeen), false, "the line for input was shown");
});

test("a_selection_fails_at_its_own_line", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "def f():\n    '🔥'\n    numbers = [1]\n    print('é🔥', sum(nubmers))\nf()\n");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+Home");
  for (const key of ["ArrowDown", "ArrowDown", "Home", "Shift+ArrowDown", "Shift+End"]) await page.keyboard.press(key);
  await page.keyboard.press("Shift+Enter");
  await visit.shown("#1 Python, lines 3 to 4");
  await visit.ended();
  const card = page.locator(".card.error");
  equal(await card.locator("header .link").textContent(), "main.py, line 4");
  equal((await card.locator(".context .number").allTextContents()).join(), "3,4");
  await card.locator("header .link").click();
  await page.waitForFunction(() => /^Ln 4/.test(document.querySelector(".status .position").textContent));
  await page.click(".suggestion >> text=Apply");
  await until(page, "    print('é🔥', sum(numbers))");
  await toast(page, "Applied.").locator("text=Run again").click();
  await visit.shown("é🔥 1");
});

test("what_replaces_code_can_be_undone", async (open) => {
  const visit = await open();
  const { page } = visit;
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("precious = 1");
  await page.selectOption(".templates", "Plot");
  await until(page, "import matplotlib");
  await toast(page, 'Opened the example "Plot".').locator("text=Undo").click();
  await until(page, "precious = 1");
  // A language that is chosen at once after the last key.
  await page.keyboard.press("Control+Home");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("23");
  await page.selectOption(".language", "lua");
  await until(page, "local function map");
  await page.selectOption(".language", "python");
  await until(page, "precious = 123");
});

test("tabs_are_made_renamed_and_closed", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import tools.more as t\nprint(t.x)\n");
  await page.click("[aria-label='New file']");
  const field = page.locator("dialog input");
  for (const [name, why] of [["main.py", "main.py is already open in a tab."], ["../x.py", "relative path"], ["/etc/passwd", "relative path"], [" ", "Enter a name"]]) {
    await field.fill(name);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`dialog .bad >> text=${why}`);
  }
  await field.fill("wrong.py");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".editor-place").contains(document.activeElement));
  await page.keyboard.type("x = 42\n");
  await until(page, "x = 42");
  // The keyboard on a tab: another name, the next tab, away with it and back.
  await page.focus("[role=tab][aria-selected=true]");
  await page.keyboard.press("F2");
  await field.fill("tools/more.py");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[role=tab] >> text=tools/more.py");
  equal((await tabsOf(page)).join(), "main.py,tools/more.py");
  await visit.run();
  await visit.shown("42");
  await page.focus("[role=tab][aria-selected=true]");
  await page.keyboard.press("ArrowLeft");
  equal(await page.getAttribute("[role=tab]:focus", "aria-selected"), "true");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Delete");
  equal((await tabsOf(page)).join(), "main.py");
  await toast(page, "Closed tools/more.py.").locator("text=Undo").click();
  equal((await tabsOf(page)).join(), "main.py,tools/more.py");
  await until(page, "x = 42");
  await page.locator("[role=tab]", { hasText: "tools/more.py" }).click({ button: "middle" });
  equal((await tabsOf(page)).join(), "main.py");
  equal(await page.locator("[aria-label^='Close main']").count(), 0, "the last file can be closed");
});

test("a_file_of_a_session_is_written_back", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.panel("Files");
  await visit.code("python", "open('/sandbox/data/notes.txt', 'w').write('first\\n')\nopen('/sandbox/data/raw', 'wb').write(b'a\\0b')\n");
  await visit.run();
  await page.click(".side .file .name:has-text('data')");
  await page.click(".side .file .name:has-text('notes.txt')");
  await until(page, "first");
  equal(await page.locator(".tab.changed").count(), 0, "changed when it was only opened");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("second");
  await page.waitForSelector(".tab.changed >> text=notes.txt");
  await page.keyboard.press("Control+Z");
  await page.waitForFunction(() => !document.querySelector(".tab.changed"));
  await page.keyboard.press("Control+Y");
  await page.waitForSelector(".tab.changed");
  await page.keyboard.press("Control+S");
  await toast(page, "Saved to /sandbox/data/notes.txt.").waitFor();
  equal(await page.locator(".tab.changed").count(), 0, "changed after it was written");
  // Opened again it is the same tab; what is no text is not opened.
  await page.click(".side .file .name:has-text('notes.txt') >> nth=-1");
  equal((await tabsOf(page)).join(), "main.py,notes.txt");
  await page.click(".side .file .name:has-text('raw')");
  await toast(page, "data/raw is not a text file").waitFor();
  await page.click("[role=tab] >> text=main.py");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("print(open('/sandbox/data/notes.txt').read().split(), __import__('os').listdir('/sandbox/code'))");
  await visit.run();
  await visit.shown("['first', 'second'] []");
  // Without a session Ctrl+S says where what is written is kept.
  await page.keyboard.press("Control+S");
  await toast(page, "saved in this browser").waitFor();
});

/** Drops files on something, as a person who drags them there. */
async function drop(page, selector, files) {
  const data = await page.evaluateHandle((list) => {
    const transfer = new DataTransfer();
    for (const [name, text] of list) transfer.items.add(new File([text], name));
    return transfer;
  }, files);
  await page.dispatchEvent(selector, "dragenter", { dataTransfer: data });
  equal(await page.locator(".drop-hint").isVisible(), true, "it is not said that files can be dropped");
  await page.dispatchEvent(selector, "dragover", { dataTransfer: data });
  await page.dispatchEvent(selector, "drop", { dataTransfer: data });
  equal(await page.locator(".drop-hint").isVisible(), false, "it is still said");
}

test("files_are_dropped_on_the_page", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "print('sum', sum(map(int, open('n.csv').read().split(','))))\n");
  await drop(page, ".editor-place .view-lines", [["n.csv", "1,2,39"]]);
  await page.waitForSelector(".side .file >> text=n.csv");
  await visit.run();
  await visit.shown("sum 42");
  // Into a session: what was sent along before, and what is dropped now.
  await begin(visit);
  await visit.run();
  await visit.shown("sum 42");
  await drop(page, ".console-place", [["later.csv", "7"]]);
  await toast(page, "Uploaded later.csv to /sandbox/code").waitFor();
  await page.waitForSelector("[data-path='code/later.csv']");
});

test("files_of_a_session_are_seen_as_they_come", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.panel("Files");
  await page.waitForSelector("[data-path=code]");
  await page.click("[aria-label='Session terminal']");
  await page.waitForFunction(() => /[$#]/.test(document.querySelector(".session-terminal .xterm-rows")?.textContent ?? ""));
  await page.click(".session-terminal");
  await page.keyboard.type("echo x > made-there\n");
  await page.waitForSelector("[data-path='code/made-there']");
  await page.keyboard.type("rm made-there\n");
  await page.waitForSelector("[data-path='code/made-there']", { state: "detached" });
});

test("a_session_shows_its_memory_and_cells", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.panel("Sessions");
  const used = () => page.evaluate(() => Number(/([\d.]+) MiB/.exec(document.querySelector(".session.current .meter-row").textContent)[1]));
  const before = await used();
  await visit.code("python", "import time\nheld = bytearray(200 << 20)\nheld[::4096] = b'x' * len(held[::4096])\nprint('held')\ntime.sleep(30)\n");
  await page.click(".run");
  // While the cell runs.
  await page.waitForFunction((then) => Number(/([\d.]+) MiB/.exec(document.querySelector(".session.current .meter-row").textContent)[1]) > then + 150, before);
  await page.waitForSelector(".session.current >> text=running a cell");
  await page.click(".session.current [aria-label='Interrupt']");
  await visit.ended();
  await page.click(".session.current [aria-label='Show cells']");
  contains(await page.textContent("dialog .cell"), "held = bytearray");
  await page.click("dialog >> text=Open in the editor");
  await until(page, "held = bytearray");
  // Another one; switched between.
  const name = await page.locator(".session.current h3").textContent();
  await page.click("text=New Python session");
  await page.waitForFunction((old) => ![old, undefined].includes(document.querySelector(".session.current h3")?.textContent), name);
  await page.locator(".session", { has: page.locator("h3", { hasText: new RegExp(`^${name}$`) }) }).locator("text=Run code here").click();
  equal(await page.locator(".session.current h3").textContent(), name);
  await visit.code("python", "print(len(held) >> 20)");
  await visit.run();
  await visit.shown("200");
});

test("a_language_without_sessions_says_so", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Sessions");
  await page.selectOption(".language", "go");
  contains(await page.locator(".place option[value=new]").textContent(), "No sessions for Go");
  equal(await page.locator(".place option[value=new]").isDisabled(), true);
  equal(await page.locator("button", { hasText: "New Go session" }).isDisabled(), true);
  contains(await page.textContent(".side"), "Sessions are not available for Go. Languages with sessions: ");
  contains(await page.textContent(".side"), "Python");
  await page.selectOption(".language", "python");
  equal(await page.locator("button", { hasText: "New Python session" }).isDisabled(), false);
});

test("formats_or_says_why_not", async (open) => {
  const visit = await open();
  const { page } = visit;
  await page.selectOption(".language", "go");
  await visit.code("go", "package main\nfunc main(){println( 1 )}\n");
  await page.click("[aria-label^='Format code']");
  await until(page, "func main() { println(1) }");
  await visit.code("go", "package main\nfunc main({}\n");
  await page.click("[aria-label^='Format code']");
  await toast(page, "gofmt: ").waitFor();
  await visit.code("lua", "print(1)   \n");
  await page.click("[aria-label^='Format code']");
  await toast(page, "No formatter for Lua is available. Trailing spaces were removed.").waitFor();
  await page.waitForFunction(() => document.querySelector(".editor-place .view-line").textContent.replaceAll("\u00a0", " ") === "print(1)");
});

test("every_language_is_highlighted_and_has_examples", async (open) => {
  const visit = await open();
  const { page } = visit;
  const names = await page.locator(".language option").evaluateAll((all) => all.map((item) => item.value));
  equal(names.length, 18);
  for (const name of names) {
    await page.selectOption(".language", name);
    const example = await page.locator(".templates option").nth(1).getAttribute("value");
    truth(example, `${name} has no example`);
    await page.waitForFunction(() => new Set([...document.querySelectorAll(".editor-place .view-line span[class*=mtk]")].map((item) => item.className)).size > 2, undefined, { timeout: 5000 }).catch(() => truth(false, `${name} has no colours`));
    truth(/\d/.test(await page.locator(".language option:checked").textContent()) || /^(sh|zsh|bash)$/.test(name), `${name} has no version`);
  }
});

test("keys_of_vs_code", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "one = 1\nprint(one, one)\n");
  await page.click(".editor-place .view-line >> nth=0");
  await page.keyboard.press("Control+Home");
  for (let i = 0; i < 3; i++) await page.keyboard.press("Control+D");
  await page.keyboard.type("two");
  await until(page, "two = 1\nprint(two, two)");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Control+/");
  await until(page, "# two = 1");
  await page.keyboard.press("Control+Z");
  await page.keyboard.press("Shift+Alt+ArrowDown");
  await page.keyboard.press("Home");
  await page.keyboard.type("x");
  await until(page, "xtwo = 1\nxprint(two, two)");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+ArrowDown");
  await until(page, "xprint(two, two)\nxtwo = 1");
  await page.keyboard.press("F1");
  await page.keyboard.type("run the");
  await page.waitForSelector(".quick-input-widget >> text=Run Selection");
});

test("squiggles_in_the_tab_that_is_seen", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import helper\n", [{ name: "helper.py", text: "x = '🔥🔥', 1\n" }, { name: "notes.txt", text: "this (is no Python\n" }]);
  await page.click("[role=tab] >> text=helper.py");
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("def g(:");
  await page.waitForSelector(".editor-place .squiggly-error");
  await page.click("[role=tab] >> text=notes.txt");
  await until(page, "this (is");
  await page.click("[role=tab] >> text=main.py");
  await page.click("[role=tab] >> text=notes.txt");
  await page.waitForTimeout(800);
  equal(await page.locator(".editor-place .squiggly-error").count(), 0, "a text is checked as a program");
  // Hovering tells what is wrong.
  await page.click("[role=tab] >> text=helper.py");
  await page.locator(".editor-place .squiggly-error").first().waitFor();
  await page.keyboard.press("F8");
  await page.waitForSelector(".zone-widget, .marker-widget");
});

test("links_are_opened_after_a_question", async (open) => {
  const visit = await open();
  const { page, context } = visit;
  await context.route("https://example.invalid/**", (route) => route.fulfill({ body: "there" }));
  await visit.code("python", "print('see https://example.invalid/plain.')\nprint('\\x1b]8;;javascript:document.title=1\\x07bad\\x1b]8;;\\x07 \\x1b]8;;https://example.invalid/hidden\\x07shown\\x1b]8;;\\x07')\n");
  await visit.run();
  await visit.shown("exit 0");
  const at = (word) => page.evaluate((part) => {
    const rows = document.querySelector(".console-place .xterm-screen").getBoundingClientRect();
    const line = [...document.querySelectorAll(".console-place .xterm-rows > div")].find((row) => row.textContent.includes(part));
    const cell = rows.width / Math.max(...[...document.querySelectorAll(".console-place .xterm-rows > div")].map((row) => Math.round(row.getBoundingClientRect().width / 7.8)), 1);
    const box = line.getBoundingClientRect();
    const range = document.createRange();
    const node = [...line.querySelectorAll("span")].find((item) => item.textContent.includes(part)).firstChild;
    range.setStart(node, node.textContent.indexOf(part));
    range.setEnd(node, node.textContent.indexOf(part) + part.length);
    const place = range.getBoundingClientRect();
    return { x: place.left + place.width / 2, y: box.top + box.height / 2, cell };
  }, word);
  const click = async (word) => {
    const { x, y } = await at(word);
    await page.mouse.move(x, y);
    await page.waitForTimeout(100);
    await page.mouse.click(x, y);
  };
  await click("bad");
  await page.waitForTimeout(200);
  equal(await page.locator("dialog").count(), 0, "a link that is none of the web is asked for");
  await click("shown");
  // The address is told, not the text.
  await page.waitForSelector("dialog >> text=https://example.invalid/hidden");
  await page.keyboard.press("Escape");
  equal(context.pages().length, 1, "it was opened");
  await click("plain");
  await page.waitForSelector("dialog >> text=https://example.invalid/plain");
  const [other] = await Promise.all([context.waitForEvent("page"), page.click("dialog .button.primary")]);
  equal(other.url(), "https://example.invalid/plain");
  equal(await other.evaluate(() => window.opener), null, "it can reach the page");
  await other.close();
  visit.requests = visit.requests.filter((address) => address !== "https://example.invalid/plain");
  await unharmed(visit);
});

test("on_a_narrow_page_what_runs_is_seen", async (open) => {
  const visit = await open({ width: 390, height: 844 });
  const { page } = visit;
  const seen = (selector) => page.locator(selector).first().isVisible();
  await visit.panel("Containers");
  await page.click("[aria-label='Profile shells'] >> text=Start");
  const card = page.locator("[aria-label='Container of shells']");
  await card.locator("input").fill("echo from the container");
  await card.locator("button[type=submit]").click();
  await visit.shown("from the container");
  equal(await seen(".console-place"), true, "the output of a container");
  await visit.panel("Containers");
  await card.locator("[aria-label='Stop container']").click();
  await card.waitFor({ state: "detached" });
  // An example is seen, its run is, and an error leads back to its line.
  await page.selectOption(".templates", "Write a file");
  equal(await seen(".editor-place"), true, "an example");
  await visit.code("python", "x = 1\nprint(y)\n");
  await visit.run();
  equal(await seen(".console-place"), true, "the output");
  equal(await seen(".status .last"), true, "how it ended");
  await page.click(".card.error header .link");
  await page.locator(".editor-place .line-why").first().waitFor();
});

test("a_flood_does_not_drown_the_page", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("bash", "yes 'a line that is written again and again, faster than anybody reads'\n");
  await page.click(".run");
  await visit.shown("a line that is written");
  // It still hears: a key is on the screen soon.
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+Home");
  const began = Date.now();
  await page.keyboard.type("# heard ");
  await until(page, "# heard");
  console.log(`# a word is on the screen ${Date.now() - began} ms after it was typed, beside a flood`);
  await page.click(".stop", { noWaitAfter: true });
  await page.waitForFunction(() => /■ stopped|✗ output limit/.test(window.consoleText()));
  await visit.ended();
});

test("a_run_of_the_past_comes_with_its_files", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Run options");
  await page.getByLabel("Arguments").fill("'a b' c");
  await visit.code("python", "import helper, sys\nprint(helper.word, sys.argv[1:])\n", [{ name: "helper.py", text: "word = 'unmistakable'\n" }]);
  await visit.run();
  await visit.shown("unmistakable ['a b', 'c']");
  await page.click("text=Reset to defaults");
  await visit.code("python", "print('else')\n");
  await visit.run();
  await visit.panel("History");
  await page.fill("[aria-label='Search past runs']", "helper.word");
  await page.waitForFunction(() => document.querySelectorAll(".runs .run").length === 1);
  await page.click(".runs .name");
  await page.click("dialog >> text=Run again");
  await page.waitForFunction(() => window.consoleText().split("unmistakable ['a b', 'c']").length === 3);
  equal((await tabsOf(page)).join(), "main.py,helper.py");
  await toast(page, "Opened from History.").locator("text=Undo").click();
  await until(page, "print('else')");
});

test("a_session_that_a_restart_took_is_said_to_be_gone", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "kept = 1");
  await visit.run();
  await order("stop");
  await page.waitForSelector(".banner:not([hidden])");
  await order("start");
  await visit.shown("The service was restarted");
  await page.waitForFunction(() => /\(ended\)/.test(document.querySelector(".place option:checked").textContent));
  await visit.code("python", "print('kept' in globals())");
  await visit.run();
  await visit.shown("The session has ended. Running in a new sandbox instead.");
  await visit.shown("False");
  await page.waitForFunction(() => document.querySelector(".place").value === "");
});

await main();
