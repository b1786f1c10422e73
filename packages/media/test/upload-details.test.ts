import { type ClientEvent, type ClientOptions, ResponseError } from "@sluice/core";
import { createUploadStore, getArchivedMedia, uploadMedia } from "@sluice/media";
import { memoryStorage, signOut } from "@sluice/stores";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  settled,
  stoppedClock,
  waitUntil,
} from "../../core/test/support/gateway.js";
import { createRefusal, createUploads, PART_SIZE, REAL_PART_SIZE, useSmallParts } from "./support/uploads.js";

useSmallParts();

const createSmall = () => new Blob([new Uint8Array(1000).fill(7)]);
const createLarge = () => new Blob([new Uint8Array(PART_SIZE + 5).fill(7)]);
const DAY_MS = 86_400_000;

type Respond = (request: Request, nth: number) => Response | Promise<Response>;

/** Creates a page whose proxy is `respond`. */
function createPage(respond: Respond, settings: Partial<ClientOptions> = {}) {
  const clock = stoppedClock();
  const events: ClientEvent[] = [];
  const onEvent = (event: ClientEvent) => events.push(event);
  const { client, requests } = createTestClient(respond, { clock, random: () => 1, onEvent, ...settings });
  const upload = (file = createSmall()) => clock.advanceUntil(uploadMedia(client, file), 1000);
  /** Lists the steps of all calls in short form. */
  const listSteps = () =>
    events.map((event) => {
      const { type, attempt, status, delayMs, outcome, error } = event as unknown as Record<string, unknown>;
      const name = type === "end" && error instanceof Error ? error.name : undefined;
      return [type, attempt, status, delayMs, outcome, name].filter((fact) => fact !== undefined).join(" ");
    });
  return { client, clock, requests, events, upload, listSteps };
}

test("A part has 8 MiB outside these tests: the proxy accepts no other size", () => {
  expect(REAL_PART_SIZE).toBe(8_388_608);
});

describe("The events of an upload", () => {
  test("have each request, response, wait and end", async () => {
    const uploads = createUploads();
    const { upload, listSteps, events } = createPage((request) => uploads.respond(request));
    uploads.failures.push(() => createRefusal(503, "busy"));
    await upload(createLarge());
    expect(listSteps()).toEqual([
      "request 1",
      "response 1 503",
      "retry 1 1000",
      "request 2",
      "response 2 201",
      "request 3",
      "response 3 200",
      "end complete",
    ]);
    expect(new Set(events.map((event) => "callId" in event && event.callId)).size).toBe(1);
    expect(events[0]).toMatchObject({ kind: "upload", path: "/v1/uploads" });
  });

  test("have the error of a refused upload", async () => {
    const { upload, listSteps, events } = createPage(() => createRefusal(413, "storage_full"));
    const error = await catchError(upload());
    expect(listSteps()).toEqual(["request 1", "response 1 413", "end not-sent APIError"]);
    expect(events.at(-1)).toMatchObject({ error });
  });
});

describe("The events of a search for copies", () => {
  test("have its end, even if it fails", async () => {
    const found = createPage(() => Response.json({ files: [] }));
    await getArchivedMedia(found.client, { tasks: ["a"] });
    expect(found.listSteps()).toEqual(["request 1", "response 1 200", "end complete"]);
    const lost = createPage(() => createRefusal(403, "forbidden"));
    await catchError(getArchivedMedia(lost.client, { tasks: ["a"] }));
    expect(lost.listSteps()).toEqual(["request 1", "response 1 403", "end error APIError"]);
    expect(lost.events[0]).toMatchObject({ kind: "archive", path: "/v1/archive" });
  });
});

