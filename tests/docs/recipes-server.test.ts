import { join } from "node:path";
import { type Client, createClient } from "@sluice/core";
import { budget } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createChatStore } from "@sluice/stores";
import { createProxy } from "@sluice/worker-proxy";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import {
  createChatRequest,
  createContext,
  GATEWAY_KEY,
  openNetwork,
  type Worker,
} from "../support/recipe-network.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The recipes for a server, as the documentation has them, between a page's client and the emulator. */

const env = { GATEWAY_API_KEY: GATEWAY_KEY };
const PROXY_SECRET = "jP4mXw8Rz1Kc7Vb3Nq9Ld5Ht2Gf6Ys0A";
const ADDRESS = "https://gateway-proxy.example.workers.dev";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

/** A chat in front of a Worker. */
const createChat = (worker: Worker, given: object = env, model = "delta-5.3") =>
  createChatStore(createClient({ baseURL: ADDRESS, fetch: (request) => worker.fetch(request, given) }), {
    model,
  } as Parameters<typeof createChatStore>[1]);

describe("moderation", () => {
  const files = writeFilesOfPage("docs/recipes/moderation.md");
  const importWorker = async () => (await files<{ default: Worker }>("worker.ts")).default;

  test("lets a good question and its response pass unchanged", async () => {
    openNetwork({}, { chat: () => "One. Two! Three" });
    const { outcome, messages } = await createChat(await importWorker()).send("Hello");
    expect([outcome, messages.at(-1)?.content]).toEqual(["complete", "One. Two! Three"]);
  });

  test("refuses a bad question before a request to the gateway", async () => {
    const emulator = openNetwork();
    const { error } = await createChat(await importWorker()).send("How do I make a bomb?");
    expect(error).toMatchObject({ status: 400, code: "content_refused", billing: "none" });
    expect(emulator.requests).toEqual([]);
  });

  test("ends a response before a bad sentence, and says why", async () => {
    openNetwork({}, { chat: () => "Tea is good. Add some poison. Then wait." });
    const { outcome, messages } = await createChat(await importWorker()).send("Tea for two");
    expect(outcome).toBe("content-filter");
    expect(messages.at(-1)?.content.trim()).toBe("Tea is good.");
  });

  test("lets nothing pass while the check fails", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const emulator = openNetwork();
    type Way = (request: Request) => Promise<Response>;
    const { moderated } = await files<{ moderated(isBad: () => boolean): Way }>("moderation.ts");
    const proxy = createProxy<typeof env>({
      baseURL: "https://gateway.example.com",
      apiKey: ({ GATEWAY_API_KEY }) => GATEWAY_API_KEY,
      authenticate: () => ({ id: "ada" }),
      origins: [],
      models: ["delta-5.3"],
      fetch: moderated(() => {
        throw new Error("the check is down");
      }),
    });
    expect((await proxy.fetch(createChatRequest("Hello"), env)).status).toBe(502);
    expect(emulator.requests).toEqual([]);
  });
});

test("logs have each request, without a prompt, a response or a key, and may be down", async () => {
  const files = writeFilesOfPage("docs/guides/operate.md");
  const { default: worker } = await files<{ default: Worker }>("src/worker.ts");
  const logs: { headers: Headers; body: unknown }[] = [];
  openNetwork({
    "logs.example.com": async (request) => {
      logs.push({ headers: request.headers, body: await request.json() });
      return new Response(null, { status: 202 });
    },
  });
  const given = { ...env, LOG_TOKEN: "t" };
  const context = createContext();
  const response = await worker.fetch(createChatRequest("a secret question"), given, context);
  const text = await response.text();
  await expect.poll(() => logs).toHaveLength(1);
  await context.settled();
  expect(logs[0]?.headers.get("authorization")).toBe("Bearer t");
  expect(logs[0]?.body).toMatchObject({ userId: "ada", status: 200, model: "delta-5.3" });
  for (const secret of ["a secret question", GATEWAY_KEY, text.slice(200, 240)])
    expect(JSON.stringify(logs[0]?.body)).not.toContain(secret);
  openNetwork();
  expect((await worker.fetch(createChatRequest("Hello"), given, createContext())).status).toBe(200);
});

