// The playground as a person uses it. Each test has a browser profile of its own.
//
//     node playground.mjs URL TOKEN [PATTERN]
import { begin, contains, equal, main, only, order, test, token, truth, unharmed, url } from "./browser.mjs";

const HOSTILE = {
  "text/html": `<script>parent.document.title = "owned"; document.title = "owned"</script><img src=x onerror="parent.document.title='owned'">
    <svg onload="parent.document.title='owned'"></svg><iframe srcdoc="<script>top.document.title='owned'</script>"></iframe>
    <form action="https://evil.example/"><button>x</button></form><meta http-equiv="refresh" content="0; url=https://evil.example/">
    <link rel="stylesheet" href="https://evil.example/x.css"><img src="https://evil.example/x.png"><a id="up" target="_top" href="https://evil.example/">up</a><p>told</p>`,
  "image/svg+xml": `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="parent.document.title='owned'"><script>parent.document.title='owned'</script>
    <image href="https://evil.example/x.png"/><rect width="40" height="40" fill="red"/></svg>`,
  "text/plain": "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
};

test("first_load", async (open) => {
  let bytes = 0;
  const visit = await open({
    still: false,
    async before({ page, context }) {
      const wire = await context.newCDPSession(page);
      const ours = new Set();
      wire.on("Network.responseReceived", ({ requestId, response }) => new URL(response.url).pathname.match(/^\/($|assets|favicon)/) && ours.add(requestId));
      wire.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => ours.has(requestId) && (bytes += encodedDataLength));
      await wire.send("Network.enable");
    },
  });
  const { page } = visit;
  if (bytes >= 1_000_000) console.log(`# ${visit.requests.join(" ")}`);
  truth(bytes > 800_000 && bytes < 1_000_000, `the first load is ${bytes} bytes`);
  truth(!visit.requests.some((address) => /worker/.test(address)), "a worker is loaded before it is used");
  equal(page.url(), `${url}/`, "the token stays in the address");
  equal(await page.locator(".language option").count(), 18, "languages");
  console.log(`# first load: ${bytes} bytes`);
  await unharmed(visit);
});

test("strict_policy", async (open) => {
  const visit = await open();
  const answer = await visit.page.request.get(`${url}/`);
  const policy = answer.headers()["content-security-policy"];
  contains(policy, "default-src 'none'; script-src 'self';");
  truth(!/script-src[^;]*unsafe/.test(policy), "scripts may stand in the page");
  truth(!/<script(?![^>]*\bsrc=)/.test(await answer.text()), "a script stands in the page");
  // The policy holds: what is put into the page does not run.
  const ran = await visit.page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    return window.ran === true;
  });
  equal(ran, false, "a script in the page ran");
  truth(visit.wrong.some((text) => /Content Security Policy/.test(text)), "the browser does not say why");
  visit.wrong.length = 0;
});

test("asks_for_the_token", async (open) => {
  const visit = await open({ hash: "", wait: false });
  const { page } = visit;
  const field = page.locator("dialog input[type=password]");
  await field.fill("wrong");
  await page.click("dialog >> text=Continue");
  await page.waitForSelector("dialog >> text=did not accept this token");
  await field.fill(token);
  await page.click("dialog >> text=Continue");
  await visit.ready();
  await page.reload();
  await visit.ready();
  equal(await page.locator("dialog").count(), 0, "it asks again");
});

test("types_and_runs", async (open) => {
  const visit = await open({ still: false });
  const { page } = visit;
  await page.click(".editor-place .view-lines");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("for n in range(3):\nprint('n is', n * 21)\n");
  await page.keyboard.press("Control+Enter");
  await visit.shown("exit 0");
  const text = await visit.output();
  contains(text, "n is 42");
  contains(text, "#1 Python");
  truth(/exit 0 · [\d.]+ m?s · CPU [\d.]+ m?s · [\d.]+ MiB · (warm|cold)/.test(text), `no line of its end: ${text}`);
  contains(await page.textContent(".status .last"), "exit 0");
  truth(/\d+ of \d+ layers/.test(await page.textContent(".status")), "the layers are not told");
  // What was written is there when the page is loaded again.
  await page.waitForFunction(() => Object.keys(localStorage).some((key) => key.startsWith("emberbox.draft.python.") && localStorage.getItem(key).includes("n * 21")));
  await page.reload();
  await visit.ready();
  contains((await page.textContent(".editor-place")).replaceAll("\u00a0", " "), "n * 21");
});

