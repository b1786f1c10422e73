import {
  admin,
  budget,
  eraseUser,
  fileStore,
  idempotency,
  resumableStreams,
  videoWatch,
} from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import {
  chat as chatRoutes,
  createProxy,
  images,
  type ProxyEvent,
  type ProxyPlugin,
  type RequestEvent,
  videos,
} from "@sluice/worker-proxy";
import { definePlugin, hashText } from "@sluice/worker-proxy/plugin";
import { expect, onTestFinished, test, vi } from "vitest";
import { KEY, read } from "../../worker-proxy/test/support/key.js";
import { createFile, firstBytes, PART_BYTES, SECRET } from "./support/file-store.js";
import { createMemoryBucket } from "./support/memory-bucket.js";
import { createProbe } from "./support/probe.js";
import { openMeter, silenceLog } from "./support/stored-proxy.js";

/* A proxy with all plugins: users have data in each, and an operator lists, exports and erases it. */

const image = { model: "gamma-image-5-0-260128", prompt: "a bird" };
const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
const video = { model: "beta3.0-video", input: { prompt: "a bird" } };
const piece = (json: object) => new TextEncoder().encode(`data: ${JSON.stringify(json)}\n\n`);

/** A gateway that begins each response, and ends it unless the test holds responses back. */
function openGateway() {
  const requests: Request[] = [];
  const gateway = { requests, isHeld: false, left: 0, task: { status: "QUEUED" } as object, fetch };
  return gateway;

  async function fetch(request: Request): Promise<Response> {
    const { signal, url, method } = request;
    requests.push(request);
    let proceed = () => {};
    const mayEnd = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    signal.addEventListener("abort", () => {
      gateway.left += 1;
      proceed();
    });
    if (!gateway.isHeld) proceed();
    if (url.includes("/chat/")) return new Response(createBody(signal, mayEnd), sse);
    if (url.includes("/images/")) {
      await mayEnd;
      signal.throwIfAborted();
      return Response.json({ data: [{ b64_json: "a picture" }], usage: { total_tokens: 7 } });
    }
    if (method === "POST") return Response.json({ id: `task-${requests.length}`, status: "queued" });
    const data = { task_id: url.split("/").at(-1), ...gateway.task };
    return Response.json({ code: "success", message: "", data });
  }
}

const sse = { headers: { "content-type": "text/event-stream" } };

function createBody(signal: AbortSignal, mayEnd: Promise<void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(piece({ choices: [{ index: 0, delta: { content: "a secret plan" } }] }));
      await mayEnd;
      if (signal.aborted) return controller.error(signal.reason);
      controller.enqueue(piece({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
      controller.enqueue(piece({ choices: [], usage: { total_tokens: 7 } }));
      controller.close();
    },
  });
}

