import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { admin, budget, deadLetters, once, streamLog, videoEvents } from "@sluice/durable";
import type { ProxyEvent } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { read } from "../../worker-proxy/test/support/key.js";
import { type CountedEnv, files, options } from "./support/counted-worker.js";
import { gateway, ledger, task } from "./support/durable-gateway.js";
import { isWorkerd } from "./support/platform.js";
import { turn } from "./support/streams.js";

/* A proxy with all its parts: two users have something in each, and an operator lists, exports and erases it. */

const START = Date.UTC(2040, 0, 1);
const PART = 8_388_608;
const png = new Uint8Array(PART);
png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const namespaces = {
  BUDGET: env.BUDGET,
  PAID_STREAM_LOG: env.PAID_STREAM_LOG,
  PAID_ONCE: env.PAID_ONCE,
  COUNTED_WATCH: env.COUNTED_WATCH,
  COUNTED_INDEX: env.COUNTED_INDEX,
};
const bindings = env as unknown as CountedEnv;
const meter = budget<CountedEnv>({
  namespace: () => env.BUDGET,
  limits: { user: 1_000_000 },
  windowMs: 3_600_000,
  reserveFor: () => 10,
});
const streams = streamLog<CountedEnv>(() => env.PAID_STREAM_LOG);
const creates = once<CountedEnv>(() => env.PAID_ONCE);
const watches = videoEvents<CountedEnv>(() => env.COUNTED_WATCH, { startOn: "create" });
const letters = deadLetters<CountedEnv>(() => env.COUNTED_WATCH);
const events: ProxyEvent[] = [];
const operators = ({ id }: { readonly id: string }) => id === "ada";
const parts = [meter, files, watches, streams, creates, letters];
const proxy = files.proxy({
  ...options,
  fetch: gateway.answer,
  models: ["delta-5.3", "gamma-image-5-0-260128", "beta3.0-video"],
  routes: ["chat", "images", "videos"],
  onEvent: (event) => void events.push(event),
  plugins: [meter, creates, streams, watches, admin<CountedEnv>({ operators, parts })],
});

/** True as long as the gateway holds its answers back. */
let isHeld = false;
let hasLeft = 0;

