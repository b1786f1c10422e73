import { hashOf } from "@sluice/worker-proxy/internal";
import { expect, onTestFinished, test } from "vitest";
import { fileOf, PART, shareWorkerd, startMediaProxy, starts } from "./support/media.js";
import { film, sends, startArchive } from "./support/media-gateway.js";

shareWorkerd(6);

/* What an operator is told of uploads and copies, beside the requests. */

const DAY_MS = 86_400_000;
const png = fileOf(starts.png, 1000);
const mp4 = fileOf(starts.mp4, PART + 1000);
const id = expect.stringMatching(/^[\w-]{44}$/);

async function openProxy(...options: Parameters<typeof startMediaProxy>) {
  const proxy = await startMediaProxy(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

async function openArchive(...options: Parameters<typeof startArchive>) {
  const proxy = await startArchive(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

test("case 124: each upload has one event at its end, with its user and its size, and none for a part", async () => {
  const proxy = await openProxy({ userFiles: 2 });
  const upload = { kind: "upload", user: "user-1" };
  const whole = (await (await proxy.upload(png)).json()) as { id: string };
  const headers = { "upload-length": String(mp4.length) };
  const begun = (await (await proxy.upload(mp4.slice(0, PART), { headers })).json()) as { id: string };
  expect(proxy.events()).toEqual([{ ...upload, id: whole.id, outcome: "complete", bytes: 1000 }]);
  const part = { path: `/v1/uploads/${begun.id}`, method: "PATCH" };
  await proxy.upload(png.slice(1), { ...part, headers: { "upload-offset": String(PART) } });
  await proxy.upload(mp4.slice(PART), { ...part, headers: { "upload-offset": String(PART) } });
  await proxy.upload(mp4.slice(PART), { ...part, headers: { "upload-offset": String(PART) } });
  await proxy.upload(png);
  await proxy.ask(`/v1/uploads/${begun.id}`, { method: "DELETE" });
  const { id: left } = (await (await proxy.upload(mp4.slice(0, PART), { headers })).json()) as { id: string };
  await proxy.ask(`/v1/uploads/${left}`, { method: "DELETE" });
  await proxy.fail("put");
  await proxy.upload(png);
  expect(proxy.events().slice(1)).toEqual([
    { ...upload, id: begun.id, outcome: "complete", bytes: mp4.length },
    { ...upload, id, outcome: "failed", bytes: 1000, code: "too_many_files" },
    { ...upload, id: left, outcome: "stopped", bytes: mp4.length },
    { ...upload, id, outcome: "failed", bytes: 1000, code: "media_unavailable" },
  ]);
});

test("case 124: each attempt at a copy that another one follows is an event, and so is its end", async () => {
  const proxy = await openArchive({ retryMs: 20 });
  let isAway = true;
  proxy.files.serves("/late.mp4", (response) => {
    if (isAway) response.writeHead(503, { "retry-after": "86400" }).end();
    else sends(film)(response);
    isAway = false;
  });
  const task = await proxy.create("late");
  await proxy.poll(task);
  await expect.poll(() => proxy.events()).toHaveLength(2);
  const copy = { kind: "copy", id, user: "user-1", taskId: "late" };
  const [waiting, complete] = proxy.events();
  expect(waiting).toEqual({
    ...copy,
    outcome: "waiting",
    code: "source_failed",
    attempts: 1,
    nextAt: expect.any(Number),
  });
  expect(Math.abs((waiting?.nextAt ?? 0) - Date.now())).toBeLessThan(60_000);
  expect(complete).toEqual({ ...copy, outcome: "complete", attempts: 2, bytes: film.length });
});

test("case 124: a host that can't be reached is logged as that, with the ids of task and copy, and no user or address", async () => {
  const proxy = await openArchive({ retryMs: DAY_MS });
  proxy.points(() => "http://127.0.0.1:1/film.mp4?token=secret");
  proxy.files.close();
  await proxy.poll(await proxy.create("away"));
  proxy.points(() => `${proxy.files.url}/film.mp4?token=secret`);
  await proxy.poll(await proxy.create("gone"));
  await expect.poll(() => proxy.failures()).toHaveLength(2);
  const user = await hashOf("media\nuser-1");
  const [unlisted, unreachable] = proxy.failures();
  expect(unlisted).toMatch(
    /files may not be copied from 127\.0\.0\.1:1; dropped: task away, copy [\w-]{44}, user/,
  );
  expect(unreachable).toMatch(
    /: the file can't be fetched: its host can't be reached; another attempt follows: task gone, copy [\w-]{44}, user /,
  );
  for (const line of proxy.failures()) {
    expect(line).toContain(user);
    expect(line).not.toMatch(/set up wrongly|secret|user-1/);
  }
});

test("case 124: a copy whose last attempt is cut off is reported as failed, and not as if it were there", async () => {
  const proxy = await openArchive({ retryMs: 1, copyMs: 300_000 });
  let requests = 0;
  proxy.files.serves("/cut.mp4", (response) => {
    requests += 1;
    if (requests < 5) response.writeHead(500).end();
  });
  const task = await proxy.create("cut");
  await proxy.poll(task);
  await expect.poll(() => requests).toBe(5);
  await proxy.evict();
  await proxy.pass(300_001);
  await proxy.poll(task);
  await expect.poll(() => proxy.events().at(-1)?.outcome).toBe("failed");
  expect(proxy.events().at(-1)).toMatchObject({ kind: "copy", taskId: "cut", code: "copy_cut" });
  expect(proxy.failures().at(-1)).toContain("its last attempt was cut off; dropped: task cut");
});

test("case 124: a copy waits a week for space, and then its end is an event", async () => {
  const proxy = await openArchive({ retryMs: 60_000 }, { userBytes: 1000 });
  const task = await proxy.create();
  await proxy.poll(task);
  await expect.poll(() => proxy.events().map(({ outcome }) => outcome)).toEqual(["waiting"]);
  for (let day = 1; day <= 7; day += 1) {
    await proxy.pass(DAY_MS);
    await proxy.poll(task);
    await expect.poll(() => proxy.events()).toHaveLength(day + 1);
  }
  expect(proxy.events().map(({ outcome, code }) => [outcome, code])).toEqual([
    ...Array(7).fill(["waiting", "storage_full"]),
    ["failed", "storage_full"],
  ]);
});

test("case 124: a receiver of events that throws changes nothing", async () => {
  const proxy = await openArchive({}, { failsEvents: true });
  expect((await proxy.upload(png)).status).toBe(201);
  const task = await proxy.create();
  await proxy.poll(task);
  await expect.poll(() => proxy.archived({ tasks: [task] })).toHaveLength(1);
  expect(proxy.events().map(({ kind }) => kind)).toEqual(["upload", "copy"]);
});
