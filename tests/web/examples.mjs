// Every example of every language, chosen and run as a person does: it does what it says.
//
//     node examples.mjs URL TOKEN [PATTERN]
import { Visit, equal, main, test, truth } from "./browser.mjs";

const LANGUAGES = ["bash", "c", "cpp", "go", "java", "javascript", "lua", "perl", "php", "postgres", "python", "r", "ruby", "rust", "sh", "sqlite", "typescript", "zsh"];
/** The line of those that fail. */
const LINES = { "A crash": "9", "A type error": "1" };
const FAILING = Object.keys(LINES);
const values = (page, selector) => page.locator(`${selector} option`).evaluateAll((all) => all.map((item) => item.value).filter(Boolean));

test("languages_are_these", async (open) => {
  const { page } = await open();
  equal((await values(page, ".language")).sort().join(), LANGUAGES.join());
});

// One page for all: a person who looks around does not load it anew for each language, and loading it takes longer
// than most examples. What failed in it is not carried on.
let shared = null;
for (const name of LANGUAGES) {
  test(`examples_of_${name}`, async () => {
    shared ??= await Visit.open();
    const visit = shared;
    const { page } = visit;
    shared = null;
    await page.selectOption(".language", name);
    const examples = await values(page, ".templates");
    truth(examples.length > 0, "there is none");
    for (const example of examples) {
      await page.selectOption(".templates", example);
      await page.click("[aria-label='Clear output']");
      await page.click(".run");
      if (example === "Ask for input") {
        await page.locator(".input-row").waitFor();
        await page.fill(".input-row input", "ember");
        await page.keyboard.press("Enter");
      }
      await page.waitForFunction(() => /[✓✗]/.test(window.consoleText()), undefined, { timeout: 50_000 });
      await visit.ended();
      const fails = FAILING.includes(example);
      const output = await visit.output();
      equal(output.includes(fails ? "✗" : "✓"), true, `${example}: ${output}`);
      equal(await page.locator(".card.error").count(), fails ? 1 : 0, `${example}: explained`);
      if (fails) {
        // The line that is blamed is the one that is wrong, in the card, in the editor and in the squiggle.
        const line = (await page.locator(".card.error header .link").textContent()).match(/\d+$/)[0];
        equal(line, LINES[example], `${example}: the line of the card`);
        await page.locator(".card.error header .link").click();
        await page.waitForFunction((number) => document.querySelector(".status .position").textContent.startsWith(`Ln ${number},`), line);
        equal((await page.textContent(".card.error .context .here .number")), line, `${example}: the line of the context`);
      }
    }
    equal(visit.wrong.join("; "), "", "errors in the browser's console");
    shared = visit;
  }, 60);
}

await main();
