import type { Browser, FrameLocator, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { findProblems } from "../support/axe.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { openStudio, type StudioPage } from "../support/studio-page.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.skipIf(!findChromium())(
  "the room of devices in Chromium (skipped where there is none)",
  { timeout: 120_000 },
  () => {
    let server: QuickStudio;
    let browser: Browser;
    let studio: StudioPage;
    let page: Page;
    let laptop: FrameLocator;
    let phone: FrameLocator;

    beforeAll(async () => {
      const picture = Uint8Array.from(Buffer.from(PNG, "base64"));
      // a slow page sees that a tool runs, too
      const durations = { imageMs: 6000 };
      [server, browser] = await Promise.all([
        startQuickStudio({ picture, durations, speed: 20, hasDevices: true }),
        getSharedBrowser(),
      ]);
    }, 60_000);
    afterAll(() => server.close());
    beforeEach(async () => {
      studio = await openStudio(browser, `${server.address}/#/devices`);
      page = studio.page;
      laptop = page.frameLocator("iframe[title=Laptop]");
      phone = page.frameLocator("iframe[title=Phone]");
    });
    afterEach(async () => {
      await studio.close();
      expect(studio.problems).toEqual([]);
    });

    async function signIn(name: string): Promise<void> {
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await page.keyboard.press("Enter");
    }
    async function ask(device: FrameLocator, text: string): Promise<void> {
      await device.getByRole("textbox", { name: "Message" }).fill(text);
      await device.getByRole("button", { name: "Send" }).click();
    }
    const last = (device: FrameLocator) =>
      device.getByRole("list", { name: "Messages" }).getByRole("listitem").last();
    const settled = (device: FrameLocator) =>
      device.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    const button = (name: string) => page.getByRole("button", { name, exact: true });

    test("An answer that the laptop asked for streams on the phone, which stops it", async () => {
      await signIn("ada");
      await ask(laptop, "Tell me about rivers [[stall]]");
      await last(phone)
        .getByText(/^Server\s+\S+ \S+/)
        .or(last(phone).filter({ hasText: /Server\S+ \S+/ }))
        .first()
        .waitFor();
      await phone.getByText("Other device").waitFor();
      await phone.getByText("The server is working…").waitFor();
      await phone.getByRole("button", { name: "Stop" }).click();
      for (const device of [laptop, phone])
        await device.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    });

    test("A tool that is approved on the phone runs while both are closed", async () => {
      await signIn("grace");
      await ask(laptop, 'Use the tool make_image for "a reef"');
      await phone.getByRole("button", { name: "Approve" }).click();
      await laptop.getByText("Running…").waitFor();
      await button("Close the laptop").click();
      await button("Close the phone").click();
      await expect.poll(() => page.getByText("Closed. The server goes on.").count()).toBe(2);
      await button("Open the phone").click();
      await phone.getByRole("img", { name: "Made on the server" }).waitFor();
      expect(server.created("/v1/images/generations")).toHaveLength(1);
    });

    test("A device without a network keeps what is written, and asks the server later", async () => {
      await signIn("joan");
      await ask(laptop, "Tell me about rivers");
      await phone.getByText("Other device").waitFor();
      for (const device of [laptop, phone])
        await device.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
      await phone.getByRole("button", { name: "Go offline" }).click();
      await ask(phone, "Tell me about lakes");
      await phone.getByText("Offline. Not all is sent.").waitFor();
      // the turn is handed over some times more before the phone gives it up
      await settled(phone);
      await phone.getByRole("button", { name: "Go online" }).click();
      await phone.getByRole("button", { name: "Try again" }).click();
      await laptop.getByText("Tell me about lakes").last().waitFor();
    });

    test("A user who has signed out leaves nothing in this browser", async () => {
      await signIn("mary");
      await ask(laptop, "Tell me about rivers");
      await phone.getByRole("button", { name: /rivers/ }).waitFor();
      await button("Sign out mary").click();
      const stored = () =>
        page.evaluate(async () => {
          const names = (await indexedDB.databases()).map(({ name }) => name);
          return JSON.stringify([names, Object.entries(localStorage)]);
        });
      await expect.poll(stored).not.toContain("mary");
      await signIn("other");
      await laptop.getByRole("button", { name: /server-sent/ }).waitFor();
    });

    test.each(["light", "dark"] as const)(
      "Axe finds nothing in the %s room and on a device",
      async (colorScheme) => {
        await page.emulateMedia({ colorScheme });
        await page.getByRole("textbox", { name: "Name" }).waitFor();
        expect(await findProblems(page, undefined)).toEqual([]);
        await signIn(`axe-${colorScheme}`);
        await ask(laptop, 'Use the tool make_image for "a reef"');
        await phone.getByRole("button", { name: "Approve" }).waitFor();
        for (const width of [1440, 390]) {
          await page.setViewportSize({ width, height: 844 });
          expect(await findProblems(page, undefined)).toEqual([]);
        }
      },
    );
  },
);
