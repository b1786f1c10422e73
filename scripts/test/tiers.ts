/*
 * The name of a test file defines its tier: `x.test.ts` runs in `pnpm test`, `x.ci.test.ts` in `.ci/run` after it, and
 * `x.nightly.test.ts` at night. SLUICE_TIER chooses one tier. Without it, as in `pnpm exec vitest`, all files run.
 */

import { globSync } from "node:fs";
import type { ViteUserConfig } from "vitest/config";

/** A tier of the tests. Each tier runs only its own files. */
export type Tier = (typeof tiers)[number];
const tiers = ["test", "ci", "nightly"] as const;

/** Projects that test the build. They build it if it is missing. */
const builtProjects = ["apps", "docs", "in a DOM", "pages", "studio", "clients", "recipes"];

/** Returns true if a project tests the build. */
export function needsBuild(project: string): boolean {
  return builtProjects.includes(project) || project.startsWith("lab ");
}

/** Tier from the environment. Undefined for all files. */
const chosen = tiers.find((tier) => tier === process.env["SLUICE_TIER"]);

export const isNightly = chosen === "nightly";
/** False if a test of a later tier may run, which may take longer. */
export const isFirstTier = chosen === "test";

/** Returns a project with the files of the chosen tier, or no project if it has no such files. */
export function filterTier<Project extends ViteUserConfig>(
  project: Project,
  since: Tier = "test",
): Project[] {
  if (chosen && tiers.indexOf(chosen) < tiers.indexOf(since)) return [];
  const included = tiers.filter(
    (tier) => !chosen || tier === chosen || (chosen === since && isBefore(tier, since)),
  );
  const otherTiers = tiers.filter((tier) => tier !== "test" && !included.includes(tier));
  const include = included.flatMap((tier) =>
    (project.test?.include ?? []).map((glob) => createGlob(glob, tier)),
  );
  const exclude = [...(project.test?.exclude ?? []), ...otherTiers.map((tier) => `**/*.${tier}.test.*`)];
  const cwd = project.test?.root ?? project.root ?? process.cwd();
  if (globSync(include, { cwd, exclude: ["**/node_modules/**", ...exclude] }).length === 0) return [];
  return [{ ...project, test: { ...project.test, include, exclude } }];
}

const isBefore = (a: Tier, b: Tier) => tiers.indexOf(a) < tiers.indexOf(b);
const createGlob = (glob: string, tier: Tier) =>
  tier === "test" ? glob : glob.replace(/\.test\.([^/]*)$/, `.${tier}.test.$1`);
