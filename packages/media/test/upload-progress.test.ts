import { type ClientEvent, type ClientOptions, isGatewayError } from "@sluice/core";
import { uploadMedia, uploads } from "@sluice/media";
import { createVideoTaskStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { catchError, createRandom, createTestClient, stoppedClock } from "../../core/test/support/gateway.js";
import { createRefusal, createUploads, PART_SIZE, useSmallParts } from "./support/uploads.js";

useSmallParts();

const SIZE = 2 * PART_SIZE + 5;
const MAX_BYTES = 3 * SIZE + PART_SIZE;
const createLarge = () => new Blob([new Uint8Array(SIZE).fill(7)]);
const rejectDropped = () => Promise.reject(new TypeError("fetch failed"));
const createHTML = () =>
  new Response("<h1>Sign in to the Wi-Fi</h1>", { headers: { "content-type": "text/html" } });

type Respond = (request: Request, nth: number) => Response | Promise<Response>;

/** Creates a page whose proxy is `respond`. `log` contains its requests. */
function createPage(respond: Respond, settings: Partial<ClientOptions> = {}) {
  const clock = stoppedClock();
  const log: string[] = [];
  const delays: number[] = [];
  let sentBytes = 0;
  const onEvent = (event: ClientEvent) => {
    if (event.type === "retry") delays.push(event.delayMs);
  };
  const { client } = createTestClient(
    async (request, nth) => {
      // fail a client that never ends, instead of waiting forever
      if (nth > 60) return createRefusal(403, "one request too many");
      sentBytes += (await request.clone().arrayBuffer()).byteLength;
      log.push(request.method);
      return respond(request, nth);
    },
    { clock, random: () => 1, onEvent, uploads: uploads({ check: false }), ...settings },
  );
  const upload = (file = createLarge(), options: Parameters<typeof uploadMedia>[2] = {}) =>
    clock.advanceUntil(uploadMedia(client, file, options), 1000);
  return { client, clock, log, delays, upload, uploadToEnd, sentBytes: () => sentBytes };

  async function uploadToEnd(file = createLarge()) {
    const error = await catchError(upload(file));
    if (!isGatewayError(error)) throw error;
    expect(error.message).not.toContain("one request too many");
    return error;
  }
}

/** Creates a page whose proxy works, except for the requests in `failAt`. */
function createWorkingPage(failAt: Readonly<Record<number, () => Response | Promise<Response>>> = {}) {
  const uploads = createUploads();
  const respond: Respond = (request, nth) => failAt[nth]?.() ?? uploads.respond(request);
  return { ...createPage(respond), files: uploads.files, failures: uploads.failures };
}

const respondAt = (offset: unknown) => Response.json({ id: "f", offset });

describe("an upload whose proxy never stores more", () => {
  const never: readonly (readonly [name: string, respond: Respond])[] = [
    [
      "forgets the file after its first part",
      (r) => (r.method === "POST" ? respondAt(PART_SIZE) : createRefusal(404, "gone")),
    ],
    ["responds to each part with the same offset", () => respondAt(PART_SIZE)],
    ["has the offset 0 for ever", () => respondAt(0)],
    ["has all bytes and no address", () => respondAt(SIZE)],
    [
      "refuses each part, and looks well when it is asked",
      (r) => (r.method === "PATCH" ? createRefusal(409, "upload_offset") : respondAt(PART_SIZE)),
    ],
    ["goes back with each part", (r) => respondAt(r.method === "PATCH" ? 0 : PART_SIZE)],
    ["is always busy", () => createRefusal(503, "busy")],
    ["loses each connection", rejectDropped],
    ["is another server", createHTML],
  ];

  test.each(never)("An upload whose proxy %s ends with an error, after waits", async (_, respond) => {
    const { uploadToEnd, sentBytes, delays } = createPage(respond);
    expect((await uploadToEnd()).billing).toBe("none");
    expect(delays.length).toBeGreaterThan(0);
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000].slice(0, delays.length));
    expect(sentBytes()).toBeLessThanOrEqual(MAX_BYTES);
  });

  test.each(never)("An upload whose proxy %s is not retried with a limit of 0", async (_, respond) => {
    const { uploadToEnd, log, delays } = createPage(respond, { retry: { limit: 0 } });
    await uploadToEnd();
    expect(delays).toEqual([]);
    expect(log.length).toBeLessThanOrEqual(2);
  });

  test.each([-1, SIZE + 1, 0.5, Number.MAX_VALUE, "8", null])(
    "An offset of %j can't be read",
    async (offset) => {
      const { uploadToEnd, log } = createPage(() => respondAt(offset));
      expect(await uploadToEnd()).toMatchObject({ name: "ResponseError", path: "offset" });
      expect(log).toEqual(["POST", "POST"]);
    },
  );

  test("An id that leads out of the path can't be read", async () => {
    const { uploadToEnd } = createPage(() => Response.json({ id: "../chat/completions", offset: PART_SIZE }));
    expect(await uploadToEnd()).toMatchObject({ name: "ResponseError", path: "id" });
  });

  test("A proxy that stores byte by byte is sent no more than three copies and a part", async () => {
    let offset = 0;
    const { uploadToEnd, sentBytes } = createPage(() => respondAt(++offset));
    expect(await uploadToEnd()).toMatchObject({ name: "ConnectionError", billing: "none" });
    expect(sentBytes()).toBeGreaterThan(2 * SIZE);
    expect(sentBytes()).toBeLessThanOrEqual(MAX_BYTES);
  });

  test("A file of one part is given up after four copies", async () => {
    const { uploadToEnd, sentBytes } = createPage(rejectDropped);
    const error = await uploadToEnd(new Blob([new Uint8Array(PART_SIZE)]));
    expect([error.billing, sentBytes()]).toEqual(["none", 4 * PART_SIZE]);
    expect(error.message).toContain("was canceled");
  });

  test("The next call continues a failed upload", async () => {
    const page = createWorkingPage({ 2: () => createRefusal(403, "over") });
    const file = createLarge();
    expect(await page.uploadToEnd(file)).toMatchObject({ status: 403 });
    await page.upload(file);
    expect(page.log).toEqual(["POST", "PATCH", "GET", "PATCH", "PATCH"]);
    expect(page.files.size).toBe(1);
  });
});

