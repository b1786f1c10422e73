import type { BatchRequest } from "@sluice/batch";
import type { RecordStorage } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DONE, frame, streamResponse } from "../../core/test/support/gateway.js";
import { openOnce } from "../../core/test/support/once.js";
import { createImageResponse, createReefs, createRefusal, openBatch, readPrompt } from "./support/batches.js";

type Network = (request: Request) => Promise<Response>;
/** The moment of a crash: before or after the nth write of the process, or after its nth response. */
type Crash = readonly ["before write" | "after write" | "after response", number];

/**
 * A process over a storage that others had before it. After its crash it does nothing any more; no lock outlives it.
 */
function createProcess(
  storage: RecordStorage,
  network: Network,
  { crash, keys = false, list = createReefs(4), concurrency = 2 }: Scenario = {},
) {
  const counts = { "before write": 0, "after write": 0, "after response": 0 };
  let isDead = false;
  let die: () => void = () => {};
  const died = new Promise<"died">((resolve) => {
    die = () => resolve("died");
  });
  const pass = async (moment: Crash[0]) => {
    counts[moment] += 1;
    isDead ||= crash?.[0] === moment && counts[moment] >= crash[1];
    if (!isDead) return;
    die();
    await new Promise(() => {});
  };
  const write: RecordStorage["write"] = async (collection, changes) => {
    await pass("before write");
    await storage.write(collection, changes);
    await pass("after write");
  };
  const fetch = async (request: Request) => {
    if (isDead) await pass("after response");
    const response = await network(request);
    await pass("after response");
    return response;
  };
  const lock = async () => ({ write, release: async () => {} });
  const scenario = openBatch(list, {
    concurrency,
    storage: { ...storage, write, lock },
    client: { fetch, idempotencyKeys: keys },
  });
  const end = () => scenario.clock.advanceUntil(Promise.race([scenario.batch.run(), died]), 1000);
  return { ...scenario, end };
}

interface Scenario {
  readonly crash?: Crash;
  readonly keys?: boolean;
  readonly list?: readonly BatchRequest[];
  readonly concurrency?: number;
}

/** A proxy that stores responses, in front of a gateway that runs every request. */
function createRememberingGateway(features: string | null = "idempotency") {
  const proxy = openOnce(async (_, request) => createImageResponse(await readPrompt(request)), { features });
  const { fetch } = proxy.page();
  return { ...proxy, network: fetch as Network };
}

const video: BatchRequest = { video: { model: "beta3.0-video", input: { prompt: "A wave" } } };
const chat: BatchRequest = { chat: { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } };

afterEach(() => {
  vi.useRealTimers();
});

const moments = (["before write", "after write", "after response"] as const).flatMap((moment) =>
  [1, 2, 3, 4, 6, 8, 12].map((nth): Crash => [moment, nth]),
);

describe.each(moments)("a process that dies %s %i", (...crash) => {
  test("leaves a batch in which nothing is billed twice, and names what may be billed", async () => {
    const storage = memoryStorage();
    const bills: string[] = [];
    const gateway = async (request: Request) => {
      const prompt = await readPrompt(request);
      bills.push(prompt);
      return createImageResponse(prompt);
    };
    await createProcess(storage, gateway, { crash }).end();
    const { batch, end } = createProcess(storage, gateway);
    expect(await end()).toMatchObject({ status: "done", failed: 0, waiting: 0, running: 0 });
    expect([...new Set(bills)]).toEqual(bills);
    const unconfirmed = batch.getItems("unconfirmed").map(({ id }) => id);
    expect(batch.getItems("done").length + unconfirmed.length).toBe(4);
    await batch.retry(...unconfirmed);
    expect(await end()).toMatchObject({ done: 4, unconfirmed: 0 });
  });

  test("leaves a batch behind `idempotency()` that comes to its end: four images, four bills", async () => {
    const storage = memoryStorage();
    const { network, sent } = createRememberingGateway();
    await createProcess(storage, network, { crash, keys: true }).end();
    expect(await createProcess(storage, network, { keys: true }).end()).toMatchObject({
      status: "done",
      done: 4,
    });
    expect(sent).toHaveLength(4);
  });
});

test("a process that dies with 16 requests in flight leaves them unconfirmed, and the next one sends the rest", async () => {
  const storage = memoryStorage();
  const more = { list: createReefs(20), concurrency: 16 };
  const respond = async (request: Request) => createImageResponse(await readPrompt(request));
  const killed = createProcess(storage, respond, { ...more, crash: ["after response", 1] });
  expect(await killed.end()).toBe("died");
  expect(await createProcess(storage, respond, more).end()).toMatchObject({
    status: "done",
    unconfirmed: 16,
    done: 4,
  });
});

test("a request with a lost response is sent again under its key behind `idempotency()`", async () => {
  const { network, lose, keys, sent } = createRememberingGateway();
  for (let nth = 0; nth < 3; nth += 1) lose();
  const { end } = createProcess(memoryStorage(), network, { keys: true, list: createReefs(1) });
  expect(await end()).toMatchObject({ status: "done", done: 1 });
  expect([keys.length, new Set(keys).size, sent.length]).toEqual([4, 1, 1]);
});

test("a request whose response stays lost is unconfirmed after three retries, and retry finds its response", async () => {
  const { network, lose, keys, sent } = createRememberingGateway();
  for (let nth = 0; nth < 4; nth += 1) lose();
  const { batch, end } = createProcess(memoryStorage(), network, { keys: true, list: createReefs(1) });
  expect(await end()).toMatchObject({ status: "done", unconfirmed: 1 });
  await batch.retry("0");
  expect(await end()).toMatchObject({ status: "done", done: 1 });
  expect([new Set(keys).size, sent.length]).toEqual([1, 1]);
});