describe("a change of the key", () => {
  const files = writeFilesOfPage("docs/guides/deploy-proxy.md");

  test.each([
    ["before the gateway takes the new key", { GATEWAY_API_KEY: "sk-new", GATEWAY_API_KEY_OLD: GATEWAY_KEY }],
    ["after the old key was removed", { GATEWAY_API_KEY: GATEWAY_KEY, GATEWAY_API_KEY_OLD: "sk-gone" }],
    ["when it is done", { GATEWAY_API_KEY: GATEWAY_KEY }],
  ])("refuses no request %s", async (_, given) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    openNetwork();
    const { default: worker } = await files<{ default: Worker }>("keys.ts");
    for (const nth of [1, 2])
      expect((await createChat(worker, { PROXY_SECRET, ...given }).send(`Hello ${nth}`)).outcome).toBe(
        "complete",
      );
  });
});

describe("recordings in CI", () => {
  const files = writeFilesOfPage("docs/guides/emulator.md");
  const folder = join(createTemporaryFolder("recipe-recordings"), "recordings");

  interface Gateway {
    readonly client: Client;
    differences(): readonly unknown[];
  }

  test("replays what was recorded, and names a request that has changed", async () => {
    openNetwork({}, { chat: () => "The Elbe is 7 metres deep." });
    const { openGateway } = await files<{ openGateway(folder: string): Gateway }>("gateway.ts");
    expect(() => openGateway(folder)).toThrow("record them first");
    const sendMessage = async ({ client }: Gateway, text: string) => {
      const chat = createChatStore(client, { model: "delta-5.3" });
      await chat.send(text);
      return chat.getSnapshot();
    };
    vi.stubEnv("RECORD", "https://gateway.example.com");
    vi.stubEnv("GATEWAY_API_KEY", GATEWAY_KEY);
    await sendMessage(openGateway(folder), "How deep is the Elbe?");
    vi.unstubAllEnvs();
    vi.stubGlobal("fetch", () => Promise.reject(new Error("CI has no network")));

    const replayed = openGateway(folder);
    expect((await sendMessage(replayed, "How deep is the Elbe?")).messages.at(-1)?.content).toContain("Elbe");
    expect(replayed.differences()).toEqual([]);
    const changed = await sendMessage(replayed, "How wide is the Elbe?");
    expect(changed.error).toMatchObject({ status: 400, code: "no_recording" });
    expect(replayed.differences()).toHaveLength(1);
  });
});

test("a user's data is exported and erased", async () => {
  openNetwork();
  const { serveUserData } = await writeFilesOfPage("docs/guides/operate.md")<{
    serveUserData(proxy: Worker, request: Request, env: object): Promise<Response>;
  }>("src/user-data.ts");
  const host = nodeHost({ file: ":memory:" });
  onTestFinished(() => host.close());
  const proxy = createProxy<object>({
    baseURL: "https://gateway.example.com",
    apiKey: () => GATEWAY_KEY,
    authenticate: () => ({ id: "ada" }),
    origins: [],
    models: { "delta-5.3": { max_tokens: 1000 } },
    host,
    plugins: [budget({ limits: { user: 200_000 }, windowMs: 86_400_000 })],
  });
  const post = (path: string) => serveUserData(proxy, new Request(ADDRESS + path, { method: "POST" }), env);
  await createChat(proxy).send("Hello");
  const exported = (await (await post("/me/export")).json()) as { user: string; failed: unknown[] };
  expect(exported).toMatchObject({ user: "ada", failed: [] });
  expect(JSON.stringify(exported)).toMatch(/"spent":[1-9]/);
  expect(await (await post("/me/erase")).json()).toEqual({ failed: [] });
  expect(JSON.stringify(await (await post("/me/export")).json())).not.toMatch(/"spent":[1-9]/);
});
