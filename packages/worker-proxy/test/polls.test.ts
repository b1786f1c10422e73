import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startProxy } from "./support/harness.js";
import { signed } from "./support/sign.js";
import { says } from "./support/upstream.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({
    options: { routes: ["chat", "videos"] },
  });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

const json = { "content-type": "application/json" };
const task = (status: string) => JSON.stringify({ code: "success", data: { task_id: "t", status } });
const as = (name: string) => ({ headers: { authorization: `Bearer user-token-of-${name}` } });
const poll = (id: string, init: RequestInit = {}, name = "user-1") =>
  proxy.ask(
    undefined,
    { ...init, method: "GET", body: null },
    `/v1/video/generations/${signed(id, "task", name)}`,
  );
const times = (count: number) => Array.from({ length: count });

test("case 57: 200 polls of a task at once are at most a few calls to the gateway, and all are answered", async () => {
  proxy.upstream.answers((response, request) => {
    setTimeout(() => says(200, json, task("QUEUED"))(response, request), 50);
  });
  const answers = await Promise.all(times(200).map(() => poll("many")));
  for (const { status, text } of answers) expect([status, text]).toEqual([200, task("QUEUED")]);
  // one, and one more for each second that the first takes on a busy machine
  expect(proxy.upstream.requests.length).toBeLessThanOrEqual(10);
});

test("case 57: each answer has its own request id, and one event has the gateway's status", async () => {
  proxy.upstream.answers(says(200, json, task("QUEUED")));
  const answers = await Promise.all(times(5).map(() => poll("ids")));
  expect(new Set(answers.map(({ headers }) => headers.get("x-request-id"))).size).toBe(5);
  const events = await proxy.events(5);
  expect(events.filter(({ upstreamStatus }) => upstreamStatus === 200)).toHaveLength(1);
  for (const event of events) expect(event).toMatchObject({ status: 200, outcome: "complete" });
});

test("case 57: another task and another user have polls of their own", async () => {
  proxy.upstream.answers(says(200, json, task("QUEUED")));
  await poll("shared");
  await poll("other");
  expect((await poll("shared", as("bob"), "bob")).status).toBe(200);
  expect((await poll("shared", as("bob"), "user-1")).status).toBe(404);
  expect((await poll("shared")).status).toBe(200);
  expect(proxy.upstream.requests).toHaveLength(3);
});

test("case 57: a refusal is shared like an answer, and the gateway gets its rest", async () => {
  proxy.upstream.answers(says(429, { ...json, "retry-after": "7" }, '{"error":{"message":"slow down"}}'));
  const answers = await Promise.all(times(20).map(() => poll("refused")));
  for (const { status, headers } of answers) expect([status, headers.get("retry-after")]).toEqual([429, "7"]);
  expect(proxy.upstream.requests).toHaveLength(1);
});

test("case 57: the first poll breaks off, and the others go on", async () => {
  let calls = 0;
  let answerFirst = () => {};
  proxy.upstream.answers((response, request) => {
    calls += 1;
    const answer = () => says(200, json, task("SUCCESS"))(response, request);
    if (calls > 1) answer();
    else answerFirst = answer;
  });
  const leaving = new AbortController();
  const first = poll("left", { signal: leaving.signal }).catch(() => "left");
  await proxy.upstream.arrived();
  const others = times(10).map(() => poll("left"));
  leaving.abort();
  expect(await first).toBe("left");
  for (const { status, text } of await Promise.all(others))
    expect([status, text]).toEqual([200, task("SUCCESS")]);
  expect(calls).toBe(2);
  // its event is told, so that the next test begins with nothing
  answerFirst();
});

test("a request without a user is answered before any memory is looked at", async () => {
  proxy.upstream.answers(says(200, json, task("QUEUED")));
  await poll("known");
  expect((await poll("known", { headers: { authorization: "none" } })).status).toBe(401);
});
