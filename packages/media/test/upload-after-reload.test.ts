import type { ClientEvent, ClientOptions, RecordStorage } from "@sluice/core";
import { createUploadStore, uploadMedia } from "@sluice/media";
import { memoryStorage } from "@sluice/stores";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { catchError, createTestClient, shows, stoppedClock } from "../../core/test/support/gateway.js";
import { createRefusal, createUploads, PART_SIZE, useSmallParts } from "./support/uploads.js";

useSmallParts();

const SIZE = 2 * PART_SIZE + 5;
const date = { lastModified: 1_790_000_000_000, type: "video/mp4" };

/** Creates a video of zeros, except for the byte at `at`. */
function createVideo({
  name = "clip.mp4",
  at = Number.NaN,
  size = SIZE,
  lastModified = date.lastModified,
} = {}) {
  const bytes = new Uint8Array(size);
  bytes[at] = 7;
  return new File([bytes], name, { ...date, lastModified });
}

/** Creates a proxy and the pages of one browser. Each page has its own client. */
function createBrowser(storage: RecordStorage = memoryStorage()) {
  const uploads = createUploads();
  const clock = stoppedClock();
  const events: ClientEvent[] = [];
  return { uploads, storage, clock, events, open, leave: startAndLeave };

  function open(settings: Partial<ClientOptions> = {}) {
    const onEvent = (event: ClientEvent) => events.push(event);
    const { client } = createTestClient((request) => uploads.respond(request), {
      clock,
      random: () => 1,
      onEvent,
      baseURL: "https://app.test",
      ...settings,
    });
    uploads.log.length = 0;
    const upload = (file: Blob, recordStorage: RecordStorage = storage) =>
      clock.advanceUntil(uploadMedia(client, file, { storage: recordStorage }), 100);
    return { client, upload };
  }

  /** Uploads the first part of a file, and closes the page. */
  async function startAndLeave(file: File, page = open()) {
    const stop = new AbortController();
    const began = uploadMedia(page.client, file, {
      storage,
      signal: stop.signal,
      onProgress: ({ loadedBytes }) => loadedBytes > 0 && stop.abort(new Error("closed")),
    });
    await expect(clock.advanceUntil(began, 100)).rejects.toThrow("closed");
  }
}

const onward = ["GET", `PATCH ${PART_SIZE}+${PART_SIZE}`, `PATCH ${2 * PART_SIZE}+5`];
const anew = [`POST 0+${PART_SIZE}`, `PATCH ${PART_SIZE}+${PART_SIZE}`, `PATCH ${2 * PART_SIZE}+5`];

