import { type ClientEvent, type ClientOptions, isGatewayError } from "@sluice/core";
import { uploadMedia, uploads } from "@sluice/media";
import { createVideoTaskStore } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { catchError, clientOf, createRandom, stoppedClock } from "../../core/test/support/gateway.js";
import { openUploads, PART, refused, useSmallParts } from "./support/uploads.js";

useSmallParts();

const SIZE = 2 * PART + 5;
const MOST_BYTES = 3 * SIZE + PART;
const large = () => new Blob([new Uint8Array(SIZE).fill(7)]);
const dropped = () => Promise.reject(new TypeError("fetch failed"));
const html = () =>
  new Response("<h1>Sign in to the Wi-Fi</h1>", { headers: { "content-type": "text/html" } });

type Answer = (request: Request, nth: number) => Response | Promise<Response>;

/** A page whose proxy is `answer`; `log` has its requests. */
function live(answer: Answer, settings: Partial<ClientOptions> = {}) {
  const clock = stoppedClock();
  const log: string[] = [];
  const delays: number[] = [];
  let sentBytes = 0;
  const onEvent = (event: ClientEvent) => {
    if (event.type === "retry") delays.push(event.delayMs);
  };
  const { client } = clientOf(
    async (request, nth) => {
      // a client that never ends is a failed test, and not a test that never ends
      if (nth > 60) return refused(403, "one request too many");
      sentBytes += (await request.clone().arrayBuffer()).byteLength;
      log.push(request.method);
      return answer(request, nth);
    },
    { clock, random: () => 1, onEvent, uploads: uploads({ check: false }), ...settings },
  );
  const upload = (file = large(), options: Parameters<typeof uploadMedia>[2] = {}) =>
    clock.advanceUntil(uploadMedia(client, file, options), 1000);
  return { client, clock, log, delays, upload, ended, sentBytes: () => sentBytes };

  async function ended(file = large()) {
    const error = await catchError(upload(file));
    if (!isGatewayError(error)) throw error;
    expect(error.message).not.toContain("one request too many");
    return error;
  }
}

/** A page whose proxy works. `failures` come first, `failAt` by the number of the request. */
function working(failAt: Readonly<Record<number, () => Response | Promise<Response>>> = {}) {
  const uploads = openUploads();
  const answer: Answer = (request, nth) => failAt[nth]?.() ?? uploads.answer(request);
  return { ...live(answer), files: uploads.files, failures: uploads.failures };
}

const at = (offset: unknown) => Response.json({ id: "f", offset });

describe("an upload whose proxy never stores more", () => {
  const never: readonly (readonly [name: string, answer: Answer])[] = [
    ["forgets the file after its first part", (r) => (r.method === "POST" ? at(PART) : refused(404, "gone"))],
    ["answers each part with the same offset", () => at(PART)],
    ["has the offset 0 for ever", () => at(0)],
    ["has all bytes and no address", () => at(SIZE)],
    [
      "refuses each part, and looks well when it is asked",
      (r) => (r.method === "PATCH" ? refused(409, "upload_offset") : at(PART)),
    ],
    ["goes back with each part", (r) => at(r.method === "PATCH" ? 0 : PART)],
    ["is always busy", () => refused(503, "busy")],
    ["loses each connection", dropped],
    ["is another server", html],
  ];

  test.each(never)("An upload whose proxy %s ends with an error, after waits", async (_, answer) => {
    const { ended, sentBytes, delays } = live(answer);
    expect((await ended()).billing).toBe("none");
    expect(delays.length).toBeGreaterThan(0);
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000].slice(0, delays.length));
    expect(sentBytes()).toBeLessThanOrEqual(MOST_BYTES);
  });

  test.each(never)("An upload whose proxy %s has no repetition with a limit of 0", async (_, answer) => {
    const { ended, log, delays } = live(answer, { retry: { limit: 0 } });
    await ended();
    expect(delays).toEqual([]);
    expect(log.length).toBeLessThanOrEqual(2);
  });

  test.each([-1, SIZE + 1, 0.5, Number.MAX_VALUE, "8", null])(
    "An offset of %j can't be read",
    async (offset) => {
      const { ended, log } = live(() => at(offset));
      expect(await ended()).toMatchObject({ name: "ResponseError", path: "offset" });
      expect(log).toEqual(["POST", "POST"]);
    },
  );

  test("An id that leads out of the path can't be read", async () => {
    const { ended } = live(() => Response.json({ id: "../chat/completions", offset: PART }));
    expect(await ended()).toMatchObject({ name: "ResponseError", path: "id" });
  });

  test("A proxy that stores byte by byte is sent no more than three copies and a part", async () => {
    let offset = 0;
    const { ended, sentBytes } = live(() => at(++offset));
    expect(await ended()).toMatchObject({ name: "ConnectionError", billing: "none" });
    expect(sentBytes()).toBeGreaterThan(2 * SIZE);
    expect(sentBytes()).toBeLessThanOrEqual(MOST_BYTES);
  });

  test("A file of one whole part is sent three times and once more, and then given up", async () => {
    const { ended, sentBytes } = live(dropped);
    const error = await ended(new Blob([new Uint8Array(PART)]));
    expect([error.billing, sentBytes()]).toEqual(["none", 4 * PART]);
    expect(error.message).toContain("was given up");
  });

  test("An upload that failed keeps what was reached for the next call", async () => {
    const page = working({ 2: () => refused(403, "over") });
    const file = large();
    expect(await page.ended(file)).toMatchObject({ status: 403 });
    await page.upload(file);
    expect(page.log).toEqual(["POST", "PATCH", "GET", "PATCH", "PATCH"]);
    expect(page.files.size).toBe(1);
  });
});

