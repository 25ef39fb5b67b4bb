// For everybody: by keyboard alone, by screen reader (axe finds nothing serious), at every width, in both themes.
//
//     node access.mjs URL TOKEN [PATTERN]
import { axeSource, begin, contains, equal, main, order, test, truth } from "./browser.mjs";

/** What axe finds serious or critical now; and that the page is no wider than the window. */
async function sound(page, where) {
  // By the debugger, which the page's policy does not hold for.
  const found = await page.evaluate(async (source) => {
    if (!window.axe) (0, eval)(source);
    const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] });
    return violations.filter((item) => item.impact === "serious" || item.impact === "critical")
      .map((item) => `${item.id}: ${item.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" ")}`);
  }, axeSource);
  equal(found.join("; "), "", where);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  truth(over <= 0, `${where}: the page is ${over} pixels too wide`);
}

for (const [name, width, height] of [["wide", 1280, 800], ["narrow", 390, 844]]) {
  for (const scheme of ["dark", "light"]) {
    test(`axe_${name}_${scheme}`, async (open) => {
      const visit = await open({ width, height, scheme });
      const { page } = visit;
      await sound(page, "at first");
      await visit.code("python", "import sys\nprint('x', '\\x1b[31mred\\x1b[32mgreen\\x1b[33myellow\\x1b[34mblue\\x1b[90mgrey\\x1b[m')\nprint('y', file=sys.stderr)\nnumbers = [1]\nprint(nubmers)\n");
      await visit.run();
      await page.waitForSelector(".card.error", { state: "attached" });
      await sound(page, "after a run");
      if (name === "narrow") {
        equal(await page.locator(".console-place").isVisible(), true, "the output is not shown after a run");
        await page.click(".rail-button[aria-label='Code']");
        equal(await page.locator(".editor-place").isVisible(), true, "the code is not shown");
        await sound(page, "code");
      }
      for (const label of ["Files", "Run options", "History", "Containers"]) {
        await visit.panel(label);
        if (label === "History") await page.waitForSelector(".runs .run");
        if (label === "Containers") await page.waitForSelector("[aria-label='Profile shells']");
        await sound(page, label);
      }
    });

    test(`axe_${name}_${scheme}_deeper`, async (open) => {
      const visit = await open({ width, height, scheme });
      const { page } = visit;
      await visit.code("sqlite", "create table t (name text, n integer);\ninsert into t values ('b', 10), (null, 9);\nselect * from t;\n");
      await visit.run();
      await sound(page, "a table");
      await page.click(".results .chip >> text=JSON");
      await sound(page, "a tree");
      await page.selectOption(".language", "python");
      await visit.panel("Sessions");
      await page.click("text=New Python session");
      await page.waitForSelector(".session.current");
      await sound(page, "a session");
      await visit.code("python", "print('asked')\ninput('Who? ')\n");
      await page.click(".run");
      await page.waitForSelector(".input-row:not([hidden])");
      await sound(page, "a question");
      await page.click(".stop");
      await visit.ended();
      await visit.panel("Files");
      await page.waitForSelector("[data-path=code]");
      await sound(page, "files of a session");
      await page.click(".side [aria-label='New file']");
      await page.fill("dialog input", "/x");
      await page.keyboard.press("Enter");
      await page.waitForSelector("dialog .bad >> text=relative path");
      await sound(page, "a dialog with a mistake");
      await page.keyboard.press("Escape");
      await visit.panel("History");
      await page.waitForSelector(".runs .run >> nth=1");
      await page.locator(".runs input").nth(0).check();
      await page.locator(".runs input").nth(1).check();
      await page.click(".history .button >> text=Compare");
      await page.waitForSelector(".compare");
      await sound(page, "two runs");
    });
  }
}