describe("an upload with a storage", () => {
  test("An upload continues after a reload", async () => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo());
    const { id } = await open().upload(createVideo());
    expect(uploads.log).toEqual(onward);
    expect(uploads.files.get(id)?.content.length).toBe(SIZE);
  });

  test("A file that an earlier page has uploaded is not sent again", async () => {
    const { open, uploads } = createBrowser();
    const { id } = await open().upload(createVideo());
    expect((await open().upload(createVideo())).id).toBe(id);
    expect(uploads.log).toEqual(["GET"]);
  });

  test.each([
    ["first bytes", { at: 0 }],
    ["last bytes", { at: SIZE - 1 }],
    ["date", { lastModified: 1 }],
    ["size", { size: SIZE + 1 }],
    ["name", { name: "other.mp4" }],
  ])("A file with other %s does not continue an upload", async (_, changes) => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo());
    await open().upload(createVideo(changes));
    expect(uploads.log[0]).toBe(`POST 0+${PART_SIZE}`);
    expect(uploads.files.size).toBe(2);
  });

  test("An upload that the proxy no longer has begins again, and its new id is stored", async () => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo());
    uploads.files.clear();
    await open().upload(createVideo());
    expect(uploads.log).toEqual(["GET", "GET", ...anew]);
    await open().upload(createVideo());
    expect(uploads.log).toEqual(["GET"]);
  });

  test.each([
    ["a 404", () => createRefusal(404, "not_found")],
    ["a page of HTML", () => new Response("<h1>Sign in</h1>")],
    ["a lost connection", () => Promise.reject(new TypeError("fetch failed"))],
  ])("One look-up with %s does not lose what an earlier page has uploaded", async (_, respond) => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo());
    const page = open();
    uploads.failures.push(respond);
    await page.upload(createVideo());
    expect(uploads.log).toEqual(["GET", ...onward]);
  });

  test("An upload at another proxy, without the storage, or of a Blob begins at its start", async () => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo());
    await open({ baseURL: "https://other.test" }).upload(createVideo());
    expect(uploads.log).toEqual(anew);
    await open().upload(createVideo(), memoryStorage());
    expect(uploads.log).toEqual(anew);
    // such files can't be told apart
    for (const page of [open(), open()]) {
      uploads.log.length = 0;
      await page.upload(new Blob([createVideo()]));
      expect(uploads.log).toEqual(anew);
    }
  });

  test("Another user of the browser does not continue an upload", async () => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo(), open({ user: "ann" }));
    await open({ user: "bob" }).upload(createVideo());
    expect(uploads.log).toEqual(anew);
    await open({ user: "ann" }).upload(createVideo());
    expect(uploads.log).toEqual(onward);
  });

  test("Two tabs with one file store it completely, and each gets a URL", async () => {
    const { leave: startAndLeave, open, uploads } = createBrowser();
    await startAndLeave(createVideo());
    const [one, two] = await Promise.all([open().upload(createVideo()), open().upload(createVideo())]);
    expect(one.id).toBe(two.id);
    expect([...uploads.files.values()].map(({ content }) => content.length)).toEqual([SIZE]);
  });

  test.each([
    ["refuses", () => Promise.reject(new DOMException("full", "QuotaExceededError"))],
    ["never responds", () => new Promise<never>(() => {})],
  ])("A storage that %s is reported, and the file is uploaded", async (_, respond) => {
    const { open, uploads, events, clock } = createBrowser({
      ...memoryStorage(),
      read: respond,
      write: respond,
    });
    const page = open();
    await page.upload(createVideo());
    await clock.advance(10_000);
    expect(uploads.log).toEqual(anew);
    expect(events.filter(({ type }) => type === "storage-error").length).toBeGreaterThan(0);
  });

  test("A storage with invalid records counts as empty", async () => {
    const { leave: startAndLeave, open, uploads, storage, events } = createBrowser();
    await startAndLeave(createVideo());
    for (const [key] of await storage.read("uploads/https://app.test"))
      for (const record of [
        null,
        7,
        {},
        { id: "../x", at: 1, until: 1e15 },
        { id: "file-1", at: "now", until: 1e15 },
        { id: "file-1", at: 1, until: "later" },
      ]) {
        await storage.write("uploads/https://app.test", new Map([[key, record]]));
        events.length = 0;
        await open().upload(createVideo());
        expect(uploads.log).toEqual(anew);
        // no other requests, such as one to a path from the record
        expect(events.filter(({ type }) => type === "request")).toHaveLength(anew.length);
      }
  });

  test("A storage never contains bytes or names of files, and at most 100 uploads", async () => {
    const { open, storage } = createBrowser();
    const old = Array.from(
      { length: 1000 },
      (_, at) => [`old-${at}`, { id: `f-${at}`, at, until: 1e15 }] as const,
    );
    await storage.write("uploads/https://app.test", new Map(old));
    await open().upload(createVideo());
    const stored = await storage.read("uploads/https://app.test");
    expect(stored.size).toBe(100);
    expect(stored.has("old-999")).toBe(true);
    const [record] = [...stored].filter(([key]) => !key.startsWith("old-"));
    expect(record?.[0]).toMatch(/^[\da-f]{64}$/);
    expect(Object.keys(record?.[1] as object)).toEqual(["id", "at", "until"]);
  });

  test("An upload is written at its start and at its end, and not with each part", async () => {
    const storage = memoryStorage();
    let writes = 0;
    const counting: RecordStorage = {
      ...storage,
      write(collection, records) {
        writes += 1;
        return storage.write(collection, records);
      },
    };
    const { open, uploads } = createBrowser(counting);
    await open().upload(createVideo());
    expect([uploads.log, writes]).toEqual([anew, 2]);
  });

  test("An expired upload is not continued, and its record is removed", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { leave: startAndLeave, open, uploads, storage } = createBrowser();
    await startAndLeave(createVideo());
    await startAndLeave(createVideo({ name: "other.mp4" }));
    vi.setSystemTime(Date.now() + 86_400_000);
    await open().upload(createVideo());
    expect(uploads.log).toEqual(anew);
    expect((await storage.read("uploads/https://app.test")).size).toBe(1);
  });

  test("The progress of a continued upload begins at 0, and then jumps to the stored bytes", async () => {
    const { leave: startAndLeave, open, storage, clock } = createBrowser();
    await startAndLeave(createVideo());
    const shares: number[] = [];
    const onProgress = ({ loadedBytes }: { readonly loadedBytes: number }) => shares.push(loadedBytes);
    await clock.advanceUntil(uploadMedia(open().client, createVideo(), { storage, onProgress }), 100);
    expect(shares).toEqual([0, PART_SIZE, 2 * PART_SIZE, SIZE]);
  });

  test("An upload store continues after a reload", async () => {
    const { leave: startAndLeave, open, uploads, storage } = createBrowser();
    await startAndLeave(createVideo());
    const store = createUploadStore(open().client, { storage });
    const { data } = await store.upload(createVideo());
    expect(data?.id).toBe("file-1");
    expect(uploads.log).toEqual(onward);
    await shows(store, ({ status }) => status === "success");
  });

  test("A file that can't be read for its hash says so, and an abort keeps its reason", async () => {
    const { open, storage, uploads } = createBrowser();
    const { client } = open();
    const slice = () => {
      throw new DOMException("gone", "NotFoundError");
    };
    const gone = Object.assign(createVideo(), { slice });
    const error = await catchError(uploadMedia(client, gone, { storage }));
    expect(error).toMatchObject({ name: "ValidationError", billing: "none" });
    const signal = AbortSignal.abort(new Error("left"));
    await expect(uploadMedia(client, createVideo(), { storage, signal })).rejects.toThrow("left");
    expect(uploads.log).toEqual([]);
  });
});