describe("one bad response", () => {
  const createTooManyRequests = (seconds: number) => () =>
    Response.json({ error: { message: "busy" } }, { status: 429, headers: { "retry-after": `${seconds}` } });
  const bad: readonly (readonly [name: string, respond: () => Response | Promise<Response>])[] = [
    ["a 404", () => createRefusal(404, "not_found")],
    ["a 400", () => createRefusal(400, "nonsense")],
    ["a page of HTML", createHTML],
    ["an empty object", () => Response.json({})],
    ["an offset behind the end", () => respondAt(SIZE * 2)],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "/sign-in" } })],
    ["a Retry-After of a day", createTooManyRequests(86_400)],
    ["a lost connection", rejectDropped],
  ];
  const requests = { "the start": 1, "a part": 2, "a look-up": 3 };

  test.each(
    bad.flatMap(([name, respond]) =>
      Object.entries(requests).map(([request, nth]) => [name, request, nth, respond] as const),
    ),
  )("An upload is whole after %s to %s", async (_name, request, nth, respond) => {
    const { upload, files, delays } = createWorkingPage(
      request === "a look-up" ? { 2: rejectDropped, 3: respond } : { [nth]: respond },
    );
    await upload();
    expect([...files.values()].map(({ content }) => content.length)).toEqual([SIZE]);
    expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
  });

  test("An upload continues after one 404 to a part", async () => {
    const { upload, log } = createWorkingPage({ 2: () => createRefusal(404, "not_found") });
    await upload();
    expect(log).toEqual(["POST", "PATCH", "GET", "PATCH", "PATCH"]);
  });

  test("An upload that the proxy has lost begins again", async () => {
    const page = createWorkingPage();
    const onProgress = ({ loadedBytes }: { readonly loadedBytes: number }) => {
      if (loadedBytes === PART_SIZE && page.log.length === 1) page.files.clear();
    };
    await page.upload(createLarge(), { onProgress });
    expect(page.log).toEqual(["POST", "PATCH", "GET", "POST", "PATCH", "PATCH"]);
  });

  test("A second Retry-After of a day ends the upload with its error", async () => {
    const { uploadToEnd, delays } = createPage(createTooManyRequests(86_400));
    expect(await uploadToEnd()).toMatchObject({ status: 429, retryAfterMs: 86_400_000 });
    expect(delays).toEqual([30_000]);
  });
});

test("A long upload outlives a failure at each of its parts", async () => {
  const uploads = createUploads();
  const seen = new Set<string | null>();
  const page = createPage((request) => {
    const offset = request.headers.get("upload-offset");
    if (request.method !== "PATCH" || seen.has(offset)) return uploads.respond(request);
    seen.add(offset);
    return createRefusal(503, "busy");
  });
  await page.upload(new Blob([new Uint8Array(9 * PART_SIZE)]));
  expect(page.delays).toEqual(Array(8).fill(1000));
});

test("A look-up does not count as sent bytes", async () => {
  const uploads = createUploads();
  const tries = new Map<string, number>();
  const page = createPage((request) => {
    const offset = request.headers.get("upload-offset") ?? "";
    const nth = (tries.get(offset) ?? 0) + 1;
    tries.set(offset, nth);
    return request.method === "PATCH" && nth < 3 ? createRefusal(503, "busy") : uploads.respond(request);
  });
  await page.upload(new Blob([new Uint8Array(3 * PART_SIZE)]));
  expect(page.log.filter((method) => method === "GET")).toHaveLength(4);
  expect(page.sentBytes()).toBe(7 * PART_SIZE);
});

test("Two calls for one file send it once", async () => {
  const { upload, log } = createWorkingPage();
  const file = createLarge();
  const [one, two] = await Promise.all([upload(file), upload(file)]);
  expect(one).toEqual(two);
  expect(log).toEqual(["POST", "PATCH", "PATCH"]);
});

