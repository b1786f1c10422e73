import { connect } from "node:net";
import type { DurableObjectHandlers, ObjectState } from "@sluice/durable";
import { expect, onTestFinished, test, vi } from "vitest";
import { OwnerAbsent, openLiveObjects } from "../src/hosts/process/live-objects.js";
import { type DoorOptions, openDoor } from "../src/hosts/process/neighbours/door.js";
import { openForwarding } from "../src/hosts/process/neighbours/forward.js";
import { openShelf } from "./support/shared-keeper.js";

type Serve = (request: Request, state: ObjectState) => Response | Promise<Response>;
const thing = { binding: "THING", name: "one" };

/** Opens a process of its own: its objects, its door, and its way to the others. */
async function openProcess(shelf: ReturnType<typeof openShelf>, serve: Serve, options?: DoorOptions) {
  class Thing implements DurableObjectHandlers {
    readonly state: ObjectState;
    constructor(state: ObjectState) {
      this.state = state;
    }
    fetch = async (request: Request) => serve(request, this.state);
    async alarm() {}
  }
  const forwarding = openForwarding();
  const door = await openDoor((name, request) => objects.answer(name, request), options);
  const forward = vi.fn(forwarding.forward);
  const objects = openLiveObjects(shelf.keeperOf(door.address), { THING: Thing }, {} as never, {
    forward,
  });
  const close = async () => {
    await objects.close(0);
    forwarding.close();
    await door.close();
  };
  onTestFinished(close);
  const namespace = objects.namespace("THING");
  return {
    door,
    forward,
    close,
    stop: objects.close,
    ask: (path: string, init?: RequestInit) =>
      namespace
        .get(namespace.idFromName("one") as never)
        .fetch(new Request(`https://thing.invalid/${path}`, init)),
  };
}

/** Opens two processes, the first of which has the object. */
async function openTwo(serve: Serve) {
  const shelf = openShelf();
  const owner = await openProcess(shelf, serve);
  const other = await openProcess(shelf, () => new Response("not here"));
  await (await owner.ask("open", { method: "POST" })).text();
  return { shelf, owner, other };
}

const post = (body: BodyInit, more: RequestInit = {}) =>
  ({ method: "POST", body, duplex: "half", ...more }) as RequestInit;

test("A request for an object reaches the process that has it, with method, address, headers and body", async () => {
  const { other } = await openTwo(async (request) =>
    Response.json(
      {
        method: request.method,
        url: request.url,
        text: await request.text(),
        own: request.headers.get("x-own"),
        others: [...request.headers.keys()].filter((name) => name.startsWith("x-sluice-")),
      },
      { status: 201, headers: { "x-answer": "ÿ", etag: '"1"' } },
    ),
  );
  const response = await other.ask("a?b=ä", post("Grüße", { headers: { "x-own": "é" } }));
  expect([response.status, response.headers.get("x-answer"), response.headers.get("etag")]).toEqual([
    201,
    "ÿ",
    '"1"',
  ]);
  expect([...response.headers.keys()].filter((name) => name.startsWith("x-sluice-"))).toEqual([]);
  expect(await response.json()).toEqual({
    method: "POST",
    url: "https://thing.invalid/a?b=%C3%A4",
    text: "Grüße",
    own: "é",
    others: [],
  });
});

test.each(["GET", "HEAD", "DELETE", "POST", "PUT"])("A %s without a body gets its answer", async (method) => {
  const { other } = await openTwo(
    async (request) => new Response(null, { status: 204, headers: { "x-method": request.method } }),
  );
  for (let nth = 0; nth < 2; nth += 1) {
    const response = await other.ask("", { method });
    expect([response.status, response.body, response.headers.get("x-method")]).toEqual([204, null, method]);
  }
});

test("Bodies stream both ways at once", async () => {
  const { other } = await openTwo((request) =>
    request.url.endsWith("open")
      ? new Response()
      : new Response(request.body?.pipeThrough(new TransformStream())),
  );
  const up = new TransformStream<Uint8Array, Uint8Array>();
  const writer = up.writable.getWriter();
  const reader = (
    (await other.ask("echo", post(up.readable))).body as ReadableStream<Uint8Array>
  ).getReader();
  for (const text of ["one", "two"]) {
    void writer.write(new TextEncoder().encode(text));
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(text);
  }
  void writer.close();
  expect((await reader.read()).done).toBe(true);
});