describe("one bad answer", () => {
  const asked = (seconds: number) => () =>
    Response.json({ error: { message: "busy" } }, { status: 429, headers: { "retry-after": `${seconds}` } });
  const bad: readonly (readonly [name: string, answer: () => Response | Promise<Response>])[] = [
    ["a 404", () => refused(404, "not_found")],
    ["a 400", () => refused(400, "nonsense")],
    ["a page of HTML", html],
    ["an empty object", () => Response.json({})],
    ["an offset behind the end", () => at(SIZE * 2)],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "/sign-in" } })],
    ["a Retry-After of a day", asked(86_400)],
    ["a lost connection", dropped],
  ];
  const requests = { "the start": 1, "a part": 2, "a look-up": 3 };

  test.each(
    bad.flatMap(([name, answer]) =>
      Object.entries(requests).map(([request, nth]) => [name, request, nth, answer] as const),
    ),
  )("An upload is whole after %s to %s", async (_name, request, nth, answer) => {
    const { upload, files, delays } = working(
      request === "a look-up" ? { 2: dropped, 3: answer } : { [nth]: answer },
    );
    await upload();
    expect([...files.values()].map(({ content }) => content.length)).toEqual([SIZE]);
    expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
  });

  test("An upload goes on where it stood after one 404 to a part", async () => {
    const { upload, log } = working({ 2: () => refused(404, "not_found") });
    await upload();
    expect(log).toEqual(["POST", "PATCH", "GET", "PATCH", "PATCH"]);
  });

  test("An upload that the proxy has lost begins again", async () => {
    const page = working();
    const onProgress = ({ loadedBytes }: { readonly loadedBytes: number }) => {
      if (loadedBytes === PART && page.log.length === 1) page.files.clear();
    };
    await page.upload(large(), { onProgress });
    expect(page.log).toEqual(["POST", "PATCH", "GET", "POST", "PATCH", "PATCH"]);
  });

  test("A second Retry-After of a day is the end, and is told", async () => {
    const { ended, delays } = live(asked(86_400));
    expect(await ended()).toMatchObject({ status: 429, retryAfterMs: 86_400_000 });
    expect(delays).toEqual([30_000]);
  });
});

test("A long upload outlives a failure at each of its parts", async () => {
  const uploads = openUploads();
  const seen = new Set<string | null>();
  const page = live((request) => {
    const offset = request.headers.get("upload-offset");
    if (request.method !== "PATCH" || seen.has(offset)) return uploads.answer(request);
    seen.add(offset);
    return refused(503, "busy");
  });
  await page.upload(new Blob([new Uint8Array(9 * PART)]));
  expect(page.delays).toEqual(Array(8).fill(1000));
});

test("A look-up counts as none of the bytes that may be sent of a file", async () => {
  const uploads = openUploads();
  const tries = new Map<string, number>();
  const page = live((request) => {
    const offset = request.headers.get("upload-offset") ?? "";
    const nth = (tries.get(offset) ?? 0) + 1;
    tries.set(offset, nth);
    return request.method === "PATCH" && nth < 3 ? refused(503, "busy") : uploads.answer(request);
  });
  await page.upload(new Blob([new Uint8Array(3 * PART)]));
  expect(page.log.filter((method) => method === "GET")).toHaveLength(4);
  expect(page.sentBytes()).toBe(7 * PART);
});

test("Two calls for one file send it once", async () => {
  const { upload, log } = working();
  const file = large();
  const [one, two] = await Promise.all([upload(file), upload(file)]);
  expect(one).toEqual(two);
  expect(log).toEqual(["POST", "PATCH", "PATCH"]);
});

