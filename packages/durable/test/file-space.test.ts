import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createFile,
  DAY_MS,
  firstBytes,
  MINUTE_MS,
  openFileStore,
  PART_BYTES,
  png,
  readCode,
  type Upload,
  useClock,
} from "./support/file-store.js";

describe("the space of a user", () => {
  test("is never exceeded, even by 20 uploads at once, and deleting a file frees space (case 72)", async () => {
    const { upload, request, keys, store } = openFileStore({ options: { maxBytesPerUser: 3500 } });
    const responses = await Promise.all(Array.from({ length: 20 }, () => upload(png)));
    const stored = responses.filter(({ status }) => status === 201);
    const codes = await Promise.all(responses.filter(({ status }) => status !== 201).map(readCode));
    expect([stored.length, keys().length]).toEqual([3, 3]);
    expect(codes).toEqual(Array(17).fill([413, "storage_full"]));
    const [first] = (await Promise.all(stored.map((response) => response.json()))) as Upload[];
    await request(`/v1/uploads/${first?.id}`, { method: "DELETE" });
    await store(png);
    await store(png, { user: "user-2" });
  });

  test("limits the number of files, and counts the whole size of an upload from its start (case 72)", async () => {
    const whole = createFile(firstBytes.mp4, PART_BYTES + 1000);
    const few = openFileStore({ options: { maxFilesPerUser: 1 } });
    await few.store(png);
    expect(await readCode(few.upload(png))).toEqual([413, "too_many_files"]);
    const small = openFileStore({ options: { maxBytesPerUser: PART_BYTES + 1500 } });
    const { id } = await small.begin(whole);
    expect(await readCode(small.upload(png))).toEqual([413, "storage_full"]);
    expect((await small.sendPart(id, whole, PART_BYTES)).status).toBe(200);
  });
});

test("the space of a file is free once the bucket has deleted it, and not before", async () => {
  const clock = useClock();
  const bounds = { maxBytesPerUser: 1500, retentionMs: 60 * MINUTE_MS };
  const { store, request, upload, fail, logs, jobEvents, keys } = openFileStore({ options: bounds });
  const { id } = await store(png);
  const restore = fail("delete");
  const deleted = await request(`/v1/uploads/${id}`, { method: "DELETE" });
  expect(await readCode(deleted)).toEqual([503, "media_unavailable"]);
  expect((await request(`/v1/uploads/${id}`)).status).toBe(404);
  await clock.pass(2 * MINUTE_MS);
  const event = { job: "upload", outcome: "retrying", code: "not_deleted" };
  const last = () => jobEvents().findLast((one) => one.id === id);
  await expect.poll(last).toMatchObject({ ...event, attempts: 1 });
  expect(logs.join("\n")).toMatch(/did not delete 1 files; another attempt follows: Error: the bucket/);
  expect(await readCode(upload(png))).toEqual([413, "storage_full"]);
  await clock.pass(11 * MINUTE_MS);
  await expect.poll(last).toMatchObject({ ...event, attempts: 2 });
  restore();
  await clock.pass(21 * MINUTE_MS);
  await expect.poll(keys).toEqual([]);
  await expect.poll(async () => (await upload(png)).status).toBe(201);
});

describe("a process that ends", () => {
  /** Opens a store on a database file. Its process can end in the middle of its work. */
  async function openEnding(options: object = {}) {
    const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "rows.db");
    const first = openFileStore({ options, file });
    const restart = async () => {
      await first.close();
      return openFileStore({ options, file, bucket: first.bucket });
    };
    return { first, restart };
  }

  test("after it reserved space and before it stored bytes uses no space", async () => {
    const clock = useClock();
    const { first, restart } = await openEnding({ maxBytesPerUser: 1500 });
    const { put } = first.bucket;
    first.bucket.put = () => new Promise(() => {});
    first.upload(png).catch(() => {});
    await expect.poll(async () => (await first.list()).files.length).toBe(1);
    first.bucket.put = put;
    const second = await restart();
    expect(await readCode(second.upload(png))).toEqual([413, "storage_full"]);
    await clock.pass(17 * MINUTE_MS);
    await expect.poll(async () => (await second.upload(png)).status).toBe(201);
  });

  test("after it stored bytes and before it stored the row leaves no file in the bucket (case 154)", async () => {
    const clock = useClock();
    const { first, restart } = await openEnding();
    const put = first.bucket.put.bind(first.bucket);
    // the bytes are stored, and the process ends before it can tell
    first.bucket.put = async (...file) => {
      await put(...file);
      await new Promise(() => {});
    };
    first.upload(png).catch(() => {});
    await expect.poll(first.keys).toHaveLength(1);
    const second = await restart();
    await clock.pass(17 * MINUTE_MS);
    await expect.poll(first.keys).toEqual([]);
    expect(await second.list()).toEqual({ files: [] });
  });

  test("leaves no parts of its unfinished upload in the bucket (case 154)", async () => {
    const clock = useClock();
    const { first, restart } = await openEnding();
    await first.begin(createFile(firstBytes.mp4, 2 * PART_BYTES));
    await restart();
    expect(first.countUploads()).toBe(1);
    await clock.pass(11 * MINUTE_MS);
    await expect.poll(first.countUploads).toBe(0);
  });

  test("after it deleted a file and before it deleted the row frees the space", async () => {
    const clock = useClock();
    const { first, restart } = await openEnding({ maxBytesPerUser: 1500 });
    const { id } = await first.store(png);
    const remove = first.bucket.delete.bind(first.bucket);
    first.bucket.delete = async (keys) => {
      await remove(keys);
      await new Promise(() => {});
    };
    first.request(`/v1/uploads/${id}`, { method: "DELETE" }).catch(() => {});
    await expect.poll(first.keys).toEqual([]);
    first.bucket.delete = remove;
    const second = await restart();
    await clock.pass(2 * MINUTE_MS);
    await expect.poll(async () => (await second.upload(png)).status).toBe(201);
  });
});