/** The proxy. `authorization` is the id of the user; the operator is "ada". */
function openAll(
  meter: ProxyPlugin<object> = budget<object>({ limits: { user: 1_000_000 }, windowMs: 1e12 }),
) {
  const gateway = openGateway();
  const { plugin: probe, query } = createProbe();
  const events: RequestEvent[] = [];
  const host = nodeHost<object>({ file: ":memory:", env: {} });
  onTestFinished(() => host.close(100));
  const { bucket } = createMemoryBucket();
  const proxy = createProxy<object>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["delta-5.3", "gamma-image-5-0-260128", "beta3.0-video"],
    routes: [chatRoutes, images, videos],
    secret: () => SECRET,
    limits: { maxTokens: 100 },
    fetch: gateway.fetch,
    host,
    plugins: [
      definePlugin({
        onEvent(event: ProxyEvent) {
          if (event.type === "request") events.push(event);
        },
      }),
      ...[
        meter,
        idempotency<object>(),
        resumableStreams<object>(),
        videoWatch<object>({ onEnd: [async () => {}] }),
      ],
      fileStore<object>({ bucket: () => bucket, secret: () => SECRET, archive: true }),
      ...[probe as ProxyPlugin<object>, admin<object>({ isOperator: ({ id }) => id === "ada" })],
    ],
  });
  const behind: Promise<unknown>[] = [];
  const send = (user: string, path: string, init: RequestInit = {}) => {
    const headers = { "content-type": "application/json", authorization: user, ...init.headers };
    const request = new Request(`https://proxy.example${path}`, { method: "POST", ...init, headers });
    return proxy.fetch(request, {}, { waitUntil: (work) => void behind.push(work) });
  };
  const post = async (
    user: string,
    path: string,
    body: object = {},
    headers: Record<string, string> = {},
  ) => {
    const response = await read(await send(user, path, { body: JSON.stringify(body), headers }));
    await Promise.all(behind);
    return { ...response, json: response.text.startsWith("{") ? JSON.parse(response.text) : undefined };
  };
  const create = (user: string, key: string) =>
    post(user, "/v1/images/generations", image, { "idempotency-key": key });
  /** Lets a user have data in each plugin. Returns the id of an upload that has one of its two parts. */
  const use = async (user: string): Promise<string> => {
    expect((await create(user, "one")).status).toBe(200);
    expect((await post(user, "/v1/chat/completions", chat)).text).toContain("a secret plan");
    expect((await post(user, "/v1/video/generations", video)).status).toBe(200);
    const upload = await send(user, "/v1/uploads", {
      body: createFile(firstBytes.png, PART_BYTES),
      headers: {
        "content-type": "application/octet-stream",
        "content-length": `${PART_BYTES}`,
        "upload-length": `${PART_BYTES + 10}`,
      },
    });
    expect(upload.status).toBe(201);
    return ((await upload.json()) as { id: string }).id;
  };
  /** Reads all rows of all tables, as JSON, by the table. */
  const readRows = async () => {
    const tables = await query(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
    );
    const rows = tables.map(async ({ name }) => [name, await query(`SELECT * FROM "${name}"`)] as const);
    return (await Promise.all(rows)).flatMap(([name, all]) =>
      all.map((row) => `${name} ${JSON.stringify(row)}`),
    );
  };
  const operate = async (operation: string, body: object) =>
    (await post("ada", `/v1/admin/${operation}`, body)).json;
  return { proxy, gateway, events, send, post, create, use, operate, readRows };
}

test("an operator lists the data of a user in each plugin, and acts on it; each call is an event (case 146)", async () => {
  const { use, operate, gateway, send, post, events } = openAll();
  const user = "eve";
  const upload = await use(user);
  const readFiles = async (of: string) =>
    (await operate("users/export", { user: of, part: "files" })).data.files;
  expect(await readFiles(user)).toMatchObject([{ id: upload, bytes: PART_BYTES + 10, received: PART_BYTES }]);
  expect(await operate("files/remove", { user: "bob", id: upload })).toEqual({ removed: false });
  expect(await operate("files/remove", { user, id: upload })).toEqual({ removed: true });
  expect(await readFiles(user)).toEqual([]);

  gateway.isHeld = true;
  const live = await send(user, "/v1/chat/completions", { body: JSON.stringify(chat) });
  const { streams } = (await operate("users/export", { user, part: "streams" })).data;
  expect(streams.map(({ state }: { state: string }) => state).sort()).toEqual(["complete", "sending"]);
  await operate("users/erase", { user });
  expect((await read(live)).text).toContain("stream_stopped");

  expect(await operate("dead-letters/list", {})).toMatchObject({ deadLetters: [] });
  expect(events.find(({ operation }) => operation === "files/remove")).toMatchObject({
    userId: "ada",
    target: "bob",
    status: 200,
  });
  for (const path of ["files/remove", "users/erase", "dead-letters/list"])
    expect((await post("eve", `/v1/admin/${path}`, { user })).status).toBe(404);
});

