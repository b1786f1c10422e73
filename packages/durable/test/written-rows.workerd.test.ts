import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { budget, streamLog } from "@sluice/durable";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { hashOf } from "../../worker-proxy/src/base/hash.js";
import { asked } from "../../worker-proxy/test/support/in-process.js";
import written from "./fixture/written-rows.json" with { type: "json" };
import changed from "./fixture/written-rows-2.json" with { type: "json" };
import { gateway, task } from "./support/durable-gateway.js";
import { type FuzzedEnv, proxy as files, store } from "./support/fuzzed-archive.js";
import { ask, create, events, objects, operator, ring, said, world } from "./support/notices.js";
import { answersCreates, openOnceProxy } from "./support/once.js";
import { idOf, liveAnswer, openProxy, wholeAnswer } from "./support/streams.js";
import { type Written, write, writtenBy } from "./support/written-rows.js";

/* Rows of each class, as a release has written them: the present Worker opens them. */

const START = Date.UTC(2042, 0, 1);
const answer = `data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
const meter = budget<typeof env>({
  namespace: ({ BUDGET }) => BUDGET,
  limits: { user: 100 },
  windowMs: 3_600_000,
  reserveFor: () => 10,
});
const bindings = env as unknown as FuzzedEnv;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(console, "error").mockImplementation(() => {});
  world.reset();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const headersOf = (user: string, key: string) => ({ authorization: user, "idempotency-key": key });

/** Leaves something of a user in an object of each class. Returns what is needed to find it, and the objects. */
async function leave(user: string) {
  const hash = await hashOf(user);
  const streams = openProxy();
  wholeAnswer(answer);
  const kept = await streams.ask({ headers: headersOf(user, "kept") });
  await kept.text();
  const live = liveAnswer();
  live.send(answer.slice(0, answer.indexOf("\n\n") + 2));
  const open = await streams.ask({ headers: headersOf(user, "open") });
  answersCreates();
  await openOnceProxy().ask({ key: "kept", user });
  const payable = { env, context: undefined, user: { id: user }, route: "chat" } as const;
  const paid = await meter.reserve(payable);
  if ("settle" in paid) await paid.settle({ total_tokens: 7 });
  await meter.reserve(payable);

  const running = await create(user);
  const over = await create(user);
  world.task = () => said("SUCCESS");
  world.app = () => new Response(null, { status: 410 });
  await ring(over.watch);
  await ring(over.watch);

  const film = await leaveFiles(user);
  const names = [
    ["STREAM_LOG", `${hash}:${idOf(kept)}`],
    ["STREAM_LOG", `${hash}:${idOf(open)}`],
    ["STREAM_LOG", hash],
    ["ONCE", `${hash}:${await hashOf(`${user}\nkept`)}`],
    ["BUDGET", await hashOf(`user\n${user}`)],
    ["NOTICE_WATCH", `${hash}:${running.gatewayId}`],
    ["NOTICE_WATCH", `${hash}:${over.gatewayId}`],
    ["NOTICE_WATCH", hash],
    ["NOTICE_WATCH", "dead letters"],
    ["FUZZED_INDEX", await hashOf(`media\n${user}`)],
    ["FUZZED_INDEX", "all"],
  ] as const;
  const found = { kept: idOf(kept), open: idOf(open), running: running.path, over: over.path, film };
  return { found, objects: await Promise.all(names.map(([binding, name]) => writtenBy(binding, name))) };
}

/** An upload, and a copy that waits for its host. */
async function leaveFiles(user: string): Promise<string> {
  const behind: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void behind.push(work) };
  const body = new Uint8Array(1000);
  body.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const headers = {
    authorization: user,
    "content-type": "application/octet-stream",
    "content-length": "1000",
  };
  const upload = new Request("https://proxy.example/v1/uploads", { method: "POST", body, headers });
  expect((await files.fetch(upload, bindings, context)).status).toBe(201);
  gateway.answers(({ method }) =>
    method === "POST"
      ? Response.json({ id: "film-1", status: "queued" })
      : task("SUCCESS", { task_id: "film-1", result_url: "https://cdn.example/film-1" }),
  );
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(null, { status: 500 }));
  const path = "/v1/video/generations";
  const asking = {
    path,
    headers: { authorization: user },
    body: { model: "beta3.0-video", input: { prompt: "a" } },
  };
  const { id } = (await (await files.fetch(asked(asking), bindings, context)).json()) as { id: string };
  const polled = await files.fetch(
    asked({ method: "GET", path: `${path}/${id}`, headers: { authorization: user } }),
    bindings,
    context,
  );
  await polled.text();
  await Promise.all(behind);
  await runDurableObjectAlarm(await indexOf(user));
  return id;
}

async function indexOf(user: string) {
  const { FUZZED_INDEX } = env as unknown as { FUZZED_INDEX: typeof env.BUDGET };
  return FUZZED_INDEX.get(FUZZED_INDEX.idFromName(await hashOf(`media\n${user}`)));
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  for (const object of written.objects as unknown as Written[]) await write(object);
});

const classes = [...new Set(written.objects.map(({ binding }) => binding))];

/** The objects as the present version writes them: those whose tables have changed since are in a file of their own. */
const newest = written.objects.map(
  (one) => changed.objects.find(({ binding, name }) => binding === one.binding && name === one.name) ?? one,
) as unknown as Written[];

/* A change of rows adds a step to their tables. Then write what has changed anew, into the newest file: `leave` says what is in it. */
test("The rows that were written are those of the present version", async () => {
  const { objects: present } = await leave("ben");
  const shapeOf = ({ binding, statements, rows, values }: Written) => ({
    binding,
    statements,
    columns: Object.fromEntries(
      Object.entries(rows).map(([table, [row]]) => [table, row && Object.keys(row)]),
    ),
    version: rows["version"] ?? (values["task"] as { version?: number } | undefined)?.version,
  });
  expect(present.map(shapeOf)).toEqual(newest.map(shapeOf));
  expect(classes).toEqual(["STREAM_LOG", "ONCE", "BUDGET", "NOTICE_WATCH", "FUZZED_INDEX"]);
});

const user = "ann";

test("A kept answer that was written is read, and one that was open ends as lost", async () => {
  gateway.answers(() => expect.fail("nothing is sent again"));
  const streams = openProxy();
  const kept = await (
    await streams.resume(written.found.kept, 0, { headers: { authorization: user } })
  ).text();
  expect(kept.replace(/^id: \d+\n/gm, "")).toBe(answer);
  const again = await streams.ask({ headers: headersOf(user, "kept") });
  expect(await again.text()).toBe(kept);
  const open = await streams.resume(written.found.open, 0, { headers: { authorization: user } });
  expect(await open.text()).toContain("stream_interrupted");
});

test("The objects of a user that were written are found by an export and by an erasure", async () => {
  const streams = streamLog<typeof env>(({ STREAM_LOG }) => STREAM_LOG).userData;
  const ids = [written.found.kept, written.found.open].sort().map((id) => ({ id }));
  expect(await streams?.exportUser(env, user)).toMatchObject(ids);
  await streams?.eraseUser(env, user);
  expect(await streams?.exportUser(env, user)).toEqual([]);
});

test("A remembered create that was written is answered again", async () => {
  gateway.answers(() => expect.fail("nothing is sent again"));
  const { status, text } = await openOnceProxy().ask({ key: "kept", user });
  expect([status, text]).toEqual([200, expect.stringContaining("https://cdn.example/1.png")]);
});

test("A budget that was written has what was spent and reserved", async () => {
  expect(await meter.read({ env, user: { id: user } })).toMatchObject([
    { spent: 7, reserved: 10, remaining: 83 },
  ]);
});

test("A watch that was written goes on, and one whose end was told tells it no more", async () => {
  const statusOf = async (path: string) => (await ask(user, path)).text();
  expect(await statusOf(written.found.running)).toContain("queued");
  expect(await statusOf(written.found.over)).toContain("SUCCESS");
  world.task = () => said("SUCCESS");
  const [running = "", over = ""] = ["n-1", "n-2"];
  await ring(await objects.watch(user, running));
  await ring(await objects.watch(user, running));
  expect(await statusOf(written.found.running)).toContain("SUCCESS");
  await runDurableObjectAlarm(await objects.watch(user, over));
  expect(world.webhooks.map((hook) => hook.task)).toEqual([written.found.running.split("/").at(-1)]);
  expect(await events.userData?.exportUser(operator.env, user)).toMatchObject([
    { gatewayId: "n-1" },
    { gatewayId: "n-2" },
  ]);
});

test("A dead letter that was written is sent again", async () => {
  const { letters } = await operator.webhooks.listDeadLetters(operator.env);
  const mine = letters.filter((letter) => letter.user === user);
  expect(mine).toMatchObject([{ name: "webhook", taskId: "n-2", upstreamStatus: 410 }]);
  expect(await operator.webhooks.resend(operator.env, mine[0]?.id ?? "")).toBe(true);
  await ring(await objects.watch(user, "n-2"));
  expect(world.webhooks).toMatchObject([{ type: "video.succeeded", ok: true }]);
});

test("Files that were written are listed, and a copy that waited is made", async () => {
  const film = new Uint8Array(100);
  film.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  vi.spyOn(globalThis, "fetch").mockImplementation(
    async () => new Response(film, { headers: { "content-length": "100" } }),
  );
  vi.setSystemTime(START + 60_000);
  const index = await indexOf(user);
  await runDurableObjectAlarm(index);
  const { files: listed } = await store.list(bindings, user);
  expect(listed.map(({ bytes, isCopy, taskId }) => [bytes, isCopy, taskId]).sort()).toEqual([
    [100, true, "film-1"],
    [1000, false, undefined],
  ]);
});
