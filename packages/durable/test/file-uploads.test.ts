import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { folderBucket } from "../src/buckets/folder/index.js";
import { createAttempts } from "./support/attempts.js";
import {
  createFile,
  DAY_MS,
  firstBytes,
  holdBody,
  MINUTE_MS,
  openFileStore,
  PART_BYTES,
  png,
  readBytes,
  readCode,
  type Upload,
  useClock,
} from "./support/file-store.js";

describe("a file", () => {
  test("is stored with the type of its bytes, and its link gives it to everyone", async () => {
    const { store, request } = openFileStore();
    const { url, type, id } = await store(png);
    expect(type).toBe("image/png");
    expect(url).toMatch(/^https:\/\/app\.example\/api\/v1\/media\/[\w-]+$/);
    const response = await request(url, { user: "" });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-length": "1000",
      "x-content-type-options": "nosniff",
      "content-disposition": `inline; filename="${id.slice(0, 8)}.png"`,
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "cross-origin",
      "cache-control": expect.stringMatching(/^private, max-age=\d{4,}, immutable$/),
      "accept-ranges": "bytes",
    });
    expect(await readBytes(response)).toEqual(png);
  });

  test("can be read in ranges, requested by HEAD, and cached", async () => {
    const { store, request } = openFileStore();
    const { url } = await store(png);
    const part = await request(url, { user: "", headers: { range: "bytes=10-19" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 10-19/1000"]);
    expect(await readBytes(part)).toEqual(png.slice(10, 20));
    const beyond = await request(url, { user: "", headers: { range: "bytes=5000-" } });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */1000"]);
    const head = await request(url, { user: "", method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "1000", ""]);
    expect(head.headers.get("cache-control")).toContain("immutable");
  });

  test("has the same link for a while, and its owner alone can look it up and delete it (case 71)", async () => {
    const { store, request, keys } = openFileStore();
    const { id, url } = await store(png);
    const path = `/v1/uploads/${id}`;
    expect(await (await request(path)).json()).toMatchObject({ id, url, bytes: 1000, offset: 1000 });
    for (const method of ["GET", "DELETE"])
      expect((await request(path, { user: "user-2", method })).status).toBe(404);
    expect((await request(path, { method: "DELETE" })).status).toBe(204);
    expect([(await request(path)).status, (await request(url)).status, keys()]).toEqual([404, 404, []]);
    expect((await request(path, { method: "DELETE" })).status).toBe(404);
  });

  test("is deleted after its retention time without any request (case 75)", async () => {
    const clock = useClock();
    const { store, request, keys, list } = openFileStore();
    const { url } = await store(png);
    await clock.pass(DAY_MS - MINUTE_MS);
    expect((await request(url)).status).toBe(200);
    await clock.pass(2 * MINUTE_MS);
    expect([(await request(url)).status, await list()]).toEqual([404, { files: [] }]);
    await expect.poll(keys).toEqual([]);
  });

  test("is deleted later if its deletion has ended the process three times (case 75)", async () => {
    const clock = useClock();
    const { plugin, cutAttempts } = createAttempts();
    const { store, keys, logs } = openFileStore({ before: [plugin] });
    await store(png);
    await cutAttempts("files/sweep", 3);
    await clock.pass(DAY_MS + MINUTE_MS);
    expect(logs.join()).toContain(
      "job files/sweep, attempt 4: Error: its last 3 attempts ended their process, or lost the database",
    );
    expect(keys()).toHaveLength(1);
    // the pause of the next sweep begins when the end of the last one is stored, which is after its line in the log
    await vi.waitFor(async () => {
      await clock.pass(11 * MINUTE_MS);
      expect(keys()).toEqual([]);
    });
  });

  test("is refused if its type is unknown, markup, or not its content type (case 70)", async () => {
    const { upload, keys } = openFileStore();
    const types = ["<!doctype html><p>", "<svg xmlns=''>", "MZ\u0001\u0002"];
    for (const start of types)
      expect(await readCode(upload(createFile(start, 600)))).toEqual([415, "file_type"]);
    expect(await readCode(upload(png, { headers: { "content-type": "image/png" } }))).toEqual([
      415,
      "unsupported_media_type",
    ]);
    expect(keys()).toEqual([]);
  });

  test("is served as a text download, even if HTML follows further down (case 74)", async () => {
    const { store, request } = openFileStore();
    const text = `${"a line of text\n".repeat(100)}<script>alert(1)</script>`;
    const { url } = await store(new Uint8Array(new TextEncoder().encode(text)));
    const response = await request(url);
    expect(await response.text()).toBe(text);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/plain",
      "x-content-type-options": "nosniff",
      "content-disposition": expect.stringMatching(/^attachment;/),
      "content-security-policy": "default-src 'none'; sandbox",
    });
  });

  test("is refused and takes no space if it breaks off, has no length or is too large", async () => {
    const { upload, store, keys } = openFileStore({ options: { maxBytes: 2000, maxFilesPerUser: 1 } });
    const cut = { headers: { "content-length": "1500" } };
    expect(await readCode(upload(png, cut))).toEqual([400, "upload_cut"]);
    expect(await readCode(upload(new Blob([png]).stream()))).toEqual([411, "length_required"]);
    expect(await readCode(upload(createFile(firstBytes.png, 2001)))).toEqual([413, "file_too_large"]);
    expect(keys()).toEqual([]);
    await store(png);
  });
});

