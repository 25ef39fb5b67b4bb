// The picture of the README, docs/playground.png, of a service that runs:
//
//     node picture.mjs URL TOKEN OUTPUT
import { begin, Visit } from "./browser.mjs";

const CODE = `import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

town = input("Which town? ")

days = np.arange(365)
noise = np.random.default_rng(7).normal(0, 1.6, 365)
warmth = pd.Series(12 - 9 * np.cos(days / 58.1) + noise)

fig, axes = plt.subplots(figsize=(6.4, 2.5))
axes.scatter(days, warmth, s=5, color="#ff7a3d", alpha=0.55)
axes.plot(days, warmth.rolling(30, center=True).mean(),
          color="#2f7f93", linewidth=2)
axes.set_title(f"A year in {town}")
axes.spines[["top", "right"]].set_visible(False)
fig.tight_layout()
plt.show()

print(f"\\x1b[32m{town}\\x1b[0m: {warmth.mean():.1f} °C")
warmth.groupby(days // 92).agg(["min", "mean", "max"]).round(1)
`;

const visit = await Visit.open({ width: 1440, height: 860 });
const { page } = visit;
await begin(visit);
await visit.code("python", "import matplotlib.pyplot, pandas, numpy\n");
await visit.run();
await visit.code("python", CODE);
await visit.panel("Sessions");
await page.click("[aria-label='Clear output']");
await page.click(".run");
await page.locator(".input-row").waitFor();
await page.keyboard.type("Lisbon");
await page.keyboard.press("Enter");
await visit.ended();
await page.waitForFunction(() => document.querySelector(".results img")?.naturalWidth > 300 && document.querySelector(".results table"));
await page.locator(".toast").evaluateAll((all) => all.forEach((item) => item.remove()));
await page.mouse.move(700, 700);
await page.waitForTimeout(3500); // the next look at the session's memory
await page.screenshot({ path: process.argv[4] });
await page.click(".session.current [aria-label='End session']");
await page.click("dialog .button.primary");
await page.waitForFunction(() => document.querySelector(".place").value === "");
process.exit(0);