test("bytes that arrive after their upload was deleted are deleted, too", async () => {
  const clock = useClock();
  const { upload, keys, list, request, hold } = openFileStore();
  const release = hold("put");
  const sent = upload(png);
  await expect.poll(async () => (await list()).files.length).toBe(1);
  const [file] = (await list()).files;
  expect((await request(`/v1/uploads/${file?.id}`, { method: "DELETE" })).status).toBe(204);
  release();
  expect((await sent).status).toBe(404);
  expect(keys()).toEqual([]);
  await clock.pass(DAY_MS);
  expect([keys(), await list()]).toEqual([[], { files: [] }]);
});

test.each(["deleted", "erased with its user"])(
  "bytes that arrive after their upload was %s, in a process that ends then, count until they are deleted, too (cases 123, 154)",
  async (how) => {
    const clock = useClock();
    const bounds = { maxBytesPerUser: 1500 };
    const { upload, keys, list, request, erase, bucket, countBytes } = openFileStore({ options: bounds });
    const put = bucket.put.bind(bucket);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    bucket.put = async (...file) => {
      await released;
      await put(...file);
      await new Promise(() => {});
    };
    upload(png).catch(() => {});
    await expect.poll(async () => (await list()).files.length).toBe(1);
    const [file] = (await list()).files;
    if (how === "deleted")
      expect((await request(`/v1/uploads/${file?.id}`, { method: "DELETE" })).status).toBe(204);
    else await erase();
    expect(await list()).toEqual({ files: [] });
    const expectNoSpace = async () => expect(await readCode(upload(png))).toEqual([413, "storage_full"]);
    await expectNoSpace();
    release();
    await expect.poll(keys).toHaveLength(1);
    await clock.pass(5 * MINUTE_MS);
    await expectNoSpace();
    await clock.pass(2 * MINUTE_MS);
    await expect.poll(keys).toEqual([]);
    bucket.put = put;
    await expect.poll(async () => (await upload(png)).status).toBe(201);
    expect(countBytes()).toBe(png.length);
  },
);

test("deletes hundreds of expired files in steps, and counts each until it is deleted (case 110)", async () => {
  const clock = useClock();
  const { store, upload, bucket, keys } = openFileStore({ options: { maxFilesPerUser: 250 } });
  for (let nth = 0; nth < 250; nth += 1) await store(png.slice(0, 64));
  const sizes: number[] = [];
  const remove = bucket.delete.bind(bucket);
  bucket.delete = async (names) => {
    sizes.push(names.length);
    await remove(names);
  };
  expect(await readCode(upload(png))).toEqual([413, "too_many_files"]);
  await clock.pass(DAY_MS + MINUTE_MS);
  const left = async () => {
    await clock.pass(1000);
    return keys();
  };
  await expect.poll(left).toEqual([]);
  expect(sizes).toEqual([100, 100, 50]);
  await store(png);
});

test("a user without files has no rows and no timer left", async () => {
  const clock = useClock();
  const folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "rows.db");
  const { store, keys, close } = openFileStore({ file });
  await store(png);
  await clock.pass(DAY_MS + MINUTE_MS);
  await expect.poll(keys).toEqual([]);
  await close();
  const database = new DatabaseSync(file);
  const count = (table: string) => database.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get()?.["n"];
  const tables = ["files", "file_users", "file_parts", "timers"];
  expect(tables.map(count)).toEqual([0, 0, 0, 0]);
  database.close();
});