test("Each request of an upload has the headers of its phase", async () => {
  const uploads = createUploads();
  const { client, clock, requests } = createPage((request) => uploads.respond(request), {
    headers: { "x-app": "studio" },
  });
  const readHeaders = ({ method, url, redirect, headers }: Request) => {
    const names = ["x-app", "x-turn", "content-type", "upload-offset", "upload-length"];
    return [method, new URL(url).pathname, redirect, ...names.map((name) => headers.get(name))];
  };
  const file = createLarge();
  const stop = new AbortController();
  const began = uploadMedia(client, file, {
    headers: { "x-turn": "1" },
    signal: stop.signal,
    onProgress: ({ loadedBytes }) => loadedBytes > 0 && stop.abort(new Error("later")),
  });
  await expect(began).rejects.toThrow("later");
  await clock.advanceUntil(uploadMedia(client, file, { headers: { "x-turn": "1" } }), 1000);
  await uploadMedia(client, createSmall(), { headers: { "x-turn": "1" } });
  const bytes = "application/octet-stream";
  expect(requests.map(readHeaders)).toEqual([
    ["POST", "/v1/uploads", "manual", "studio", "1", bytes, null, String(PART_SIZE + 5)],
    ["GET", "/v1/uploads/file-1", "manual", "studio", "1", null, null, null],
    ["PATCH", "/v1/uploads/file-1", "manual", "studio", "1", bytes, String(PART_SIZE), null],
    ["POST", "/v1/uploads", "manual", "studio", "1", bytes, null, null],
  ]);
});

test.each<[number, string, number]>([
  [400, "bad_request", 2],
  [401, "no_session", 1],
  [403, "forbidden", 1],
  [404, "unknown", 2],
  [409, "upload_offset", 6],
  [413, "storage_full", 1],
  [415, "file_type", 1],
  [422, "upload_cut", 6],
  [425, "too_early", 6],
  [429, "too_many", 6],
  [500, "server_error", 6],
])("An upload that always gets %i (%s) sends %i requests", async (status, code, count) => {
  const { upload, requests } = createPage(() => createRefusal(status, code));
  expect(await catchError(upload())).toMatchObject({ name: "APIError", status, billing: "none" });
  expect(requests).toHaveLength(count);
});

test.each([
  ["that can't be reached", "could not connect to the gateway", { code: "ECONNREFUSED" }],
  ["whose connection breaks off", "the connection failed while the file was uploaded", undefined],
])("An upload to a proxy %s says so, and that nothing was made", async (_, words, reason) => {
  const { upload } = createPage(() => {
    throw new TypeError("fetch failed", { cause: reason && Object.assign(new Error("refused"), reason) });
  });
  const error = await catchError(upload());
  expect(error).toMatchObject({ name: "ConnectionError", billing: "none" });
  expect((error as Error).message).toContain(words);
});

test("A proxy without a store of media says what its operator has to do, at once", async () => {
  const { upload, requests } = createPage(() =>
    Response.json(
      { error: { message: "not found", code: "not_found" } },
      { status: 404, headers: { "x-sluice-source": "proxy" } },
    ),
  );
  await expect(upload()).rejects.toThrow("its operator sets up `fileStore()`");
  expect(requests).toHaveLength(1);
});

test("An upload without an end counts as expired, and its id is stored for a day", async () => {
  const storage = memoryStorage();
  const { client, requests } = createPage(() =>
    Response.json({ id: "f", offset: 4, url: "https://app.test/f" }),
  );
  const video = new File(["video"], "video.mp4");
  const media = await uploadMedia(client, video, { storage });
  expect(media).toEqual({ id: "f", url: "https://app.test/f", expiresAt: 0, type: undefined });
  const [record] = (await storage.read("uploads/https://gateway.test")).values();
  const { at, until } = record as { at: number; until: number };
  expect(until - at).toBe(DAY_MS);
  await uploadMedia(client, video, { storage });
  expect(requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
});

test("A response with a URL means a complete file, whatever its offset", async () => {
  const { upload, requests } = createPage(() =>
    Response.json({ id: "f", offset: 0, url: "https://app.test/f" }),
  );
  expect(await upload()).toMatchObject({ url: "https://app.test/f" });
  expect(requests).toHaveLength(1);
});

test("The URL of an upload is valid for more than an hour, or is renewed", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const HOUR_MS = 3_600_000;
  for (const [lifeMs, methods] of [
    [HOUR_MS + 1, ["POST"]],
    [HOUR_MS, ["POST", "GET"]],
  ] as const) {
    const uploads = createUploads();
    uploads.setLifetime(lifeMs);
    const { client, requests } = createPage((request) => uploads.respond(request));
    const file = createSmall();
    await uploadMedia(client, file);
    await uploadMedia(client, file);
    expect(requests.map(({ method }) => method)).toEqual(methods);
  }
});