describe("an upload in parts", () => {
  const whole = createFile(firstBytes.mp4, PART_BYTES + 1000);

  test("gives the file back, whole and in order", async () => {
    const { begin, sendPart, request, countUploads } = openFileStore();
    const { id, offset, url } = await begin(whole);
    expect([offset, url]).toEqual([PART_BYTES, undefined]);
    const done = (await (await sendPart(id, whole, PART_BYTES)).json()) as Upload;
    expect(done).toMatchObject({ id, bytes: whole.length, offset: whole.length, type: "video/mp4" });
    expect(Buffer.compare(await readBytes(await request(done.url)), whole)).toBe(0);
    expect(countUploads()).toBe(0);
  });

  test("sends at most 8 MiB in a request: a larger body is refused before it is read", async () => {
    const { upload, keys, list } = openFileStore();
    expect(await readCode(upload(whole))).toEqual([400, "part_size"]);
    expect([keys(), await list()]).toEqual([[], { files: [] }]);
  });

  test("accepts a part once, even if it is sent five times at once, and no part of a complete file (case 73)", async () => {
    const { begin, sendPart, request } = openFileStore();
    const { id } = await begin(whole);
    const sent = await Promise.all(Array.from({ length: 5 }, () => sendPart(id, whole, PART_BYTES)));
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(sent.filter(({ status }) => status === 409)).toHaveLength(4);
    const { url } = (await (await request(`/v1/uploads/${id}`)).json()) as Upload;
    expect(Buffer.compare(await readBytes(await request(url)), whole)).toBe(0);
    expect(await readCode(sendPart(id, whole, PART_BYTES))).toEqual([409, "upload_offset"]);
    expect(await readCode(sendPart(id, whole, 0))).toEqual([409, "upload_offset"]);
  });

  test("refuses a part of another user, of another size, at another offset or after its deletion (case 73)", async () => {
    const { begin, sendPart, upload, request, countUploads } = openFileStore();
    const { id } = await begin(whole);
    expect(await readCode(sendPart(id, whole, PART_BYTES, "user-2"))).toEqual([404, "not_found"]);
    expect(await readCode(sendPart(id, whole, 0))).toEqual([409, "upload_offset"]);
    const path = `/v1/uploads/${id}`;
    const short = { path, method: "PATCH", headers: { "upload-offset": String(PART_BYTES) } };
    expect(await readCode(upload(png, { ...short, headers: { "upload-offset": "1e3" } }))).toEqual([
      400,
      "invalid_request",
    ]);
    expect(await readCode(upload(whole.slice(0, 999), short))).toEqual([400, "part_size"]);
    expect((await request(path, { method: "DELETE" })).status).toBe(204);
    expect(await readCode(sendPart(id, whole, PART_BYTES))).toEqual([404, "not_found"]);
    expect(countUploads()).toBe(0);
  });

  test("refuses a second request for a part in flight, and frees the part when its sender fails (case 113)", async () => {
    const { begin, sendPart, upload } = openFileStore();
    const { id } = await begin(whole);
    const { body, headers, finish } = holdBody(whole.slice(PART_BYTES));
    const target = { path: `/v1/uploads/${id}`, method: "PATCH" };
    const offset = { "upload-offset": String(PART_BYTES) };
    const first = upload(body, { ...target, headers: { ...headers, ...offset } });
    const second = async () => {
      const response = await upload(png, { ...target, headers: offset });
      return [response.headers.get("retry-after"), ...(await readCode(response))];
    };
    await expect.poll(second).toEqual(["5", 409, "upload_in_flight"]);
    finish();
    expect((await first).status).toBe(200);
    const other = await begin(whole);
    const cut = {
      ...target,
      path: `/v1/uploads/${other.id}`,
      headers: { ...offset, "content-length": "1000" },
    };
    expect((await upload(png.slice(0, 10), cut)).status).toBe(400);
    expect((await sendPart(other.id, whole, PART_BYTES)).status).toBe(200);
  });

  test("drops late bytes of a sender that was silent for minutes once another request sends the part (case 113)", async () => {
    const clock = useClock();
    const { begin, upload, sendPart } = openFileStore();
    const long = createFile(firstBytes.mp4, 2 * PART_BYTES + 1000);
    const { id } = await begin(long);
    const path = `/v1/uploads/${id}`;
    const { body, headers, finish } = holdBody(long.slice(PART_BYTES, 2 * PART_BYTES));
    const offset = { "upload-offset": String(PART_BYTES) };
    const late = upload(body, { path, method: "PATCH", headers: { ...headers, ...offset } });
    const short = () => readCode(upload(png, { path, method: "PATCH", headers: offset }));
    await expect.poll(short).toEqual([409, "upload_in_flight"]);
    await clock.pass(6 * MINUTE_MS);
    expect(await short()).toEqual([400, "part_size"]);
    finish();
    expect(await (await late).json()).toMatchObject({ offset: PART_BYTES });
    expect(await (await sendPart(id, long, PART_BYTES)).json()).toMatchObject({ offset: 2 * PART_BYTES });
  });

  test.each([
    ["was completed meanwhile by another request", 409, "upload_offset"],
    ["was deleted meanwhile", 404, "not_found"],
  ] as const)("a part of an upload that %s is no fault of the bucket (case 122)", async (_, status, code) => {
    const clock = useClock();
    const { begin, upload, sendPart, request, logs } = openFileStore();
    const { id } = await begin(whole);
    const path = `/v1/uploads/${id}`;
    const { body, headers, finish } = holdBody(whole.slice(PART_BYTES));
    const offset = { "upload-offset": String(PART_BYTES) };
    const late = upload(body, { path, method: "PATCH", headers: { ...headers, ...offset } });
    const second = () => readCode(upload(png.slice(0, 9), { path, method: "PATCH", headers: offset }));
    await expect.poll(second).toEqual([409, "upload_in_flight"]);
    if (status === 404) expect((await request(path, { method: "DELETE" })).status).toBe(204);
    else {
      await clock.pass(6 * MINUTE_MS);
      expect((await sendPart(id, whole, PART_BYTES)).status).toBe(200);
    }
    finish();
    let result: unknown;
    void readCode(late).then((found) => {
      result = found;
    });
    // the abort makes the bucket fail, and the store handles that error after a timer
    const respond = async () => {
      await clock.run(10);
      return result;
    };
    await expect.poll(respond).toEqual([status, code]);
    expect(logs).toEqual([]);
  });

  test("continues after a part that the bucket stored and whose request failed, and after a lost end", async () => {
    const { begin, sendPart, fail, request } = openFileStore();
    const { id } = await begin(whole);
    const restore = fail("complete");
    expect((await sendPart(id, whole, PART_BYTES)).status).toBe(503);
    expect(await (await request(`/v1/uploads/${id}`)).json()).toMatchObject({ offset: whole.length });
    restore();
    // all parts are stored: an empty request at the end completes the file
    const done = await request(`/v1/uploads/${id}`, {
      method: "PATCH",
      headers: { "upload-offset": String(whole.length) },
    });
    const { url } = (await done.json()) as Upload;
    expect(Buffer.compare(await readBytes(await request(url)), whole)).toBe(0);
  });

  test("ends when it stalls, frees its space, and reports an event (cases 111, 124)", async () => {
    const clock = useClock();
    const { begin, request, countUploads, jobEvents, store } = openFileStore({
      options: { maxFilesPerUser: 1 },
    });
    const { id, expiresAt } = await begin(whole);
    expect(expiresAt - Date.now()).toBeLessThanOrEqual(10 * MINUTE_MS);
    await clock.pass(10 * MINUTE_MS + 1000);
    expect([(await request(`/v1/uploads/${id}`)).status, countUploads()]).toEqual([404, 0]);
    expect(jobEvents()).toEqual([
      {
        type: "job",
        job: "upload",
        id,
        outcome: "dropped",
        code: "upload_unfinished",
        bytes: whole.length,
        userId: "user-1",
      },
    ]);
    await store(png);
  });

  test("stays open as long as parts arrive, and its retention begins with the last part (case 111)", async () => {
    const clock = useClock();
    const { begin, sendPart, request } = openFileStore({ options: { retentionMs: 60 * MINUTE_MS } });
    const long = createFile(firstBytes.mp4, 2 * PART_BYTES + 1000);
    const { id } = await begin(long);
    await clock.pass(9 * MINUTE_MS);
    expect(await (await sendPart(id, long, PART_BYTES)).json()).toMatchObject({ offset: 2 * PART_BYTES });
    await clock.pass(9 * MINUTE_MS);
    const { url, storedUntil } = (await (await sendPart(id, long, 2 * PART_BYTES)).json()) as Upload;
    expect(storedUntil - Date.now()).toBe(60 * MINUTE_MS);
    await clock.pass(50 * MINUTE_MS);
    expect((await request(url)).status).toBe(200);
  });

  test("ends a request at its deadline if its bytes stop (case 121)", async () => {
    const clock = useClock();
    const { upload, keys, list } = openFileStore();
    const { body, headers } = holdBody(png);
    let code: unknown;
    void readCode(upload(body, { headers })).then((late) => {
      code = late;
    });
    await expect.poll(async () => (await list()).files).toHaveLength(1);
    await clock.run(4 * MINUTE_MS);
    expect(code).toBeUndefined();
    await clock.run(2 * MINUTE_MS);
    const readCodeLater = async () => {
      await clock.run(100);
      return code;
    };
    await expect.poll(readCodeLater).toEqual([400, "upload_cut"]);
    expect([keys(), await list()]).toEqual([[], { files: [] }]);
  });
});

