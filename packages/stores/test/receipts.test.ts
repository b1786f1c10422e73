import {
  completeChat,
  createVideoTask,
  generateImages,
  getVideoTask,
  type RecordStorage,
  resumeChat,
  streamChat,
} from "@sluice/core";
import {
  createChatStore,
  formatReceiptsCSV,
  listReceipts,
  memoryStorage,
  type Receipt,
  recordReceipts,
  signOut,
} from "@sluice/stores";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  frame,
  openBody,
  question,
  settled,
  stoppedClock,
  streamResponse,
  waitUntil,
} from "../../core/test/support/gateway.js";
import { addIds, serveStored } from "../../core/test/support/stored-streams.js";

const reef = { model: "gamma-image-5-0-260128", prompt: "A reef", size: "2048x2048" } as const;
const respondWithImage = () =>
  Response.json(
    { data: [{ url: "https://files.test/1.png" }], usage: { generated_images: 1, total_tokens: 4 } },
    { headers: { "x-request-id": "r-1" } },
  );
const createRefusal = (status: number) => Response.json({ error: { message: "busy" } }, { status });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 30, 12) });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A client with receipts, whose gateway responds as given. */
function openRecorded(
  respond: Parameters<typeof createTestClient>[0],
  {
    storage = memoryStorage(),
    ...options
  }: Parameters<typeof createTestClient>[1] & { storage?: RecordStorage } = {},
) {
  const { client } = createTestClient(respond, { random: () => 0, ...options });
  const stop = recordReceipts(client, { storage });
  const list = async (period = {}) => {
    await settled();
    return listReceipts(client, { storage, ...period });
  };
  return { client, storage, stop, list };
}

test("a request is sent when its receipt is stored", async () => {
  const writes: (() => void)[] = [];
  const write = () => new Promise<void>((resolve) => void writes.push(resolve));
  const storage = { ...memoryStorage(), write };
  let sent = 0;
  const gateway = () => {
    sent += 1;
    return respondWithImage();
  };
  const { client } = openRecorded(gateway, { storage });
  const result = generateImages(client, reef);
  await settled();
  expect([writes.length, sent]).toEqual([1, 0]);
  writes[0]?.();
  await result;
  await settled();
  expect(sent).toBe(1);
  for (const end of writes) end();
});

test("a request is sent though its receipt cannot be stored", async () => {
  const write = () => Promise.reject(new Error("the disk is full"));
  const { client } = openRecorded(respondWithImage, {
    storage: { ...memoryStorage(), write },
    onEvent: () => {},
  });
  expect((await generateImages(client, reef)).images).toHaveLength(1);
});

