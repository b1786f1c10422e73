import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { writeForJSR } from "../../scripts/jsr.ts";
import { createYarnSettings, entries, managers, run, writeProject } from "../../scripts/tarballs.ts";

/*
 * Checks of the packages by package managers, Deno and JSR. A result without a problem is fine.
 */

export interface Outcome {
  readonly name: string;
  readonly version: string;
  readonly problem?: string | undefined;
}

const denoPath = createRequire(join(import.meta.dirname, "../../packages/worker-proxy/package.json")).resolve(
  "deno/package.json",
);
const deno = join(denoPath, "../deno");

/** Warnings to ignore: about this machine's settings, and Yarn's about every project with ES modules. */
const OTHERS = /Unknown (?:user|env|project|builtin) config|YN0092|Done with warnings/;

/** Installs the tarballs with each package manager; a warning is a problem. */
export function installEverywhere(folder: string, tarballs: ReadonlyMap<string, string>): Outcome[] {
  return managers.map(({ name, install, version }) => {
    const projectFolder = join(folder, `with-${name}`);
    const settings = createYarnSettings(folder);
    mkdirSync(projectFolder, { recursive: true });
    const attempt = attempted(() => {
      writeProject(projectFolder, tarballs);
      // without this file, Yarn treats the folder as a part of this repository
      if (name === "Yarn") writeFileSync(join(projectFolder, "yarn.lock"), "");
      const printed = run(install, projectFolder, settings).split("\n");
      const warnings = printed.filter((line) => /\bwarn|deprecat/i.test(line) && !OTHERS.test(line));
      if (warnings.length > 0) throw new Error(warnings.join("\n"));
    });
    return { name, version: lastLine(run(version, projectFolder, settings)), problem: attempt };
  });
}

/** Checks the types of each entry with Deno, in a project that npm installed. */
export function checkWithDeno(folder: string): Outcome {
  const imports = entries.map((entry, number) => `export * as name${number} from "${entry}";\n`);
  writeFileSync(join(folder, "everything.ts"), imports.join(""));
  const problem = attempted(() => run([deno, "check", "everything.ts"], folder));
  return { name: "`deno check`", version: denoVersion(), problem };
}

/** Lets JSR check the packages as it does before it publishes them: types that it has to infer are a problem. */
export function checkForJSR(folder: string): Outcome {
  const projectFolder = join(folder, "jsr");
  writeForJSR(projectFolder);
  const problem = attempted(() => {
    const printed = run([deno, "publish", "--dry-run", "--allow-dirty"], projectFolder);
    if (/^warning/im.test(printed)) throw new Error(printed);
  });
  return { name: "`deno publish --dry-run`", version: denoVersion(), problem };
}

function denoVersion(): string {
  return /\d+(?:\.\d+)+/.exec(run([deno, "--version"], "."))?.[0] ?? "";
}

function attempted(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function lastLine(text: string): string {
  return text.split("\n").findLast((line) => /^\d/.test(line)) ?? "";
}