describe("a list of files", () => {
  test("lists each of 205 files once, over pages, and accepts only its cursor as query (case 123)", async () => {
    const { store, list, request } = openFileStore();
    const ids = new Set<string>();
    for (let nth = 0; nth < 205; nth += 1) ids.add((await store(png.slice(0, 64))).id);
    await store(png, { user: "user-2" });
    const found: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const page: Awaited<ReturnType<typeof list>> = await list("user-1", cursor);
      found.push(...page.files.map(({ id }) => id));
      sizes.push(page.files.length);
      cursor = page.next;
    }
    expect([sizes, new Set(found)]).toEqual([[100, 100, 5], ids]);
    const queries = [
      "?",
      "?cursor=",
      "?cursor=a&b=c",
      "?limit=5",
      `?cursor=${"a".repeat(100)}`,
      "?cursor=a%00",
    ];
    for (const query of queries) expect((await request(`/v1/uploads${query}`)).status).toBe(400);
    expect((await request("/v1/uploads", { user: "" })).status).toBe(401);
  });

  test("lists unfinished files with their offset and without a link (case 123)", async () => {
    const { store, begin, list } = openFileStore();
    const { id } = await begin(createFile(firstBytes.mp4, PART_BYTES + 1));
    await store(png);
    const { files } = await list();
    expect(files.find((file) => file.id === id)).toMatchObject({ offset: PART_BYTES, bytes: PART_BYTES + 1 });
    expect(files.map(({ url }) => url !== undefined).sort()).toEqual([false, true]);
  });
});

