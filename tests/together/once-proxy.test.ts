import {
  type Client,
  type ClientOptions,
  createAsset,
  createAssetStore,
  createClient,
  createImageStore,
  createVideoTask,
  createVideoTaskStore,
  generateImages,
  listVideoTasks,
  memoryStorage,
  type RecordStorage,
  type RequestOptions,
  requestEpsilon,
} from "@sluice/core";
import { once, onceObject } from "@sluice/durable";
import { createEmulator } from "@sluice/emulator";
import { createProxy, type ProxyOptions } from "@sluice/worker-proxy";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { randomOf } from "../simulation/random.ts";
import { createObjectHost } from "../support/object-host.ts";

/* `once` from the client to the gateway: our client, our proxy, and its objects in this process. */

const KEY = "sk-0123456789-of-the-gateway";
const origin = "https://app.example";
const host = "https://proxy.example";

type Send = (request: Request) => Promise<Response>;
/** The end of a POST of a page: it does not leave, its answer is lost or cut, or the page dies while it waits. */
type Fault = "unsent" | "lose" | "cut" | "kill" | undefined;

interface Opened {
  readonly gateway?: Send;
  readonly options?: Partial<ProxyOptions>;
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A proxy that offers `once`, before the emulator. */
function opened({ gateway = createEmulator({ speed: Infinity }).fetch, options }: Opened = {}) {
  const bills: Request[] = [];
  const keys: (string | null)[] = [];
  const way = { baseURL: "https://gateway.example", apiKey: () => KEY, fetch: toGateway };
  const Once = onceObject<unknown>({ ...way, namespace: () => objects.namespace });
  const objects: ReturnType<typeof createObjectHost> = createObjectHost(Once, {});
  const proxy = createProxy({
    ...way,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "nobody" }),
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    origins: [origin],
    models: {
      "beta3.0-video": {},
      "gamma-image-5-0-260128": {},
      "gamma-asset": { GroupId: ["g"] },
      epsilon: {},
    },
    routes: ["images", "videos", "assets", "epsilon"],
    extensions: [once(() => objects.namespace)],
    ...options,
  });
  const reach: Send = (sent) => proxy.fetch(sent);
  return { bills, keys, page, kill: objects.kill, reach };

  function toGateway(request: Request): Promise<Response> {
    if (request.method === "POST") bills.push(request.clone());
    return gateway(request);
  }

  /** Opens a page, whose network does what `faults` says, one for each POST. */
  function page({ faults = [], user = "user-1", retries = 0, send = reach }: PageOptions = {}) {
    const { promise: killed, resolve: die } = deferred();
    const { promise: buried, resolve: bury } = deferred();
    const more: Partial<ClientOptions> = { random: () => 0, retry: { limit: retries } };
    const client = createClient({
      ...more,
      baseURL: host,
      headers: { authorization: user },
      assetLookup: async () => ({ Status: "Active" }),
      async fetch(sent) {
        if (sent.method !== "POST") return send(sent);
        keys.push(sent.headers.get("idempotency-key"));
        const fault = faults.shift();
        if (fault === "unsent") throw new TypeError("fetch failed");
        const response = await send(sent);
        if (fault === undefined) return response;
        if (fault === "cut") return cut(response);
        if (fault === "kill") {
          die();
          await buried;
        }
        throw new TypeError("fetch failed");
      },
    });
    return { client, killed, bury };
  }
}

interface PageOptions {
  readonly faults?: Fault[];
  readonly user?: string;
  readonly retries?: number;
  readonly send?: Send;
}

const reef = { model: "beta3.0-video", input: { prompt: "A reef" } } as const;
const picture = { model: "gamma-image-5-0-260128", prompt: "A reef" } as const;
const asset = {
  model: "gamma-asset",
  GroupId: "g",
  Name: "n",
  AssetType: "Image",
  URL: "https://files.example/1.png",
} as const;

type Create = (client: Client, options?: RequestOptions) => Promise<unknown>;
const creates: readonly (readonly [string, Create])[] = [
  ["An image", (client, options) => generateImages(client, picture, options)],
  ["A film", (client, options) => createVideoTask(client, reef, options)],
  ["An asset", (client, options) => createAsset(client, asset, options)],
  [
    "An epsilon task",
    (client, options) =>
      requestEpsilon(client, "text2video", { model_name: "epsilon", prompt: "A reef" }, options),
  ],
];