test("A store ends its upload when it gets another file", async () => {
  const uploads = createUploads();
  const held: (() => void)[] = [];
  const { client, requests } = createPage(async (request, nth) => {
    if (nth === 1) await new Promise<void>((resolve) => held.push(resolve));
    return uploads.respond(request);
  });
  const store = createUploadStore(client);
  const seen: string[] = [];
  store.subscribe(() => seen.push(store.getSnapshot().status));
  const first = store.upload(createSmall());
  await waitUntil(() => held.length > 0, settled);
  const second = await store.upload(createSmall());
  expect(second).toMatchObject({ status: "success", data: { id: "file-1" } });
  expect(requests[0]?.signal.aborted).toBe(true);
  held[0]?.();
  expect(await first).toMatchObject({ status: "error", error: { name: "AbortError" } });
  expect(store.getSnapshot()).toBe(second);
  expect([...new Set(seen)]).toEqual(["pending", "idle", "success"]);
});

test("Signing out clears a store in use and ends its upload", async () => {
  const uploads = createUploads();
  const { client } = createPage((request, nth) =>
    nth === 1 ? uploads.respond(request) : new Promise<never>(() => {}),
  );
  const store = createUploadStore(client);
  const leave = store.subscribe(() => {});
  await store.upload(createSmall());
  await signOut(client);
  expect(store.getSnapshot()).toMatchObject({ status: "idle", data: undefined });
  const began = store.upload(createSmall());
  await signOut(client);
  expect(store.getSnapshot().status).toBe("idle");
  expect(await began).toMatchObject({ status: "error", error: { name: "AbortError" } });
  leave();
});

test("A stopped store is idle, and a finished store keeps its state", async () => {
  const { client } = createPage(() => new Promise<never>(() => {}));
  const store = createUploadStore(client);
  const began = store.upload(createSmall());
  expect(store.getSnapshot()).toMatchObject({ status: "pending", progress: 0 });
  store.stop();
  expect(store.getSnapshot().status).toBe("idle");
  expect(await began).toMatchObject({ status: "error", error: { name: "AbortError" } });
  const refusing = createUploadStore(createPage(() => createRefusal(403, "forbidden")).client);
  await refusing.upload(createSmall());
  refusing.stop();
  expect(refusing.getSnapshot()).toMatchObject({ status: "error", error: { name: "APIError" } });
});

describe("The response of an archive", () => {
  const copy = {
    name: "a",
    id: "1",
    url: "https://x.test/1",
    type: "video/mp4",
    expiresAt: 1,
    storedUntil: 2,
    bytes: 3,
  };
  const findArchived = (files: unknown) =>
    getArchivedMedia(createPage(() => Response.json({ files })).client, { tasks: ["a"] });
  const { name: _, ...known } = copy;
  test("lists the copies by name", async () => {
    expect(await findArchived([copy])).toEqual(new Map([["a", known]]));
    const lastFrame = { ...known, id: "2" };
    expect(await findArchived([{ ...copy, lastFrame }])).toEqual(new Map([["a", { ...known, lastFrame }]]));
  });
  test.each(["name", "id", "url", "type", "expiresAt", "storedUntil", "bytes"])(
    "can't be read where a copy has no %s",
    async (field) => {
      const error = await catchError(findArchived([copy, { ...copy, [field]: null }]));
      expect(error).toBeInstanceOf(ResponseError);
      expect(error).toMatchObject({ path: "files" });
    },
  );
  test.each([null, 5, "x", [], { ...known, url: 5 }])(
    "can't be read where the last frame is %j",
    async (lastFrame) => {
      await expect(findArchived([{ ...copy, lastFrame }])).rejects.toBeInstanceOf(ResponseError);
    },
  );
  test.each([null, 5, "x", {}, [null], ["x"]])("can not be read if its files are %j", async (files) => {
    await expect(findArchived(files)).rejects.toBeInstanceOf(ResponseError);
  });
});

test("A search for copies without a response ends after a minute", async () => {
  const { client, clock } = createPage(() => new Promise<never>(() => {}), { retry: { limit: 0 } });
  const error = await catchError(clock.advanceUntil(getArchivedMedia(client, { tasks: ["a"] }), 1000));
  expect(error).toMatchObject({ name: "TimeoutError", phase: "first-chunk" });
  expect(clock.now()).toBe(60_000);
});

test("A search for no copies sends no request", async () => {
  const { client, requests } = createPage(() => Response.json({ files: [] }));
  expect(await getArchivedMedia(client, {})).toEqual(new Map());
  expect(requests).toEqual([]);
});