test("output_streams", async (open) => {
  const visit = await open();
  await visit.code("python", "import sys, time\nprint('first')\nprint('aside', file=sys.stderr)\nsys.stdin.read() if 0 else time.sleep(1.5)\nprint('second')\n");
  await visit.page.click(".run");
  await visit.shown("first");
  equal(await visit.page.locator(".app.running").count(), 1, "it has ended when its first line is seen");
  await visit.shown("exit 0");
  const colour = (word) => visit.page.evaluate((part) => {
    const span = [...document.querySelectorAll(".console-place .xterm-rows span")].find((item) => item.textContent.includes(part));
    return span && getComputedStyle(span).color;
  }, word);
  truth((await colour("first")) !== (await colour("aside")), "the streams look the same");
  await visit.page.click(".out-head .chip >> text=Errors");
  await visit.shown("aside");
  truth(!(await visit.output()).includes("second"), "stdout is still shown");
  await visit.page.click(".out-head .chip >> text=All");
  await visit.shown("second");
});

test("stops_an_endless_loop", async (open) => {
  const visit = await open();
  await visit.code("python", "print('looping', flush=True)\nwhile True: pass\n");
  await visit.page.click(".run");
  await visit.shown("looping");
  await visit.page.click(".stop");
  await visit.shown("■ stopped");
  await visit.code("python", "print('and on')");
  contains(await visit.run(), "and on");
});

test("follows_an_error_to_its_line", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "def area(r):\n    return 3 * r\n\nprint(area(2)\n");
  await visit.run();
  const card = page.locator(".card.error");
  contains(await card.textContent(), "was never closed");
  await page.waitForSelector(".editor-place .squiggly-error");
  contains((await page.textContent(".editor-place .line-why")).replaceAll("\u00a0", " "), "SyntaxError: '(' was never closed", "the line does not say why");
  await card.locator(".link").click();
  await page.waitForFunction(() => /^Ln 4/.test(document.querySelector(".status .position").textContent));
  await page.keyboard.press("End");
  await page.keyboard.type(" ");
  await page.waitForFunction(() => !document.querySelector(".editor-place .line-why"));
  await visit.code("python", "print('fine')");
  await visit.run();
  equal(await page.locator(".card.error, .squiggly-error").count(), 0, "the error stays");
});

test("an_error_far_down_is_shown", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", `${"x = 1\n".repeat(200)}print(y)\n`);
  await visit.run();
  await page.waitForSelector(".editor-place .line-why");
  truth(await page.locator(".editor-place .line-why").isVisible(), "the line that failed is not seen");
});

test("applies_a_fix", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import helper\nnumbers = [1, 2, 39]\nprint('é', sum(nubmers))\n", [{ name: "helper.py", text: "" }]);
  await visit.run();
  contains(await page.textContent(".suggestion"), "Replace nubmers with numbers.");
  await page.click(".suggestion >> text=Apply");
  await page.waitForFunction(() => document.querySelector(".editor-place").textContent.includes("sum(numbers)"));
  await visit.run();
  await visit.shown("é 42");
  equal(await page.locator(".card.error").count(), 0, "the error stays");
  // In another file than the first.
  await visit.code("python", "import helper\n", [{ name: "helper.py", text: "total = 41\nprint(totla + 1)\n" }]);
  await visit.run();
  await page.click(".suggestion >> text=Apply");
  contains(await page.textContent("[role=tab][aria-selected=true]"), "helper.py");
  await visit.run();
  await visit.shown("42");
});

test("marks_what_a_check_finds", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import os\nos.system('ls')\n");
  await page.waitForSelector(".editor-place .squiggly-warning, .editor-place .squiggly-info");
  equal(await page.locator(".editor-place .squiggly-error").count(), 0, "an error where none is");
  await visit.code("python", "def f(:\n    pass\n");
  await page.waitForSelector(".editor-place .squiggly-error");
  await visit.code("python", "print('fine')\n");
  await page.waitForFunction(() => !document.querySelector(".editor-place [class*=squiggly-]"));
  equal((await visit.output()).includes("#1"), false, "something was run");
});

