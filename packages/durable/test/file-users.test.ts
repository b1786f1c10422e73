import { createProxy } from "@sluice/worker-proxy";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { fileStore } from "../src/file-store/file-store.js";
import { nodeHost } from "../src/host/node.js";
import {
  createFile,
  firstBytes,
  openFileStore,
  PART_BYTES,
  png,
  readCode,
  SECRET,
} from "./support/file-store.js";

const mp4 = createFile(firstBytes.mp4, PART_BYTES + 1000);

describe("a user who is erased (case 123)", () => {
  test("has no file, no upload and no bytes left, and others have theirs", async () => {
    const files = openFileStore({ options: { maxFilesPerUser: 2 } });
    const { url } = await files.store(png);
    const { id: begun } = await files.begin(mp4);
    const { url: other } = await files.store(png, { user: "user-2" });
    const exported = await files.export();
    expect(exported.files).toHaveLength(2);
    expect(JSON.stringify(exported)).not.toMatch(/http|user-2/);
    await files.erase();
    await files.erase();
    expect(await files.export()).toEqual({ files: [], copies: [] });
    const statuses = [url, other].map(async (link) => (await files.request(link, { user: "" })).status);
    expect(await Promise.all(statuses)).toEqual([404, 200]);
    expect([files.keys().length, files.countUploads()]).toEqual([1, 0]);
    expect(await readCode(files.sendPart(begun, mp4, PART_BYTES))).toEqual([404, "not_found"]);
    // the space is free, and the user can upload again
    await files.store(png);
    expect((await files.list()).files).toHaveLength(1);
  });

  test.each([
    ["one clock", 0],
    ["a clock that is set back meanwhile", 3_600_000],
  ])("has nothing of an upload that runs meanwhile, wherever it stands, by %s", async (_, aheadMs) => {
    const files = openFileStore();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + aheadMs });
    onTestFinished(() => void vi.useRealTimers());
    const open = (file: Uint8Array<ArrayBuffer>, more: object = {}) => {
      let finish = () => {};
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(file.slice(0, -1));
          finish = () => {
            controller.enqueue(file.slice(-1));
            controller.close();
          };
        },
      });
      const headers = { "content-length": String(file.length), ...more };
      return { sent: files.upload(body, { headers }), finish: () => finish() };
    };
    // the first one has not sent enough to be known by its type
    const running = [
      open(png.slice(0, 400)),
      open(createFile(firstBytes.png, 200_000)),
      open(mp4.slice(0, PART_BYTES), { "upload-length": String(mp4.length) }),
    ];
    await expect.poll(async () => (await files.list()).files.length).toBe(3);
    vi.setSystemTime(Date.now() - aheadMs);
    await files.erase();
    expect(await files.list()).toEqual({ files: [] });
    for (const { finish, sent } of running) {
      finish();
      expect((await sent).status).toBe(404);
    }
    expect([await files.list(), files.keys(), files.countUploads()]).toEqual([{ files: [] }, [], 0]);
    await files.store(png);
  });

  test("has no file left whose parts are combined during the erasure", async () => {
    const files = openFileStore();
    const { id } = await files.begin(mp4);
    const release = files.hold("complete");
    const last = files.sendPart(id, mp4, PART_BYTES);
    await expect.poll(async () => (await files.list()).files[0]?.offset).toBe(mp4.length);
    await files.erase();
    release();
    expect((await last).status).toBe(404);
    expect([files.keys(), await files.list()]).toEqual([[], { files: [] }]);
  });

  test("has no file left, also with more files than one step of an erasure deletes", async () => {
    const files = openFileStore();
    for (let nth = 0; nth < 550; nth += 1) await files.store(png.slice(0, 64));
    const sizes: number[] = [];
    const remove = files.bucket.delete.bind(files.bucket);
    files.bucket.delete = async (keys) => {
      sizes.push(keys.length);
      await remove(keys);
    };
    await files.erase();
    expect([files.keys(), await files.export()]).toEqual([[], { files: [], copies: [] }]);
    expect(sizes).toEqual([100, 100, 100, 100, 100, 50]);
  });

  test("loses the remaining files at the next call if the bucket fails during the first", async () => {
    const files = openFileStore();
    for (let nth = 0; nth < 3; nth += 1) await files.store(png);
    const restore = files.fail("delete");
    await expect(files.erase()).rejects.toThrow();
    expect([await files.list(), files.keys().length]).toEqual([{ files: [] }, 3]);
    restore();
    await files.erase();
    expect(files.keys()).toEqual([]);
  });
});

test("an operator exports the files of a user over pages, and deletes one of them (case 123)", async () => {
  const { store, operate, request, keys, export: exportFiles } = openFileStore();
  const { id, url } = await store(png);
  for (let nth = 0; nth < 100; nth += 1) await store(png.slice(0, 64));
  expect((await exportFiles()).files).toHaveLength(101);
  const remove = (user: string) => operate("files/remove", { user, id });
  expect([await remove("user-2"), await remove("user-1"), await remove("user-1")]).toEqual([
    { removed: false },
    { removed: true },
    { removed: false },
  ]);
  expect([(await request(url)).status, keys().length]).toEqual([404, 100]);
  await expect(operate("files/remove", {})).rejects.toThrow("user: give a text");
});

describe("a setup that can't work", () => {
  const bucket = () => undefined;
  const secret = () => SECRET;

  test.each([
    [{}, "fileStore: bucket: give a function"],
    [{ bucket }, "fileStore: secret: give a function"],
    [{ bucket, secret, maxBytes: 0 }, "fileStore: maxBytes: give a whole number from 1 up"],
    [{ bucket, secret, maxBytes: 10 ** 12 }, "fileStore: maxBytes: give at most 83886080000"],
    [{ bucket, secret, publicURL: "app.example.com" }, "fileStore: publicURL: give the address"],
    [{ bucket, secret, keepMs: 1 }, "keepMs: is not an option of fileStore"],
    [{ bucket, secret, archive: "yes" }, "fileStore: archive: give true"],
    [{ bucket, secret, archive: { keepMs: 1 } }, "keepMs: is not an option of archive of fileStore"],
    [
      { bucket, secret, archive: { retentionMs: -1 } },
      "fileStore: archive: retentionMs: give a whole number",
    ],
  ])("is refused at its creation with the option's name: %o", (options, message) => {
    expect(() => fileStore(options as never)).toThrow(message);
  });

  test("is refused without a host, and for a second proxy", () => {
    const plugin = fileStore({ bucket, secret });
    const options = {
      baseURL: "https://gateway.example",
      apiKey: () => "key",
      authenticate: () => null,
      origins: [],
      models: ["delta-5.3"],
      plugins: [plugin],
    };
    expect(() => createProxy(options)).toThrow("host: a plugin stores data");
    const host = () => nodeHost({ file: ":memory:" });
    const first = host();
    createProxy({ ...options, host: first });
    const second = host();
    expect(() => createProxy({ ...options, host: second })).toThrow("fileStore: belongs to one proxy");
    return Promise.all([first.close(), second.close()]);
  });

  test("fails the health check by the binding and the secret that are missing", async () => {
    const { request, logs } = openFileStore({ options: { bucket, secret: () => "short" } });
    expect((await request("/health", { user: "" })).status).toBe(503);
    expect(logs.join("\n")).toMatch(/fileStore: bucket: its binding is missing/);
    expect(logs.join("\n")).toMatch(/fileStore: secret: give at least 32 random characters/);
  });
});
