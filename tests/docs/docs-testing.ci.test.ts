import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The files of the page about the emulator, run by their own test tools, on the built packages. */

const root = join(import.meta.dirname, "../..");
const folder = createTemporaryFolder("testing-guide");
const page = readFileSync(join(root, "docs/guides/emulator.md"), "utf8");
const { resolve } = createRequire(import.meta.url);
/** Environment of a user's shell: in a test, tools behave in another way. */
const { NODE_ENV: _, VITEST: __, ...shell } = process.env;
/** Variables of the command that the guide shows for Jest. */
const flag = { NODE_OPTIONS: /^NODE_OPTIONS=(\S+) npx jest$/m.exec(page)?.[1] };
const JEST = "jest@30.5.2";

beforeAll(() => writeFileSync(join(folder, "package.json"), "{}"));

/** Reads a file that the guide includes. */
const readCode = (name: string) => readFileSync(join(root, "docs/examples/emulator", name), "utf8");

/** Writes a file of the guide, and runs a command there. */
function run(file: string, code: string, command: string, ...args: string[]) {
  writeFileSync(join(folder, file), code);
  const env = { ...shell, NO_COLOR: "1", ...flag };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8", env });
  return { status, printed: stdout + stderr };
}

test("the test with MSW passes in Vitest", () => {
  const vitest = join(dirname(resolve("vitest/package.json")), "vitest.mjs");
  const file = "gateway.test.ts";
  const { status, printed } = run(
    file,
    readCode(file),
    process.execPath,
    vitest,
    "run",
    "--root",
    folder,
    "--reporter=verbose",
    file,
  );
  expect(printed).toContain("a response passes through MSW");
  expect({ status, printed }).toMatchObject({ status: 0 });
});

describe("the test for Jest", { timeout: 180_000 }, () => {
  let hasRegistry = false;
  beforeAll(() => {
    hasRegistry = spawnSync("npm", ["view", "jest", "version"], { timeout: 20_000 }).status === 0;
    if (!hasRegistry) return;
    const args = ["install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund", JEST];
    spawnSync("npm", args, { cwd: folder, env: shell });
  });
  beforeEach(({ skip }) => skip(!hasRegistry, "the npm registry can't be reached"));

  test.each(["mjs", "cjs"])("passes as .%s with the flag of Node", (type) => {
    const code = readCode("chat.test.mjs");
    const inCommonJS = code.replace(/^import (\{.*?\}) from ("[^"]+");$/gm, "const $1 = require($2);");
    const file = `chat.test.${type}`;
    // Jest would transform the packages of this repository, since they are links out of node_modules
    const args = ["--rootDir", folder, "--transform={}", "--verbose", "--", file];
    const test = type === "cjs" ? inCommonJS : code;
    const { status, printed } = run(file, test, process.execPath, "node_modules/jest/bin/jest.js", ...args);
    expect(printed).toContain("✓ a response arrives in Jest");
    expect({ status, printed }).toMatchObject({ status: 0 });
  });
});