test("options_reach_the_program", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Run options");
  await page.getByLabel("Standard input").fill("from stdin");
  await page.getByLabel("Arguments").fill("one 'two words'");
  await page.getByLabel("Environment").fill("COLOUR=ember");
  await visit.code("python", "import os, sys\nprint(sys.argv[1:], os.environ['COLOUR'], sys.stdin.read())\n");
  await visit.run();
  await visit.shown("['one', 'two words'] ember from stdin");
  await page.getByLabel("Arguments").fill("'open");
  await visit.run();
  await visit.shown("a closing ' is missing");
  await page.click("text=Reset to defaults");
  await page.getByLabel("Time (seconds)").fill("1");
  await visit.code("python", "while True: pass");
  await visit.run();
  await visit.shown("timed out after 1s");
  await page.getByLabel("Time (seconds)").fill("soon");
  await visit.run();
  await visit.shown("not run");
  contains(await visit.output(), "Time: ");
});

test("files_in_and_out", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Files");
  await visit.code("python", "import helper\nprint(helper.twice(21), open('data.csv').read())\nopen('/sandbox/output/left.txt', 'w').write('left')\n", [{ name: "helper.py", text: "def twice(n):\n    return 2 * n\n" }]);
  equal((await page.locator("[role=tab]").allTextContents()).join(), "main.py,helper.py");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("[aria-label='Upload files']")]);
  await chooser.setFiles({ name: "data.csv", mimeType: "text/csv", buffer: Buffer.from("1,2,3") });
  await page.waitForSelector(".side >> text=data.csv");
  await visit.run();
  await visit.shown("42 1,2,3");
  await page.hover(".side .file:has-text('left.txt')");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("[aria-label='Download left.txt']")]);
  const stream = await download.createReadStream();
  let text = "";
  for await (const part of stream) text += part;
  equal(text, "left");
});

test("plots", async (open) => {
  const visit = await open();
  const { page } = visit;
  await page.selectOption(".templates", "Plot");
  await visit.run();
  const image = page.locator(".results img.picture");
  await image.waitFor();
  await page.waitForFunction(() => document.querySelector(".results img.picture").naturalWidth > 300);
});

test("tables_sort_and_trees_open", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("sqlite", "create table t (name text, n integer);\ninsert into t values ('b', 10), ('a', 9), ('c', 100);\nselect * from t;\n");
  await visit.run();
  const column = (at) => page.locator(`.results table.rows tbody td:nth-child(${at})`).allTextContents();
  equal((await column(1)).join(), "b,a,c");
  await page.click(".results th >> text=n >> nth=-1");
  equal((await column(2)).join(), "9,10,100", "by number, not by text");
  await page.click(".results th >> text=n >> nth=-1");
  equal((await column(2)).join(), "100,10,9");
  await page.click(".results .chip >> text=JSON");
  contains(await page.textContent(".results .tree"), "rows");
});

test("hostile_output_is_harmless", async (open) => {
  const visit = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = visit;
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await visit.code("python", `print(${JSON.stringify(HOSTILE["text/plain"])})\nprint("\\x1b]0;owned\\x07\\x1b]52;c;b3duZWQ=\\x07\\x1b[?1049hin another screen\\x1b[5;6r")\nraise SystemExit(${JSON.stringify(HOSTILE["text/plain"])})\n`);
  await visit.run();
  await visit.shown("exit 1");
  await unharmed(visit);
  equal(await page.evaluate(() => navigator.clipboard.readText()), "mine", "the clipboard");
  // Also what only a session's driver can give, and from whoever answers in the service's place.
  await page.route("**/v1/execute", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace('"outputs":[]', `"outputs":[${JSON.stringify(HOSTILE)},{"application/json":{"<img src=x onerror=document.title='owned'>":"</script><script>"}}]`);
    await route.fulfill({ response: answer, body });
  });
  await visit.run();
  for (const name of ["SVG", "HTML", "Text"]) {
    await page.click(`.results .chip >> text="${name}"`);
    await page.waitForTimeout(150);
  }
  await page.click('.results .chip >> text="HTML"');
  const frame = page.frameLocator(".results iframe");
  contains(await frame.locator("p").textContent(), "told", "the page in the frame is not shown");
  equal(await page.locator(".results iframe").getAttribute("sandbox"), "", "rights of the frame");
  await frame.locator("#up").click({ timeout: 2000 }).catch(() => {});
  equal(page.url(), `${url}/`, "a link left the page");
  equal(await page.locator(".results script, .results [onerror], .results svg:not(.icon)").count(), 0, "markup of the program's in the page");
  await unharmed(visit);
  truth(visit.wrong.every((text) => /Content Security Policy|sandbox|Unsafe attempt/i.test(text)), visit.wrong.join("; "));
  visit.wrong.length = 0;
});