describe.each(creates)("%s behind a proxy that remembers answers", (_, create) => {
  test("is paid once where its answer is lost twice and repeated by itself", async () => {
    const { page, bills, keys } = opened();
    await create(page({ faults: ["lose", "lose"], retries: 2 }).client);
    expect([bills.length, keys.length, new Set(keys).size]).toEqual([1, 3, 1]);
  });

  test("is paid once where the caller asks again with its key, and each time the answer is the same", async () => {
    const { page, bills } = opened();
    const { client } = page({ faults: ["lose"] });
    const idempotencyKey = "the-same-key";
    await expect(create(client, { idempotencyKey })).rejects.toMatchObject({ outcome: "unknown" });
    const results = [await create(client, { idempotencyKey }), await create(client, { idempotencyKey })];
    expect(answered(results[1])).toEqual(answered(results[0]));
    expect(bills).toHaveLength(1);
  });

  test("is paid once where requests with its key wait for one answer, and one of them leaves", async () => {
    const { promise: held, resolve: answer } = deferred();
    const emulator = createEmulator({ speed: Infinity });
    const { page, bills, keys } = opened({
      async gateway(request) {
        await held;
        return emulator.fetch(request);
      },
    });
    const { client } = page();
    const leaving = new AbortController();
    const first = create(client, { idempotencyKey: "k", signal: leaving.signal }).catch(() => "left");
    await expect.poll(() => bills.length).toBe(1);
    const others = [create(client, { idempotencyKey: "k" }), create(client, { idempotencyKey: "k" })];
    await expect.poll(() => keys.length).toBe(3);
    leaving.abort();
    expect(await first).toBe("left");
    answer();
    const [second, third] = await Promise.all(others);
    expect(answered(third)).toEqual(answered(second));
    expect(bills).toHaveLength(1);
  });

  test("is another one for another user with the same key", async () => {
    const { page, bills } = opened();
    await create(page().client, { idempotencyKey: "k" });
    await create(page({ user: "user-2" }).client, { idempotencyKey: "k" });
    expect(bills).toHaveLength(2);
  });

  test("is another one with the same key after a day, and not before", async () => {
    const { page, bills } = opened();
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    for (const now of [0, 86_399_999, 86_400_000]) {
      vi.setSystemTime(now);
      await create(page().client, { idempotencyKey: "k" });
    }
    expect(bills).toHaveLength(2);
  });

  test("is sent with no key of its own to the gateway, and with the proxy's key", async () => {
    const { page, bills } = opened();
    await create(page().client);
    expect([...(bills[0]?.headers ?? [])].map(([name]) => name)).not.toContain("idempotency-key");
    expect(bills[0]?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
  });

  test("is never sent again where the proxy's memory of it was lost, and the error is the same each time", async () => {
    const { page, bills, kill } = opened({ gateway: () => new Promise(() => {}) });
    const { client } = page();
    void create(client, { idempotencyKey: "k" }).catch(() => {});
    await expect.poll(() => bills.length).toBe(1);
    kill();
    for (let nth = 0; nth < 2; nth += 1)
      await expect(create(client, { idempotencyKey: "k" })).rejects.toMatchObject({
        status: 502,
        outcome: "unknown",
      });
    expect(bills).toHaveLength(1);
  });

  test("is never sent again where the gateway's connection broke", async () => {
    const { page, bills } = opened({ gateway: () => Promise.reject(new TypeError("terminated")) });
    const { client } = page({ retries: 2 });
    await expect(create(client)).rejects.toMatchObject({ outcome: "unknown" });
    expect(bills).toHaveLength(1);
  });

  test("is free to be asked again with its key after the gateway refused it", async () => {
    const emulator = createEmulator({ speed: Infinity });
    const { page, bills } = opened({
      gateway: async (request) =>
        bills.length === 1
          ? Response.json({ error: { message: "no", code: "busy" } }, { status: 400 })
          : emulator.fetch(request),
    });
    const { client } = page();
    await expect(create(client, { idempotencyKey: "k" })).rejects.toMatchObject({ outcome: "refused" });
    await create(client, { idempotencyKey: "k" });
    expect(bills).toHaveLength(2);
  });

  test("comes to a page of another origin, whose browser asks before it sends the key", async () => {
    const { page, bills, reach } = opened();
    const { send, preflights } = browserOn(origin, reach);
    await create(page({ faults: ["lose"], retries: 1, send }).client);
    expect(bills).toHaveLength(1);
    expect(preflights).toContain("idempotency-key");
  });

  test("is not repeated where the proxy does not let the page's origin read the offer", async () => {
    const { page, bills, reach } = opened();
    const { send } = browserOn(origin, async (request) => {
      const response = await reach(request);
      response.headers.delete("access-control-expose-headers");
      return response;
    });
    await expect(create(page({ faults: ["lose"], retries: 1, send }).client)).rejects.toMatchObject({
      outcome: "unknown",
    });
    expect(bills).toHaveLength(1);
  });
});

test("A key belongs to one request: another body and another kind of request are 422, and nothing is sent", async () => {
  const { page, bills } = opened();
  const { client } = page();
  const mismatch = { status: 422, apiCode: "idempotency_mismatch", outcome: "refused" };
  await generateImages(client, picture, { idempotencyKey: "k" });
  const others = [
    generateImages(client, { ...picture, prompt: "A wreck" }, { idempotencyKey: "k" }),
    createVideoTask(client, reef, { idempotencyKey: "k" }),
  ];
  // both at once: the second may be refused before the first
  await Promise.all(others.map((other) => expect(other).rejects.toMatchObject(mismatch)));
  expect(bills).toHaveLength(1);
});

test("A wrong key is 400, and a request without a key is served each time", async () => {
  const { bills, reach } = opened();
  const post = (key?: string) =>
    reach(
      new Request(`${host}/v1/images/generations`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) },
        body: JSON.stringify(picture),
      }),
    );
  for (const key of ["a b", "é", "k".repeat(256), ""]) {
    const refused = await post(key);
    expect([refused.status, ((await refused.json()) as { error: object }).error]).toMatchObject([
      400,
      { code: "idempotency_key_invalid" },
    ]);
  }
  expect(bills).toHaveLength(0);
  for (let nth = 0; nth < 2; nth += 1) expect((await post()).status).toBe(200);
  expect(bills).toHaveLength(2);
});

