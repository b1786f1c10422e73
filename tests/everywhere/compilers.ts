import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { entries, run } from "../../scripts/tarballs.ts";

/*
 * The types of the installed packages, by each TypeScript from the oldest that is promised. `program/` uses them as an
 * app does. Every check is on: declarations are checked, too.
 */

const tools = createRequire(join(import.meta.dirname, "tools/package.json"));
const tests = createRequire(join(import.meta.dirname, "../package.json"));
const root = createRequire(join(import.meta.dirname, "../../package.json"));

/** Each TypeScript, oldest first: the name of its row, and the path of its manifest. */
const compilers: ReadonlyMap<string, () => string> = new Map([
  ["5.4", () => tests.resolve("typescript-5.4/package.json")],
  ["5.5", () => tools.resolve("typescript-5.5/package.json")],
  ["5.6", () => tools.resolve("typescript-5.6/package.json")],
  ["5.7", () => tools.resolve("typescript-5.7/package.json")],
  ["5.8", () => tools.resolve("typescript-5.8/package.json")],
  ["5.9", () => tools.resolve("typescript-5.9/package.json")],
  ["6", () => tools.resolve("typescript-6/package.json")],
  ["7", () => root.resolve("typescript/package.json")],
]);

/** The TypeScript versions, oldest first. */
export const typescripts = [...compilers.keys()];

/** Values of `module` by their value of `moduleResolution`. */
const modules: Readonly<Record<string, string>> = {
  bundler: "esnext",
  node16: "node16",
  nodenext: "nodenext",
};

const strictness: Readonly<Record<string, object>> = {
  strict: { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  loose: { strict: false },
};

/** A `moduleResolution` and a strictness: the columns of the table. */
export const settings = Object.keys(modules).flatMap((resolution) =>
  Object.keys(strictness).map((mode) => `${resolution}, ${mode}`),
);

/** The output of one TypeScript; empty without errors. */
export interface Compilation {
  readonly version: string;
  /** Errors of each of `settings`. */
  readonly problems: readonly string[];
}

/** Copies the program into a project that a package manager has installed, with each setting's `tsconfig`. */
export function copyProgram(folder: string): void {
  const programFolder = join(folder, "program");
  cpSync(join(import.meta.dirname, "program"), programFolder, { recursive: true });
  const imports = entries.map((entry, number) => `export * as name${number} from "${entry}";\n`);
  writeFileSync(join(programFolder, "entries.ts"), imports.join(""));
  for (const setting of settings)
    writeFileSync(join(programFolder, nameFile(setting)), createConfig(setting));
}

/** Compiles the program of a project with one TypeScript, in each of `settings`. */
export function compile(folder: string, typescript: string): Compilation {
  const manifest = compilers.get(typescript)?.() ?? "";
  const tsc = join(dirname(manifest), "bin/tsc");
  const programFolder = join(folder, "program");
  return {
    version: JSON.parse(readFileSync(manifest, "utf8")).version,
    problems: settings.map((setting) => {
      try {
        return run([process.execPath, tsc, "-p", nameFile(setting)], programFolder);
      } catch (error) {
        return String(error);
      }
    }),
  };
}

function nameFile(setting: string): string {
  return `${setting.replace(", ", "-")}.json`;
}

function createConfig(setting: string): string {
  const [moduleResolution = "", mode = ""] = setting.split(", ");
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "dom", "dom.iterable"],
    module: modules[moduleResolution],
    moduleResolution,
    jsx: "react-jsx",
    ...strictness[mode],
    skipLibCheck: false,
    // the compiler's own declarations are not ours
    skipDefaultLibCheck: true,
    noEmit: true,
    types: ["node"],
  };
  return JSON.stringify({ compilerOptions, include: ["*.ts", "*.tsx"] });
}