test("A second call for a file goes on where the first one was aborted", async () => {
  const { upload, log, failures } = working();
  const file = large();
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

test("A part without an answer for ten minutes is looked up, and goes on", async () => {
  const page = working({ 2: () => new Promise(() => {}) });
  await page.clock.advanceUntil(uploadMedia(page.client, large()), 60_000);
  expect(page.log).toEqual(["POST", "PATCH", "GET", "PATCH", "PATCH"]);
  // the wait before the look-up is in the eleventh minute
  expect([page.clock.now(), page.clock.sleeping()]).toEqual([660_000, 0]);
});

test("A proxy that loses half of all requests gets each file once, whole, and within its bytes", async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const random = createRandom(seed);
    const uploads = openUploads();
    const page = live(async (request) => {
      const luck = random();
      if (luck < 0.2) return dropped();
      const response = await uploads.answer(request);
      return luck < 0.5 ? dropped() : response;
    });
    const result = await page.upload().catch((error: unknown) => error);
    expect(page.sentBytes()).toBeLessThanOrEqual(MOST_BYTES);
    if (isGatewayError(result)) continue;
    const { content } = uploads.files.get((result as { readonly id: string }).id) ?? {};
    expect(content?.length).toBe(SIZE);
  }
});

describe("what fails before it is sent", () => {
  /** A file that was changed on its disk after it was picked, as a browser tells it. */
  class ChangedFile extends File {
    override slice(): Blob {
      const refusal = new DOMException("The requested file could not be read", "NotReadableError");
      return Object.assign(new Blob(), { arrayBuffer: () => Promise.reject(refusal) });
    }
  }
  const changed = () => new ChangedFile([new Uint8Array(10)], "clip.mp4");

  test("A file that changed on its disk says so, and nothing is sent", async () => {
    const { ended, log, delays } = live(() => at(0));
    expect(await ended(changed())).toMatchObject({
      name: "ValidationError",
      billing: "none",
      message: expect.stringMatching(/may have changed since it was chosen/),
    });
    expect([log, delays]).toEqual([[], []]);
  });

  test.each([
    ["headers", { headers: () => Promise.reject(new Error("session expired")) }],
    ["apiKey", { apiKey: () => Promise.reject(new Error("session expired")) }],
  ] as const)("The words of `%s` that reject are kept, and nothing is sent", async (_, settings) => {
    const { ended, log, delays } = live(() => at(0), settings);
    expect(await ended()).toMatchObject({
      name: "ConfigurationError",
      billing: "none",
      message: expect.stringContaining("session expired"),
    });
    expect([log, delays]).toEqual([[], []]);
  });

  test("A relative address on a server says what is missing", async () => {
    const { ended, log } = live(() => at(0), { baseURL: "/api" });
    expect(await ended()).toMatchObject({
      name: "ConfigurationError",
      billing: "none",
      message: expect.stringContaining("a server needs the whole address"),
    });
    expect(log).toEqual([]);
  });

  test("The reason of an abort while the headers are made stays", async () => {
    const { upload } = live(() => at(0), { headers: () => new Promise(() => {}) });
    const error = catchError(upload(large(), { signal: AbortSignal.abort(new Error("left")) }));
    expect(await error).toMatchObject({ message: "left" });
  });

  test("A task with a file that can't be read is not sent, and says so", async () => {
    const { client, log } = live(() => at(0));
    const media = [{ type: "reference_video", url: changed() }] as const;
    const request = { model: "beta3.0-video", input: { prompt: "Video 1", media } } as const;
    const { error } = await createVideoTaskStore(client).create(request);
    expect(error).toMatchObject({ billing: "none", message: expect.stringMatching(/may have changed/) });
    expect(log).toEqual([]);
  });
});

test("The progress of a second file begins where the first one ended", async () => {
  const uploads = openUploads((request) =>
    request.method === "POST" ? Response.json({ id: "t-1", status: "queued" }) : refused(503, "busy"),
  );
  const { client } = live((request) => uploads.answer(request));
  const store = createVideoTaskStore(client);
  const shares: number[] = [];
  store.subscribe(() => {
    const { phase, progress } = store.getSnapshot();
    if (phase === "uploading" && progress !== undefined) shares.push(progress);
  });
  const clip = (fill: number) => ({
    type: "reference_video" as const,
    url: new Blob([new Uint8Array(500).fill(fill)]),
  });
  await store.create({ model: "beta3.0-video", input: { prompt: "Both", media: [clip(1), clip(2)] } });
  expect(shares.filter((share, index) => share !== shares[index - 1])).toEqual([0, 0.5, 1]);
  store.reset();
});
