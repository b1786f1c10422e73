import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { sharedBrowser } from "../support/browser.ts";
import { type Demo, isAlive, startDemo } from "../support/demo.ts";
import { openStudio } from "../support/studio-page.ts";

/* What `pnpm demo` starts: the built page and its Worker in workerd, in front of the emulator. */

/** The beginning of the demo's key: nothing that a page can see may have it. */
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

describe.skipIf(!findChromium())("the demo in Chromium (skipped where there is none)", () => {
  test("has the API key nowhere: not in traffic, not in storage, not in scripts", async () => {
    const { page, seen, close, problems } = await openStudio(await sharedBrowser(), demo.address);
    await page.getByRole("button", { name: "Stream and render" }).click();
    await page.getByRole("tab", { name: "Network" }).click();
    const inspector = page.getByRole("complementary", { name: "Inspector" });
    await inspector.getByText("Key added by the Worker").waitFor();
    await inspector.getByText("complete", { exact: true }).waitFor({ timeout: 20_000 });
    const inPage = await page.evaluate(() =>
      [
        document.documentElement.outerHTML,
        document.cookie,
        ...[localStorage, sessionStorage].map((kept) => JSON.stringify(kept)),
      ].join(),
    );
    const readDatabases = () =>
      page.evaluate(async () => {
        const read = <T>(request: IDBRequest<T>) =>
          new Promise<T>((resolve) => {
            request.onsuccess = () => resolve(request.result);
          });
        const found: unknown[] = [];
        for (const { name } of await indexedDB.databases()) {
          const database = await read(indexedDB.open(name as string));
          for (const store of database.objectStoreNames)
            found.push(await read(database.transaction(store).objectStore(store).getAll()));
          database.close();
        }
        return JSON.stringify(found);
      });
    // nothing waits for a write, the page least of all
    await expect.poll(readDatabases).toContain("Show me what you can do");
    const inDatabases = await readDatabases();
    // the browser's tools do not always keep what a page has read as a stream: sent once more, and read as a text
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
    for (const text of [inPage, inDatabases, streamed, ...seen]) {
      expect(text).not.toMatch(KEY);
      expect(text).not.toMatch(/"authorization"/i);
    }
    expect(problems).toEqual([]);
    await close();
  });
});

test("a page of another origin may not call, and no path but the gateway's leads anywhere", async () => {
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

test("scripts and fonts are kept by the browser for a year", async () => {
  const html = await (await fetch(demo.address)).text();
  const [script] = /\/assets\/[^"]+\.js/.exec(html) ?? [];
  const { headers } = await fetch(`${demo.address}${script}`);
  expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
});

test("the demo says that its port is taken, and Ctrl-C leaves no process behind", async () => {
  expect(printedAtStart).toMatch(/Port \d+ is taken: using \d+ instead/);
  expect(printedAtStart).not.toMatch(KEY);
  const processes = demo.processes();
  expect(await demo.interrupt()).toBe(0);
  expect(processes.filter(isAlive)).toEqual([]);
  await expect(fetch(demo.address)).rejects.toThrow();
});
