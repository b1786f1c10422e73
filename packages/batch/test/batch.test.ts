import { type BatchRequest, createBatch } from "@sluice/batch";
import { memoryStorage, signOut } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { catchError, DONE, frame, settled, shows, streamResponse } from "../../core/test/support/gateway.js";
import {
  createImageResponse,
  createReef,
  createReefs,
  createRefusal,
  openBatch,
  readPrompt,
  watchWrites,
} from "./support/batches.js";

const createVideo = (prompt: string): BatchRequest => ({
  video: { model: "beta3.0-video", input: { prompt } },
});
const chat = (content: string): BatchRequest => ({
  chat: { model: "delta-5.3", messages: [{ role: "user", content }] },
});
const receipt = (id: string) => Response.json({ id, model: "beta3.0-video", created_at: 1 });
const finished = (id: string) =>
  Response.json({
    code: "success",
    data: { task_id: id, status: "SUCCESS", result_url: `https://files.test/${id}.mp4` },
  });

/** Ends once: no request is made by creating or showing a batch. */
test("a batch sends nothing before it is run, and each request once", async () => {
  const { batch, prompts, results, run } = openBatch(createReefs(5), { concurrency: 2 });
  batch.subscribe(() => {});
  await settled();
  expect(prompts).toEqual([]);
  expect(await run()).toMatchObject({ status: "done", total: 5, done: 5, waiting: 0, unconfirmed: 0 });
  expect(prompts).toEqual(["reef 0", "reef 1", "reef 2", "reef 3", "reef 4"]);
  expect(results.map(({ id }) => id)).toEqual(["0", "1", "2", "3", "4"]);
  expect(await run()).toMatchObject({ status: "done", done: 5 });
  expect(prompts).toHaveLength(5);
});

test("images, videos and chats of one batch end with their own results", async () => {
  const { results, run } = openBatch(
    [createReef("A reef", "picture"), createVideo("A wave"), chat("Hello")],
    {
      async respond(prompt, _, request) {
        if (request.url.includes("/video/")) return receipt("t-1");
        return prompt === "Hello"
          ? streamResponse(frame({ content: "Hi" }, "stop") + DONE)
          : createImageResponse(prompt);
      },
      client: {
        fetch: async (request) => {
          if (request.method === "GET") return finished("t-1");
          if (request.url.includes("/video/")) return receipt("t-1");
          const prompt = await readPrompt(request);
          return prompt === "Hello"
            ? streamResponse(frame({ content: "Hi" }, "stop") + DONE)
            : createImageResponse(prompt);
        },
      },
    },
  );
  expect(await run(5000)).toMatchObject({ status: "done", done: 3 });
  const byId = Object.fromEntries(results.map((item) => [item.id, item]));
  expect(byId["picture"]).toMatchObject({ kind: "image", result: { images: [{ url: expect.any(String) }] } });
  expect(byId["1"]).toMatchObject({ kind: "video", result: { url: "https://files.test/t-1.mp4" } });
  expect(byId["2"]).toMatchObject({ kind: "chat", result: { message: { content: "Hi" } } });
});

test("sends a model that is not listed with checks: false, and no other request without checks", async () => {
  const zeta = { model: "zeta-9", prompt: "A reef", depth: "deep" };
  const sent: unknown[] = [];
  const list: BatchRequest[] = [{ image: zeta, checks: false }, { image: zeta } as never];
  const { run } = openBatch(list, {
    async respond(prompt, _, request) {
      sent.push(await request.json());
      return createImageResponse(prompt);
    },
  });
  expect(await run()).toMatchObject({ done: 1, failed: 1 });
  expect(sent).toEqual([zeta]);
});

test("no more requests are in flight than `concurrency` allows", async () => {
  let inFlight = 0;
  let peak = 0;
  const { run } = openBatch(createReefs(20), {
    concurrency: 3,
    async respond(prompt) {
      inFlight += 1;
      peak = Math.max(peak, inFlight);
      await settled();
      inFlight -= 1;
      return createImageResponse(prompt);
    },
  });
  await run();
  expect(peak).toBe(3);
});

