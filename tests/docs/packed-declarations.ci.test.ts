import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { stagePackage } from "../../scripts/stage.ts";
import { entries } from "../support/entries.ts";
import { createOptions, readHovers } from "../support/hovers.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * The declarations that are packed: only what an entry reaches. An editor shows the same of them as of the built ones.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const paths = Object.values(entries).map((path) => `packages/${path}`);
const PACKED = ".tmp/packed/dist";

beforeAll(() => {
  for (const name of new Set(paths.map((path) => path.split("/")[1])))
    stagePackage(`${root}packages/${name}`);
}, 60_000);

test("packed declarations show the docs of every name and field that users see", { timeout: 60_000 }, () => {
  const built = readHovers(paths, "dist");
  const packed = readHovers(paths, PACKED);
  for (const path of paths) {
    // the compiler lists inherited fields in another order
    const shown = (hovers: typeof built) =>
      hovers[path]
        ?.map(({ name, text, tags }) => ({ name, text, tags }))
        .sort((one, other) => one.name.localeCompare(other.name) || one.text.localeCompare(other.text));
    expect(shown(built)?.length, path).toBeGreaterThan(0);
    expect.soft(shown(packed), path).toEqual(shown(built));
  }
});

test("packed declarations refer to nothing that is not packed", { timeout: 60_000 }, () => {
  const folder = createTemporaryFolder("packed-declarations");
  const files = paths.map(
    (path) => `${root}${path.replace("/src/", `/${PACKED}/`).replace(/\.tsx?$/, ".d.ts")}`,
  );
  const compilerOptions = {
    ...createOptions(PACKED),
    types: ["node"],
    typeRoots: [`${root}tests/node_modules/@types`],
  };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files }));
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
  // other packages have errors in their declarations
  expect(stdout.split("\n").filter((line) => line.includes(PACKED))).toEqual([]);
});