test("a_session_keeps_its_state", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "kept = 40");
  await visit.run();
  await visit.code("python", "kept + 2");
  await visit.run();
  equal((await page.locator(".results .result-body").textContent()).trim(), "42");
  // Stopped, and it goes on.
  await visit.code("python", "print('looping', flush=True)\nwhile True: pass\n");
  await page.click(".run");
  await visit.shown("looping");
  await page.click(".stop");
  await visit.ended();
  await visit.code("python", "print('still', kept)");
  await visit.run();
  await visit.shown("still 40");
  // It asks, and is answered.
  await visit.code("python", "name = input('Who? ')\nprint('Hello,', name)\n");
  await page.click(".run");
  await visit.shown("Who?");
  await page.fill(".input-row input", "ember");
  await page.keyboard.press("Enter");
  await visit.shown("Hello, ember");
  await visit.ended();
  equal(await page.locator(".input-row").isVisible(), false, "input is still asked for");
  // The page is loaded again and finds it.
  const id = await page.inputValue(".place");
  await page.reload();
  await visit.ready();
  await visit.shown("Reconnected to your session");
  equal(await page.inputValue(".place"), id);
  await visit.code("python", "print('found', kept)");
  await visit.run();
  await visit.shown("found 40");
  // Restarted, its state is gone; ended, it is.
  await visit.panel("Sessions");
  truth((await page.locator(".session .meter").count()) >= 1, "its memory is not shown");
  await page.click(".session.current [aria-label='Restart']");
  await page.click("dialog .button.primary");
  await page.waitForSelector(".toast >> text=restarted");
  await visit.code("python", "print('kept' in globals())");
  await visit.run();
  await visit.shown("False");
  await page.click(".session.current [aria-label='End session']");
  await page.click("dialog .button.primary");
  await page.waitForFunction(() => document.querySelector(".place").value === "");
});

test("applies_a_fix_in_a_session", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "numbers = [1, 2, 39]\nprint('é', sum(nubmers))\n");
  await visit.run();
  contains(await page.textContent(".card.error .context"), "sum(nubmers)");
  await page.click(".suggestion >> text=Apply");
  await page.waitForFunction(() => document.querySelector(".editor-place").textContent.includes("sum(numbers)"));
  await visit.run();
  await visit.shown("é 42");
});

test("completes_from_the_session", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "class Kettle:\n    boiling_point = 100\n    boiled = True\nk = Kettle()\n");
  await visit.run();
  await visit.code("python", "# é 🔥\nprint(k)\n");
  await page.click(".editor-place .view-lines");
  for (const key of ["Control+Home", "ArrowDown", "End", "ArrowLeft"]) await page.keyboard.press(key);
  await page.keyboard.type(".boi");
  await page.keyboard.press("Control+Space");
  const row = page.locator(".suggest-widget .monaco-list-row", { hasText: "boiling_point" });
  await row.waitFor();
  await row.click();
  await page.waitForFunction(() => document.querySelector(".editor-place").textContent.includes("print(k.boiling_point)"));
  await visit.run();
  await visit.shown("100");
});

test("draws_in_a_session", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()\n");
  await visit.run();
  await page.waitForFunction(() => document.querySelector(".results img")?.naturalWidth > 300);
});

test("markdown_is_a_page", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.code("python", "from IPython.display import Markdown\nMarkdown('# A title\\n\\n- **one**\\n- two <script>top.document.title = 1</script>\\n\\n[x](javascript:top.document.title=1)')\n");
  await visit.run();
  const frame = page.frameLocator(".results iframe");
  equal(await frame.locator("h1").textContent(), "A title");
  equal(await frame.locator("li strong").textContent(), "one");
  equal(await page.locator(".results iframe").getAttribute("sandbox"), "");
  await frame.locator("a").click();
  await unharmed(visit);
  truth(visit.wrong.every((text) => /Content Security Policy|sandbox/i.test(text)), visit.wrong.join("; "));
  visit.wrong.length = 0;
});

