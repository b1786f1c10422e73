import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openFuzz } from "./support/fuzz.js";
import { MARK, own } from "./support/fuzz-words.js";
import { startProxy } from "./support/harness.js";
import { expectNoKey, KEY } from "./support/key.js";
import { countRuns, SEED } from "./support/random.js";
import { done, finish, ok, type Recorded, reply } from "./support/upstream.js";

const REQUESTS = countRuns(640);
const CONCURRENCY = 40;

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({
    options: {
      routes: ["chat", "videos", "assets"],
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
      limits: { maxTokens: 50, maxBodyBytes: 20_000 },
      timeout: { bodyMs: 100, chunkMs: 2000 },
    },
  });
});
afterAll(() => proxy.close());

const json = { "content-type": "application/json" };
/** Responses of the gateway, in turn. Some contain the key in every place where it could be. */
const responses = [
  ok,
  reply(200, { ...json, "x-request-id": KEY, "retry-after": KEY, "x-account": KEY }, '{"id":"task_9"}'),
  reply(200, { "content-type": "text/event-stream" }, finish + done),
  reply(400, json, JSON.stringify({ error: { message: `of ${KEY}`, code: KEY, type: KEY, param: KEY } })),
  reply(401, json, JSON.stringify({ error: { message: KEY } })),
  reply(500, { "content-type": "text/html" }, `<h1>${KEY}</h1>`),
  reply(302, { location: `https://evil.example/${KEY}` }),
  reply(200, json, JSON.stringify({ id: KEY })),
];

test(`whatever is sent, the gateway sees only what the table allows (seed ${SEED})`, {
  timeout: 60_000 + REQUESTS * 20,
}, async () => {
  const fuzz = openFuzz(SEED, proxy.url.host);
  const statuses = new Map<number, number>();
  let responded = 0;
  const reached = new Map<string, number>();
  proxy.upstream.respondWith((response, request) => {
    const respond = responses[responded % responses.length] ?? ok;
    responded += 1;
    respond(response, request);
  });
  for (let sent = 0; sent < REQUESTS; sent += CONCURRENCY) {
    const requests = Array.from({ length: CONCURRENCY }, fuzz.request);
    for (const status of await Promise.all(requests.map(exchange)))
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    for (const request of proxy.upstream.requests.splice(0)) {
      expectAllowed(request, requests);
      const line = `${request.method} ${request.url}`;
      reached.set(line, (reached.get(line) ?? 0) + 1);
    }
  }

  // the requests must reach every path and cause every status
  for (const status of [200, 400, 403, 404, 405, 415, 502]) expect([...statuses.keys()]).toContain(status);
  expect([...reached.keys()].sort()).toEqual([...Object.keys(models), LOOKUP, POLL].sort());
  for (const count of reached.values()) expect(count).toBeGreaterThan(REQUESTS / 50);
  expect(statuses.get(500) ?? 0).toBeLessThan(REQUESTS / 20);
});

const POLL = `GET /v1/video/generations/${own.task}`;
const LOOKUP = "POST /gamma/asset/GetAsset";
/** The models that each path allows. */
const models: Readonly<Record<string, RegExp>> = {
  "POST /v1/chat/completions": /^(delta-5\.3|alpha-v4\.1-flash)$/,
  "POST /v1/video/generations": /^(beta3\.0-video|gamma-video-2\.0)$/,
  "POST /gamma/asset/CreateAsset": /^gamma-asset$/,
};
const names = [
  "accept",
  "accept-encoding",
  "authorization",
  "cf-worker",
  "content-length",
  "content-type",
  "host",
  "x-request-id",
];

function expectAllowed(request: Recorded, sent: readonly Buffer[]): void {
  try {
    expectRow(request);
  } catch (error) {
    const message = `seed ${SEED}: ${JSON.stringify(request)} was caused by one of\n${sent.join("\n\n")}`;
    throw new Error(message, { cause: error });
  }
}

function expectRow({ method, url, rawHeaders, body }: Recorded): void {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 ? [] : [[name.toLowerCase(), rawHeaders[index + 1]] as const],
  );
  for (const [name] of pairs) expect(names).toContain(name);
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
  expect(pairs).toContainEqual(["authorization", `Bearer ${KEY}`]);
  expect(pairs).toContainEqual(["host", new URL(proxy.upstream.url).host]);
  const line = `${method} ${url}`;
  expect(rawHeaders.join() + url).not.toContain(MARK);
  if (line === POLL) return expect(body).toBe("");
  const sent = JSON.parse(body) as Record<string, unknown>;
  if (line === LOOKUP) return expect(sent).toEqual({ Id: own.asset });
  expect(Object.keys(models)).toContain(line);
  expect(sent["model"]).toMatch(models[line] as RegExp);
  expectBody(sent, body);
}

/** The words of the table that are mixed into bodies. */
const fields: readonly [models: RegExp, names: readonly string[]][] = [
  [/^beta/, ["model", "input"]],
  [/^gamma-video/, ["model", "content"]],
  [/^gamma-asset/, ["model", "GroupId", "URL"]],
  [/^/, ["model", "messages", "max_tokens", "temperature", "stream", "stream_options", "user_id"]],
];

function expectBody(sent: Record<string, unknown>, text: string): void {
  const [, listed = []] = fields.find(([models]) => models.test(String(sent["model"]))) ?? [];
  for (const key of Object.keys(sent)) expect(listed).toContain(key);
  if (sent["model"] === "alpha-v4.1-flash") expect(sent["user_id"]).toMatch(/^[\w-]{22}$/);
  else expect(sent).not.toHaveProperty("user_id");
  if (/^(delta|alpha)/.test(String(sent["model"]))) {
    expect(sent["max_tokens"]).toBeGreaterThan(0);
    expect(sent["max_tokens"]).toBeLessThanOrEqual(50);
    expect(sent).not.toHaveProperty("max_completion_tokens");
  }
  for (const [, id] of text.matchAll(/"asset:\/\/([^"]*)"/gi)) expect(id).toBe(own.asset);
  expect(text).not.toMatch(/__proto__|"(url|image_url)":"(http:|file:)/i);
}

/** Returns the status of the response; 0 without a response. Expects no part of the key in it. */
function exchange(request: Buffer): Promise<number> {
  const { hostname, port } = proxy.url;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    let text = "";
    // a request that never ends gets no response
    socket.setTimeout(1000, () => socket.destroy());
    socket.setEncoding("latin1").on("data", (data) => {
      text += data;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      try {
        expectNoKey(text);
        resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0));
      } catch (error) {
        reject(new Error(`seed ${SEED}: ${request.toString("latin1")}`, { cause: error }));
      }
    });
  });
}