describe("one bad response", () => {
  test("A 400 fails its request, and the others continue", async () => {
    const { batch, run, prompts } = openBatch(createReefs(3), {
      respond: (prompt, nth) =>
        prompt === "reef 1" && nth === 1 ? createRefusal(400) : createImageResponse(prompt),
    });
    expect(await run()).toMatchObject({ status: "done", done: 2, failed: 1 });
    expect(batch.getItems("failed")).toMatchObject([{ id: "1", error: { status: 400, billing: "none" } }]);
    await batch.retry("1");
    expect(await run()).toMatchObject({ done: 3, failed: 0 });
    expect(prompts).toEqual(["reef 0", "reef 1", "reef 2", "reef 1"]);
  });

  test("An unreadable response leaves its request unconfirmed, and it is not sent again", async () => {
    const { batch, run, prompts } = openBatch(createReefs(2), {
      respond: (prompt) => (prompt === "reef 0" ? Response.json({ hello: 1 }) : createImageResponse(prompt)),
    });
    expect(await run()).toMatchObject({ status: "done", done: 1, unconfirmed: 1 });
    await run();
    expect(prompts).toEqual(["reef 0", "reef 1"]);
    expect(batch.getItem("0")).toMatchObject({ state: "unconfirmed", error: { billing: "maybe" } });
  });

  test("A response without an image is not a result: its request fails if it cost nothing, and is unconfirmed otherwise", async () => {
    const { batch, run, results } = openBatch(createReefs(3), {
      respond(prompt) {
        if (prompt === "reef 0") return Response.json({ data: [] });
        if (prompt === "reef 1") return Response.json({ data: [], usage: { generated_images: 0 } });
        return createImageResponse(prompt);
      },
    });
    expect(await run()).toMatchObject({ status: "done", done: 1, failed: 1, unconfirmed: 1 });
    const message = "the response contains no image";
    expect(batch.getItem("0")).toMatchObject({ state: "unconfirmed", error: { message } });
    expect(batch.getItem("1")).toMatchObject({ state: "failed", error: { message, billing: "none" } });
    expect(results).toHaveLength(1);
  });

  test("A 401 ends the run with its error, and nothing more is sent", async () => {
    let isValid = false;
    const { run, prompts } = openBatch(createReefs(9), {
      concurrency: 1,
      respond: (prompt) => (isValid ? createImageResponse(prompt) : createRefusal(401)),
    });
    expect(await run()).toMatchObject({ status: "error", waiting: 9, error: { status: 401 } });
    expect(prompts).toHaveLength(1);
    isValid = true;
    expect(await run()).toMatchObject({ status: "done", done: 9, error: undefined });
  });

  test("A 429 with a Retry-After of a day pauses the batch for ten minutes, and the state shows it", async () => {
    const { batch, clock, prompts } = openBatch(createReefs(4), {
      concurrency: 1,
      respond: (prompt, nth) =>
        prompt === "reef 0" && nth === 1
          ? createRefusal(429, { "retry-after": "86400" })
          : createImageResponse(prompt),
    });
    const ended = batch.run();
    await shows(batch, ({ status }) => status === "paused");
    const { pausedUntil = 0, error, waiting } = batch.getSnapshot();
    expect(pausedUntil - Date.now()).toBeLessThanOrEqual(600_000);
    expect([error?.message, waiting]).toEqual(["status 429", 4]);
    await clock.advance(599_000);
    expect(prompts).toEqual(["reef 0"]);
    expect(await clock.advanceUntil(ended, 1000)).toMatchObject({ status: "done", done: 4 });
  });
});

test("the concurrency falls after a 429, once for all requests in flight, and grows back to the option", async () => {
  let inFlight = 0;
  let peak = 0;
  const { batch, clock } = openBatch(createReefs(80), {
    concurrency: 8,
    async respond(prompt, nth) {
      if (nth === 1 && Number(prompt.split(" ")[1]) < 8) return createRefusal(429, { "retry-after": "1" });
      inFlight += 1;
      peak = Math.max(peak, inFlight);
      await settled();
      inFlight -= 1;
      return createImageResponse(prompt);
    },
  });
  const ended = batch.run();
  await shows(batch, ({ status }) => status === "paused");
  expect(batch.getSnapshot().concurrency).toBe(4);
  expect([await clock.advanceUntil(ended, 1000), peak]).toMatchObject([{ done: 80 }, 8]);
});