test("files_of_a_session", async (open) => {
  const visit = await open();
  const { page } = visit;
  await begin(visit);
  await visit.panel("Files");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("[aria-label='Upload to the session']")]);
  await chooser.setFiles({ name: "data é.csv", mimeType: "text/csv", buffer: Buffer.from("1,2,39\n") });
  const row = (name) => page.locator(".side .file", { hasText: name });
  await row("data é.csv").waitFor();
  await visit.code("python", "print('sum', sum(map(int, open('data é.csv').read().split(','))))\nopen('/sandbox/output/made.txt', 'w').write('made by the cell')\n");
  await visit.run();
  await visit.shown("sum 42");
  // Read: as a download, and in the editor.
  await row("data é.csv").hover();
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("[aria-label='Download code/data é.csv']")]);
  let text = "";
  for await (const part of await download.createReadStream()) text += part;
  equal(text, "1,2,39\n");
  await page.click(".side .file .name:has-text('output')");
  await page.locator("[aria-label='Delete output/made.txt']").waitFor({ state: "attached" });
  await row("made.txt").first().locator(".name").click();
  await page.waitForFunction(() => document.querySelector(".editor-place").textContent.replaceAll("\u00a0", " ").includes("made by the cell"));
  // Renamed, and deleted.
  await row("data é.csv").hover();
  await page.click("[aria-label='Rename code/data é.csv']");
  await page.fill("dialog input", "data/moved.csv");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.querySelector("[aria-label='Rename code/data é.csv']"));
  await page.click(".side .file .name:has-text('data')");
  await row("moved.csv").waitFor();
  await row("moved.csv").hover();
  await page.click("[aria-label='Delete data/moved.csv']");
  await page.click("dialog .button.primary");
  await page.waitForFunction(() => !document.querySelector("[aria-label='Delete data/moved.csv']"));
  await visit.code("python", "import os\nprint('there are', os.listdir('/sandbox/data'))\n");
  await visit.run();
  await visit.shown("there are []");
});

test("a_terminal_in_the_session", async (open) => {
  const visit = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = visit;
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  const screen = page.locator(".session-terminal");
  const seen = (pattern, timeout = 10_000) => page.waitForFunction((source) => new RegExp(source).test([...document.querySelectorAll(".session-terminal .xterm-rows > div")].map((line) => line.textContent.replaceAll("\u00a0", " ")).join("\n")), pattern, { timeout });
  await page.click("[aria-label='Session terminal']");
  contains(await screen.textContent(), "Start a session");
  await begin(visit);
  await visit.code("python", "open('/sandbox/code/seen', 'w').write('by both')\n");
  await visit.run();
  await screen.locator(".xterm-rows").waitFor();
  await seen("[$#]");
  await screen.click();
  await page.keyboard.type("cat seen; echo $((6 * 7)) $(stty size)\n");
  await seen("by both42 \\d+ \\d+");
  // It is told how large it is.
  const size = async () => (await screen.locator(".xterm-rows > div").count());
  const before = await size();
  await page.setViewportSize({ width: 1100, height: 1000 });
  await page.waitForFunction((count) => document.querySelectorAll(".session-terminal .xterm-rows > div").length > count, before);
  // It grows in steps, and may be asked between two of them.
  for (let tries = 0, told = false; !told; tries++) {
    await page.keyboard.type("clear; echo rows=$(stty size)\n");
    told = await seen(`rows=${await size()} `, 1500).then(() => true, () => false);
    truth(told || tries < 5, `it is not told that it has ${await size()} rows: ${await screen.textContent()}`);
  }
  // What it prints does no more than at the console.
  await page.keyboard.type("printf '\\033]0;owned\\007\\033]52;c;b3duZWQ=\\007<script>document.title=1</script> un''harmed\\n'\n");
  await seen("unharmed");
  await unharmed(visit);
  equal(await page.evaluate(() => navigator.clipboard.readText()), "mine", "the clipboard");
  await page.keyboard.type("sleep 1000\n");
  await seen("sleep 1000");
  await page.keyboard.press("Control+C");
  await page.keyboard.type("echo go''es on; exit\n");
  await seen("goes on");
  await seen("The terminal was closed");
});

