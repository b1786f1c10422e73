import { InMemoryTransport, Client as McpClient } from "@modelcontextprotocol/client";
import { createClient } from "@sluice/core";
import { idempotency } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createEmulator } from "@sluice/emulator";
import { createMcpServer } from "@sluice/mcp";
import { createProxy, images, videos } from "@sluice/worker-proxy";
import { expect, test, vi } from "vitest";

/* An agent behind a proxy with `idempotency()`: a repeated call is billed once, and gets its image or its task. */

/** Connects an agent to a server behind a proxy. The first responses of the proxy are lost. */
async function agentBehindProxy({ lost }: { lost: number }) {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const bills: string[] = [];
  const clientOptions = {
    baseURL: "https://gateway.example",
    apiKey: () => "sk-0123456789-of-the-gateway",
    fetch(request: Request) {
      if (request.method === "POST") bills.push(new URL(request.url).pathname);
      return emulator.fetch(request);
    },
  };
  const proxy = createProxy({
    ...clientOptions,
    authenticate: () => ({ id: "agent" }),
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    origins: [],
    models: { "beta3.0-video": {}, "gamma-image-5-0-260128": {} },
    routes: [images, videos],
    host: nodeHost({ file: ":memory:" }),
    plugins: [idempotency()],
  });
  let remaining = lost;
  const client = createClient({
    baseURL: "https://proxy.example",
    retry: { limit: 0 },
    async fetch(request) {
      const response = await proxy.fetch(request);
      if (request.method !== "POST" || remaining-- <= 0) return response;
      throw new TypeError("fetch failed");
    },
  });
  const mcp = new McpClient({ name: "agent", version: "1.0.0" });
  const [clientTransport, serverTransport] = InMemoryTransport.createLinkedPair();
  await Promise.all([createMcpServer(client).connect(clientTransport), mcp.connect(serverTransport)]);
  const call = async (name: string, input: Record<string, unknown>) =>
    (await mcp.callTool({ name, arguments: input })) as {
      readonly isError?: boolean;
      readonly content: readonly { readonly text?: string; readonly uri?: string }[];
    };
  return { call, bills };
}

test.each([
  ["image_gamma-image-5-0-260128", { prompt: "A reef" }],
  ["video_start_beta3_0-video", { input: { prompt: "A reef" } }],
])("A call of %s whose response was lost is repeated, and paid for once", async (name, input) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { call, bills } = await agentBehindProxy({ lost: 1 });
  const first = await call(name, input);
  expect(first.isError).toBe(true);
  const [, key] = /idempotency_key "([^"]+)"/.exec(first.content[0]?.text ?? "") ?? [];
  const second = await call(name, { ...input, idempotency_key: key });
  expect(second.isError).toBeUndefined();
  expect(bills).toHaveLength(1);
  expect(await call(name, { ...input, idempotency_key: key })).toEqual(second);
  expect(bills).toHaveLength(1);
});

test("A model that repeats a lost call without its key pays once, too", async () => {
  const { call, bills } = await agentBehindProxy({ lost: 2 });
  for (const isError of [true, true, undefined])
    expect((await call("image_gamma-image-5-0-260128", { prompt: "A reef" })).isError).toBe(isError);
  expect(bills).toHaveLength(1);
});
