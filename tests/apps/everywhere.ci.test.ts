import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { behaviours } from "../everywhere/behaviours/index.js";
import { typescripts } from "../everywhere/compilers.ts";
import { tableUnder } from "../everywhere/page.ts";
import { platforms } from "../everywhere/platforms.ts";
import { copyBehaviours, packInto } from "../everywhere/project.ts";
import { type Servers, startServers } from "../everywhere/servers.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The suite of `pnpm everywhere`, where it is cheap and needs no registry, and the tables that its run has written. */

describe("docs/supported-platforms.md", () => {
  test("has a row for each platform", () => {
    const [head, ...rows] = tableUnder("Runtimes");
    expect(head).toEqual(["platform", "how", "result"]);
    const expected = platforms.map(({ name, how }) => [expect.stringContaining(name), how]);
    expect(rows.map((row) => row.slice(0, 2))).toEqual(expected);
  });

  test("has a row for each version of TypeScript that is promised", () => {
    const [head, ...rows] = tableUnder("TypeScript");
    expect(head).toEqual(["TypeScript", "result"]);
    expect(rows.map(([version]) => version)).toEqual(
      typescripts.map((name) => expect.stringMatching(new RegExp(`^${name}(\\.|$)`))),
    );
  });

  test("names no failure", () => {
    expect(
      readFileSync(join(import.meta.dirname, "../../docs/supported-platforms.md"), "utf8"),
    ).not.toContain("| failed");
  });
});

describe("the packed packages", () => {
  const folder = createTemporaryFolder("everywhere");
  const app = join(folder, "app");
  let servers: Servers;
  beforeAll(async () => {
    const scope = join(app, "node_modules/@sluice");
    mkdirSync(scope, { recursive: true });
    for (const [name, tarball] of packInto(join(folder, "tarballs"))) {
      if (!name.startsWith("@sluice/")) continue;
      const at = join(app, "node_modules", name);
      mkdirSync(at);
      execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", at]);
    }
    const packages = join(import.meta.dirname, "../../packages");
    const dependencies = { core: ["@valibot", "idb", "ky", "valibot"], media: ["mediabunny"] };
    for (const [owner, names] of Object.entries(dependencies))
      for (const name of names)
        symlinkSync(join(packages, owner, "node_modules", name), join(app, "node_modules", name));
    cpSync(join(import.meta.dirname, "../everywhere/platforms/app.json"), join(app, "package.json"));
    copyBehaviours(app);
    servers = await startServers(app, "http://page.invalid");
  }, 180_000);
  afterAll(() => servers?.close());

  const here = platforms.filter(({ name, how }) => name === "Node 22" || how === "through the proxy");
  test.each(here.map((platform) => [`${platform.name}, ${platform.how}`, platform] as const))(
    "work in %s",
    async (_, platform) => {
      const pages = { url: "", requested: () => [], report: async () => [], close() {} };
      const report = await platform.run({ folder: app, servers, pages });
      expect(report).toEqual(Object.keys(behaviours).map((name) => ({ name })));
    },
  );
});
