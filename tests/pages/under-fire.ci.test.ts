import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startAttacked } from "../../packages/worker-proxy/test/support/attacked.js";
import { expectNoKey, KEY } from "../../packages/worker-proxy/test/support/key.js";
import { findChromium } from "../../scripts/chromium.js";
import { type Fault, faults } from "../fire/faults.ts";
import type { FirePage } from "../fire/page.ts";
import { type RunOptions, type RunResult, runRequest } from "../fire/run-request.ts";
import { startFire } from "../fire/server.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage } from "../support/built-page.ts";

declare const page: FirePage;

const MB = 1024 * 1024;
/** Maximum megabytes that the server sends, for a fault without its own maximum: buffers take some before they are read. */
const SMALL = 2;

const KEEP_ALIVE = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const COMPLETION = JSON.stringify({
  choices: [{ message: { role: "assistant", content: "one" }, finish_reason: "stop" }],
});

let fire: Awaited<ReturnType<typeof startFire>>;
beforeAll(async () => {
  fire = await startFire();
});
afterAll(() => fire.close());

type Send = (options: Omit<RunOptions, "baseURL" | "apiKey">) => Promise<RunResult>;

/** Sends a request that meets a fault. It must end as expected, close its connection, and never show the key. */
async function meet(
  { script, call, overMs, timeout, length, megabytes = SMALL }: Fault,
  ends: Partial<RunResult>,
  send: Send,
): Promise<void> {
  fire.setScript(script);
  const over = overMs ? { ms: overMs, at: `${fire.url}/arrived` } : undefined;
  const result = await send({ call, timeout, length, over, seen: `${fire.url}/seen` });
  expect(result).toMatchObject(ends);
  await fire.closed();
  expect(fire.written()).toBeLessThan(megabytes * MB);
  // a page of this machine also requests the server's health, to find why a connection failed
  expect(fire.requests.filter(({ line }) => line !== "GET /health")).toHaveLength(1);
  expectNoKey(result.printed);
}

/** Lets a request meet a redirect to another host. */
async function meetRedirect(send: Send): Promise<void> {
  const elsewhere = await startFire();
  fire.setScript((wire) =>
    wire.end(`HTTP/1.1 307 Said\r\naccess-control-allow-origin: *\r\nlocation: ${elsewhere.url}/v1\r\n\r\n`),
  );
  const result = await send({ call: "stream" });
  expect(result).toMatchObject({ end: "APIError", message: expect.stringContaining("redirects") });
  expectNoKey(result.printed);
  expect(elsewhere.requests).toEqual([]);
  elsewhere.close();
}

describe("the client in Node", () => {
  const send: Send = (options) => runRequest({ ...options, baseURL: fire.url, apiKey: KEY });
  for (const fault of faults)
    test(`meets ${fault.name}`, () => meet(fault, fault.inNode ?? fault.ends, send));

  test("meets a redirect to another host, and sends nothing there", () => meetRedirect(send));

  test.each([
    ["stream", "complete", 1],
    // a request that may be billed is not sent again
    ["create", "ConnectionError", 0],
  ] as const)("meets a connection that closes under its second request: %s", async (call, end, repeated) => {
    const body = call === "create" ? '{"task_id":"t"}' : COMPLETION;
    let isClosed = false;
    // a new server, so that no connection of another test is reused
    const gateway = await startFire();
    gateway.setScript(async (wire) => {
      await wire.body();
      if (wire.nth === 0) return wire.write(`${KEEP_ALIVE}content-length: ${body.length}\r\n\r\n${body}`);
      isClosed = true;
      return wire.reset();
    });
    const ends: string[] = [];
    // the platform may open another connection before it reuses an existing connection
    while (!isClosed && ends.length < 20)
      ends.push((await runRequest({ call, retries: 1, baseURL: gateway.url, apiKey: KEY })).end);
    expect(isClosed).toBe(true);
    expect(ends.at(-1)).toBe(end);
    expect(gateway.requests).toHaveLength(ends.length + repeated);
    gateway.close();
  });
});

describe.skipIf(!findChromium())("the client in Chromium (skipped where there is none)", () => {
  let opened: Page;
  const site = createServer((_, response) => response.end(html));
  let html = "";
  beforeAll(async () => {
    html = await buildPage("../fire/page.ts");
    await new Promise<void>((ready) => site.listen(0, "127.0.0.1", ready));
    opened = await (await getSharedBrowser()).newPage();
    await opened.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  });
  afterAll(async () => {
    await opened.context().close();
    site.close();
  });

  for (const fault of faults)
    test(`meets ${fault.name}`, () =>
      meet(fault, fault.inPage ?? fault.ends, (options) =>
        opened.evaluate((options) => page.runRequest(options), {
          ...options,
          baseURL: fire.url,
          apiKey: KEY,
        }),
      ));
});

/** The ways on which a stream goes through the proxy: unread, and counted for a budget. */
describe.each([
  ["unread", {}],
  ["read", { budget: { user: 1_000_000_000 } }],
])("the proxy in workerd, which forwards responses %s,", (_, plan) => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({
      plan,
      gateway: fire.url,
      heapMB: 128,
      options: { routes: ["chat", "videos"] },
    });
  });
  afterAll(() => proxy.close());

  /** The most memory that workerd has had, in bytes. */
  const peak = () =>
    1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${proxy.pid}/status`, "utf8"))?.[1]);

  for (const fault of faults.filter(({ proxied }) => proxied !== false))
    test(`meets ${fault.name}`, async () => {
      const baseURL = `http://127.0.0.1:${proxy.port}`;
      const before = peak();
      await meet(fault, fault.proxied || fault.ends, (options) =>
        runRequest({ ...options, baseURL, apiKey: "ada" }),
      );
      expect(peak() - before).toBeLessThan(150 * MB);
      expect(proxy.isAlive()).toBe(true);
    });
});
