import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { BrowserContext, Page } from "playwright";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import {
  approveAndLeave,
  type Device,
  exampleFolder,
  openOnBoth,
  type RunningExample,
  startExample,
  toDevice,
  typeAndStop,
  waitForText,
  waitUntil,
} from "../support/devices-example.ts";

/* examples/devices: its command, and one user in two browser contexts, which share nothing but the server. */

/** Waits until a device shows so many messages, the last of them an answer that has ended. */
const idle = (device: Device, messages: number) =>
  waitUntil(device, (text) => {
    const roles = text.match(/^(user|assistant), /gm) ?? [];
    return roles.length === messages && roles.at(-1) === "assistant, " && !text.includes("Working");
  });

const folder = `${exampleFolder}/`;

test("examples/devices has at most 200 lines of source, page and server together", () => {
  const sources = readdirSync(folder).filter((name) => /\.(ts|tsx|html|css)$/.test(name));
  const lines = sources.map(
    (name) =>
      readFileSync(folder + name, "utf8")
        .trimEnd()
        .split("\n").length,
  );
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(200);
});

describe.skipIf(!findChromium())(
  "examples/devices in Chromium (skipped where there is none)",
  { timeout: 120_000 },
  () => {
    let example: RunningExample | undefined;
    const contexts: BrowserContext[] = [];
    const problems: string[] = [];

    beforeAll(() => {
      const vite = `${folder}node_modules/vite/bin/vite.js`;
      const built = spawnSync(process.execPath, [vite, "build"], { cwd: folder, encoding: "utf8" });
      expect(built.status, built.stderr).toBe(0);
    }, 180_000);
    afterEach(async () => {
      for (const context of contexts.splice(0)) await context.close();
      await example?.close();
      example = undefined;
      expect(problems.splice(0)).toEqual([]);
    });

    async function openDevice(): Promise<Device & { readonly page: Page; readonly context: BrowserContext }> {
      const context = await (await getSharedBrowser()).newContext();
      contexts.push(context);
      const page = await context.newPage();
      page.on("pageerror", ({ message }) => problems.push(message));
      await page.goto(example?.url ?? "");
      return { page, context, ...toDevice(page) };
    }

    async function start(host: "node" | "workerd" = "node"): Promise<RunningExample> {
      example = await startExample(host);
      return example;
    }

    describe.each(["node", "workerd"] as const)("on %s", (host) => {
      test("An answer that one device asked for streams on the other, which stops it", async () => {
        await start(host);
        await typeAndStop(await openDevice(), await openDevice());
      });

      test("A tool is approved on the other device, runs while both are closed, and has run once", async () => {
        const running = await start(host);
        await approveAndLeave(running, [await openDevice(), await openDevice()], openDevice);
      });
    });

    test("Nine tabs of one browser, each with a chat of its own, leave connections for an answer in the last", async () => {
      await start();
      const { page, context, ...first } = await openDevice();
      await first.enter("Name", "ada");
      await waitForText(first, "ada, online");
      const tabs: Device[] = [];
      for (let nth = 0; nth < 8; nth += 1) {
        const tab = await context.newPage();
        await tab.goto(`${new URL(page.url()).origin}/#chat-${nth}`);
        tabs.push(toDevice(tab));
        await waitForText(toDevice(tab), "ada, online");
      }
      const last = tabs.at(-1) as Device;
      await last.enter("Message", "Tell me about rivers");
      await idle(last, 2);
      // the list of the first one is followed, or looked at
      await waitForText(first, "Tell me about rivers");
    });

    test("Nobody reads a list without a name, or that of another user", async () => {
      const { url } = await start();
      const device = await openDevice();
      await device.enter("Name", "ada");
      await device.press("New chat");
      await device.enter("Message", "Tell me about rivers");
      const listOf = async (headers: Record<string, string>) => {
        const answer = await fetch(`${url}/v1/conversations/~index/records`, { headers });
        return `${answer.status} ${await answer.text()}`;
      };
      await expect.poll(() => listOf({ authorization: "Bearer ada" })).toContain("rivers");
      expect(await listOf({ authorization: "Bearer bob" })).toMatch(/^200 .*"records":\{\}/);
      expect(await listOf({})).toMatch(/^401 /);
    });

    test("A device that was offline has what the other asked meanwhile, and sends what was written on it", async () => {
      await start();
      const [laptop, phone] = [await openDevice(), await openDevice()];
      await openOnBoth(laptop, phone, "Tell me about rivers");
      await phone.context.setOffline(true);
      await waitForText(phone, "ada, offline", "Tell me about rivers");
      await laptop.enter("Message", "And lakes?");
      await waitForText(laptop, "And lakes?");
      await phone.context.setOffline(false);
      await waitForText(phone, "ada, online", "And lakes?");
      await idle(phone, 4);
      await phone.context.setOffline(true);
      await waitForText(phone, "ada, offline");
      await phone.enter("Message", "And seas?");
      await waitForText(phone, "And seas?", "Try again");
      expect(await laptop.text()).not.toContain("And seas?");
      await phone.context.setOffline(false);
      await waitForText(phone, "ada, online");
      await phone.press("Try again");
      await waitForText(laptop, "And seas?");
      for (const device of [laptop, phone]) await idle(device, 6);
    });
  },
);