describe("a batch in which nothing moves", () => {
  test("ends after twelve pauses without a response, and can be continued", async () => {
    let isBusy = true;
    const { run, prompts } = openBatch(createReefs(3), {
      concurrency: 1,
      respond: (prompt) => (isBusy ? createRefusal(429) : createImageResponse(prompt)),
    });
    expect(await run(60_000)).toMatchObject({ status: "error", waiting: 3, error: { status: 429 } });
    expect(prompts).toHaveLength(13);
    isBusy = false;
    expect(await run()).toMatchObject({ status: "done", done: 3 });
  });

  test("ends after ten unconfirmed requests in a row: the rest could be billed for nothing", async () => {
    const { batch, run, prompts } = openBatch(createReefs(50), {
      concurrency: 1,
      respond: () => createRefusal(500),
    });
    expect(await run()).toMatchObject({
      status: "error",
      unconfirmed: 10,
      waiting: 40,
      error: { status: 500 },
    });
    expect(prompts).toHaveLength(10);
    expect(batch.getItems("unconfirmed").map(({ id }) => id)).toEqual(
      Array.from({ length: 10 }, (_, at) => `${at}`),
    );
  });

  test("pauses while there is no connection, and loses nothing", async () => {
    let isOffline = true;
    const { batch, clock, prompts } = openBatch(createReefs(2), {
      concurrency: 1,
      respond(prompt) {
        if (isOffline)
          throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
        return createImageResponse(prompt);
      },
    });
    const ended = batch.run();
    await shows(batch, ({ status }) => status === "paused");
    isOffline = false;
    expect(await clock.advanceUntil(ended, 1000)).toMatchObject({ status: "done", done: 2 });
    expect(prompts).toEqual(["reef 0", "reef 0", "reef 1"]);
  });

  test("fails a video after its deadline, and polls the same task after a retry", async () => {
    let isMade = false;
    let creates = 0;
    const { batch, run } = openBatch([createVideo("A wave")], {
      deadlineMs: 60_000,
      client: {
        async fetch(request) {
          if (request.method === "POST") creates += 1;
          if (request.method === "POST") return receipt("t-1");
          return isMade
            ? finished("t-1")
            : Response.json({ code: "success", data: { task_id: "t-1", status: "IN_PROGRESS" } });
        },
      },
    });
    expect(await run(5000)).toMatchObject({ status: "done", failed: 1 });
    expect(batch.getItem("0")).toMatchObject({ error: { name: "TimeoutError" }, handle: { id: "t-1" } });
    isMade = true;
    await batch.retry("0");
    expect([await run(5000), creates]).toMatchObject([{ done: 1 }, 1]);
  });
});

describe("a stop", () => {
  test("lets requests in flight finish, sends nothing new, and run continues", async () => {
    const open: (() => void)[] = [];
    const { batch, clock, prompts } = openBatch(createReefs(5), {
      concurrency: 2,
      respond: (prompt) => new Promise((resolve) => open.push(() => resolve(createImageResponse(prompt)))),
    });
    const ended = batch.run();
    await expect.poll(() => open.length).toBe(2);
    batch.stop();
    expect(batch.getSnapshot()).toMatchObject({ status: "stopped", running: 2, waiting: 3 });
    for (const release of open.splice(0)) release();
    expect(await clock.advanceUntil(ended, 10)).toMatchObject({ status: "stopped", done: 2, waiting: 3 });
    const again = batch.run();
    const timer = setInterval(() => open.shift()?.(), 1);
    expect(await clock.advanceUntil(again, 10)).toMatchObject({ status: "done", done: 5 });
    clearInterval(timer);
    expect(prompts).toEqual(["reef 0", "reef 1", "reef 2", "reef 3", "reef 4"]);
  });

  test("ends a pause at once", async () => {
    const { batch, clock } = openBatch(createReefs(2), {
      respond: () => createRefusal(429, { "retry-after": "600" }),
    });
    const ended = batch.run();
    await shows(batch, ({ status }) => status === "paused");
    batch.stop();
    expect(await clock.advanceUntil(ended, 1)).toMatchObject({ status: "stopped", waiting: 2 });
  });

  test("leaves a video to the gateway, and the next run polls it", async () => {
    const sent: string[] = [];
    let isMade = false;
    const { batch, clock, run } = openBatch([createVideo("A wave")], {
      client: {
        async fetch(request) {
          sent.push(request.method);
          if (request.method === "POST") return receipt("t-1");
          return isMade
            ? finished("t-1")
            : Response.json({ code: "success", data: { task_id: "t-1", status: "QUEUED" } });
        },
      },
    });
    const ended = batch.run();
    await expect.poll(() => sent.length).toBe(2);
    batch.stop();
    expect(await clock.advanceUntil(ended, 1)).toMatchObject({ status: "stopped", running: 1 });
    isMade = true;
    expect(await run(5000)).toMatchObject({ status: "done", done: 1 });
    expect(sent.filter((method) => method === "POST")).toHaveLength(1);
  });
});