test("each upload has one event at its end, with its user and its size, and none for a part (case 124)", async () => {
  const whole = createFile(firstBytes.mp4, PART_BYTES + 1000);
  const { store, begin, sendPart, upload, fail, request, jobEvents } = openFileStore();
  const { id: small } = await store(png);
  const { id: large } = await begin(whole);
  await sendPart(large, whole, PART_BYTES);
  const { id: stopped } = await begin(whole);
  await request(`/v1/uploads/${stopped}`, { method: "DELETE" });
  fail("put");
  expect(await readCode(upload(png))).toEqual([503, "media_unavailable"]);
  const event = { type: "job", job: "upload", userId: "user-1" };
  expect(jobEvents()).toEqual([
    { ...event, id: small, outcome: "complete", bytes: 1000 },
    { ...event, id: large, outcome: "complete", bytes: whole.length },
    { ...event, id: stopped, outcome: "stopped", bytes: whole.length },
    { ...event, id: expect.any(String), outcome: "error", bytes: 1000, code: "media_unavailable" },
  ]);
});

test("a receiver of events that throws changes nothing (case 124)", async () => {
  const onEvent = () => {
    throw new Error("the log is broken");
  };
  const { store, request } = openFileStore({ before: [definePlugin({ onEvent })] });
  const { id, url } = await store(png);
  expect(await readBytes(await request(url))).toEqual(png);
  expect((await request(`/v1/uploads/${id}`, { method: "DELETE" })).status).toBe(204);
});

test("a folder of the machine serves as the bucket", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { begin, sendPart, request } = openFileStore({ bucket: folderBucket(folder) });
  const whole = createFile(firstBytes.mp4, PART_BYTES + 1000);
  const { id } = await begin(whole);
  const { url } = (await (await sendPart(id, whole, PART_BYTES)).json()) as Upload;
  expect(Buffer.compare(await readBytes(await request(url)), whole)).toBe(0);
  expect((await request(`/v1/uploads/${id}`, { method: "DELETE" })).status).toBe(204);
  expect((await request(url)).status).toBe(404);
  expect((await readdir(folder)).length).toBeGreaterThan(0);
});