test("a request whose 500 the proxy stores is unconfirmed, and a retry sends it again", async () => {
  const proxy = openOnce(async (nth, request) =>
    nth === 1 ? createRefusal(500) : createImageResponse(await readPrompt(request)),
  );
  const network = proxy.page().fetch as Network;
  const { batch, end } = createProcess(memoryStorage(), network, { keys: true, list: createReefs(1) });
  expect(await end()).toMatchObject({ status: "done", unconfirmed: 1 });
  expect(proxy.sent).toHaveLength(1);
  await batch.retry("0");
  expect(await end()).toMatchObject({ status: "done", done: 1 });
  expect([proxy.sent.length, new Set(proxy.keys).size]).toEqual([2, 2]);
});

test("a request with a lost response is not sent again if the proxy does not remember it", async () => {
  const { network, lose, sent } = createRememberingGateway(null);
  lose();
  const { batch, end } = createProcess(memoryStorage(), network, { keys: true, list: createReefs(2) });
  expect(await end()).toMatchObject({ status: "done", done: 1, unconfirmed: 1 });
  expect([sent.length, batch.getItems("unconfirmed").length]).toEqual([2, 1]);
});

test("a request that a crashed process sent more than 23 hours ago is not sent again", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
  const storage = memoryStorage();
  const { network, sent } = createRememberingGateway();
  await createProcess(storage, network, {
    keys: true,
    list: createReefs(1),
    crash: ["after response", 1],
  }).end();
  vi.setSystemTime(1_800_000_000_000 + 23.5 * 3_600_000);
  const { end } = createProcess(storage, network, { keys: true, list: createReefs(1) });
  expect(await end()).toMatchObject({ status: "done", unconfirmed: 1 });
  expect(sent).toHaveLength(1);
});

test("an unreachable proxy pauses the batch, and nothing is lost", async () => {
  const storage = memoryStorage();
  const { network, sent } = createRememberingGateway();
  await createProcess(storage, network, {
    keys: true,
    list: createReefs(1),
    crash: ["after response", 1],
  }).end();
  let refusals = 3;
  const { end } = createProcess(
    storage,
    async (request) => (request.method === "GET" && refusals-- > 0 ? createRefusal(503) : network(request)),
    { keys: true, list: createReefs(1) },
  );
  expect(await end()).toMatchObject({ status: "done", done: 1 });
  expect([sent.length, refusals]).toEqual([1, -1]);
});

test("a video is still polled after a crash, and never created twice", async () => {
  const storage = memoryStorage();
  const creates: string[] = [];
  const gateway = async (request: Request) => {
    if (request.method === "POST") creates.push(await readPrompt(request));
    return request.method === "POST"
      ? Response.json({ id: "t-1", model: "beta3.0-video", created_at: 1 })
      : Response.json({
          code: "success",
          data: { status: "SUCCESS", result_url: "https://files.test/1.mp4" },
        });
  };
  await createProcess(storage, gateway, { list: [video], crash: ["after response", 2] }).end();
  const { batch, end } = createProcess(storage, gateway, { list: [video] });
  expect(await end()).toMatchObject({ status: "done", done: 1 });
  expect([creates.length, batch.getItem("0")?.handle]).toMatchObject([1, { id: "t-1" }]);
});

describe("a chat whose response is cut off", () => {
  const gateway = (features?: string) => {
    const bills: string[] = [];
    const responses = new Map<string | null, number>();
    const network: Network = async (request) => {
      const headers: HeadersInit = features ? { "x-sluice-features": features } : {};
      if (request.method === "GET") return Response.json({}, { headers });
      const key = request.headers.get("idempotency-key");
      const nth = (responses.get(key) ?? 0) + 1;
      responses.set(key, nth);
      if (nth === 1 || !features) bills.push(await readPrompt(request));
      const text = frame({ content: "Hi" }) + (nth === 1 ? "" : frame({}, "stop") + DONE);
      return new Response(streamResponse(text).body, {
        headers: { "content-type": "text/event-stream", ...headers },
      });
    };
    return { network, bills };
  };

  test("is unconfirmed, and not repeated automatically", async () => {
    const { network, bills } = gateway();
    const { end } = createProcess(memoryStorage(), network, { keys: true, list: [chat] });
    expect(await end()).toMatchObject({ status: "done", unconfirmed: 1 });
    expect(bills).toHaveLength(1);
  });

  test("is read again under its key behind a proxy that stores streams, and billed once", async () => {
    const { network, bills } = gateway("resumable-streams");
    const { end, results } = createProcess(memoryStorage(), network, { keys: true, list: [chat] });
    expect(await end()).toMatchObject({ status: "done", done: 1 });
    expect([bills.length, results]).toMatchObject([1, [{ result: { message: { content: "Hi" } } }]]);
  });

  test("is not sent twice by a gateway that responds with 500 first", async () => {
    const sent: string[] = [];
    const { end } = createProcess(
      memoryStorage(),
      async (request) => {
        sent.push(await readPrompt(request));
        return createRefusal(500);
      },
      { list: [chat] },
    );
    expect(await end()).toMatchObject({ status: "done", unconfirmed: 1 });
    expect(sent).toHaveLength(1);
  });
});
