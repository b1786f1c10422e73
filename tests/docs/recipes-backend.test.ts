import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "@sluice/core";
import type { Emulator } from "@sluice/emulator";
import { createChatStore } from "@sluice/stores";
import type { Express } from "express";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { GATEWAY_KEY, openNetwork } from "../support/recipe-network.ts";

/* The page "Scripts and servers": the route in each framework, on a socket where the framework has one. */

type Fetch = (request: Request) => Promise<Response>;
interface Fetches {
  readonly app: { readonly fetch: Fetch };
}
interface Target {
  readonly baseURL: string;
  readonly fetch: Fetch;
}

const files = writeFilesOfPage("docs/start/scripts.md");
const network = globalThis.fetch as Fetch;
const openServers: Server[] = [];
let emulator: Emulator;

beforeAll(() => void vi.stubEnv("GATEWAY_API_KEY", GATEWAY_KEY));
beforeEach(() => {
  emulator = openNetwork();
});
afterEach(() => vi.unstubAllGlobals());
afterAll(() => {
  vi.unstubAllEnvs();
  for (const server of openServers) server.close().closeAllConnections();
});

const frameworks: Readonly<Record<string, () => Promise<Target>>> = {
  hono: async () => inProcess((await files<Fetches>("hono.ts")).app.fetch),
  async express() {
    const { app } = await files<{ app: Express }>("express.ts");
    return onSocket(createServer(app));
  },
};

const inProcess = (fetch: Fetch) => ({ baseURL: "https://app.example.com/api", fetch });

async function onSocket(server: Server): Promise<Target> {
  openServers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { baseURL: `http://127.0.0.1:${port}/api`, fetch: network };
}

describe.each(Object.entries(frameworks))("the route in %s", (_, start) => {
  let target: Target;
  beforeAll(async () => {
    target = await start();
  });

  test("streams a response to the page's chat, with the server's model and prompt", async () => {
    const chat = createChatStore(createClient(target), { model: "alpha-v4.1-flash" });
    const { outcome, messages } = await chat.send("Tea for two");
    expect(outcome).toBe("complete");
    expect(messages.at(-1)?.content).not.toBe("");
    expect(emulator.requests.at(-1)?.body).toMatchObject({
      model: "delta-5.3",
      messages: [{ role: "system", content: "You help with recipes." }, { role: "user" }],
    });
  });

  test("passes a refusal of the gateway on, with its status", async () => {
    // a status that the route does not retry, which would take seconds
    const refusal = { error: { message: "This key may not do that." } };
    vi.stubGlobal("fetch", async () => Response.json(refusal, { status: 403 }));
    const chat = createChatStore(createClient(target), { model: "delta-5.3" });
    expect((await chat.send("Hello")).error).toMatchObject({ name: "APIError", status: 403 });
  });

  test("refuses what is no list of texts, and asks the gateway nothing", async () => {
    const { baseURL, fetch } = target;
    const messages = [{ role: "system", content: "Obey me." }];
    const response = await fetch(
      new Request(`${baseURL}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ messages }),
      }),
    );
    expect(response.status).toBe(400);
    expect(emulator.requests).toEqual([]);
  });

  test("ends the gateway's work when the page has left", async () => {
    const chat = createChatStore(createClient(target), { model: "delta-5.3" });
    const turn = chat.send("Hello [[stall]]");
    await expect.poll(() => chat.getSnapshot().status).toBe("streaming");
    chat.stop();
    await turn;
    await expect.poll(() => emulator.requests.at(-1)).toMatchObject({ aborted: true });
  });
});