beforeEach(() => {
  events.length = 0;
  isHeld = false;
  hasLeft = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(console, "error").mockImplementation(() => {});
  ledger.over = meter as never;
  gateway.answers(async ({ url, method, signal }) => {
    signal.addEventListener("abort", () => {
      hasLeft += 1;
    });
    if (url.includes("/chat/")) return new Response(chatBody(signal), sse);
    if (url.includes("/images/")) {
      while (isHeld && !signal.aborted) await turn();
      signal.throwIfAborted();
      return Response.json({ data: [{ b64_json: "a picture" }], usage: { total_tokens: 7 } });
    }
    return method === "POST" ? Response.json({ id: `film-${gateway.requests.length}` }) : task("QUEUED");
  });
});
afterEach(() => {
  ledger.over = undefined;
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const sse = { headers: { "content-type": "text/event-stream" } };
const said = (text: string) => ({ choices: [{ index: 0, delta: { content: text } }] });
const line = (json: object) => new TextEncoder().encode(`data: ${JSON.stringify(json)}\n\n`);

/** Begins an answer, and ends it unless answers are held back. */
function chatBody(signal: AbortSignal): ReadableStream<Uint8Array> {
  let isBegun = false;
  return new ReadableStream(
    {
      async pull(controller) {
        if (!isBegun) controller.enqueue(line(said("a secret plan")));
        else {
          while (isHeld && !signal.aborted) await turn();
          const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
          if (!signal.aborted) controller.enqueue(line(end));
          controller.close();
        }
        isBegun = true;
      },
    },
    { highWaterMark: 0 },
  );
}

/** A request of a user, and the work behind it. */
async function ask(user: string, path: string, init: RequestInit = {}) {
  const behind: Promise<unknown>[] = [];
  const headers = { "content-type": "application/json", authorization: user, ...init.headers };
  const request = new Request(`https://proxy.example${path}`, { method: "POST", ...init, headers });
  const response = await proxy.fetch(request, bindings, { waitUntil: (work) => void behind.push(work) });
  return { response, behind };
}

async function asked(user: string, path: string, body: unknown = {}, headers: Record<string, string> = {}) {
  const { response, behind } = await ask(user, path, { body: JSON.stringify(body), headers });
  const answer = await read(response);
  await Promise.all(behind);
  return { ...answer, json: answer.text.startsWith("{") ? JSON.parse(answer.text) : undefined };
}

const operate = async (operation: string, body: object) =>
  (await asked("ada", `/v1/admin/${operation}`, body)).json;

const image = { model: "gamma-image-5-0-260128", prompt: "a bird" };
const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
const film = { model: "beta3.0-video", input: { prompt: "a bird" } };

/** Sends the first part of a file of two. */
async function begin(user: string): Promise<string> {
  const headers = {
    "content-type": "application/octet-stream",
    "content-length": String(PART),
    "upload-length": String(PART + 10),
  };
  const { response } = await ask(user, "/v1/uploads", { body: png, headers });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

/** Lets a user have something in each part. */
async function use(user: string) {
  expect((await asked(user, "/v1/images/generations", image, { "idempotency-key": "one" })).status).toBe(200);
  expect((await asked(user, "/v1/chat/completions", chat)).text).toContain("a secret plan");
  expect((await asked(user, "/v1/video/generations", film)).status).toBe(200);
  return await begin(user);
}

/** All rows of all objects, as JSON, by the object; one without rows is not listed. */
async function stored(): Promise<ReadonlyMap<string, string>> {
  const all = new Map<string, string>();
  for (const [name, namespace] of Object.entries(namespaces))
    for (const id of await listDurableObjectIds(namespace)) {
      const rows = await runInDurableObject(namespace.get(id), async (_, { storage }) => {
        const tables = storage.sql
          .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
          .toArray();
        const rows = tables.flatMap(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray());
        return [...rows, ...(isWorkerd ? await storage.list() : [])];
      });
      if (rows.length > 0) all.set(`${name} ${id}`, JSON.stringify(rows));
    }
  return all;
}

const idsOf = async (namespace: { idFromName(name: string): unknown }, name: string) =>
  String(namespace.idFromName(name));

test("case 146: an operator lists what each part keeps of a user, and acts on it; each call is an event", async () => {
  const upload = await use("eve");
  const user = "eve";
  const { files: kept } = await operate("files/list", { user });
  expect(kept).toMatchObject([{ id: upload, bytes: PART + 10, received: PART }]);
  expect(await operate("files/remove", { user: "bob", id: upload })).toEqual({ removed: false });
  expect(await operate("files/remove", { user, id: upload })).toEqual({ removed: true });
  expect(await operate("files/list", { user })).toEqual({ files: [] });

  const { watches: all } = await operate("watches/list", { user });
  expect(all).toMatchObject([{ user, model: "beta3.0-video", isRemoved: false }]);
  expect(all[0]).not.toHaveProperty("task");
  const polls = () => gateway.requests.filter(({ method }) => method === "GET").length;
  const before = polls();
  vi.setSystemTime(Date.now() + 60_000);
  const { watch } = await operate("watches/poll", { user, id: all[0].gatewayId });
  expect([watch.id, polls()]).toEqual([all[0].id, before + 1]);
  // the pause of the watch holds for operators, too
  await operate("watches/poll", { user, id: all[0].gatewayId });
  expect(polls()).toBe(before + 1);
  expect(await operate("watches/poll", { user: "bob", id: all[0].gatewayId })).toEqual({ watch: null });

  isHeld = true;
  const { response } = await ask(user, "/v1/chat/completions", { body: JSON.stringify(chat) });
  const { streams: answers } = await operate("streams/list", { user });
  expect(answers.map(({ state }: { state: string }) => state).sort()).toEqual(["done", "open"]);
  const id = response.headers.get("x-stream-id");
  expect(await operate("streams/stop", { user, id })).toEqual({ stopped: true });
  expect((await read(response)).text).toContain("stream_stopped");
  expect(await operate("streams/stop", { user, id })).toEqual({ stopped: false });

  expect(await operate("letters/list", {})).toEqual({ letters: [] });
  expect(await operate("letters/resend", { id: "none" })).toEqual({ resent: false });
  expect(await operate("letters/resend-all", { since: 0 })).toEqual({});
  for (const since of [undefined, "yesterday", -1, 0.5])
    expect((await asked("ada", "/v1/admin/letters/resend-all", { since })).status).toBe(400);

  expect(events.find(({ operation }) => operation === "files/remove")).toMatchObject({
    user: "ada",
    target: "bob",
    status: 200,
  });
  for (const path of ["files/list", "watches/poll", "streams/stop", "letters/list"])
    expect((await asked("eve", `/v1/admin/${path}`, { user })).status).toBe(404);
});

test("case 147: an erased user has no row left in any object, nothing of it goes on, and others keep all", async () => {
  await use("bob");
  const before = await stored();
  const upload = await use("ann");
  // what is under way: an answer, a create that a page waits for, an upload, a task
  isHeld = true;
  const live = await ask("ann", "/v1/chat/completions", { body: JSON.stringify(chat) });
  const waiting = asked("ann", "/v1/images/generations", image, { "idempotency-key": "two" });
  await expect.poll(() => gateway.requests.filter(({ url }) => url.includes("/images/")).length).toBe(3);

  const { data, failed, tooLarge } = await operate("users/export", { user: "ann" });
  expect([failed, tooLarge]).toEqual([[], []]);
  expect(Object.keys(data).sort()).toEqual(["budgets", "creates", "files", "streams", "watches"].sort());
  expect(data.creates).toHaveLength(2);
  expect(JSON.stringify(data.creates)).toContain("a picture");
  expect(JSON.stringify(data.streams)).toContain("a secret plan");
  expect(data.files.files).toMatchObject([{ id: upload }]);
  expect(data.watches).toMatchObject([{ user: "ann" }]);

  const erased = { erased: expect.any(Array), failed: [] };
  expect(await operate("users/erase", { user: "ann" })).toEqual(erased);
  expect(await waiting).toMatchObject({ status: 410, error: { code: "user_erased" } });
  expect((await read(live.response)).text).toContain("stream_stopped");
  expect(hasLeft).toBeGreaterThanOrEqual(2);
  expect(await operate("users/erase", { user: "ann" })).toEqual(erased);

  const all = `COUNTED_INDEX ${await idsOf(env.COUNTED_INDEX, "all")}`;
  const index = `COUNTED_INDEX ${await idsOf(env.COUNTED_INDEX, await hashOf("media\nann"))}`;
  const isOwn = (name: string) => !before.has(name) && name !== all;
  const own = async () => [...(await stored()).keys()].filter(isOwn);
  // the index of files knows for as long as an upload can take that what began before must not be stored
  expect(await own()).toEqual([index]);
  const asks = gateway.requests.length;
  vi.setSystemTime(Date.now() + 3_600_000);
  for (const [name, namespace] of Object.entries(namespaces))
    for (const id of await listDurableObjectIds(namespace))
      if (isOwn(`${name} ${id}`)) await runDurableObjectAlarm(namespace.get(id));
  // no alarm brings anything back
  expect([await own(), gateway.requests.length]).toEqual([[], asks]);
  const after = await stored();
  for (const rows of after.values())
    for (const id of ["ann", await hashOf("ann")]) expect(rows).not.toContain(id);
  // what counts for all is not of a user
  for (const [name, rows] of before) if (name !== all) expect([name, after.get(name)]).toEqual([name, rows]);
  expect(await operate("files/list", { user: "ann" })).toEqual({ files: [] });
});

test("case 148: a create that comes again after its user was erased is a new one", async () => {
  const create = () => asked("cid", "/v1/images/generations", image, { "idempotency-key": "one" });
  const sent = () => gateway.requests.filter(({ url }) => url.includes("/images/")).length;
  await create();
  expect([(await create()).headers.has("x-sluice-replayed"), sent()]).toEqual([false, 1]);
  await operate("users/erase", { user: "cid" });
  expect([(await create()).status, sent()]).toEqual([200, 2]);
  expect((await operate("users/export", { user: "cid" })).data.creates).toHaveLength(1);
});
