import { describe, expect, onTestFinished, test } from "vitest";
import { fileOf, holdPart, PART, shareWorkerd, startMediaProxy, starts } from "./support/media.js";
import { film, sends, startArchive } from "./support/media-gateway.js";

shareWorkerd(12);

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const png = fileOf(starts.png, 1000);

async function openArchive(...options: Parameters<typeof startArchive>) {
  const proxy = await startArchive(...options);
  onTestFinished(() => proxy.close());
  return proxy;
}

type Archive = Awaited<ReturnType<typeof startArchive>>;

/** Has a film copied, and returns the id of its task. */
async function copied(proxy: Archive, prompt: string, user = "user-1"): Promise<string> {
  proxy.files.serves(`/${prompt}.mp4`, sends(film));
  const id = await proxy.create(prompt, user);
  await proxy.poll(id, user);
  await expect.poll(() => proxy.archived({ tasks: [id] }, user)).toHaveLength(1);
  return id;
}

const ended = (proxy: Archive, id: string) =>
  proxy.post("/tests/ended", {
    user: "user-1",
    id,
    answer: { data: { task_id: id, status: "SUCCESS", result_url: `${proxy.files.url}/${id}.mp4` } },
  });

describe("case 111: an upload that stands still", () => {
  const length = { "upload-length": String(4 * PART) };

  test("takes no space of copies, and gives its own back after minutes without a part", async () => {
    const proxy = await openArchive({}, { allBytes: 8 * PART, uploadBytes: 4 * PART });
    const begun = await proxy.upload(fileOf(starts.mp4, PART), { user: "idle", headers: length });
    const { id, expiresAt } = (await begun.json()) as { id: string; expiresAt: number };
    expect(expiresAt - Date.now()).toBeLessThanOrEqual(10 * MINUTE_MS);
    expect((await proxy.upload(png, { user: "victim" })).status).toBe(503);
    await copied(proxy, "film", "victim");
    await proxy.pass(10 * MINUTE_MS + 1);
    expect((await proxy.ask(`/v1/uploads/${id}`, { user: "idle" })).status).toBe(404);
    // wakes the object: the platform's alarm knows nothing of the time that passes here
    await copied(proxy, "wakes", "idle");
    await expect.poll(async () => (await proxy.upload(png, { user: "victim" })).status).toBe(201);
  });

  test("goes on for as long as parts come, and its file is kept from its last part on", async () => {
    const proxy = await startMediaProxy({ keepMs: 60 * MINUTE_MS });
    onTestFinished(() => proxy.close());
    const whole = fileOf(starts.mp4, 2 * PART + 1000);
    const first = { headers: { "upload-length": String(whole.length) } };
    const { id } = (await (await proxy.upload(whole.slice(0, PART), first)).json()) as { id: string };
    const part = async (nth: number) => {
      await proxy.pass(9 * MINUTE_MS);
      const headers = { "upload-offset": String(nth * PART) };
      const body = whole.slice(nth * PART, (nth + 1) * PART);
      return (await proxy.upload(body, { path: `/v1/uploads/${id}`, method: "PATCH", headers })).json();
    };
    expect(await part(1)).toMatchObject({ offset: 2 * PART });
    const { keptUntil, url } = (await part(2)) as { keptUntil: number; url: string };
    expect(keptUntil - (Date.now() + 18 * MINUTE_MS)).toBeGreaterThan(59 * MINUTE_MS);
    await proxy.pass(30 * MINUTE_MS);
    const response = await fetch(url);
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });
});

test("space for all users is free again a day after a file's end, though the object of its user says nothing", async () => {
  const keepMs = 60 * MINUTE_MS;
  const proxy = await startMediaProxy({ keepMs, allBytes: 1.5 * png.length });
  onTestFinished(() => proxy.close());
  const asked = async () => (await proxy.upload(png, { user: "another" })).status;
  expect((await proxy.upload(png)).status).toBe(201);
  expect(await asked()).toBe(503);
  // the alarms of this machine know nothing of the time that passes here: no file is deleted
  await proxy.pass(keepMs + DAY_MS - MINUTE_MS);
  expect(await asked()).toBe(503);
  await proxy.pass(2 * MINUTE_MS);
  expect(await asked()).toBe(201);
});

test("case 111: without a bound for all users, no object counts for all", async () => {
  const proxy = await startMediaProxy({ allBytes: false });
  onTestFinished(() => proxy.close());
  const { id } = (await (await proxy.upload(png)).json()) as { id: string };
  expect(await proxy.operations()).toMatchObject({ index: 2 });
  expect((await proxy.ask(`/v1/uploads/${id}`, { method: "DELETE" })).status).toBe(204);
  expect(await proxy.operations()).toMatchObject({ index: 5 });
});

