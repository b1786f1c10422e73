import { readFileSync } from "node:fs";
import { createClient, streamChat } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectNoKey, KEY } from "../packages/worker-proxy/test/support/key.ts";
import {
  type Bundle,
  bundleTemplate,
  configOf,
  type Running,
  startTemplate,
  template,
  tokenOf,
} from "./support/worker-template.ts";

const emulator = createEmulator({ apiKeys: [KEY], speed: Number.POSITIVE_INFINITY });
const secrets = {
  GATEWAY_URL: "",
  GATEWAY_API_KEY: KEY,
  PROXY_SECRET: "what marks the ids of tasks, 32 characters and more",
  JWT_SECRET: "what the app's server and the Worker share, 32 and more",
};
let gateway: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  gateway = await serve(emulator, { port: 0 });
  secrets.GATEWAY_URL = gateway.url;
});
afterAll(() => gateway.close());

const signIn = (user: string) => tokenOf(user, secrets.JWT_SECRET);
const chat = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;
const chats = "/v1/chat/completions";
const video = { model: "gamma-video-2.0", content: [{ type: "text", text: "A bird" }], duration: 5 };
const videos = "/v1/video/generations";

async function createVideo(worker: Running, token: string): Promise<string> {
  const { status, text } = await worker.ask(token, videos, video);
  expect(status).toBe(200);
  return (JSON.parse(text) as { id: string }).id;
}