test("history_opens_runs_again_and_compares", async (open) => {
  const visit = await open();
  const { page } = visit;
  for (const word of ["apple", "pear"]) {
    await visit.code("python", `print('same')\nprint('${word}-tart')\n`);
    await visit.run();
    await visit.shown(`${word}-tart`);
  }
  await visit.panel("History");
  await page.waitForSelector(".runs >> text=print('same')");
  await page.fill("[aria-label='Search past runs']", "pear-tart");
  await page.waitForFunction(() => document.querySelectorAll(".runs .run").length === 1);
  await page.click(".runs .name");
  contains(await page.textContent("dialog"), "pear-tart");
  await page.click("dialog >> text=Run again");
  await page.waitForSelector(".app:not(.running)");
  await page.fill("[aria-label='Search past runs']", "-tart");
  await page.waitForFunction(() => document.querySelectorAll(".runs .run").length === 3);
  await page.locator(".runs input").nth(0).check();
  await page.locator(".runs input").nth(2).check();
  await page.click(".history .button >> text=Compare");
  await page.waitForSelector("table.diff");
  const differing = await page.locator("table.diff .differs").allTextContents();
  truth(differing.some((text) => text.includes("pear")) && differing.some((text) => text.includes("apple")), `what differs: ${differing}`);
  truth(!differing.includes("same"), "what is the same is told to differ");
});

test("containers_start_run_and_stop", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.panel("Containers");
  await page.click("[aria-label='Profile shells'] >> text=Start");
  const card = page.locator("[aria-label='Container of shells']");
  await card.waitFor();
  await card.locator("input").fill("echo 42 > state; cat state");
  await card.locator("button[type=submit]").click();
  await visit.shown("42");
  await page.click("[aria-label='Profile careful'] >> text=Start");
  await page.waitForSelector("dialog >> text=needs a confirmation");
  await page.click("dialog .button.primary");
  await page.waitForSelector("[aria-label='Container of careful']");
  for (const name of ["shells", "careful"]) {
    await page.click(`[aria-label='Container of ${name}'] [aria-label='Stop container']`);
    await page.waitForFunction((label) => !document.querySelector(`[aria-label='${label}']`), `Container of ${name}`);
  }
});

test("a_link_carries_the_code", async (open) => {
  const first = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  await first.code("javascript", "console.log('shared', 6 * 7)\n");
  await first.page.click("[aria-label='Share a link to this code']");
  await first.page.waitForSelector(".toast >> text=Link copied");
  const link = await first.page.evaluate(() => navigator.clipboard.readText());
  contains(link, `${url}/#code=`);
  truth(!link.includes(token), "the token is in the link");
  const second = await open({ hash: `${new URL(link).hash}&token=${token}` });
  equal(await second.page.inputValue(".language"), "javascript");
  equal(await second.page.locator(".app.running").count(), 0, "it runs by itself");
  equal(second.page.url(), `${url}/`);
  await second.run();
  await second.shown("shared 42");
});

test("survives_a_restart_of_the_service", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import time\nprint('begun', flush=True)\ntime.sleep(60)\n");
  await page.click(".run");
  await visit.shown("begun");
  await order("stop");
  await page.waitForSelector(".banner:not([hidden]) >> text=Cannot reach the service");
  await order("start");
  await visit.shown("The service was restarted");
  await page.waitForFunction(() => document.querySelector(".banner").hidden);
  await visit.code("python", "print('back again')");
  await visit.run();
  await visit.shown("back again");
});

test("from_run_to_the_first_output", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "import time\nprint(f'at {time.monotonic_ns()}')");
  // Nothing of it can fail but the runs: thirty are for whoever wants to know.
  const count = only ? 30 : 6;
  for (let i = 0; i < 5; i++) await visit.run();
  const times = [];
  for (let i = 0; i < count; i++) {
    await page.click("[aria-label='Clear output']");
    // From the press to the frame in which the line is on the screen.
    times.push(await page.evaluate(() => new Promise((done) => {
      const rows = document.querySelector(".console-place .xterm-rows");
      let began = 0;
      const look = () => {
        if (/at.\d{5}/.test(rows.textContent)) requestAnimationFrame(() => done(performance.now() - began));
      };
      new MutationObserver(look).observe(rows, { childList: true, subtree: true, characterData: true });
      requestAnimationFrame(() => {
        began = performance.now();
        document.querySelector(".run").click();
      });
    })));
    await visit.ended();
  }
  times.sort((a, b) => a - b);
  console.log(`# from Run to the first output: p50 ${times[Math.floor(count / 2)].toFixed(1)} ms, p95 ${times[Math.floor(count * 0.95)].toFixed(1)} ms, of ${count}`);
});

await main();