test("A reader who takes nothing stops the owner after what sockets hold", async () => {
  let made = 0;
  const { other } = await openTwo((request) =>
    request.url.endsWith("open")
      ? new Response()
      : new Response(
          new ReadableStream({
            pull(controller) {
              made += 1;
              controller.enqueue(new Uint8Array(65_536));
            },
          }),
        ),
  );
  const reader = ((await other.ask("endless")).body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  let before = 0;
  const isStill = () => {
    const result = made === before;
    before = made;
    return result;
  };
  await expect.poll(isStill, { interval: 300, timeout: 50_000 }).toBe(true);
  // a gigabyte would have been made meanwhile
  expect(made * 65_536).toBeLessThan(64 * 1024 * 1024);
  await reader.cancel();
});

test.each(["cancels its stream", "aborts its request"])(
  "A reader who %s is gone for the owner, too",
  async (how) => {
    let cancelled = () => {};
    const isCancelled = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const { other } = await openTwo((request) => {
      if (request.url.endsWith("open")) return new Response();
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(":\n\n")),
        cancel: () => cancelled(),
      });
      request.signal.addEventListener("abort", () => cancelled());
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const leaving = new AbortController();
    const response = await other.ask("stream", { signal: leaving.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    if (how === "aborts its request") leaving.abort();
    else await reader.cancel();
    await isCancelled;
  },
);

test("A caller who leaves before the answer ends the request at the owner", async () => {
  let arrived = () => {};
  const isThere = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let left = () => {};
  const hasLeft = new Promise<void>((resolve) => {
    left = resolve;
  });
  const { other } = await openTwo(async (request) => {
    if (request.url.endsWith("open")) return new Response();
    await request.text();
    request.signal.addEventListener("abort", left);
    arrived();
    await hasLeft;
    return new Response();
  });
  const leaving = new AbortController();
  const asked = other.ask("wait", post("{}", { signal: leaving.signal }));
  await isThere;
  leaving.abort(new Error("gone"));
  await expect(asked).rejects.toThrow("gone");
  await hasLeft;
});

test("An owner that dies ends the reader's stream as an error", async () => {
  const { owner, other } = await openTwo((request) => {
    if (request.url.endsWith("open")) return new Response();
    return new Response(
      new ReadableStream({ start: (out) => out.enqueue(new TextEncoder().encode(":\n\n")) }),
    );
  });
  const reader = ((await other.ask("stream")).body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  await owner.door.close();
  await expect(reader.read()).rejects.toThrow();
});

test("case 194: a write whose answer was lost is not sent again; a read is, to the next owner", async () => {
  const asked: string[] = [];
  const { shelf, owner, other } = await openTwo(async (request) => {
    const text = await request.text();
    if (request.url.endsWith("open")) return new Response();
    asked.push(`${request.method} ${text}`);
    void owner.door.close();
    return await new Promise<never>(() => {});
  });
  await expect(other.ask("pay", post("once"))).rejects.toThrow(
    /the process at 127\.0\.0\.1:\d+, which has an object of THING, was lost before its answer; it may have done what was asked/,
  );
  expect(asked).toEqual(["POST once"]);
  expect(other.forward).toHaveBeenCalledTimes(1);
  shelf.leaseEnds(owner.door.address);
  expect(await (await other.ask("read")).text()).toBe("not here");
});

test("case 194: a write that the owner never began is answered by the next owner", async () => {
  const { shelf, owner, other } = await openTwo(() => new Response("from the first"));
  await owner.door.close();
  const asked = other.ask("pay", post("once"));
  await expect.poll(() => other.forward.mock.calls.length, { timeout: 20_000 }).toBeGreaterThan(1);
  shelf.leaseEnds(owner.door.address);
  expect(await (await asked).text()).toBe("not here");
});

test("A process that has not got the object says so, and forwards nothing itself", async () => {
  const shelf = openShelf();
  const [first, second, third] = [
    await openProcess(shelf, () => new Response("first")),
    await openProcess(shelf, () => new Response("second")),
    await openProcess(shelf, () => new Response("third")),
  ];
  await third.ask("open", { method: "POST" });
  const request = new Request("https://thing.invalid/", { method: "POST", body: "{}" });
  await expect(openForwarding().forward(second.door.address, thing, request)).rejects.toThrow(OwnerAbsent);
  expect(second.forward).not.toHaveBeenCalled();
  // asked as usual, the answer is the owner's
  expect(await (await first.ask("")).text()).toBe("third");
});

test("A process that is being stopped answers for what is under way, and the others get the rest", async () => {
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    out = controller;
  };
  const headers = { "content-type": "text/event-stream" };
  const { owner, other } = await openTwo((request) => {
    if (request.url.endsWith("stream")) return new Response(new ReadableStream({ start }), { headers });
    return new Response("first");
  });
  const stream = await other.ask("stream");
  const stopping = owner.stop(60_000);
  expect(await (await other.ask("read")).text()).toBe("first");
  out?.enqueue(new TextEncoder().encode("data: all\n\n"));
  out?.close();
  expect(await stream.text()).toBe("data: all\n\n");
  await stopping;
  await expect(owner.ask("read")).rejects.toThrow("the server is being stopped");
  expect(await (await other.ask("read")).text()).toBe("not here");
});

test("An object that throws fails for the asker, too, in the same words", async () => {
  const { other } = await openTwo((request) => {
    if (request.url.endsWith("open")) return new Response();
    throw new Error("no such row");
  });
  await expect(other.ask("read")).rejects.toThrow(/answered 500: Error: no such row/);
});

test("An answer of an object with a status of the process' own is the object's", async () => {
  const { other } = await openTwo(() => new Response("moved", { status: 421 }));
  const response = await other.ask("", post("{}"));
  expect([response.status, await response.text()]).toEqual([421, "moved"]);
});

/** Sends raw lines to a door, and returns all that comes back until the door closes the connection. */
async function rawAnswer(address: string, text: string): Promise<string> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname).setEncoding("utf8");
  let answer = "";
  socket.on("data", (piece) => {
    answer += piece;
  });
  socket.write(text);
  await new Promise((resolve) => socket.once("close", resolve).once("error", () => {}));
  return answer;
}