test("erasing a user deletes every row and ends every job of that user, and changes nothing of other users (case 147)", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const { use, operate, gateway, send, create, readRows } = openAll();
  await use("bob");
  const before = await readRows();
  const upload = await use("ann");
  // under way: a stream, a create that a page waits for, an upload, a task
  gateway.isHeld = true;
  const live = await send("ann", "/v1/chat/completions", { body: JSON.stringify(chat) });
  const waiting = create("ann", "two");
  await expect.poll(() => gateway.requests.filter(({ url }) => url.includes("/images/")).length).toBe(3);

  const { data, failed, tooLarge } = await operate("users/export", { user: "ann" });
  expect([failed, tooLarge]).toEqual([[], []]);
  expect(Object.keys(data).sort()).toEqual(["budgets", "creates", "files", "streams", "watches"]);
  expect(data.creates).toHaveLength(2);
  expect(JSON.stringify(data.creates)).toContain("a picture");
  expect(JSON.stringify(data.streams)).toContain("a secret plan");
  expect(data.files).toMatchObject([{ id: upload }]);
  expect(data.watches).toMatchObject([{ user: "ann" }]);

  const erased = { erased: expect.any(Array), failed: [] };
  expect(await operate("users/erase", { user: "ann" })).toEqual(erased);
  expect(await waiting).toMatchObject({ status: 410, error: { code: "user_erased" } });
  expect((await read(live)).text).toContain("stream_stopped");
  expect(gateway.left).toBe(2);
  expect(await operate("users/erase", { user: "ann" })).toEqual(erased);

  const requestCount = gateway.requests.length;
  const names = ["ann", await hashText("ann")];
  const readOwn = async () => (await readRows()).filter((row) => names.some((name) => row.includes(name)));
  expect(await readOwn()).toEqual([]);
  const after = await readRows();
  // the total of all files has no user, and timers count their attempts
  const isShared = (row: string) => row.includes('"key":"all') || row.startsWith("timers");
  for (const row of before) if (!isShared(row)) expect(after).toContain(row);
  vi.setSystemTime(Date.now() + 3_600_000);
  // the host looks at its timers in intervals
  await vi.advanceTimersByTimeAsync(30_000);
  await vi.waitFor(async () => expect(await readOwn()).toEqual([]), { timeout: 20_000 });
  expect(gateway.requests.slice(requestCount).filter(({ url }) => !url.includes("/video/"))).toEqual([]);
});

test("a video that no page sees is copied, and is the user's", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const file = createFile(firstBytes.mp4, 1000);
  const copying = vi.spyOn(globalThis, "fetch");
  onTestFinished(() => copying.mockRestore());
  copying.mockImplementation(
    async () => new Response(file, { headers: { "content-length": `${file.length}` } }),
  );
  const { post, operate, gateway } = openAll();
  await post("ann", "/v1/video/generations", video);
  gateway.task = { status: "SUCCESS", result_url: "https://cdn.example.com/v.mp4" };
  // the first poll of a task is after 5 s
  await vi.advanceTimersByTimeAsync(10_000);
  await vi.waitFor(
    async () =>
      expect((await operate("users/export", { user: "ann", part: "files" })).data.files).toContainEqual(
        expect.objectContaining({ isCopy: true, bytes: 1000, taskId: "task-1" }),
      ),
    { timeout: 20_000 },
  );
  expect((await operate("users/export", { user: "bob", part: "files" })).data.files).toEqual([]);
});

test("a repeated create is sent as a new request after its user was erased (case 148)", async () => {
  const { create, operate, gateway, events } = openAll();
  await create("cid", "one");
  await create("cid", "one");
  expect([gateway.requests.length, events.at(-1)?.isReplay]).toEqual([1, true]);
  await operate("users/erase", { user: "cid" });
  expect((await create("cid", "one")).status).toBe(200);
  expect([gateway.requests.length, events.at(-1)?.isReplay]).toEqual([2, undefined]);
  expect((await operate("users/export", { user: "cid" })).data.creates).toHaveLength(1);
});

test.each([
  ["that has ended", false],
  ["that is under way", true],
])(
  "an erasure while the meter fails deletes a response %s, says that it isn't done, and settles once (case 165)",
  async (_, isHeld) => {
    silenceLog();
    const meter = openMeter();
    const { gateway, send, proxy, readRows } = openAll(meter.plugin as ProxyPlugin<object>);
    meter.fails = true;
    gateway.isHeld = isHeld;
    const response = await send("ann", "/v1/chat/completions", { body: JSON.stringify(chat) });
    const text = isHeld ? "" : await response.text();
    expect(text.includes("a secret plan")).toBe(!isHeld);
    const reading = isHeld ? response.text() : undefined;
    expect(await eraseUser(proxy, {}, "ann")).toMatchObject({ failed: ["streams"] });
    expect(await reading).not.toBe("");
    expect((await readRows()).join("\n")).not.toContain("a secret plan");
    expect([meter.reserved.size, meter.spent]).toEqual([1, []]);
    meter.fails = false;
    expect(await eraseUser(proxy, {}, "ann")).toMatchObject({ failed: [] });
    expect([meter.reserved.size, meter.spent.length]).toEqual([0, 1]);
    expect((await readRows()).filter((row) => /^(jobs|job_parts) /.test(row))).toEqual([]);
  },
);