test("A second call for a file continues the aborted first call", async () => {
  const { upload, log, failures } = createWorkingPage();
  const file = createLarge();
  const stop = new AbortController();
  failures.push(() => {
    stop.abort(new Error("left"));
    return new Promise(() => {});
  });
  const first = catchError(upload(file, { signal: stop.signal }));
  const second = upload(file);
  expect(await first).toMatchObject({ message: "left" });
  await second;
  expect(log).toEqual(["POST", "POST", "PATCH", "PATCH"]);
});

test("A part without a response for ten minutes is looked up, and the upload continues", async () => {
  const page = createWorkingPage({ 2: () => new Promise(() => {}) });
  await page.clock.advanceUntil(uploadMedia(page.client, createLarge()), 60_000);
  expect(page.log).toEqual(["POST", "PATCH", "GET", "PATCH", "PATCH"]);
  // the wait before the look-up is in the eleventh minute
  expect([page.clock.now(), page.clock.sleeping()]).toEqual([660_000, 0]);
});

test("A proxy that loses half of all requests gets each file once and completely, within the limit of bytes", async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const random = createRandom(seed);
    const uploads = createUploads();
    const page = createPage(async (request) => {
      const luck = random();
      if (luck < 0.2) return rejectDropped();
      const response = await uploads.respond(request);
      return luck < 0.5 ? rejectDropped() : response;
    });
    const result = await page.upload().catch((error: unknown) => error);
    expect(page.sentBytes()).toBeLessThanOrEqual(MAX_BYTES);
    if (isGatewayError(result)) continue;
    const { content } = uploads.files.get((result as { readonly id: string }).id) ?? {};
    expect(content?.length).toBe(SIZE);
  }
});

describe("a failure before the upload is sent", () => {
  /** A file changed on its disk after the user picked it, as a browser reports it. */
  class ChangedFile extends File {
    override slice(): Blob {
      const refusal = new DOMException("The requested file could not be read", "NotReadableError");
      return Object.assign(new Blob(), { arrayBuffer: () => Promise.reject(refusal) });
    }
  }
  const createChangedFile = () => new ChangedFile([new Uint8Array(10)], "clip.mp4");

  test("A file that changed on its disk says so, and nothing is sent", async () => {
    const { uploadToEnd, log, delays } = createPage(() => respondAt(0));
    expect(await uploadToEnd(createChangedFile())).toMatchObject({
      name: "ValidationError",
      billing: "none",
      message: expect.stringMatching(/may have changed since it was chosen/),
    });
    expect([log, delays]).toEqual([[], []]);
  });

  test.each([
    ["headers", { headers: () => Promise.reject(new Error("session expired")) }],
    ["apiKey", { apiKey: () => Promise.reject(new Error("session expired")) }],
  ] as const)("A rejected `%s` keeps its message, and nothing is sent", async (_, settings) => {
    const { uploadToEnd, log, delays } = createPage(() => respondAt(0), settings);
    expect(await uploadToEnd()).toMatchObject({
      name: "ConfigurationError",
      billing: "none",
      message: expect.stringContaining("session expired"),
    });
    expect([log, delays]).toEqual([[], []]);
  });

  test("A relative base URL on a server fails with the fix", async () => {
    const { uploadToEnd, log } = createPage(() => respondAt(0), { baseURL: "/api" });
    expect(await uploadToEnd()).toMatchObject({
      name: "ConfigurationError",
      billing: "none",
      message: expect.stringContaining("a server needs the whole address"),
    });
    expect(log).toEqual([]);
  });

  test("An abort while the headers are created keeps its reason", async () => {
    const { upload } = createPage(() => respondAt(0), { headers: () => new Promise(() => {}) });
    const error = catchError(upload(createLarge(), { signal: AbortSignal.abort(new Error("left")) }));
    expect(await error).toMatchObject({ message: "left" });
  });

  test("A task with a file that can't be read is not sent, and says so", async () => {
    const { client, log } = createPage(() => respondAt(0));
    const media = [{ type: "reference_video", url: createChangedFile() }] as const;
    const request = { model: "beta3.0-video", input: { prompt: "Video 1", media } } as const;
    const { error } = await createVideoTaskStore(client).create(request);
    expect(error).toMatchObject({ billing: "none", message: expect.stringMatching(/may have changed/) });
    expect(log).toEqual([]);
  });
});

test("The progress of a second file begins where the first one ended", async () => {
  const uploads = createUploads((request) =>
    request.method === "POST" ? Response.json({ id: "t-1", status: "queued" }) : createRefusal(503, "busy"),
  );
  const { client } = createPage((request) => uploads.respond(request));
  const store = createVideoTaskStore(client);
  const shares: number[] = [];
  store.subscribe(() => {
    const { phase, progress } = store.getSnapshot();
    if (phase === "uploading" && progress !== undefined) shares.push(progress);
  });
  const createClip = (fill: number) => ({
    type: "reference_video" as const,
    url: new Blob([new Uint8Array(500).fill(fill)]),
  });
  await store.create({
    model: "beta3.0-video",
    input: { prompt: "Both", media: [createClip(1), createClip(2)] },
  });
  expect(shares.filter((share, index) => share !== shares[index - 1])).toEqual([0, 0.5, 1]);
  store.reset();
});
