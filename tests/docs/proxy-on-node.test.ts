import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, streamResumption } from "@sluice/core";
import type { Emulator } from "@sluice/emulator";
import { createChatStore } from "@sluice/stores";
import type { Express } from "express";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { GATEWAY_KEY, openNetwork } from "../support/recipe-network.ts";

/* A proxy on Node with a file, as the page about stored data shows it: one proxy, in each framework, on a socket. */

const files = writeFilesOfPage("docs/guides/where-data-is-stored.md");
const network = globalThis.fetch;
const openServers: Server[] = [];
let emulator: Emulator;

beforeAll(() => {
  vi.stubEnv("GATEWAY_API_KEY", GATEWAY_KEY);
  vi.stubEnv("SQLITE_FILE", ":memory:");
  vi.stubEnv("PORT", "0");
});
beforeEach(() => {
  emulator = openNetwork();
});
afterEach(() => vi.unstubAllGlobals());
afterAll(async () => {
  vi.unstubAllEnvs();
  for (const server of openServers) server.close().closeAllConnections();
  const { host } = await files<{ host: { close(): Promise<void> } }>("src/proxy.ts");
  await host.close();
});

const frameworks: Readonly<Record<string, () => Promise<Server>>> = {
  hono: async () => (await files<{ server: Server }>("hono.ts")).server,
  express: async () => createServer((await files<{ app: Express }>("express.ts")).app).listen(0),
};

describe.each(Object.entries(frameworks))("the proxy in %s", (_, start) => {
  let baseURL = "";
  beforeAll(async () => {
    const server = await start();
    openServers.push(server);
    if (!server.listening) await once(server, "listening");
    baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  });

  test("A response is complete, is returned again for the same key, and is paid once", async () => {
    const body = JSON.stringify({
      model: "delta-5.3",
      stream: true,
      messages: [{ role: "user", content: "Hello" }],
    });
    const headers = { "content-type": "application/json", "idempotency-key": `key-of-${_}` };
    const init = { method: "POST", headers, body };
    const first = await network(`${baseURL}/v1/chat/completions`, init);
    const text = await first.text();
    expect([first.status, text]).toEqual([200, expect.stringContaining("[DONE]")]);
    expect(await (await network(`${baseURL}/v1/chat/completions`, init)).text()).toBe(text);
    expect(emulator.requests).toHaveLength(1);
    const { budgets } = await (await network(`${baseURL}/v1/budget`)).json();
    expect(budgets).toMatchObject([{ by: "user", limit: 500_000, reserved: 0 }]);
    expect(budgets[0].spent).toBeGreaterThan(0);
  });

  test("A chat of the client runs through it, and its stop ends the gateway's work", async () => {
    const chat = createChatStore(createClient({ baseURL, fetch: network, resume: streamResumption() }), {
      model: "delta-5.3",
    });
    expect(await chat.send("Hello")).toMatchObject({ outcome: "complete" });
    const turn = chat.send("Hello [[stall]]");
    await expect.poll(() => chat.getSnapshot().status).toBe("streaming");
    chat.stop();
    await turn;
    await expect.poll(() => emulator.requests.at(-1)).toMatchObject({ aborted: true });
  });
});