test("The offer is on each answer of a create, on its refusals, and on /health", async () => {
  const { reach } = opened();
  for (const [method, path] of [
    ["POST", "/v1/images/generations"],
    ["POST", "/v1/video/generations"],
    ["POST", "/gamma/asset/CreateAsset"],
    ["POST", "/epsilon/v1/videos/text2video"],
    ["GET", "/health"],
  ] as const)
    expect((await reach(new Request(host + path, { method }))).headers.get("x-sluice-offers")).toBe("once");
});

describe("A store behind a proxy that remembers answers", () => {
  test("gets the lost images when the user asks for the same again", async () => {
    const { page, bills } = opened();
    const store = createImageStore(page({ faults: ["lose", "lose"] }).client, { model: picture.model });
    const outcomes = [];
    for (let nth = 0; nth < 3; nth += 1)
      outcomes.push((await store.generate({ prompt: picture.prompt })).status);
    expect([outcomes, bills.length]).toEqual([["error", "error", "success"], 1]);
  });

  test("gets the lost asset when the user gives the same file again", async () => {
    const { page, bills } = opened({ options: { media: "any" } });
    const store = createAssetStore(page({ faults: ["lose"] }).client, { groupId: "g" });
    const source = new URL(asset.URL);
    expect((await store.create(source)).status).toBe("error");
    expect((await store.create(source)).handle?.id).toBeTruthy();
    expect(bills).toHaveLength(1);
  });

  const visit = (client: Client, storage: RecordStorage) => ({
    video: createVideoTaskStore(client, { storage }),
    entries: () => listVideoTasks(client, { storage }),
  });

  test("gets the lost film after a reload, in one entry, and the film can be polled", async () => {
    const { page, bills } = opened();
    const storage = memoryStorage();
    expect((await visit(page({ faults: ["lose"] }).client, storage).video.create(reef)).status).toBe("error");
    const { client } = page();
    const { video, entries } = visit(client, storage);
    const { handle } = await video.create(reef);
    expect(await entries()).toMatchObject([{ state: "created" }]);
    await video.refetch();
    expect(video.getSnapshot()).toMatchObject({ handle: { id: handle?.id } });
    expect(video.getSnapshot().error).toBeUndefined();
    expect(bills).toHaveLength(1);
  });

  test("gets the film of a page that was killed while it waited", async () => {
    const { page, bills, keys } = opened();
    const storage = memoryStorage();
    const dying = page({ faults: ["kill"] });
    const dead = visit(dying.client, storage).video.create(reef);
    await dying.killed;
    const left = memoryStorage();
    await left.write("video-tasks", await storage.read("video-tasks"));
    // its locks go with it
    dying.bury();
    await dead;
    expect((await visit(page().client, left).video.create(reef)).handle?.id).toBeTruthy();
    expect([bills.length, new Set(keys).size]).toEqual([1, 1]);
  });

  test("gets one film where two pages ask for the lost one at once", async () => {
    const { page, bills } = opened();
    const storage = memoryStorage();
    await visit(page({ faults: ["lose"] }).client, storage).video.create(reef);
    const pages = [visit(page().client, storage), visit(page().client, storage)];
    const states = await Promise.all(pages.map(({ video }) => video.create(reef)));
    const ids = new Set(states.map(({ handle }) => handle?.id));
    expect([ids.size, ids.has(undefined), bills.length]).toEqual([1, false, 1]);
  });

  test("gets the lost film after the proxy was restarted", async () => {
    const { page, bills, kill } = opened();
    const storage = memoryStorage();
    await visit(page({ faults: ["lose"] }).client, storage).video.create(reef);
    kill();
    expect((await visit(page().client, storage).video.create(reef)).handle?.id).toBeTruthy();
    expect(bills).toHaveLength(1);
  });
});