const asked = Buffer.from(
  JSON.stringify({ object: thing, url: "https://thing.invalid/", headers: [] }),
).toString("base64url");

test("case 191: whoever has not the key of this very process gets the same 404 for everything, and reaches no object", async () => {
  const serve = vi.fn(() => new Response("secret"));
  const shelf = openShelf();
  const earlier = await openProcess(shelf, serve);
  await earlier.close();
  const { port } = new URL(earlier.door.address);
  // the next process has the same port, as after a restart
  const { door } = await openProcess(shelf, serve, { port: Number(port) });
  const { hash } = new URL(door.address);
  const key = hash.slice(1);
  const wrong = [
    [],
    ["x-sluice-key: "],
    [`x-sluice-key: ${new URL(earlier.door.address).hash.slice(1)}`],
    [`x-sluice-key: ${key.slice(0, -1)}`],
    [`x-sluice-key: ${key}A`],
    [`x-sluice-key: ${key}`, `x-sluice-key: ${key}`],
    [`authorization: Bearer ${key}`],
    ["x-sluice-key: undefined"],
  ];
  const answers = new Set<string>();
  for (const [method, more] of [
    ["GET", []],
    ["POST", ["expect: 100-continue", "transfer-encoding: chunked"]],
    ["POST", ["content-length: 1000000"]],
    ["OPTIONS", []],
  ] as const)
    for (const headers of wrong) {
      const lines = [`${method} / HTTP/1.1`, "host: a", `x-sluice-request: ${asked}`, ...more, ...headers];
      answers.add((await rawAnswer(door.address, [...lines, "", ""].join("\r\n"))).replace(/date: .*/i, ""));
    }
  expect(answers.size).toBe(1);
  expect([...answers][0]).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
  expect(serve).not.toHaveBeenCalled();
  expect(shelf.owners()).toEqual([]);
  await expect(
    openForwarding().forward(earlier.door.address, thing, new Request("https://thing.invalid/")),
  ).rejects.toThrow(OwnerAbsent);
});

/** Lets time pass on a stopped clock until work has failed. Returns the error. */
async function failureOnStoppedClock(start: () => Promise<unknown>): Promise<unknown> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    let error: unknown;
    start().catch((reason: unknown) => {
      error = reason;
    });
    for (let steps = 0; error === undefined && steps < 1000; steps += 1) {
      await vi.advanceTimersByTimeAsync(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return error;
  } finally {
    vi.useRealTimers();
  }
}