describe("a result", () => {
  test("is done when onResult has resolved, and is passed again after onResult failed", async () => {
    let isFull = true;
    const given: string[] = [];
    const { batch, run, prompts } = openBatch(createReefs(3), {
      concurrency: 1,
      async onResult({ id }) {
        given.push(id);
        await settled();
        if (isFull) throw new Error("the disk is full");
      },
    });
    expect(await run()).toMatchObject({ status: "error", done: 0, running: 1, waiting: 2 });
    expect(batch.getSnapshot().error?.message).toBe("the disk is full");
    isFull = false;
    expect(await run()).toMatchObject({ status: "done", done: 3 });
    expect([given, prompts.length]).toEqual([["0", "0", "1", "2"], 3]);
  });

  test("A result whose onResult never ends blocks one slot, and the others continue", async () => {
    const { batch, clock } = openBatch(createReefs(4), {
      concurrency: 2,
      onResult: ({ id }) => (id === "0" ? new Promise(() => {}) : undefined),
    });
    void batch.run();
    await clock.advanceUntil(
      shows(batch, ({ done }) => done === 3),
      50,
    );
    expect(batch.getSnapshot()).toMatchObject({ status: "running", running: 1, waiting: 0 });
  });

  test("can be read later from the ledger, with the results of all runs", async () => {
    const storage = memoryStorage();
    await openBatch(createReefs(2), { storage }).run();
    const later = openBatch(createReefs(3), { storage });
    later.batch.subscribe(() => {});
    await shows(later.batch, ({ done }) => done === 2);
    expect(later.batch.getItem("1")).toMatchObject({
      state: "done",
      result: { images: [{ url: "https://files.test/reef%201.png" }] },
    });
    await later.run();
    expect([later.prompts, later.results.map(({ id }) => id)]).toEqual([["reef 2"], ["2"]]);
  });
});

describe("a list that has changed", () => {
  test("is refused before anything is sent, and the error names its requests", async () => {
    const storage = memoryStorage();
    await openBatch(createReefs(3), { storage }).run();
    const { run, prompts } = openBatch([createReef("a new one"), ...createReefs(3)], { storage });
    const { status, error } = await run();
    expect([status, prompts]).toEqual(["error", []]);
    expect(error?.message).toContain("3 have changed since this batch began (0, 1, 2), and nothing was sent");
  });

  test("may grow anywhere where each request has an id", async () => {
    const storage = memoryStorage();
    await openBatch([createReef("a", "a"), createReef("b", "b")], { storage }).run();
    const { run, prompts } = openBatch([createReef("c", "c"), createReef("b", "b"), createReef("a", "a")], {
      storage,
    });
    expect([await run(), prompts]).toMatchObject([{ status: "done", done: 3 }, ["c"]]);
  });

  test("may replace a rejected request by another one", async () => {
    const storage = memoryStorage();
    const first = openBatch(createReefs(2), {
      storage,
      respond: (prompt) => (prompt === "reef 0" ? createRefusal(400) : createImageResponse(prompt)),
    });
    await first.run();
    const { batch, run } = openBatch([createReef("a better one"), ...createReefs(1, 1)], { storage });
    batch.subscribe(() => {});
    await shows(batch, ({ failed }) => failed === 1);
    await batch.retry("0");
    expect(await run()).toMatchObject({ status: "done", done: 2 });
  });

  test("must not have a duplicate id or a request without a kind", () => {
    expect(() => openBatch([createReef("a", "a"), createReef("b", "a")])).toThrow(
      'requests.1.id: "a" is used twice',
    );
    expect(() => openBatch([{} as BatchRequest])).toThrow(
      "requests.0: must have one of the fields image, video",
    );
    expect(() => openBatch([], { concurrency: 0 })).toThrow("concurrency: must be a whole number from 1 up");
  });
});