test("nothing_is_too_wide_at_any_width", async (open) => {
  const visit = await open();
  const { page } = visit;
  await visit.code("python", "print('x' * 500)\n1/0\n");
  await visit.run();
  for (const [width, height] of [[320, 640], [390, 844], [760, 600], [761, 600], [1024, 768], [1280, 800], [1920, 1080]]) {
    await page.setViewportSize({ width, height });
    await page.waitForFunction((want) => innerWidth === want, width);
    // The editor lays itself out again some frames later.
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, null, { timeout: 10000 }).catch(() => {});
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    truth(over <= 0, `at ${width} the page is ${over} pixels too wide`);
    for (const selector of [".run", ".language", ".place"]) {
      const box = await page.locator(selector).first().boundingBox();
      truth(box && box.x >= 0 && box.x + box.width <= width + 0.5, `at ${width} ${selector} is cut: ${JSON.stringify(box)}`);
    }
  }
});

test("by_keyboard_alone", async (open) => {
  const visit = await open();
  const { page } = visit;
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "");
  const tabTo = async (label, most = 40) => {
    for (let i = 0; i < most; i++) {
      await page.keyboard.press("Tab");
      if ((await focused()).includes(label)) return;
    }
    truth(false, `Tab does not come to ${label}; it is at ${await focused()}`);
  };
  // From the top: language, place, run.
  await page.evaluate(() => document.activeElement?.blur());
  await tabTo("Language", 3);
  await page.keyboard.type("Lua");
  await page.waitForFunction(() => document.querySelector(".language").value === "lua");
  await tabTo("Run", 3);
  await page.keyboard.press("Enter");
  await visit.shown("exit 0");
  contains(await visit.output(), "1, 4, 9, 16");
  // What has the keyboard is seen to have it.
  const ring = await page.evaluate(() => getComputedStyle(document.querySelector(":focus-visible") ?? document.body).outlineStyle);
  await tabTo("Examples");
  truth((await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle)) !== "none" || ring !== "none", "no ring around what has the focus");
  // Into the editor, and out of it.
  await page.focus("[role=tab][aria-selected=true]");
  await tabTo("Code", 4);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("print('typed')");
  await page.keyboard.press("Control+Enter");
  await visit.shown("typed");
  await page.keyboard.press("Control+M");
  await page.keyboard.press("Tab");
  // Out of it and on the splitter.
  equal(await focused(), "Editor width", "where Tab leaves the editor to");
  const width = () => page.evaluate(() => document.querySelector(".edit").offsetWidth);
  const before = await width();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((old) => document.querySelector(".edit").offsetWidth > old, before);
  // A panel, a dialog, and back to where it was.
  await page.focus(".rail-button[aria-label='History']");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".runs .run");
  await tabTo("Luaok", 12);
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog >> text=Run again");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  contains(await focused(), "Lua", "the focus is lost when the dialog closes");
  await page.keyboard.press("Escape");
});

test("what_happens_is_said", async (open) => {
  const visit = await open();
  const { page } = visit;
  const said = (text) => page.waitForFunction((part) => [...document.querySelectorAll("[aria-live], [role=status], [role=alert]")].some((item) => item.textContent.includes(part) && !item.closest("[hidden]")), text);
  await visit.code("python", "print(1)\n");
  await visit.run();
  await said("Run 1 ended: exit 0");
  await order("stop");
  await said("Cannot reach the service");
  await order("start");
  await said("The service was restarted");
});

test("keyboard_and_themes", async (open) => {
  const visit = await open({ scheme: "light" });
  const { page } = visit;
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  equal(await theme(), "light", "as the system has it");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await page.focus("[aria-label='Theme']");
  await page.keyboard.press("Enter");
  equal(await theme(), "light", "chosen");
  await page.reload();
  await visit.ready();
  equal(await theme(), "light", "kept");
  // Run the selection; format; leave the editor by the keyboard.
  await visit.code("python", "print('one')   \nprint('two')\n");
  await page.click(".editor-place .view-line >> nth=0");
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Shift+Enter");
  await visit.shown("exit 0");
  truth(!(await visit.output()).includes("two"), "more than the selection ran");
  await page.click("[aria-label^='Format code']");
  await page.waitForFunction(() => !document.querySelector(".editor-place .view-line").textContent.replaceAll("\u00a0", " ").endsWith(" "));
});

await main();