describe("a receipt", () => {
  test("says what was requested, when, with which ids, and that it is billed", async () => {
    const { client, list } = openRecorded(respondWithImage, { idempotencyKeys: true });
    await generateImages(client, reef, { idempotencyKey: "key-1" });
    expect(await list()).toEqual([
      {
        callId: expect.any(String),
        kind: "image",
        path: "/v1/images/generations",
        model: reef.model,
        responseModel: reef.model,
        settings: { size: "2048x2048" },
        startedAt: Date.UTC(2026, 10, 30, 12),
        endedAt: Date.UTC(2026, 10, 30, 12),
        attempts: 1,
        statuses: [200],
        requestId: "r-1",
        idempotencyKey: "key-1",
        outcome: "complete",
        billing: "yes",
        usage: { generated_images: 1, total_tokens: 4 },
      },
    ]);
  });

  test("is stored before the response, and says that the request may be billed", async () => {
    const { client, list } = openRecorded(() => new Promise<Response>(() => {}));
    const closing = new AbortController();
    const ended = catchError(generateImages(client, reef, { signal: closing.signal }));
    expect(await list()).toMatchObject([{ outcome: "pending", billing: "maybe", attempts: 1 }]);
    closing.abort();
    await ended;
  });

  test.each([
    [
      "a gateway that refuses it",
      () => createRefusal(400),
      { billing: "refused", outcome: "error", statuses: [400] },
    ],
    [
      "a connection that breaks",
      () => Promise.reject(new TypeError("terminated")),
      { billing: "maybe", outcome: "error", statuses: [] },
    ],
    [
      "a gateway that is not reached",
      () => Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } })),
      { billing: "none", outcome: "not-sent", statuses: [] },
    ],
  ] as const)("has the billing of its error: %s", async (_, respond, expected) => {
    const { client, list } = openRecorded(respond);
    const error = await catchError(generateImages(client, reef, { retry: { limit: 0 } }));
    expect(await list()).toMatchObject([{ ...expected, error: { message: (error as Error).message } }]);
  });

  test("counts the attempts of one request", async () => {
    const clock = stoppedClock();
    const { client, list } = openRecorded((_, nth) => (nth === 1 ? createRefusal(429) : respondWithImage()), {
      clock,
    });
    await clock.advanceUntil(generateImages(client, reef), 1000);
    expect(await list()).toMatchObject([{ attempts: 2, statuses: [429, 200], billing: "yes" }]);
  });

  test("says that a stopped stream may be billed, and has the received response id", async () => {
    const body = openBody();
    const { client, list } = openRecorded(() => streamResponse(body.body));
    const stopping = new AbortController();
    const stream = streamChat(client, question, { signal: stopping.signal });
    const ended = stream.result().catch(() => {});
    await body.wanted();
    body.send(frame({ content: "Blue" }));
    await body.wanted();
    stopping.abort();
    await ended;
    expect(await list()).toMatchObject([
      { kind: "chat", outcome: "stopped", billing: "maybe", responseId: "chat-1" },
    ]);
  });

  test("has the id of a video task, and is not written for polls", async () => {
    const { client, list } = openRecorded(({ method }) =>
      method === "POST"
        ? Response.json({ id: "t-1", model: "beta3.0-video", created_at: 1 })
        : Response.json({ code: "success", data: { task_id: "t-1", status: "IN_PROGRESS" } }),
    );
    const handle = await createVideoTask(client, {
      model: "beta3.0-video",
      input: { prompt: "A reef" },
      parameters: { resolution: "720P", duration: 5 },
    });
    await getVideoTask(client, handle);
    expect(await list()).toMatchObject([
      { kind: "video", responseId: "t-1", settings: { resolution: "720P", duration: 5 } },
    ]);
  });

  test("is not written for an invalid request, because nothing was sent", async () => {
    const { client, list } = openRecorded(respondWithImage);
    await catchError(generateImages(client, { ...reef, size: "no size" as "2048x2048" }));
    expect(await list()).toEqual([]);
  });

  test("contains neither the prompt nor the API key", async () => {
    const { client, list } = openRecorded(() => streamResponse(frame({ content: "Blue" }, "stop") + DONE), {
      apiKey: "sk-0123456789",
      dangerouslyAllowBrowser: true,
    });
    await completeChat(client, question).catch(() => {});
    const text = JSON.stringify(await list());
    expect(text).toContain("delta-5.3");
    expect(text).not.toMatch(/sky|sk-0123456789/);
  });
});

describe("a response that the proxy stores", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const events = [frame({ content: "one " }), frame({ content: "two" }, "stop", { usage }), DONE];
  const bytes = new TextEncoder().encode(addIds(events.slice(0, 1))).length;

  /** Opens a page with receipts, behind the proxy. */
  function openPage(storage: RecordStorage, cuts: Parameters<typeof serveStored>[1]) {
    const clock = stoppedClock();
    const { client } = serveStored(events, cuts, { clock, retry: { limit: 0 } });
    recordReceipts(client, { storage });
    const list = async () => {
      await settled();
      return listReceipts(client, { storage });
    };
    return { client, clock, list };
  }

  /** Opens a page after another was closed during a response. */
  async function reload(cuts: Parameters<typeof serveStored>[1]) {
    const [receipts, chats, reloaded] = [memoryStorage(), memoryStorage(), memoryStorage()];
    const before = openPage(receipts, [{ bytes, ending: "silence" }]);
    const closed = createChatStore(before.client, { id: "a", model: "alpha-v4.1-flash", storage: chats });
    closed.subscribe(() => {});
    void closed.send("Hello");
    await settled();
    await before.clock.advance(1000);
    await before.clock.advance(1000);
    expect(closed.getSnapshot().messages.at(-1)?.content).toBe("one ");
    const left = await before.list();
    expect(left).toMatchObject([{ outcome: "pending", billing: "maybe" }]);

    // a copy under another id: the chat of the closed page still holds its lock
    await reloaded.write("chat/b", await chats.read("chat/a"));
    vi.setSystemTime(Date.UTC(2026, 11, 1));
    const after = openPage(receipts, cuts);
    const chat = createChatStore(after.client, { id: "b", model: "alpha-v4.1-flash", storage: reloaded });
    chat.subscribe(() => {});
    await waitUntil(() => chat.getSnapshot().messages.at(-1)?.outcome !== undefined);
    return { left, now: await after.list() };
  }

  test("has one receipt, which the page after a reload ends", async () => {
    const { left, now } = await reload([]);
    expect(now).toEqual([
      expect.objectContaining({
        callId: left[0]?.callId,
        endedAt: Date.UTC(2026, 11, 1),
        outcome: "complete",
        billing: "yes",
        responseId: "chat-1",
        usage,
      }),
    ]);
  });

  test("leaves its receipt as it is if the proxy no longer stores it", async () => {
    const headers = { "x-sluice-source": "proxy" };
    const { left, now } = await reload([Response.json({}, { status: 404, headers })]);
    expect(now).toEqual(left);
  });

  test("is found by its response id when an app reads it to its end", async () => {
    const receipts = memoryStorage();
    const { client, clock, list } = openPage(receipts, [
      { bytes, ending: "drop" },
      createRefusal(401),
      createRefusal(401),
    ]);
    await clock.advanceUntil(catchError(streamChat(client, question).result()), 1000);
    expect(await list()).toMatchObject([{ outcome: "truncated", billing: "maybe" }]);
    await resumeChat(client, "s-1").result();
    const [receipt] = await list();
    expect(receipt).toMatchObject({ outcome: "complete", billing: "yes", usage });
    expect(receipt?.error).toBeUndefined();
  });
});