describe("a storage", () => {
  test("Nothing is sent if the storage does not write the record", async () => {
    const { storage } = watchWrites(memoryStorage(), () => {
      throw new DOMException("full", "QuotaExceededError");
    });
    const { run, prompts } = openBatch(createReefs(3), { storage });
    expect(await run()).toMatchObject({ status: "error", waiting: 3, error: { name: "QuotaExceededError" } });
    expect(prompts).toEqual([]);
  });

  test("ends the run after 30 seconds without a response, and sends nothing", async () => {
    const storage = { ...memoryStorage(), read: () => new Promise<never>(() => {}) };
    const { run, prompts } = openBatch(createReefs(3), { storage });
    expect(await run()).toMatchObject({ status: "error", error: { name: "TimeoutError" } });
    expect(prompts).toEqual([]);
  });

  test("failing after a response loses no result: onResult gets it, and the next run has it", async () => {
    let isBroken = true;
    const { storage } = watchWrites(memoryStorage(), (nth) => {
      if (isBroken && nth > 1) throw new Error("no space");
    });
    const { batch, run, prompts, results } = openBatch(createReefs(2), { storage, concurrency: 1 });
    expect(await run()).toMatchObject({ status: "error", error: { message: "no space" } });
    expect(results.map(({ id }) => id)).toEqual(["0"]);
    isBroken = false;
    expect(await run()).toMatchObject({ status: "done", done: 2 });
    expect([prompts, batch.getItems("done").length]).toEqual([["reef 0", "reef 1"], 2]);
  });

  test("leaves the decision about a request with an unreadable record to the user", async () => {
    const storage = memoryStorage();
    await storage.write("batches/reefs", new Map<string, unknown>([["1", { state: "gibberish" }]]));
    const { batch, run, prompts } = openBatch(createReefs(3), { storage });
    expect(await run()).toMatchObject({ status: "done", done: 2, unconfirmed: 1 });
    expect(prompts).toEqual(["reef 0", "reef 2"]);
    await batch.skip("1");
    expect(batch.getSnapshot()).toMatchObject({ failed: 1, unconfirmed: 0 });
  });
});

test("a batch writes nothing after its user has signed out", async () => {
  const open: (() => void)[] = [];
  const { batch, client, clock, storage } = openBatch(createReefs(3), {
    concurrency: 1,
    respond: (prompt, _, request) =>
      new Promise((resolve, reject) => {
        open.push(() => resolve(createImageResponse(prompt)));
        request.signal.addEventListener("abort", () => reject(request.signal.reason));
      }),
  });
  const ended = batch.run();
  await expect.poll(() => open.length).toBe(1);
  expect(await signOut(client, { storages: [storage] })).toEqual({ unsent: 0, errors: [] });
  expect(await clock.advanceUntil(ended, 10)).toMatchObject({ status: "stopped", waiting: 3 });
  expect(await storage.read("batches/reefs")).toEqual(new Map());
});

test("a batch without a name or a storage is refused with the remedy", () => {
  const { client } = openBatch([]);
  const create = (options: object) => () => createBatch(client, [], options as never);
  expect(create({ storage: memoryStorage() })).toThrow("id: is missing");
  expect(create({ id: "a" })).toThrow("storage: is missing: give indexedDBStorage(), or fileStorage(path)");
});

test("retry rejects if the ledger can't be written", async () => {
  let isBroken = false;
  const { storage } = watchWrites(memoryStorage(), () => {
    if (isBroken) throw new Error("no space");
  });
  const { batch, run } = openBatch(createReefs(1), { storage, respond: () => createRefusal(400) });
  await run();
  isBroken = true;
  expect(await catchError(batch.retry("0"))).toMatchObject({ message: "no space" });
});
