import { execFile } from "node:child_process";
import { copyFileSync, globSync } from "node:fs";
import { basename } from "node:path";
import { promisify } from "node:util";
import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The live examples of the site, each copied into a new folder and run unchanged. */

const root = `${import.meta.dirname}/../../`;
const folder = createTemporaryFolder("live");
const execute = promisify(execFile);
let gateway: Served;

beforeAll(async () => {
  const durations = { imageMs: 1, videoMs: 1 };
  gateway = await serve(createEmulator({ apiKeys: ["sk-test"], speed: 1000, durations }), { port: 0 });
});
afterAll(() => gateway.close());

async function run(file: string, ...words: string[]): Promise<string> {
  copyFileSync(`${root}docs/.vitepress/live/examples/${file}`, `${folder}/${file}`);
  const env = { ...process.env, GATEWAY_URL: gateway.url };
  const { stdout } = await execute(process.execPath, [`${folder}/${file}`, ...words], {
    env,
    timeout: 30_000,
  });
  return stdout;
}

const expected: Readonly<Record<string, RegExp>> = {
  "stream.ts": /\w+ \w+.*complete after \d+ ms$/s,
  "breaks.ts": /← 429\n {2}again in \d+ ms.*outcome: complete$/s,
  "picture.ts": /^http\S+\n1 image, 2048x2048$/,
  "video.ts": /success: \w+\nhttp\S+\n$/,
};

test("each live example is copied and run below", () => {
  const files = globSync("docs/.vitepress/live/examples/*.ts", { cwd: root }).map((path) => basename(path));
  expect(files.sort()).toEqual(Object.keys(expected).sort());
});

test.each(Object.entries(expected))("%s runs unchanged", async (file, output) => {
  expect(await run(file)).toMatch(output);
});

test("breaks.ts plays the fault that it is given", async () => {
  expect(await run("breaks.ts", "[[drop]]")).toMatch(/outcome: truncated\nStreamError: /);
});
