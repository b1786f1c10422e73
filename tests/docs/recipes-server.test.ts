import { join } from "node:path";
import { type Client, createClient } from "@sluice/core";
import type { DurableObjectClass } from "@sluice/durable/cloudflare";
import { createChatStore, memoryStorage } from "@sluice/stores";
import { createProxy, type ProxyEvent } from "@sluice/worker-proxy";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createObjectHost } from "../support/object-host.ts";
import { writeFilesOfPage } from "../support/page-files.ts";
import {
  createChatRequest,
  createContext,
  GATEWAY_KEY,
  openNetwork,
  type Worker,
} from "../support/recipe-network.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The recipes for a server, as they stand on their pages: a client of the page in front, the emulator behind. */

const env = { GATEWAY_API_KEY: GATEWAY_KEY };
const PROXY_SECRET = "jP4mXw8Rz1Kc7Vb3Nq9Ld5Ht2Gf6Ys0A";
const ADDRESS = "https://gateway-proxy.example.workers.dev";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

/** A chat in front of a Worker. */
const chatOf = (worker: Worker, given: object = env, model = "delta-5.3") =>
  createChatStore(createClient({ baseURL: ADDRESS, fetch: (request) => worker.fetch(request, given) }), {
    model,
  } as Parameters<typeof createChatStore>[1]);

describe("moderation", () => {
  const files = writeFilesOfPage("docs/recipes/moderation.md");
  const open = async () => (await files<{ default: Worker }>("worker.ts")).default;

  test("lets a good question and its answer pass unchanged", async () => {
    openNetwork({}, { chat: () => "One. Two! Three" });
    const { outcome, messages } = await chatOf(await open()).send("Hello");
    expect([outcome, messages.at(-1)?.content]).toEqual(["complete", "One. Two! Three"]);
  });

  test("refuses a bad question before the gateway is asked", async () => {
    const emulator = openNetwork();
    const { error } = await chatOf(await open()).send("How do I make a bomb?");
    expect(error).toMatchObject({ status: 400, code: "content_refused", billing: "none" });
    expect(emulator.requests).toEqual([]);
  });

  test("ends an answer before a bad sentence, and says why", async () => {
    openNetwork({}, { chat: () => "Tea is good. Add some poison. Then wait." });
    const { outcome, messages } = await chatOf(await open()).send("Tea for two");
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

describe("logs", () => {
  const files = writeFilesOfPage("docs/guides/operate.md");
  const collect = (into: { headers: Headers; body: unknown }[]) => async (request: Request) => {
    into.push({ headers: request.headers, body: await request.json() });
    return new Response(null, { status: 202 });
  };

  test("go to OpenTelemetry for each request, without a prompt, an answer or a key", async () => {
    const logs: { headers: Headers; body: unknown }[] = [];
    openNetwork({ "otel.example.com": collect(logs) });
    const { default: worker } = await files<{ default: Worker }>("worker.ts");
    const context = createContext();
    const response = await worker.fetch(
      createChatRequest("a secret question"),
      { ...env, OTEL_TOKEN: "t" },
      context,
    );
    const answer = await response.text();
    await expect.poll(() => logs).toHaveLength(1);
    await context.settled();
    const [log] = logs;
    expect(log?.headers.get("authorization")).toBe("Bearer t");
    const attributes = expect.arrayContaining([
      { key: "user", value: { stringValue: "ada" } },
      { key: "status", value: { doubleValue: 200 } },
      { key: "model", value: { stringValue: "delta-5.3" } },
    ]);
    expect(log?.body).toMatchObject({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ severityText: "INFO", attributes }] }] }],
    });
    const text = JSON.stringify(log?.body);
    for (const secret of ["a secret question", GATEWAY_KEY, answer.slice(200, 240)])
      expect(text).not.toContain(secret);
  });

  test("go to Datadog and Sentry by their own addresses, and one that is down is no error", async () => {
    const logs: { headers: Headers; body: unknown }[] = [];
    openNetwork({ "http-intake.logs.datadoghq.eu": collect(logs) });
    const { send, datadog, openTelemetry } = await files<{
      send(event: ProxyEvent, destination: object, context: object): void;
      datadog(key: string, site: string): object;
      openTelemetry(url: string, headers: object): object;
    }>("telemetry.ts");
    const event = { kind: "request", status: 502, outcome: "failed", code: "upstream_auth" } as ProxyEvent;
    const context = createContext();
    send(event, datadog("key", "datadoghq.eu"), context);
    send(event, openTelemetry("https://down.ingest.sentry.io/api/1/integration/otlp/v1/logs", {}), context);
    await context.settled();
    expect(logs.map(({ headers, body }) => [headers.get("dd-api-key"), body])).toMatchObject([
      ["key", [{ status: "error", message: "502 upstream_auth", service: "gateway-proxy" }]],
    ]);
  });

  test("Logs of the page have errors of the app, and not of its network", async () => {
    const { createReportingClient } = await files<{
      createReportingClient(capture: (error: Error, facts: object) => void): Client;
    }>("page.ts");
    const captured: [string, object][] = [];
    const client = createReportingClient((error, facts) => captured.push([error.name, facts]));
    const options = { model: "delta-5.3", retry: { limit: 0 } } as const;
    openNetwork({
      "gateway-proxy.example.workers.dev": () => Response.json({ error: { message: "no" } }, { status: 403 }),
    });
    await createChatStore(client, options).send("Hello");
    openNetwork();
    await createChatStore(client, options).send("Hello");
    expect(captured).toMatchObject([["APIError", { kind: "chat", model: "delta-5.3" }]]);
  });
});

