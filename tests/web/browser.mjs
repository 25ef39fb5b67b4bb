// What the tests of the page share: a browser, pages, and what a person does with them.
import { createRequire } from "node:module";
import readline from "node:readline";
import { deflateRawSync } from "node:zlib";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
export const axeSource = require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const [url, token, only = ""] = process.argv.slice(2);

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
// The same engine as /usr/bin/chromium without its windows: half of the processor time for each page.
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: FLAGS });

export class Failed extends Error {}
export function equal(got, want, what = "") {
  if (got !== want) throw new Failed(`${what && `${what}: `}got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}
export function contains(text, part, what = "") {
  if (!text?.includes(part)) throw new Failed(`${what && `${what}: `}${JSON.stringify(part)} is not in ${JSON.stringify(text?.slice(-1500))}`);
}
export function truth(value, what) {
  if (!value) throw new Failed(what);
}

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Has the service stopped or started by whoever started us. */
export async function order(what) {
  console.log(`@${what}`);
  await answers.next();
}

export class Visit {
  /** A page with a browser profile of its own, at the playground, with its token. It is still unless a test wants it to move:
   * each frame of a transition is computed. */
  static async open({ width = 1280, height = 800, scheme = "dark", hash = `#token=${token}`, wait = true, permissions = [], before = null, still = true } = {}) {
    const visit = new Visit();
    visit.context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, permissions, reducedMotion: still ? "reduce" : "no-preference" });
    visit.page = await visit.context.newPage();
    visit.page.setDefaultTimeout(25_000);
    visit.wrong = [];
    visit.requests = [];
    visit.page.on("console", (message) => {
      // A path that this service has not is asked for once, and the browser says so.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) visit.wrong.push(message.text());
    });
    visit.page.on("pageerror", (error) => visit.wrong.push(error.message));
    visit.page.on("request", (request) => visit.requests.push(request.url()));
    // Chromium tells of some requests before the page's policy has refused them; those were never sent.
    visit.page.on("requestfailed", (request) => {
      const at = request.failure()?.errorText === "csp" ? visit.requests.indexOf(request.url()) : -1;
      if (at >= 0) visit.requests.splice(at, 1);
    });
    // What the console shows, top down: rows of the terminal, and what the page has drawn over them.
    await visit.context.addInitScript(() => {
      window.consoleText = () => {
        const place = document.querySelector(".console-place");
        const parts = [...(place?.querySelectorAll(".xterm-rows > div, .xterm .mark") ?? [])].filter((part) => part.offsetParent);
        const own = parts.map((part) => ({ top: part.getBoundingClientRect().top, text: part.textContent.replaceAll("\u00a0", " "), mark: part.classList.contains("mark") }));
        return own.sort((a, b) => Math.round(a.top - b.top) || Number(b.mark) - Number(a.mark)).map((part) => part.text).join("\n");
      };
    });
    await before?.(visit);
    await visit.page.goto(`${url}/${hash}`);
    if (wait) await visit.ready();
    return visit;
  }
  async ready() {
    await this.page.waitForSelector("[data-ready]");
    await this.page.waitForFunction(() => document.querySelectorAll(".language option").length > 1);
  }
  async close() {
    await this.context.close();
  }
  /** Puts code into the editor as a shared link does. */
  async code(language, text, more = []) {
    const files = [{ name: { python: "main.py", bash: "main.sh", sqlite: "main.sql", javascript: "main.js", go: "main.go", lua: "main.lua" }[language], text }, ...more];
    const data = deflateRawSync(JSON.stringify({ language, files })).toString("base64url");
    await this.page.evaluate((hash) => void (location.hash = hash), `#code=${data}`);
    await this.page.waitForFunction(() => location.hash === "");
  }
  async run() {
    const before = await this.output();
    await this.page.click(".run");
    return this.ended(before);
  }
  /** What the console shows at the end of a run. The terminal draws a frame or two after it was written to: so this waits
   * for the line with which the page ends a run, but not for ever, because it may be out of sight. */
  async ended(before = null) {
    await this.page.waitForSelector(".app:not(.running)", { timeout: 30_000 });
    const drawn = (old) => window.consoleText() !== old && /[✓✗■][^▸]*$/.test(window.consoleText());
    await this.page.waitForFunction(drawn, before, { timeout: 3_000 }).catch(() => {});
    return this.output();
  }
  output() {
    return this.page.evaluate(() => window.consoleText());
  }
  /** Until the console shows it. */
  async shown(text, timeout = 25_000) {
    // A long line goes on in the next row.
    await this.page.waitForFunction((part) => [window.consoleText(), window.consoleText().replaceAll("\n", "")].some((shown) => shown.includes(part)), text, { timeout });
  }
  async panel(label) {
    const button = this.page.locator(`.rail-button[aria-label="${label}"]`);
    if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
  }
}

/** Nobody has scripted the page, and it asked nobody but the service. */
export async function unharmed(visit) {
  equal(await visit.page.title(), "emberbox playground");
  const foreign = visit.requests.filter((address) => !address.startsWith(url) && !/^(data|blob|about):/.test(address));
  equal(foreign.join(" "), "", "requests to others");
}

/** A session of Python, begun by the list of places. */
export async function begin(visit) {
  await visit.page.waitForFunction(() => !document.querySelector(".place option[value=new]").disabled);
  await visit.page.selectOption(".place", "new");
  await visit.shown("Python session started");
  await visit.page.waitForFunction(() => document.querySelector(".place").value.length > 10);
}

const tests = [];
/** `most`: seconds that it may take. */
export function test(name, call, most = 60) {
  if (name.includes(only)) tests.push([name, call, most]);
}

export async function main() {
  let failed = 0;
  for (const [name, call, most] of tests) {
    const began = Date.now();
    const visits = [];
    const open = async (options) => {
      const visit = await Visit.open(options);
      visits.push(visit);
      return visit;
    };
    let timer;
    try {
      const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Failed(`still running after ${most} s`)), most * 1000)));
      await Promise.race([call(open), late]);
      for (const visit of visits) equal(visit.wrong.join("; "), "", "errors in the browser's console");
      console.log(`ok playground_${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok playground_${name}: ${String(error.message).split("\n").slice(0, 3).join(" | ").slice(0, 1500)}`);
    }
    clearTimeout(timer);
    for (const visit of visits) await visit.close().catch(() => {});
    if (process.env.EB_WEB_TIMES) console.log(`# ${name} ${Date.now() - began} ms`);
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
