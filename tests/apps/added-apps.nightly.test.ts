import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import {
  checkDeploy,
  deploy,
  invite,
  type ManagerCommands,
  made,
  managers,
  openSecrets,
  sendInPage,
  startDev,
} from "../support/first-steps.ts";
import { openWorkshop, type Workshop } from "../support/new-app.ts";

/* `--add` in what the frameworks' own commands make, as they come from the registry today. */

describe("an app of another command", () => {
  let shop: Workshop;
  beforeEach(({ skip }) => {
    const { status } = spawnSync("npm", ["view", "react", "version"], { timeout: 20_000 });
    skip(status !== 0, "the npm registry can't be reached");
    skip(!findChromium(), "there is no Chromium");
    shop = openWorkshop();
  });
  afterEach(() => shop?.close());

  test("An app in a workspace of pnpm gets a chat, and git ignores its secrets", {
    timeout: 900_000,
  }, async () => {
    const app = "shop/apps/web";
    const commands = managers["react"] as ManagerCommands;
    const [, , createVite] = made[0] as (typeof made)[number];
    await shop.run("", ["mkdir", "-p", "shop/apps"]);
    await shop.run("shop", ["git", "init", "--quiet"]);
    shop.write("shop/package.json", '{ "name": "shop", "private": true }');
    shop.write("shop/pnpm-workspace.yaml", "packages:\n  - apps/*\n");
    shop.write("shop/pnpm-lock.yaml", "");
    shop.write("shop/.gitignore", "node_modules\n");
    await shop.run(
      "shop/apps",
      createVite.map((word) => (word === "app" ? "web" : word)),
    );
    expect(() => shop.create([".", "--add"], "shop")).toThrow("is the root of a workspace");
    const printed = shop.create([".", "--add"], app);
    expect(printed).not.toContain("TO DO");
    expect(printed).toContain("  pnpm install\n  pnpm run dev");
    await shop.installWorkspace("shop");
    await shop.run(app, ["npm", "run", "types"]);
    const dev = await startDev(shop, app, commands);
    expect((await sendInPage(dev.url, "Hello")).length).toBeGreaterThan(10);
    await dev.stop();
    const deployed = await deploy(shop, app, commands);
    expect(await checkDeploy(shop, app)).toMatchObject({ status: 0 });
    expect((await sendInPage(await invite(shop, app), "Hello")).length).toBeGreaterThan(10);
    await deployed.stop();
    expect(await openSecrets(shop, app)).toEqual([]);
    const listed = await shop.run("shop", ["git", "ls-files", "--others", "--exclude-standard"]);
    expect(listed).not.toMatch(/\.env|\.dev\.vars|\bdist\/|\.wrangler/);
  });

  test.each(made)(
    "An app of %s gets a chat that runs in development and in production",
    { timeout: 900_000 },
    async (...row) => {
      const [, template, command, path] = row;
      const commands = managers[template] as ManagerCommands;
      await shop.run("", command);
      await shop.run("app", ["git", "init", "--quiet"]);
      expect(shop.create([".", "--add"], "app")).not.toContain("TO DO");
      expect(shop.create([".", "--add"], "app")).toContain("Nothing was changed.");
      await shop.install("app");
      await shop.run("app", ["npm", "run", "types"]);
      await shop.run("app", ["npm", "run", "lint", "--if-present"]);
      const dev = await startDev(shop, "app", commands);
      expect((await sendInPage(dev.url + path, "Hello")).length).toBeGreaterThan(10);
      await dev.stop();
      const deployed = await deploy(shop, "app", commands);
      expect(await checkDeploy(shop, "app")).toMatchObject({
        status: 0,
        printed: expect.stringContaining("All is set."),
      });
      const link = await invite(shop, "app");
      expect(link).toContain(`${deployed.url}${path}#invite=`);
      expect((await sendInPage(link, "Hello")).length).toBeGreaterThan(10);
      await deployed.stop();
      expect(await openSecrets(shop, "app")).toEqual([]);
    },
  );
});