describe("case 112: a film that was paid for", () => {
  test("waits for space for longer than it has attempts, and is copied when there is some", async () => {
    const proxy = await openArchive({}, { userBytes: film.length + 500 });
    const { id: inTheWay } = (await (await proxy.upload(png)).json()) as { id: string };
    const id = await proxy.create();
    await proxy.poll(id);
    await expect.poll(() => proxy.failures().length).toBeGreaterThan(6);
    expect(new Set(proxy.failures())).toHaveLength(1);
    expect(proxy.failures()[0]).toContain("the copy waits for space");
    await proxy.ask(`/v1/uploads/${inTheWay}`, { method: "DELETE" });
    await expect.poll(() => proxy.archived({ tasks: [id] })).toHaveLength(1);
  });

  test("is copied by its newest address, where the gateway signs it anew while it waits", async () => {
    const proxy = await openArchive({ retryMs: 5 * MINUTE_MS });
    proxy.points(() => `${proxy.files.url}/old.mp4`);
    const id = await proxy.create();
    await proxy.poll(id);
    await expect.poll(() => proxy.failures()).toHaveLength(1);
    proxy.points(() => `${proxy.files.url}/film.mp4`);
    const laterCopies = async () => {
      // an attempt may begin before the poll has told the new address; then it is the next one
      await proxy.pass(20 * MINUTE_MS + 1);
      await proxy.poll(id);
      return proxy.archived({ tasks: [id] });
    };
    await expect.poll(laterCopies).toHaveLength(1);
  });

  test("is copied also for a user who has had and deleted as many as a user may have", async () => {
    const proxy = await openArchive({}, { userFiles: 3 });
    for (const name of ["one", "two", "three"]) {
      const [copy] = await proxy.archived({ tasks: [await copied(proxy, name)] });
      expect((await proxy.ask(`/v1/uploads/${copy?.id}`, { method: "DELETE" })).status).toBe(204);
    }
    await copied(proxy, "four");
    expect(proxy.failures()).toEqual([]);
  });

  test("is dropped with an event that names task, copy and user, where too many wait before it", async () => {
    const proxy = await openArchive({}, { userFiles: 1 });
    proxy.files.serves("/held.mp4", () => {});
    await ended(proxy, "held");
    await ended(proxy, "late");
    await expect.poll(() => proxy.events()).toHaveLength(1);
    expect(proxy.events()).toEqual([
      {
        kind: "copy",
        outcome: "dropped",
        user: "user-1",
        id: expect.stringMatching(/^[\w-]{44}$/),
        taskId: "late",
        code: "too_many_copies",
      },
    ]);
    expect(proxy.failures()).toEqual([
      expect.stringMatching(/1 copies are waiting; dropped: task late, copy [\w-]{44}, user [0-9a-f]{64}/),
    ]);
  });

  test("is dropped with an event after its last attempt, too", async () => {
    const proxy = await openArchive();
    await ended(proxy, "absent");
    await expect.poll(() => proxy.events().at(-1)?.outcome).toBe("failed");
    expect(proxy.events().at(-1)).toMatchObject({ kind: "copy", taskId: "absent", code: "source_failed" });
    expect(proxy.failures().at(-1)).toMatch(/answered 404; dropped: task absent, copy/);
  });
});

describe("case 113: a part", () => {
  const whole = fileOf(starts.mp4, 2 * PART + 1000);
  const length = { "upload-length": String(whole.length) };

  async function begun() {
    const proxy = await startMediaProxy();
    onTestFinished(() => proxy.close());
    const first = await proxy.upload(whole.slice(0, PART), { headers: length });
    const path = `/v1/uploads/${((await first.json()) as { id: string }).id}`;
    return {
      ...proxy,
      ...holdPart(proxy, path, whole.slice(PART, 2 * PART), PART),
      send: (nth: number) =>
        proxy.upload(whole.slice(nth * PART, (nth + 1) * PART), {
          path,
          method: "PATCH",
          headers: { "upload-offset": String(nth * PART) },
        }),
    };
  }

  test("is taken from one request at a time, and stored once", async () => {
    const upload = await begun();
    const first = await upload.held();
    first.finish();
    expect(await (await first.answer).json()).toMatchObject({ offset: 2 * PART });
    const { url } = (await (await upload.send(2)).json()) as { url: string };
    expect(Buffer.compare(new Uint8Array(await (await fetch(url)).arrayBuffer()), whole)).toBe(0);
    expect(await upload.probe()).toEqual([409, "upload_offset", null]);
  });

  test("A part whose sender is gone without a word is free after minutes, and its late bytes are not taken", async () => {
    const upload = await begun();
    const first = await upload.held();
    await upload.pass(6 * MINUTE_MS + 1);
    expect(await upload.probe()).toEqual([400, "part_size", null]);
    first.finish();
    expect(await (await first.answer).json()).toMatchObject({ offset: PART });
    expect(await (await upload.send(1)).json()).toMatchObject({ offset: 2 * PART });
  });

  test("A part whose sender leaves is free for the next request", async () => {
    const upload = await begun();
    const first = await upload.held();
    first.cut();
    await expect(first.answer).rejects.toThrow();
    await expect.poll(upload.probe).toEqual([400, "part_size", null]);
    expect(await (await upload.send(1)).json()).toMatchObject({ offset: 2 * PART });
  });
});
