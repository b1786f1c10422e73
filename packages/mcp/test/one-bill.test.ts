import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator } from "@sluice/emulator";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../src/command/run.js";
import { CHAT, connect, IMAGE, question, VIDEO } from "./support/connect.js";

/** Functions that lose the response to a billed request. */
const losses = {
  "a 502 of a load balancer": () => new Response("<html>Bad gateway</html>", { status: 502 }),
  "a connection that is reset": () => Promise.reject(new TypeError("fetch failed")),
  "a response that never comes": (request: Request) =>
    new Promise<Response>((_, reject) => {
      request.signal.addEventListener("abort", () => reject(request.signal.reason));
    }),
  "a response that breaks off": () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('data: {"choices":[{"delta":{"content":"Li'));
          controller.close();
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    ),
};
const names = Object.keys(losses) as (keyof typeof losses)[];

/** A gateway that bills each POST and loses its response. Its `/health` says that it stores no keys. */
function createLosingGateway(loss: keyof typeof losses) {
  const bills: string[] = [];
  const emulator = createEmulator();
  const fetch = async (request: Request) => {
    if (request.method !== "POST") return emulator.fetch(request);
    bills.push(new URL(request.url).pathname);
    return losses[loss](request);
  };
  return { bills, fetch };
}

const calls = {
  [CHAT]: question,
  [IMAGE]: { prompt: "A reef" },
  [VIDEO]: { input: { prompt: "A reef" } },
  asset_create: { GroupId: "g", Name: "n", AssetType: "Image", URL: "https://files.example/1.png" },
};
const short = { firstChunkMs: 100, chunkMs: 100 };

test.each(names.flatMap((loss) => Object.keys(calls).map((tool) => ({ loss, tool }))))(
  "One call of the tool $tool is billed once, whatever is lost: $loss",
  async ({ loss, tool }) => {
    for (const idempotencyKeys of [true, false]) {
      const { bills, fetch } = createLosingGateway(loss);
      const { call } = await connect({
        client: { fetch, idempotencyKeys, timeout: short, retry: { limit: 2, maxRetryAfterMs: 10 } },
      });
      const input = { ...calls[tool as keyof typeof calls], idempotency_key: "k-0123456789" };
      expect((await call(tool, input)).isError).toBe(true);
      expect(bills).toHaveLength(1);
      expect((await call(tool, input)).isError).toBe(true);
      expect(bills).toHaveLength(1);
    }
  },
);

test.each(
  names.flatMap((loss) =>
    ["chat", "image", "video"].flatMap((command) =>
      ["GATEWAY_API_KEY", "PROXY_TOKEN"].map((secret) => ({ loss, command, secret })),
    ),
  ),
)("One `sluice $command` with $secret is billed once, whatever is lost: $loss", async (row) => {
  const { loss, command, secret } = row;
  const out = await mkdtemp(join(tmpdir(), "sluice-bill-"));
  onTestFinished(() => rm(out, { recursive: true, force: true }));
  const { bills, fetch } = createLosingGateway(loss);
  const code = await run({
    args: [
      command,
      "A reef",
      "--base-url",
      "https://gateway.test",
      ...(command === "chat" ? [] : ["--out", out]),
    ],
    env: { [secret]: "sk-0123456789" },
    client: { fetch, timeout: short, retry: { limit: 2, maxRetryAfterMs: 10 } },
    signal: new AbortController().signal,
    input: async () => "",
    out: { write: () => {} },
    err: { write: () => {} },
  });
  expect(code).toBe(3);
  expect(bills).toHaveLength(1);
});

/** A clock without waits between two attempts, whose time limits never expire. */
const clock = {
  now: () => Date.now(),
  sleep: async (ms: number, signal?: AbortSignal) => {
    if (ms > 2000) await new Promise((_, reject) => signal?.addEventListener("abort", reject));
  },
};

/** Runs `sluice chat` against `responses`, one for each POST. Returns the keys of the requests. */
async function runChat(responses: readonly (() => Response)[], features: string) {
  const keys: (string | null)[] = [];
  let out = "";
  const fetch = async (request: Request) => {
    if (request.method !== "POST") return new Response("ok", { headers: { "x-sluice-features": features } });
    const respond = responses[keys.length];
    keys.push(request.headers.get("idempotency-key"));
    return respond?.() ?? new Response("", { status: 500 });
  };
  const code = await run({
    args: ["chat", "Why?", "--base-url", "https://proxy.test"],
    env: {},
    client: { fetch, clock },
    signal: new AbortController().signal,
    input: async () => "",
    out: { write: (text) => (out += text) },
    err: { write: () => {} },
  });
  return { code, keys, out };
}
const throwLost = (): Response => {
  throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
};
const createBusy = () =>
  Response.json({ error: { message: "busy" } }, { status: 429, headers: { "retry-after": "1" } });
const createComplete = () =>
  new Response(
    'data: {"choices":[{"index":0,"delta":{"content":"Light."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    { headers: { "content-type": "text/event-stream" } },
  );

test("A lost chat is sent again under its key if the proxy stores keys", async () => {
  const { code, keys, out } = await runChat([throwLost, createComplete], "resumable-streams");
  expect([code, out]).toEqual([0, "Light.\n"]);
  expect(keys).toEqual([expect.any(String), keys[0]]);
});

test("A lost chat is not sent again if the proxy stores only image keys", async () => {
  const { code, keys } = await runChat([throwLost, createComplete], "idempotency");
  expect([code, keys.length]).toEqual([3, 1]);
});

test("A chat that is refused with 429 is sent again, because a 429 costs nothing", async () => {
  const { code, keys, out } = await runChat([createBusy, createBusy, createComplete], "");
  expect([code, out, keys.length]).toEqual([0, "Light.\n", 3]);
});