describe("the list", () => {
  test("has the receipts of a period, the oldest first, over the end of a month", async () => {
    const { client, list } = openRecorded(respondWithImage);
    for (const day of [20, 31, 40]) {
      vi.setSystemTime(Date.UTC(2026, 9, day));
      await generateImages(client, reef);
    }
    const days = (receipts: readonly Receipt[]) =>
      receipts.map(({ startedAt }) => new Date(startedAt).getUTCDate());
    expect(days(await list())).toEqual([20, 31, 9]);
    expect(days(await list({ since: Date.UTC(2026, 9, 31) }))).toEqual([31, 9]);
    expect(days(await list({ until: Date.UTC(2026, 9, 31) }))).toEqual([20]);
    vi.setSystemTime(Date.UTC(2027, 5, 1));
    expect(await list()).toEqual([]);
    expect(await list({ since: 0 })).toHaveLength(3);
  });

  test("has the receipts of its user only, and none after a sign-out", async () => {
    const storage = memoryStorage();
    const ada = openRecorded(respondWithImage, { storage, user: "ada" });
    const bob = openRecorded(respondWithImage, { storage, user: "bob" });
    await generateImages(ada.client, reef);
    expect([(await ada.list()).length, (await bob.list()).length]).toEqual([1, 0]);
    await signOut(ada.client);
    expect(await ada.list()).toEqual([]);
  });

  test("has no receipts after the sign-out of a client without a user", async () => {
    const { client, list } = openRecorded(respondWithImage);
    await generateImages(client, reef);
    expect(await list()).toHaveLength(1);
    expect(await signOut(client)).toEqual({ unsent: 0, errors: [] });
    expect(await list()).toEqual([]);
  });

  test("refuses a period that ends before it begins, and a missing storage", async () => {
    const { list, client } = openRecorded(respondWithImage);
    expect(await catchError(list({ since: 2, until: 1 }))).toMatchObject({ name: "ConfigurationError" });
    expect(() => recordReceipts(client, {} as never)).toThrow("storage: give a storage");
  });

  test("ends when the recording is stopped, and completes what had begun", async () => {
    let end: (response: Response) => void = () => {};
    const { client, stop, list } = openRecorded((_, nth) =>
      nth === 1 ? new Promise<Response>((resolve) => (end = resolve)) : respondWithImage(),
    );
    const first = generateImages(client, reef);
    await settled();
    stop();
    end(respondWithImage());
    await first;
    await generateImages(client, reef);
    expect(await list()).toMatchObject([{ outcome: "complete", billing: "yes" }]);
  });
});

test("a storage that fails is reported, and its receipts are written later", async () => {
  const { write, ...rest } = memoryStorage();
  let isFull = true;
  const storage: RecordStorage = {
    ...rest,
    write: (...args) => (isFull ? Promise.reject(new Error("full")) : write(...args)),
  };
  const failures: unknown[] = [];
  const { client, list } = openRecorded(respondWithImage, {
    storage,
    onEvent: (event) => event.type === "storage-error" && failures.push(event.error),
  });
  await generateImages(client, reef);
  await settled();
  isFull = false;
  await generateImages(client, reef);
  expect(await list()).toHaveLength(2);
  expect(failures).toHaveLength(1);
});

test("the CSV has a line for each receipt, and no formula", async () => {
  const { client, list } = openRecorded(() => createRefusal(400));
  await catchError(generateImages(client, reef, { headers: {} }));
  const [receipt] = await list();
  const csv = formatReceiptsCSV([
    { ...(receipt as Receipt), chatId: "=1+1", error: { name: "APIError", message: 'a "quoted", text' } },
  ]);
  const [header, line, rest] = csv.split("\r\n");
  expect(header).toMatch(/^startedAt,endedAt,kind,model,outcome,billing/);
  expect(line).toContain(
    "2026-11-30T12:00:00.000Z,2026-11-30T12:00:00.000Z,image,gamma-image-5-0-260128,error,refused,1,400,",
  );
  expect(line).toContain(",'=1+1,");
  expect(line).toContain('"APIError: a ""quoted"", text"');
  expect(rest).toBe("");
});
