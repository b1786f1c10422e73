import { createClient } from "@sluice/core";
import { uploadMedia, uploads } from "@sluice/media";
import { createVideoTaskStore } from "@sluice/stores";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFile, firstBytes, PART_BYTES } from "../../packages/durable/test/support/file-store.js";
import { startFilesInWorkerd } from "../../packages/durable/test/support/files-in-workerd.js";
import { createTestClock } from "../support/test-clock.ts";

/* A file from the client through a real workerd into miniflare's R2, and by its link to the gateway. */

let proxy: Awaited<ReturnType<typeof startFilesInWorkerd>>;

beforeAll(async () => {
  proxy = await startFilesInWorkerd();
});
afterAll(() => proxy.close());

const video = createFile(firstBytes.mp4, 2 * PART_BYTES + 5000);
const fetchBytes = async (url: string) => new Uint8Array(await (await fetch(url)).arrayBuffer());

/** A client of `user-1`. `send` can break its connections. */
const createTestClient = (send: (request: Request) => Promise<Response> = fetch) =>
  createClient({
    baseURL: proxy.url.origin,
    clock: createTestClock(50),
    headers: { authorization: "user-1" },
    fetch: send,
    uploads: uploads({ check: false }),
  });

test("a file arrives complete if its connection breaks in the middle of a part", async () => {
  let patches = 0;
  const client = createTestClient(async (request) => {
    if (request.method !== "PATCH" || ++patches !== 1) return fetch(request);
    const half = (await request.arrayBuffer()).slice(0, PART_BYTES / 2);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(half)),
      pull: (controller) => controller.error(new Error("the network is gone")),
    });
    const { method, headers } = request;
    return fetch(request.url, { method, headers, body, duplex: "half" } as RequestInit);
  });
  const { url, type } = await uploadMedia(client, new Blob([video]));
  expect(type).toBe("video/mp4");
  expect(patches).toBe(3);
  expect(Buffer.compare(await fetchBytes(url), video)).toBe(0);
});

test("a task is created with a file, which the gateway can fetch, and the file is sent once", async () => {
  const tasks: { input: { media: { url: string }[] } }[] = [];
  proxy.upstream.respondWith((response, request) => {
    tasks.push(JSON.parse(String(request.body)));
    response.writeHead(200, { "content-type": "application/json" }).end('{"id":"t-1","status":"queued"}');
  });
  let sent = 0;
  const client = createTestClient((request) => {
    if (request.url.endsWith("/v1/uploads")) sent += 1;
    return fetch(request);
  });
  const clip = new Blob([video.subarray(0, 1000)]);
  const media = [{ type: "reference_video", url: clip }] as const;
  for (const prompt of ["Video 1 by night", "Video 1 in the rain"]) {
    const store = createVideoTaskStore(client);
    const { error } = await store.create({ model: "beta3.0-video", input: { prompt, media } });
    expect(error).toBeUndefined();
    store.reset();
  }
  expect([tasks.length, sent]).toEqual([2, 1]);
  const [address = ""] = tasks.map(({ input }) => input.media[0]?.url ?? "");
  expect(await fetchBytes(address)).toEqual(video.slice(0, 1000));
});