test("case 192: the key of a process is in no error and no answer", async () => {
  const { owner, other } = await openTwo((request) => {
    if (request.url.endsWith("fails")) throw new Error("no such row");
    return Response.json([...request.headers]);
  });
  const key = new URL(owner.door.address).hash.slice(1);
  expect(key).toHaveLength(43);
  const said: string[] = [await (await other.ask("headers")).text()];
  const fails = async (asked: Promise<unknown>) => {
    const error = (await asked.catch((error: unknown) => error)) as Error;
    expect(error).toBeInstanceOf(Error);
    said.push(`${error.stack} ${(error.cause as Error | undefined)?.stack} ${JSON.stringify(error)}`);
  };
  await fails(other.ask("fails"));
  await fails(
    openForwarding().forward(
      owner.door.address,
      { ...thing, binding: "NONE" },
      new Request("https://a.invalid/"),
    ),
  );
  await owner.close();
  await fails(openForwarding().forward(owner.door.address, thing, new Request("https://a.invalid/")));
  // a process without a way to others says whose object it is, and no more
  const lost = openLiveObjects(
    { ...openShelf().keeperOf("x"), open: async () => ({ owner: owner.door.address }) },
    {
      THING: class {
        fetch = async () => new Response();
        alarm = async () => {};
      },
    },
    {} as never,
  );
  onTestFinished(() => lost.close(0));
  const lostError = await failureOnStoppedClock(() =>
    lost
      .namespace("THING")
      .get("one" as never)
      .fetch(new Request("https://a.invalid/")),
  );
  await fails(Promise.reject(lostError));
  expect(said.join("\n")).not.toContain(key);
});

test("case 193: an object that no process has is looked for, for a while, and forwarded by nobody who was asked for it", async () => {
  const shelf = openShelf();
  const first = await openProcess(shelf, () => new Response());
  const second = await openProcess(shelf, () => new Response());
  const third = await openProcess(shelf, () => new Response());
  await third.ask("open");
  // the keeper goes on to name the second one, which knows better
  const said = { ...shelf.keeperOf("x"), open: async () => ({ owner: second.door.address }) };
  const forward = vi.fn(openForwarding().forward);
  const lost = openLiveObjects(
    said,
    {
      THING: class {
        fetch = async () => new Response();
        alarm = async () => {};
      },
    },
    {} as never,
    { forward },
  );
  onTestFinished(() => lost.close(0));
  const error = await failureOnStoppedClock(() =>
    lost
      .namespace("THING")
      .get("one" as never)
      .fetch(new Request("https://a.invalid/")),
  );
  expect(error).toBeInstanceOf(OwnerAbsent);
  expect(forward.mock.calls.length).toBeLessThanOrEqual(122);
  expect(second.forward).not.toHaveBeenCalled();
  expect(first.forward).not.toHaveBeenCalled();
});

test("case 195: headers of an object's request never become headers of the way, and their size is bounded", async () => {
  const { other } = await openTwo(async (request) =>
    Response.json(
      { headers: [...request.headers], text: await request.text() },
      {
        headers: {
          connection: "close",
          "content-length": "1",
          "transfer-encoding": "x",
          "x-sluice-answer": "no",
        },
      },
    ),
  );
  const headers = {
    connection: "close",
    "content-length": "1",
    expect: "nothing",
    "transfer-encoding": "identity",
    "x-sluice-key": "another",
    "x-sluice-request": "another",
  };
  const response = await other.ask("", post("{}", { headers }));
  const text = await response.text();
  expect(JSON.parse(text).text).toBe("{}");
  expect(JSON.parse(text).headers).toEqual(expect.arrayContaining(Object.entries(headers)));
  expect(response.headers.get("x-sluice-answer")).toBe("no");
  const large = { headers: { "x-user": "a".repeat(60_000) } };
  expect((await other.ask("", large)).status).toBe(200);
  await expect(other.ask("", { headers: { "x-user": "a".repeat(200_000) } })).rejects.toThrow(/too large/);
});

test("A process can't be asked at every address of its machine", async () => {
  for (const host of ["0.0.0.0", "::"])
    await expect(openDoor(async () => new Response(), { host })).rejects.toThrow(/give one that is/);
});

test("A process can be asked by IPv6", async () => {
  const shelf = openShelf();
  const owner = await openProcess(shelf, () => new Response("six"), { host: "::1" });
  await owner.ask("open");
  const other = await openProcess(shelf, () => new Response());
  expect(await (await other.ask("", post("{}"))).text()).toBe("six");
});
