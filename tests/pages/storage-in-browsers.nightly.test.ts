import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import type { Browser, BrowserContext, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.ts";
import { getSharedFirefox, hasFirefox } from "../support/firefox.ts";
import type { StoredChatPage } from "../support/stored-chat-page.ts";

/** The global of `stored-chat-page.ts`, for functions that run in the page. */
declare const page: StoredChatPage;

const browsers = [
  { name: "Chromium", isHere: findChromium() !== undefined, open: getSharedBrowser },
  { name: "Firefox", isHere: hasFirefox, open: getSharedFirefox },
];

/** Functions that end the page's connection to the database. They run in the page. */
const endConnection: Readonly<Record<string, () => unknown>> = {
  "is closed without an event": () => page.connections[0]?.close(),
  "is closed with an event": () => {
    page.connections[0]?.close();
    page.connections[0]?.dispatchEvent(new Event("close"));
  },
  "starts no transaction any more": () => {
    const [connection] = page.connections;
    if (connection)
      connection.transaction = () => {
        throw new DOMException("Connection to Indexed Database server lost", "UnknownError");
      };
  },
  "is asked to close by another version": () =>
    page.connections[0]?.dispatchEvent(new Event("versionchange")),
};

describe.for(browsers)(
  "a chat whose database connection dies, in $name (skipped where there is none)",
  (at) => {
    if (!at.isHere) return test.skip(`${at.name} is not installed`);
    let browser: Browser;
    let served: Served;
    let context: BrowserContext;
    let tab: Page;

    beforeAll(async () => {
      browser = await at.open();
      const html = await buildPage("stored-chat-page.ts");
      const emulator = createEmulator({
        speed: 1000,
        chat: ({ messages }) => `On ${messages.at(-1)?.content}`,
      });
      served = await serve(
        {
          ...emulator,
          async fetch(input) {
            const request = new Request(input);
            if (new URL(request.url).pathname !== "/") return emulator.fetch(request);
            return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
          },
        },
        { port: 0 },
      );
    });
    afterAll(() => served.close());
    beforeEach(async () => {
      context = await browser.newContext();
      tab = await context.newPage();
      await openPage();
      await tab.evaluate(() => page.send("one").then(() => {}));
    });
    afterEach(() => context.close());

    const openPage = async () => {
      await tab.goto(served.url);
      await tab.waitForFunction(
        () => typeof page === "object" && page.state().persistence?.status !== "restoring",
      );
    };
    const sendTwoMore = async () => {
      await tab.evaluate(() =>
        page
          .send("two")
          .then(() => page.send("three"))
          .then(() => {}),
      );
      await tab.waitForFunction(() => !page.state().persistence?.pending);
    };
    const readThread = () => tab.evaluate(() => page.state().messages.map(({ content }) => content));

    test.for(Object.entries(endConnection))("stores the next messages after it %s", async ([, end]) => {
      await tab.evaluate(end);
      await sendTwoMore();
      // the ended connection, and a new one
      expect(await tab.evaluate(() => page.connections.length)).toBe(2);
      await openPage();
      expect(await readThread()).toEqual(["one", "On one", "two", "On two", "three", "On three"]);
    });

    // only Chromium has the command that clears the data of a site
    test.skipIf(at.name !== "Chromium")(
      "stores the next messages after the site's data were cleared",
      async () => {
        const devtools = await context.newCDPSession(tab);
        await devtools.send("Storage.clearDataForOrigin", { origin: served.url, storageTypes: "indexeddb" });
        await sendTwoMore();
        await openPage();
        expect(await readThread()).toEqual(expect.arrayContaining(["two", "On two", "three", "On three"]));
      },
    );
  },
);