/** The end of a request at the gateway: refused, not reached, cut after it was done, or its object is lost meanwhile. */
type GatewayFault = "refused" | "unreached" | "cut" | "killed" | "slow" | undefined;

describe("Of 1,000 schedules of faults, each", () => {
  const kinds = ["image", "film", "asset"] as const;
  const pageFaults = ["unsent", "lose", "lose", "cut", undefined] as const;
  const gatewayFaults = ["refused", "unreached", "cut", "killed", "slow", undefined, undefined] as const;

  test("bills what the user asked for once, and shows it unless its end is unknown", {
    tags: ["long"],
    timeout: 120_000,
  }, async () => {
    const wrong: unknown[] = [];
    let shownOnes = 0;
    for (let seed = 0; seed < 1000; seed += 1) {
      const { made, shown, story } = await run(kinds[seed % kinds.length] ?? "film", seed);
      const isRight = made.length === 1 && (shown === made[0] || shown === "failed");
      if (!isRight) wrong.push({ seed, made, shown, story });
      if (shown === made[0]) shownOnes += 1;
    }
    expect(wrong.slice(0, 3)).toEqual([]);
    expect(shownOnes).toBeGreaterThan(500);
    expect(shownOnes).toBeLessThan(950);
  });

  /** A user asks for one thing until it is shown, or is billed and has failed. */
  async function run(kind: (typeof kinds)[number], seed: number) {
    const random = randomOf(seed, kind);
    const one = <Item>(of: readonly Item[]) => of[Math.floor(random() * of.length)] as Item;
    const faults: GatewayFault[] = [one(gatewayFaults), one(gatewayFaults)];
    const made: string[] = [];
    const story: unknown[] = [];
    let opens = 0;
    const { page, kill } = opened({ gateway, options: { media: "any" } });
    const storage = memoryStorage();
    const open = () => {
      const mine: Fault[] = Array.from({ length: 1 + Math.floor(random() * 3) }, () => one(pageFaults));
      opens += 1;
      if (opens > 4) mine.length = 0;
      story.push(["page", ...mine]);
      return page({ faults: mine, retries: one([0, 1, 2]) }).client;
    };
    let stores = [storeOf(open())];
    for (let nth = 0; nth < 10; nth += 1) {
      const ended = await Promise.all(stores.map((store) => store()));
      story.push(ended);
      const shown = ended.find(({ id }) => id !== undefined)?.id;
      if (shown !== undefined) return { made, shown, story };
      const isError = ended.some(({ status = 0 }) => status >= 400);
      // after an error of the proxy it is a new request: a user who sees the first one on the bill does not ask again
      if (made.length > 0 && isError) return { made, shown: "failed", story };
      if (random() < 0.2) kill();
      // an image and an asset belong to their page; a film is found again after a reload, and in another tab
      if (kind === "film") stores = [storeOf(open())];
      if (kind === "film" && !isError && random() < 0.5) stores.push(storeOf(open()));
    }
    return { made, shown: undefined, story };

    /** A store in its page: each call asks for the same thing. */
    function storeOf(client: Client) {
      const images = createImageStore(client, { model: picture.model });
      const video = createVideoTaskStore(client, { storage });
      const assets = createAssetStore(client, { groupId: "g" });
      return async () => {
        if (kind === "image") {
          const { data, error } = await images.generate({ prompt: picture.prompt });
          return endOf(data?.images[0]?.url, error);
        }
        const { handle, error } =
          kind === "film" ? await video.create(reef) : await assets.create(new URL(asset.URL));
        return endOf(handle?.id, error);
      };
    }

    async function gateway(): Promise<Response> {
      const fault = faults.shift();
      story.push(fault);
      if (fault === "refused") return Response.json({ error: { message: "no" } }, { status: 429 });
      if (fault === "unreached") throw new TypeError("failed", { cause: { code: "ECONNREFUSED" } });
      const id = `made-${made.length + 1}`;
      made.push(id);
      if (fault === "killed") kill();
      if (fault === "slow") await new Promise((resolve) => setTimeout(resolve));
      if (fault === "cut") throw new TypeError("terminated");
      if (kind === "image") return Response.json({ data: [{ url: id }] });
      return Response.json(kind === "film" ? { id, status: "queued", progress: 0 } : { Id: id });
    }
  }

  function endOf(shown: string | undefined, error: unknown) {
    const { status, outcome } = (error ?? {}) as { status?: number; outcome?: string };
    // an id has the mark of its user
    const id = shown?.split("_")[0];
    return { id, status, outcome };
  }
});

