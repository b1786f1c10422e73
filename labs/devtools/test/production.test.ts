// @vitest-environment node
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { expect, test, vi } from "vitest";
import { createTemporaryFolder } from "../../../tests/support/temporary.ts";
import manifest from "../package.json" with { type: "json" };
import { traces } from "./traces.ts";

const outDir = createTemporaryFolder("devtools-production");

test.each([
  ["production", []],
  ["development", traces],
] as const)("A page with the panel that is built for %s has these parts of it: %s", async (mode, parts) => {
  vi.stubEnv("NODE_ENV", mode);
  await build({
    configFile: false,
    root: import.meta.dirname,
    mode,
    logLevel: "silent",
    build: {
      outDir: join(outDir, mode),
      emptyOutDir: false,
      rolldownOptions: { input: join(import.meta.dirname, "smallest-page.ts") },
    },
  });
  vi.unstubAllEnvs();
  const files = globSync(`${mode}/assets/*.js`, { cwd: outDir });
  const code = files.map((file) => readFileSync(join(outDir, file), "utf8")).join("\n");
  expect(code.length).toBeGreaterThan(1000);
  expect(traces.filter((trace) => code.includes(trace))).toEqual(parts);
});

test("A production build and a Server Component export the same names as a development build", async () => {
  const { "react-server": onServer, development, default: inProduction } = manifest.exports["."];
  const listNames = async (path: string) =>
    Object.keys(await import(/* @vite-ignore */ join(import.meta.dirname, "..", path))).toSorted();
  const names = await listNames(development);
  expect(names).toEqual([
    "SluiceDevtools",
    "SluiceDevtoolsPanel",
    "devtoolsFetch",
    "playFault",
    "recordCalls",
  ]);
  for (const path of [inProduction, onServer.development, onServer.default])
    expect.soft(await listNames(path), path).toEqual(names);
  const server = readFileSync(join(import.meta.dirname, "..", onServer.development), "utf8");
  expect(server.startsWith('"use client";\n')).toBe(true);
});
