import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const everything = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * An invisible neighbor of a popup that passes the focus on at once. axe takes it for a place where the focus stays, and
 * means to change that: https://github.com/dequelabs/axe-core/issues/4832
 */
const FOCUS_GUARD = /^<span [^>]*data-base-ui-focus-guard/;

/** Problems that axe finds on the page by rules of these names or tags, each as one line. */
export async function findProblems(page: Page, rules = everything): Promise<readonly string[]> {
  // evaluated, not inserted: the policy of the page allows no inline script
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source);
  const { violations } = await page.evaluate(async (runOnly) => {
    const isMoving = () =>
      document
        .getAnimations()
        .some((it) => it.playState === "running" && it.effect?.getComputedTiming().endTime !== Infinity);
    // wait until the colors of the theme no longer change
    for (let calm = 0; calm < 2; calm = isMoving() ? 0 : calm + 1)
      await new Promise((resolve) => requestAnimationFrame(resolve));
    return (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
      runOnly,
      resultTypes: ["violations"],
    });
  }, rules);
  return violations.flatMap(({ id, nodes }) =>
    nodes
      .filter(({ html }) => id !== "aria-hidden-focus" || !FOCUS_GUARD.test(html))
      .map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  );
}
