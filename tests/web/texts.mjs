// The page's texts: what the service advises is said in words of the page, beside the button that does it; and drafts that
// something else has taken the place of.
//
//     node texts.mjs URL TOKEN [PATTERN]
import { Visit, equal, main, test, token, url } from "./browser.mjs";

const toast = (page, text) => page.locator(".toast", { hasText: text });
const until = async (page, wanted) => page.waitForFunction((text) => document.querySelector(".editor-place .view-lines").textContent.replaceAll("\u00a0", " ").includes(text), wanted);

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