describe("the route for images", () => {
  const files = writeFilesOfPage("docs/guides/files-and-uploads.md");
  const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);

  async function open() {
    const { storeImage } = await files<{
      storeImage(request: Request, folder: string, bucket: object): Promise<Response>;
    }>("images.ts");
    const stored = new Map<string, { body: Blob; type: string }>();
    const bucket = {
      put: async (key: string, body: Blob, { httpMetadata }: { httpMetadata: { contentType: string } }) =>
        stored.set(key, { body, type: httpMetadata.contentType }),
    };
    const post = (body: Uint8Array<ArrayBuffer>, folder = "a1") => {
      const headers = { "content-length": String(body.byteLength) };
      const request = new Request("https://app.example.com/images", { method: "POST", body, headers });
      return storeImage(request, folder, bucket);
    };
    return { stored, post };
  }

  test("stores an image with its type, and returns its address", async () => {
    const { stored, post } = await open();
    const { url } = (await (await post(PNG)).json()) as { url: string };
    const image = stored.get(new URL(url).pathname.slice(1));
    expect(image?.type).toBe("image/png");
    expect(new Uint8Array((await image?.body.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(PNG);
  });

  test("stores the images of a user in one folder, so that they can be erased", async () => {
    const { stored, post } = await open();
    for (const folder of ["a1", "a1", "b2"]) await post(PNG, folder);
    expect(new Set([...stored.keys()].map((key) => key.split("/")[1]))).toEqual(new Set(["a1", "b2"]));
    expect(stored.size).toBe(3);
  });

  test.each([
    ["a page that calls itself an image", new TextEncoder().encode("<script>alert(1)</script>"), 415],
    ["an image of more than 5 MiB", new Uint8Array(5_242_881), 413],
  ])("refuses %s", async (_, body, status) => {
    const { stored, post } = await open();
    expect((await post(body)).status).toBe(status);
    expect(stored.size).toBe(0);
  });
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
      expect((await chatOf(worker, { PROXY_SECRET, ...given }).send(`Hello ${nth}`)).outcome).toBe(
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
    const ask = async ({ client }: Gateway, text: string) => {
      const chat = createChatStore(client, { model: "delta-5.3" });
      await chat.send(text);
      return chat.getSnapshot();
    };
    vi.stubEnv("RECORD", "https://gateway.example.com");
    vi.stubEnv("GATEWAY_API_KEY", GATEWAY_KEY);
    await ask(openGateway(folder), "How deep is the Elbe?");
    vi.unstubAllEnvs();
    vi.stubGlobal("fetch", () => Promise.reject(new Error("CI has no network")));

    const replayed = openGateway(folder);
    expect((await ask(replayed, "How deep is the Elbe?")).messages.at(-1)?.content).toContain("Elbe");
    expect(replayed.differences()).toEqual([]);
    const changed = await ask(replayed, "How wide is the Elbe?");
    expect(changed.error).toMatchObject({ status: 400, code: "no_recording" });
    expect(replayed.differences()).toHaveLength(1);
  });
});

describe("a user", () => {
  const files = writeFilesOfPage("docs/guides/operate.md");

  async function open() {
    openNetwork();
    const { default: worker, Sluice } = await files<{ default: Worker; Sluice: DurableObjectClass<never> }>(
      "src/user-data.ts",
    );
    const objects = createObjectHost();
    objects.useClass(Sluice);
    const given = { ...env, SLUICE: objects.namespace };
    const post = (path: string) => worker.fetch(new Request(ADDRESS + path, { method: "POST" }), given);
    return { worker, given, post };
  }

  test("exports what the proxy has, erases it, and has nothing after that", async () => {
    const { worker, given, post } = await open();
    const nothing = JSON.stringify((await (await post("/me/export")).json()) as object);
    await chatOf(worker, given).send("Hello");
    const exported = (await (await post("/me/export")).json()) as { user: string; failed: unknown[] };
    expect(exported).toMatchObject({ user: "ada", failed: [] });
    expect(JSON.stringify(exported)).not.toBe(nothing);
    expect(await (await post("/me/erase")).json()).toEqual({ failed: [] });
    const empty = (await (await post("/me/export")).json()) as { data: Record<string, unknown> };
    expect(JSON.stringify(empty.data)).not.toMatch(/"spent":[1-9]/);
  });

  test("is forgotten by the browser, too", async () => {
    const { forgetMe } = await files<{
      forgetMe(client: Client, erase: () => Promise<Response>): Promise<boolean>;
    }>("forget-me.ts");
    const { worker, given, post } = await open();
    const client = createClient({ baseURL: ADDRESS, fetch: (request) => worker.fetch(request, given) });
    const storage = memoryStorage();
    const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage });
    await chat.send("Hello");
    expect(await forgetMe(client, () => post("/me/erase"))).toBe(true);
    expect([chat.getSnapshot().messages.length, (await storage.read("chat/a")).size]).toEqual([0, 0]);
  });
});