/** The answer in a result. The day in which a film can be queried begins when the answer comes. */
function answered(result: unknown) {
  return { ...(result as object), queryableUntil: undefined };
}

/** The same answer, whose connection breaks before its end. */
function cut({ status, headers }: Response): Response {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
  return new Response(body, { status, headers });
}

function deferred() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

/** The CORS rules of a browser for a page of `from`: it asks before it sends, and hides the headers that are not exposed. */
function browserOn(from: string, reach: Send) {
  const preflights: string[] = [];
  return { preflights, send };

  async function send(request: Request): Promise<Response> {
    const own = [...request.headers].map(([name]) => name);
    preflights.push(...own);
    const preflight = await reach(
      new Request(request.url, {
        method: "OPTIONS",
        headers: {
          origin: from,
          "access-control-request-method": request.method,
          "access-control-request-headers": own.join(", "),
        },
      }),
    );
    const allowed = listOf(preflight, "access-control-allow-headers");
    if (!isReadable(preflight) || !own.every((name) => allowed.includes(name)))
      throw new TypeError("Failed to fetch");
    const headers = new Headers(request.headers);
    headers.set("origin", from);
    const response = await reach(new Request(request, { headers }));
    if (!isReadable(response)) throw new TypeError("Failed to fetch");
    const exposed = ["content-type", ...listOf(response, "access-control-expose-headers")];
    const shown = [...response.headers].filter(([name]) => exposed.includes(name));
    return new Response(response.body, { status: response.status, headers: shown });
  }

  function isReadable({ headers }: Response): boolean {
    return headers.get("access-control-allow-origin") === from;
  }
}

function listOf({ headers }: Response, name: string): string[] {
  return (headers.get(name) ?? "").toLowerCase().split(/\s*,\s*/);
}
