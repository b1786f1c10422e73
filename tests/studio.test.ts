import { createServer } from "node:net";
import type { Browser } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../scripts/chromium.ts";
import { sharedBrowser } from "./support/browser.ts";
import { type Demo, isAlive, startDemo } from "./support/demo.ts";
import { openStudio, type StudioPage } from "./support/studio-page.ts";

/** How the demo's key begins: nothing that a page can see may have it. */
const KEY = /sk-demo-[0-9a-f]+/;

let demo: Demo;
let printedAtStart = "";
const squatter = createServer();

beforeAll(async () => {
  await new Promise<void>((ready) => squatter.listen(0, "127.0.0.1", ready));
  demo = await startDemo((squatter.address() as { port: number }).port, 10);
  printedAtStart = demo.printed();
}, 60_000);
afterAll(() => void squatter.close());

describe.skipIf(!findChromium())("the studio in Chromium (skipped where there is none)", () => {
  let browser: Browser;
  let studio: StudioPage;

  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  beforeEach(async () => {
    studio = await openStudio(browser, demo.address);
  });
  afterEach(() => studio.close());

  const textLength = async () => (await studio.answer().innerText()).length;

  async function grown(from: number): Promise<number> {
    await expect.poll(textLength, { timeout: 15_000 }).toBeGreaterThan(from);
    return textLength();
  }

  test("shows an answer growing before it ends, and stops it with its text kept", async () => {
    const { page, ask, answer, problems } = studio;
    await ask("Tell me of rivers [[slow]]");
    let length = 0;
    for (let step = 0; step < 3; step += 1) length = await grown(length);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(await textLength()).toBeGreaterThanOrEqual(length);
    await expect.poll(() => answer().innerText()).toMatch(/Stopped/);
    expect(problems).toEqual([]);
  });

  test("answers to the end, with the reasoning apart and the time to the first token", async () => {
    const { page, ask, answer, problems } = studio;
    await page.getByRole("combobox", { name: "Model" }).selectOption("delta-5.3");
    await ask("Hello");
    await page.getByRole("list", { name: "Statistics" }).waitFor();
    expect(await answer().getByRole("region", { name: "Reasoning" }).count()).toBe(1);
    expect(await page.getByRole("list", { name: "Statistics" }).innerText()).toMatch(/first token/i);
    expect(problems).toEqual([]);
  });

  test("shows the error of [[429]] with a way out", async () => {
    const { page, ask, problems } = studio;
    await ask("Too much [[429]]");
    const alert = page.getByRole("alert");
    await alert.waitFor({ timeout: 20_000 });
    expect(await alert.innerText()).toMatch(/limit|too many|wait/i);
    expect(await page.getByRole("button", { name: /try again|ask again/i }).count()).toBeGreaterThan(0);
    expect(problems.filter((problem) => !problem.includes("429"))).toEqual([]);
  });

  test("says that a cut answer is cut, and keeps its text", async () => {
    const { page, ask, answer } = studio;
    await ask("Tell me of rivers [[truncate]]");
    await page.getByRole("alert").waitFor();
    expect(await answer().innerText()).toMatch(/cut off/i);
    expect(await textLength()).toBeGreaterThan(40);
  });

  test("has the API key nowhere: not in traffic, not in storage, not in scripts", async () => {
    const { page, ask, seen } = studio;
    await ask("Hello");
    await page.getByRole("list", { name: "Statistics" }).waitFor();
    const inPage = await page.evaluate(() =>
      [
        document.documentElement.outerHTML,
        document.cookie,
        ...[localStorage, sessionStorage].map((kept) => JSON.stringify(kept)),
      ].join(),
    );
    const readDatabase = () =>
      page.evaluate(async () => {
        const [{ name } = {}] = await indexedDB.databases();
        if (!name) return "";
        const read = <T>(request: IDBRequest<T>) =>
          new Promise<T>((resolve) => {
            request.onsuccess = () => resolve(request.result);
          });
        const database = await read(indexedDB.open(name));
        const stores = [...database.objectStoreNames].map((store) =>
          read(database.transaction(store).objectStore(store).getAll()),
        );
        return JSON.stringify(await Promise.all(stores));
      });
    // nothing waits for a write, the page least of all
    await expect.poll(readDatabase).toContain("Hello");
    const inDatabase = await readDatabase();
    // the browser's tools do not always keep what a page has read as a stream: asked once more, as a text
    const streamed = await page.evaluate(async () => {
      const body = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }], stream: true };
      const headers = { "content-type": "application/json" };
      const answer = await fetch("/v1/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      return JSON.stringify([...answer.headers]) + (await answer.text());
    });
    expect(streamed).toContain("chat.completion.chunk");
    expect(seen.some((text) => text.includes("<!doctype html>"))).toBe(true);
    for (const text of [inPage, inDatabase, streamed, ...seen]) {
      expect(text).not.toMatch(KEY);
      expect(text).not.toMatch(/"authorization"/i);
    }
  });
});

test("a page of another origin may not call, and no path but the chat's leads anywhere", async () => {
  const call = (path: string, headers: Record<string, string> = {}) =>
    fetch(demo.address + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "delta-5.3", messages: [{ role: "user", content: "hi" }] }),
    });
  expect((await call("/v1/chat/completions", { origin: "https://evil.test" })).status).toBe(403);
  expect((await call("/v1/models")).status).toBe(404);
  const answered = await call("/v1/chat/completions", {
    origin: demo.address,
    authorization: "Bearer sk-mine",
  });
  expect([answered.status, answered.headers.get("access-control-allow-origin")]).toEqual([200, demo.address]);
});

test("the demo says that its port is taken, and Ctrl-C leaves no process behind", async () => {
  expect(printedAtStart).toMatch(/Port \d+ is taken: using \d+ instead/);
  expect(printedAtStart).not.toMatch(KEY);
  const processes = demo.processes();
  expect(await demo.interrupt()).toBe(0);
  expect(processes.filter(isAlive)).toEqual([]);
  await expect(fetch(demo.address)).rejects.toThrow();
});
