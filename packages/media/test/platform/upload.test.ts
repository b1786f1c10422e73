import { createUploadStore, uploadMedia, uploads } from "@sluice/media";
import { createImageStore, createVideoTaskStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { catchError, clientOf, shows, stoppedClock } from "../../../core/test/support/gateway.js";
import { jpeg } from "../support/media.js";
import { openUploads, PART, refused, useSmallParts } from "../support/uploads.js";

useSmallParts();

const small = () => new Blob([new Uint8Array(1000).fill(7)]);
const large = () => new Blob([new Uint8Array(2 * PART + 5).fill(7)]);
const dropped = () => Promise.reject(new TypeError("fetch failed"));

function live(
  next?: Parameters<typeof openUploads>[0],
  options: Parameters<typeof uploads>[0] = { check: false },
) {
  const proxy = openUploads(next);
  const clock = stoppedClock();
  const { client } = clientOf((request) => proxy.answer(request), {
    clock,
    retry: { limit: 2 },
    uploads: uploads(options),
  });
  return { ...proxy, client, clock };
}

describe("uploadMedia", () => {
  test("sends a small file at once, and returns its address", async () => {
    const { client, log } = live();
    const media = await uploadMedia(client, small());
    expect(media).toMatchObject({ id: "file-1", url: "https://app.test/v1/media/file-1", type: "video/mp4" });
    expect(media.expiresAt).toBeGreaterThan(Date.now());
    expect(log).toEqual(["POST 0+1000"]);
  });

  test("sends a large file in parts, with progress", async () => {
    const { client, log, files } = live();
    const shares: number[] = [];
    await uploadMedia(client, large(), { onProgress: ({ loadedBytes }) => shares.push(loadedBytes) });
    expect(log).toEqual([`POST 0+${PART}`, `PATCH ${PART}+${PART}`, `PATCH ${2 * PART}+5`]);
    expect(shares).toEqual([0, PART, 2 * PART, 2 * PART + 5]);
    expect(files.get("file-1")?.content.length).toBe(2 * PART + 5);
  });

  test("goes on where the connection broke, after a wait", async () => {
    const { client, log, failures, clock } = live();
    const file = large();
    const began = uploadMedia(client, file, {
      onProgress: ({ loadedBytes }) => {
        if (loadedBytes === PART && failures.length === 0 && log.length === 1) failures.push(dropped);
      },
    });
    await clock.advanceUntil(began, 100);
    expect(log).toEqual([
      `POST 0+${PART}`,
      `PATCH ${PART}+${PART}`,
      "GET",
      `PATCH ${PART}+${PART}`,
      `PATCH ${2 * PART}+5`,
    ]);
  });

  test("goes on where an aborted upload of the same file stood", async () => {
    const { client, log } = live();
    const file = large();
    const stop = new AbortController();
    const began = uploadMedia(client, file, {
      signal: stop.signal,
      onProgress: ({ loadedBytes }) => {
        if (loadedBytes === PART) stop.abort(new Error("left"));
      },
    });
    await expect(began).rejects.toThrow("left");
    log.length = 0;
    await uploadMedia(client, file);
    expect(log).toEqual(["GET", `PATCH ${PART}+${PART}`, `PATCH ${2 * PART}+5`]);
  });

  test("uses an address again while it works, renews it before it ends, and uploads anew when it is gone", async () => {
    const { client, log, endAfter, files, clock } = live();
    const file = small();
    const { url } = await uploadMedia(client, file);
    expect((await uploadMedia(client, file)).url).toBe(url);
    expect(log).toEqual(["POST 0+1000"]);
    const other = small();
    endAfter(60_000);
    await uploadMedia(client, other);
    endAfter(86_400_000);
    log.length = 0;
    await uploadMedia(client, other);
    expect(log).toEqual(["GET"]);
    endAfter(60_000);
    const third = small();
    await uploadMedia(client, third);
    files.clear();
    log.length = 0;
    await clock.advanceUntil(uploadMedia(client, third), 1000);
    // one 404 may be a mistake of one answer
    expect(log).toEqual(["GET", "GET", "POST 0+1000"]);
  });

  test("ends at once for what no repetition mends, and says that nothing was billed", async () => {
    const { client, failures, log } = live();
    failures.push(() => refused(415, "file_type"));
    const error = await catchError(uploadMedia(client, small()));
    expect(error).toMatchObject({ name: "APIError", status: 415, code: "file_type", billing: "none" });
    expect(log).toHaveLength(1);
  });

  test("checks the file for its use before anything is sent, and sends one that is fit", async () => {
    const { client, log } = live();
    await expect(uploadMedia(client, small(), { use: "first_frame" })).rejects.toMatchObject({
      name: "ValidationError",
    });
    await expect(uploadMedia(client, new Blob([]))).rejects.toMatchObject({ name: "ValidationError" });
    expect(log).toEqual([]);
    const frame = new Blob([jpeg(1280, 720)]);
    expect(await uploadMedia(client, frame, { use: "first_frame" })).toMatchObject({ id: "file-1" });
    expect(log).toEqual([`POST 0+${frame.size}`]);
  });
});

describe("an upload store", () => {
  test("shows progress and result, and forgets them", async () => {
    const { client } = live();
    const store = createUploadStore(client);
    const seen: unknown[] = [];
    store.subscribe(() => seen.push([store.getSnapshot().status, store.getSnapshot().progress]));
    const { data } = await store.upload(small());
    expect(data?.url).toBe("https://app.test/v1/media/file-1");
    expect(seen[0]).toEqual(["pending", 0]);
    expect(seen.at(-1)).toEqual(["success", 1]);
    store.reset();
    expect(store.getSnapshot()).toEqual({ status: "idle" });
  });
});

describe("a request with files", () => {
  const receipt = { id: "t-1", task_id: "t-1", status: "queued" };

  test("uploads each file of a video task once, shows the progress, and sends their addresses", async () => {
    const bodies: unknown[] = [];
    const { client, log } = live(async (request) => {
      bodies.push(await request.json());
      return Response.json(receipt);
    });
    const clip = small();
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
    const { client, log, failures } = live();
    failures.push(() => refused(413, "storage_full"));
    const store = createVideoTaskStore(client);
    const media = [{ type: "first_frame", url: small() }] as const;
    const { error } = await store.create({ model: "beta3.0-video", input: { media } });
    expect(error).toMatchObject({ code: "storage_full", billing: "none" });
    log.length = 0;
    const broken = { model: "beta3.0-video", input: { media }, parameters: { duration: 31 } } as const;
    expect((await store.create(broken)).error).toMatchObject({ name: "ValidationError" });
    expect(log).toEqual([]);
  });

  test("is checked before anything is uploaded", async () => {
    const { client, log } = live(() => Response.json(receipt), {});
    const store = createVideoTaskStore(client);
    const media = [{ type: "first_frame", url: small() }] as const;
    const found = await store.create({ model: "beta3.0-video", input: { media } });
    expect(found.error).toMatchObject({ name: "ValidationError", issues: [{ path: "input.media.0" }] });
    expect(log).toEqual([]);
    const fitting = [{ type: "first_frame", url: new Blob([jpeg(1280, 720)]) }] as const;
    const { handle } = await store.create({ model: "beta3.0-video", input: { media: fitting } });
    expect(handle?.id).toBe("t-1");
  });

  test("uploads the references of images, and keeps the files in `variables`", async () => {
    const bodies: unknown[] = [];
    const { client } = live(async (request) => {
      bodies.push(await request.json());
      return Response.json({ created: 1, data: [{ url: "https://cdn.test/1.png" }] });
    });
    const store = createImageStore(client, { model: "gamma-image-5-0-260128" });
    const file = small();
    const settled = await store.generate({ prompt: "A reef", image: [file, "https://cdn.test/a.png"] });
    expect(settled.status).toBe("success");
    expect(bodies).toMatchObject([{ image: ["https://app.test/v1/media/file-1", "https://cdn.test/a.png"] }]);
    expect(store.getSnapshot().variables?.image?.[0]).toBe(file);
    expect(store.getSnapshot().uploadProgress).toBeUndefined();
  });

  test("A request of images is not sent when an upload fails or is stopped", async () => {
    const { client, failures } = live();
    failures.push(() => refused(413, "storage_full"));
    const store = createImageStore(client, { model: "gamma-image-5-0-260128" });
    const failed = await store.generate({ prompt: "A reef", image: [small()] });
    expect(failed).toMatchObject({
      status: "error",
      error: { code: "storage_full", billing: "none" },
    });
    failures.push(() => new Promise(() => {}));
    const stopped = store.generate({ prompt: "A reef", image: [small()] });
    await shows(store, ({ uploadProgress }) => uploadProgress === 0);
    store.stop();
    expect(await stopped).toMatchObject({ status: "error", error: { billing: "none" } });
  });
});