describe.each([
  ["wrangler.jsonc", 32],
  ["wrangler.durable.jsonc", 40],
])("the template by %s", (name, kibibytes) => {
  let bundle: Bundle;
  let worker: Running;
  beforeAll(async () => {
    bundle = await bundleTemplate(name);
    worker = await startTemplate(bundle, secrets);
  });
  afterAll(() => worker.close());

  /** For what needs a Worker of its own. */
  async function withWorker(given: Record<string, string>, visit: (worker: Running) => Promise<void>) {
    const another = await startTemplate(bundle, given);
    await visit(another).finally(another.close);
  }

  test(`deploys, in a dry run, as less than ${kibibytes} KiB`, () => {
    const [, size] = /gzip: ([\d.]+) KiB/.exec(bundle.printed) ?? [];
    expect(Number(size)).toBeLessThan(kibibytes);
    expect(bundle.printed).toContain("env.RATE_LIMITER");
    expect(bundle.printed).not.toMatch(/warning|error|SECRET|API_KEY/i);
  });

  test("without its secrets lets nobody in, and says why to its operator alone", async () => {
    const ada = await signIn("ada");
    await withWorker({}, async ({ ask, logs }) => {
      const health = await ask(undefined, "/health");
      expect([health.status, health.error?.["code"]]).toEqual([500, "misconfigured"]);
      expect((await ask(undefined, chats, chat)).status).toBe(401);
      expect((await ask(ada, chats, chat)).status).toBe(503);
      expect(logs.join("\n")).toContain("apiKey: is empty");
    });
  });

  test.each([
    { GATEWAY_API_KEY: "" },
    { PROXY_SECRET: "" },
    { GATEWAY_URL: "" },
    { ORIGINS: "*" },
    { PROXY_SECRET: "", PROXY_SECRET_OLD: secrets.PROXY_SECRET },
    { GATEWAY_API_KEY: "", GATEWAY_API_KEY_NEXT: KEY },
  ])("with %o sends nothing", async (given) => {
    const ada = await signIn("ada");
    emulator.reset();
    await withWorker({ ...secrets, ...(given as Record<string, string>) }, async ({ ask }) => {
      expect((await ask(undefined, "/health")).status).toBe(500);
      expect((await ask(ada, chats, chat)).status).toBe(500);
    });
    expect(emulator.requests).toEqual([]);
  });

  test("serves a chat of a signed-in user, and of nobody else", async () => {
    expect((await worker.ask(undefined, "/health")).text).toBe('{"status":"ok"}');
    expect((await worker.ask(undefined, chats, chat)).status).toBe(401);
    const forged = await tokenOf("ada", "another secret, of 32 bytes and more");
    expect((await worker.ask(forged, chats, chat)).status).toBe(401);
    const client = createClient({ baseURL: worker.address, apiKey: await signIn("ada") });
    expect((await streamChat(client, chat).result()).outcome).toBe("complete");
  });

  test("keeps users' videos apart, and what they ask for within the caps", async () => {
    const [ada, bob] = [await signIn("ada"), await signIn("bob")];
    emulator.reset();
    const id = await createVideo(worker, ada);
    // where the request does not say, the first of a list is what it gets
    expect(emulator.requests.at(-1)?.body).toMatchObject({ resolution: "720p" });
    expect((await worker.ask(ada, `${videos}/${id}`)).status).toBe(200);
    expect((await worker.ask(bob, `${videos}/${id}`)).error?.["code"]).toBe("task_not_found");
    const codeOf = async (path: string, body: object) => (await worker.ask(ada, path, body)).error?.["code"];
    expect(await codeOf(videos, { ...video, duration: 12 })).toBe("limit_exceeded");
    expect(await codeOf(chats, { ...chat, max_tokens: 8193 })).toBe("limit_exceeded");
    expect(await codeOf(videos, { ...video, model: "gamma-video-fast" })).toBe("model_not_allowed");
  });

  test("bounds how often a user asks, and each user for themselves", async () => {
    const [busy, other] = [await signIn("busy"), await signIn("other")];
    const askUnlisted = (token: string) => worker.ask(token, chats, { ...chat, model: "unlisted" });
    let answer = await askUnlisted(busy);
    // a minute may turn in between: then twice as many pass
    for (let asked = 1; answer.status === 403 && asked <= 60; asked += 1) answer = await askUnlisted(busy);
    expect([answer.status, answer.error?.["code"]]).toEqual([429, "rate_limited"]);
    expect(answer.headers.get("retry-after")).toBe("60");
    expect((await askUnlisted(other)).status).toBe(403);
  });

  test("holds both keys while they are changed, and both secrets", async () => {
    const ada = await signIn("ada");
    const id = await createVideo(worker, ada);
    const changing = {
      GATEWAY_API_KEY: "sk-withdrawn",
      GATEWAY_API_KEY_NEXT: KEY,
      PROXY_SECRET: "the next one, of 32 characters and more too",
      PROXY_SECRET_OLD: secrets.PROXY_SECRET,
    };
    await withWorker({ ...secrets, ...changing }, async ({ ask }) => {
      expect((await ask(ada, `${videos}/${id}`)).status).toBe(200);
    });
  });

  test("writes one line for each request, without what was asked or by which token", async () => {
    const token = await signIn("writer");
    await worker.ask(token, chats, { ...chat, messages: [{ role: "user", content: "a private question" }] });
    const lines = worker.logs.filter((line) => line.includes("writer"));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ route: "chat", status: 200, userId: "writer", model: "delta-5.3" }),
    ]);
    expect(worker.logs.join()).not.toMatch(/private|eyJ/);
  });

  if (name !== "wrangler.durable.jsonc") return;

  test("gives each user a budget for the day", async () => {
    const [spender, other] = [await signIn("spender"), await signIn("other")];
    let created = 0;
    let answer = await worker.ask(spender, videos, video);
    for (; answer.status === 200 && created <= 10; created += 1)
      answer = await worker.ask(spender, videos, video);
    expect([answer.status, answer.error?.["code"]]).toEqual([429, "budget_exhausted"]);
    expect([5, 10]).toContain(created); // 10 where midnight came in between
    expect((await worker.ask(spender, chats, chat)).status).toBe(429);
    expect((await worker.ask(other, chats, chat)).status).toBe(200);
  });

  test("counts what a chat has cost, and not what it could have", async () => {
    const talker = await signIn("talker");
    // each could cost 8192 of the day's 500,000
    for (let asked = 0; asked < 25; asked += 1)
      expect((await worker.ask(talker, chats, chat)).status).toBe(200);
    for (let asked = 0; asked < 4; asked += 1) await createVideo(worker, talker);
  });

  test("pushes what becomes of a video", async () => {
    const ada = await signIn("ada");
    const id = await createVideo(worker, ada);
    const headers = { authorization: `Bearer ${ada}` };
    const response = await fetch(`${worker.address}${videos}/${id}/events`, { headers });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      text += part.value;
      if (/^data: .*\n\n/m.test(text)) break;
    }
    await reader?.cancel();
    expectNoKey(text);
    expect(text).toContain("event: task\n");
    expect(text).toContain(id);
    expect((await worker.ask(await signIn("bob"), `${videos}/${id}/events`)).status).toBe(404);
  });
});

const shared = ["name", "compatibility_date", "compatibility_flags", "workers_dev", "preview_urls", "vars"];

test("both configurations agree in what they share, and keep to themselves what is asked", () => {
  const [plain, durable] = ["wrangler.jsonc", "wrangler.durable.jsonc"].map(configOf);
  for (const name of [...shared, "secrets", "ratelimits", "observability"])
    expect({ [name]: durable?.[name] }).toEqual({ [name]: plain?.[name] });
  expect(plain).toMatchObject({
    compatibility_flags: ["enable_request_signal"],
    preview_urls: false,
    observability: { logs: { invocation_logs: false }, redact_query_string: true },
    secrets: { required: ["GATEWAY_API_KEY", "PROXY_SECRET", "JWT_SECRET"] },
  });
});

test("the secrets to be filled in have names alone", () => {
  const lines = readFileSync(`${template}/.dev.vars.example`, "utf8").split("\n");
  const settings = lines.filter((line) => line !== "" && !line.startsWith("#"));
  expect(settings).toEqual(["GATEWAY_API_KEY=", "PROXY_SECRET=", "JWT_SECRET="]);
});
