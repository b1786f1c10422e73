import { createUploadStore, uploadMedia, uploads } from "@sluice/media";
import { createImageStore, createVideoTaskStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { catchError, createTestClient, shows, stoppedClock } from "../../../core/test/support/gateway.js";
import { createJPEG } from "../support/media.js";
import { createRefusal, createUploads, PART_SIZE, useSmallParts } from "../support/uploads.js";

useSmallParts();

const createSmall = () => new Blob([new Uint8Array(1000).fill(7)]);
const createLarge = () => new Blob([new Uint8Array(2 * PART_SIZE + 5).fill(7)]);
const rejectDropped = () => Promise.reject(new TypeError("fetch failed"));

function createPage(
  next?: Parameters<typeof createUploads>[0],
  options: Parameters<typeof uploads>[0] = { check: false },
) {
  const proxy = createUploads(next);
  const clock = stoppedClock();
  const { client } = createTestClient((request) => proxy.respond(request), {
    clock,
    retry: { limit: 2 },
    uploads: uploads(options),
  });
  return { ...proxy, client, clock };
}

describe("uploadMedia", () => {
  test("sends a small file at once, and returns its URL", async () => {
    const { client, log } = createPage();
    const media = await uploadMedia(client, createSmall());
    expect(media).toMatchObject({ id: "file-1", url: "https://app.test/v1/media/file-1", type: "video/mp4" });
    expect(media.expiresAt).toBeGreaterThan(Date.now());
    expect(log).toEqual(["POST 0+1000"]);
  });

  test("sends a large file in parts, with progress", async () => {
    const { client, log, files } = createPage();
    const shares: number[] = [];
    await uploadMedia(client, createLarge(), { onProgress: ({ loadedBytes }) => shares.push(loadedBytes) });
    expect(log).toEqual([
      `POST 0+${PART_SIZE}`,
      `PATCH ${PART_SIZE}+${PART_SIZE}`,
      `PATCH ${2 * PART_SIZE}+5`,
    ]);
    expect(shares).toEqual([0, PART_SIZE, 2 * PART_SIZE, 2 * PART_SIZE + 5]);
    expect(files.get("file-1")?.content.length).toBe(2 * PART_SIZE + 5);
  });

  test("continues after a wait when the connection breaks", async () => {
    const { client, log, failures, clock } = createPage();
    const file = createLarge();
    const began = uploadMedia(client, file, {
      onProgress: ({ loadedBytes }) => {
        if (loadedBytes === PART_SIZE && failures.length === 0 && log.length === 1)
          failures.push(rejectDropped);
      },
    });
    await clock.advanceUntil(began, 100);
    expect(log).toEqual([
      `POST 0+${PART_SIZE}`,
      `PATCH ${PART_SIZE}+${PART_SIZE}`,
      "GET",
      `PATCH ${PART_SIZE}+${PART_SIZE}`,
      `PATCH ${2 * PART_SIZE}+5`,
    ]);
  });

  test("continues an aborted upload of the same file", async () => {
    const { client, log } = createPage();
    const file = createLarge();
    const stop = new AbortController();
    const began = uploadMedia(client, file, {
      signal: stop.signal,
      onProgress: ({ loadedBytes }) => {
        if (loadedBytes === PART_SIZE) stop.abort(new Error("left"));
      },
    });
    await expect(began).rejects.toThrow("left");
    log.length = 0;
    await uploadMedia(client, file);
    expect(log).toEqual(["GET", `PATCH ${PART_SIZE}+${PART_SIZE}`, `PATCH ${2 * PART_SIZE}+5`]);
  });

  test("reuses a valid URL, renews it before it expires, and uploads again when the file is gone", async () => {
    const { client, log, setLifetime, files, clock } = createPage();
    const file = createSmall();
    const { url } = await uploadMedia(client, file);
    expect((await uploadMedia(client, file)).url).toBe(url);
    expect(log).toEqual(["POST 0+1000"]);
    const other = createSmall();
    setLifetime(60_000);
    await uploadMedia(client, other);
    setLifetime(86_400_000);
    log.length = 0;
    await uploadMedia(client, other);
    expect(log).toEqual(["GET"]);
    setLifetime(60_000);
    const third = createSmall();
    await uploadMedia(client, third);
    files.clear();
    log.length = 0;
    await clock.advanceUntil(uploadMedia(client, third), 1000);
    // a single 404 may be a mistake
    expect(log).toEqual(["GET", "GET", "POST 0+1000"]);
  });

  test("fails at once with a final error, and says that nothing was billed", async () => {
    const { client, failures, log } = createPage();
    failures.push(() => createRefusal(415, "file_type"));
    const error = await catchError(uploadMedia(client, createSmall()));
    expect(error).toMatchObject({ name: "APIError", status: 415, code: "file_type", billing: "none" });
    expect(log).toHaveLength(1);
  });

  test("checks the file for its use before anything is sent, and sends a valid file", async () => {
    const { client, log } = createPage();
    await expect(uploadMedia(client, createSmall(), { use: "first_frame" })).rejects.toMatchObject({
      name: "ValidationError",
    });
    await expect(uploadMedia(client, new Blob([]))).rejects.toMatchObject({ name: "ValidationError" });
    expect(log).toEqual([]);
    const frame = new Blob([createJPEG(1280, 720)]);
    expect(await uploadMedia(client, frame, { use: "first_frame" })).toMatchObject({ id: "file-1" });
    expect(log).toEqual([`POST 0+${frame.size}`]);
  });
});

describe("an upload store", () => {
  test("shows progress and result, and forgets them", async () => {
    const { client } = createPage();
    const store = createUploadStore(client);
    const seen: unknown[] = [];
    store.subscribe(() => seen.push([store.getSnapshot().status, store.getSnapshot().progress]));
    const { data } = await store.upload(createSmall());
    expect(data?.url).toBe("https://app.test/v1/media/file-1");
    expect(seen[0]).toEqual(["pending", 0]);
    expect(seen.at(-1)).toEqual(["success", 1]);
    store.reset();
    expect(store.getSnapshot()).toEqual({ status: "idle" });
  });
});

describe("a request with files", () => {
  const receipt = { id: "t-1", task_id: "t-1", status: "queued" };

  test("uploads each file of a video task once, shows the progress, and sends their URLs", async () => {
    const bodies: unknown[] = [];
    const { client, log } = createPage(async (request) => {
      bodies.push(await request.json());
      return Response.json(receipt);
    });
    const clip = createSmall();
    const store = createVideoTaskStore(client);
    const shares = new Set<unknown>();
    store.subscribe(() => {
      const { phase, progress } = store.getSnapshot();
      shares.add(phase === "uploading" ? progress : undefined);
    });
    const media = [
      { type: "reference_video", url: clip },
      { type: "reference_video", url: clip },
      { type: "reference_image", url: "https://cdn.test/a.png" },
    ] as const;
    const { handle } = await store.create({ model: "beta3.0-video", input: { prompt: "Video 1", media } });
    expect(handle?.id).toBe("t-1");
    expect(log).toEqual(["POST 0+1000"]);
    expect(bodies).toMatchObject([
      {
        input: {
          media: [
            { url: "https://app.test/v1/media/file-1" },
            { url: "https://app.test/v1/media/file-1" },
            { url: "https://cdn.test/a.png" },
          ],
        },
      },
    ]);
    expect([...shares]).toEqual(expect.arrayContaining([undefined, 0, 1]));
    expect(store.getSnapshot().phase).toBe("processing");
    store.reset();
  });

  test("is not sent when an upload fails, and nothing is uploaded for a request that breaks a rule", async () => {
    const { client, log, failures } = createPage();
    failures.push(() => createRefusal(413, "storage_full"));
    const store = createVideoTaskStore(client);
    const media = [{ type: "first_frame", url: createSmall() }] as const;
    const { error } = await store.create({ model: "beta3.0-video", input: { media } });
    expect(error).toMatchObject({ code: "storage_full", billing: "none" });
    log.length = 0;
    const broken = { model: "beta3.0-video", input: { media }, parameters: { duration: 31 } } as const;
    expect((await store.create(broken)).error).toMatchObject({ name: "ValidationError" });
    expect(log).toEqual([]);
  });

  test("is checked before anything is uploaded", async () => {
    const { client, log } = createPage(() => Response.json(receipt), {});
    const store = createVideoTaskStore(client);
    const media = [{ type: "first_frame", url: createSmall() }] as const;
    const found = await store.create({ model: "beta3.0-video", input: { media } });
    expect(found.error).toMatchObject({ name: "ValidationError", issues: [{ path: "input.media.0" }] });
    expect(log).toEqual([]);
    const fitting = [{ type: "first_frame", url: new Blob([createJPEG(1280, 720)]) }] as const;
    const { handle } = await store.create({ model: "beta3.0-video", input: { media: fitting } });
    expect(handle?.id).toBe("t-1");
  });

  test("uploads the references of images, and keeps the files in `variables`", async () => {
    const bodies: unknown[] = [];
    const { client } = createPage(async (request) => {
      bodies.push(await request.json());
      return Response.json({ created: 1, data: [{ url: "https://cdn.test/1.png" }] });
    });
    const store = createImageStore(client, { model: "gamma-image-5-0-260128" });
    const file = createSmall();
    const settled = await store.generate({ prompt: "A reef", image: [file, "https://cdn.test/a.png"] });
    expect(settled.status).toBe("success");
    expect(bodies).toMatchObject([{ image: ["https://app.test/v1/media/file-1", "https://cdn.test/a.png"] }]);
    expect(store.getSnapshot().variables?.image?.[0]).toBe(file);
    expect(store.getSnapshot().uploadProgress).toBeUndefined();
  });

  test("A request for images is not sent when an upload fails or is stopped", async () => {
    const { client, failures } = createPage();
    failures.push(() => createRefusal(413, "storage_full"));
    const store = createImageStore(client, { model: "gamma-image-5-0-260128" });
    const failed = await store.generate({ prompt: "A reef", image: [createSmall()] });
    expect(failed).toMatchObject({
      status: "error",
      error: { code: "storage_full", billing: "none" },
    });
    failures.push(() => new Promise(() => {}));
    const stopped = store.generate({ prompt: "A reef", image: [createSmall()] });
    await shows(store, ({ uploadProgress }) => uploadProgress === 0);
    store.stop();
    expect(await stopped).toMatchObject({ status: "error", error: { billing: "none" } });
  });
});
