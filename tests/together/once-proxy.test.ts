import {
  type Client,
  createAsset,
  createVideoTask,
  generateImages,
  type RecordStorage,
  type RequestOptions,
} from "@sluice/core";
import { createEpsilonTask } from "@sluice/core/epsilon";
import { createEmulator } from "@sluice/emulator";
import {
  createAssetStore,
  createImageStore,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
} from "@sluice/stores";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  asset,
  createDeferred,
  host,
  imageRequest,
  KEY,
  openProxy,
  origin,
  reef,
  type Send,
} from "../support/once-proxy.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Create = (client: Client, options?: RequestOptions) => Promise<unknown>;
const creates: readonly (readonly [string, Create])[] = [
  ["An image", (client, options) => generateImages(client, imageRequest, options)],
  ["A video", (client, options) => createVideoTask(client, reef, options)],
  ["An asset", (client, options) => createAsset(client, asset, options)],
  [
    "An epsilon task",
    (client, options) =>
      createEpsilonTask(client, "text2video", { model_name: "epsilon", prompt: "A reef" }, options),
  ],
];

describe.each(creates)("%s behind a proxy that stores responses", (_, create) => {
  test("is paid once where its response is lost twice and repeated by itself", async () => {
    const { openPage, bills, keys } = openProxy();
    await create(openPage({ faults: ["lose", "lose"], retries: 2 }).client);
    expect([bills.length, keys.length, new Set(keys).size]).toEqual([1, 3, 1]);
  });

  test("is paid once where the caller asks again with its key, and each time the response is the same", async () => {
    const { openPage, bills } = openProxy();
    const { client } = openPage({ faults: ["lose"] });
    const idempotencyKey = "the-same-key";
    await expect(create(client, { idempotencyKey })).rejects.toMatchObject({ billing: "maybe" });
    const results = [await create(client, { idempotencyKey }), await create(client, { idempotencyKey })];
    expect(readOutcome(results[1])).toEqual(readOutcome(results[0]));
    expect(bills).toHaveLength(1);
  });

  test("is paid once where requests with its key wait for one response, and one of them leaves", async () => {
    const { promise: held, resolve: respond } = createDeferred();
    const emulator = createEmulator({ speed: Infinity });
    const { openPage, bills, keys } = openProxy({
      async gateway(request) {
        await held;
        return emulator.fetch(request);
      },
    });
    const { client } = openPage();
    const controller = new AbortController();
    const first = create(client, { idempotencyKey: "k", signal: controller.signal }).catch(() => "left");
    await expect.poll(() => bills.length).toBe(1);
    const others = [create(client, { idempotencyKey: "k" }), create(client, { idempotencyKey: "k" })];
    await expect.poll(() => keys.length).toBe(3);
    controller.abort();
    expect(await first).toBe("left");
    respond();
    const [second, third] = await Promise.all(others);
    expect(readOutcome(third)).toEqual(readOutcome(second));
    expect(bills).toHaveLength(1);
  });

  test("is another one for another user with the same key", async () => {
    const { openPage, bills } = openProxy();
    await create(openPage().client, { idempotencyKey: "k" });
    await create(openPage({ user: "user-2" }).client, { idempotencyKey: "k" });
    expect(bills).toHaveLength(2);
  });

  test("is another one with the same key after a day, and not before", async () => {
    const { openPage, bills } = openProxy();
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    for (const now of [0, 86_399_999, 86_400_000]) {
      vi.setSystemTime(now);
      await create(openPage().client, { idempotencyKey: "k" });
    }
    expect(bills).toHaveLength(2);
  });

  test("is sent to the gateway with the proxy's key, and without a key of the page", async () => {
    const { openPage, bills } = openProxy();
    await create(openPage().client);
    expect([...(bills[0]?.headers ?? [])].map(([name]) => name)).not.toContain("idempotency-key");
    expect(bills[0]?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
  });

  test("is never sent again after the process that sent it was lost, and the error is the same each time", async () => {
    const { openPage, bills, kill } = openProxy({ gateway: () => new Promise(() => {}) });
    const { client } = openPage();
    void create(client, { idempotencyKey: "k" }).catch(() => {});
    await expect.poll(() => bills.length).toBe(1);
    kill();
    for (let nth = 0; nth < 2; nth += 1)
      await expect(create(client, { idempotencyKey: "k" })).rejects.toMatchObject({
        status: 502,
        billing: "maybe",
      });
    expect(bills).toHaveLength(1);
  });

  test("is never sent again where the gateway's connection broke", async () => {
    const { openPage, bills } = openProxy({ gateway: () => Promise.reject(new TypeError("terminated")) });
    const { client } = openPage({ retries: 2 });
    await expect(create(client)).rejects.toMatchObject({ billing: "maybe" });
    expect(bills).toHaveLength(1);
  });

  test("can be sent again with its key after the gateway refused it", async () => {
    const emulator = createEmulator({ speed: Infinity });
    const { openPage, bills } = openProxy({
      gateway: async (request) =>
        bills.length === 1
          ? Response.json({ error: { message: "no", code: "busy" } }, { status: 400 })
          : emulator.fetch(request),
    });
    const { client } = openPage();
    await expect(create(client, { idempotencyKey: "k" })).rejects.toMatchObject({ billing: "none" });
    await create(client, { idempotencyKey: "k" });
    expect(bills).toHaveLength(2);
  });

  test("comes to a page of another origin, whose browser asks before it sends the key", async () => {
    const { openPage, bills, reach } = openProxy();
    const { send, preflights } = browserOn(origin, reach);
    await create(openPage({ faults: ["lose"], retries: 1, send }).client);
    expect(bills).toHaveLength(1);
    expect(preflights).toContain("idempotency-key");
  });

  test("is not repeated where the proxy does not let the page's origin read the feature", async () => {
    const { openPage, bills, reach } = openProxy();
    const { send } = browserOn(origin, async (request) => {
      const response = await reach(request);
      response.headers.delete("access-control-expose-headers");
      return response;
    });
    await expect(create(openPage({ faults: ["lose"], retries: 1, send }).client)).rejects.toMatchObject({
      billing: "maybe",
    });
    expect(bills).toHaveLength(1);
  });
});

test("A key belongs to one request: another body and another kind of request are 422, and nothing is sent", async () => {
  const { openPage, bills } = openProxy();
  const { client } = openPage();
  const mismatch = { status: 422, code: "idempotency_mismatch", billing: "none" };
  await generateImages(client, imageRequest, { idempotencyKey: "k" });
  const others = [
    generateImages(client, { ...imageRequest, prompt: "A wreck" }, { idempotencyKey: "k" }),
    createVideoTask(client, reef, { idempotencyKey: "k" }),
  ];
  // both run at the same time: the second may be refused before the first
  await Promise.all(others.map((other) => expect(other).rejects.toMatchObject(mismatch)));
  expect(bills).toHaveLength(1);
});

test("A wrong key is 400, and a request without a key is served each time", async () => {
  const { bills, reach } = openProxy();
  const post = (key?: string) =>
    reach(
      new Request(`${host}/v1/images/generations`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) },
        body: JSON.stringify(imageRequest),
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

test("The feature is on each response of a create, on its refusals, and on /health", async () => {
  const { reach } = openProxy();
  for (const [method, path] of [
    ["POST", "/v1/images/generations"],
    ["POST", "/v1/video/generations"],
    ["POST", "/gamma/asset/CreateAsset"],
    ["POST", "/epsilon/v1/videos/text2video"],
    ["GET", "/health"],
  ] as const)
    expect((await reach(new Request(host + path, { method }))).headers.get("x-sluice-features")).toBe(
      "idempotency",
    );
});

describe("A store behind a proxy that stores responses", () => {
  test("gets the lost images when the user asks for the same again", async () => {
    const { openPage, bills } = openProxy();
    const store = createImageStore(openPage({ faults: ["lose", "lose"] }).client, {
      model: imageRequest.model,
    });
    const outcomes = [];
    for (let nth = 0; nth < 3; nth += 1)
      outcomes.push((await store.generate({ prompt: imageRequest.prompt })).status);
    expect([outcomes, bills.length]).toEqual([["error", "error", "success"], 1]);
  });

  test("gets the lost asset when the user gives the same file again", async () => {
    const { openPage, bills } = openProxy({ options: { mediaURLs: "any" } });
    const store = createAssetStore(openPage({ faults: ["lose"] }).client, { groupId: "g" });
    const source = new URL(asset.URL);
    expect((await store.create(source)).status).toBe("error");
    expect((await store.create(source)).handle?.id).toBeTruthy();
    expect(bills).toHaveLength(1);
  });

  const visit = (client: Client, storage: RecordStorage) => ({
    video: createVideoTaskStore(client, { storage }),
    entries: () => listVideoTasks(client, { storage }),
  });

  test("gets the lost video after a reload, in one entry, and the video can be polled", async () => {
    const { openPage, bills } = openProxy();
    const storage = memoryStorage();
    expect((await visit(openPage({ faults: ["lose"] }).client, storage).video.create(reef)).status).toBe(
      "error",
    );
    const { client } = openPage();
    const { video, entries } = visit(client, storage);
    const { handle } = await video.create(reef);
    expect(await entries()).toMatchObject([{ state: "created" }]);
    await video.refetch();
    expect(video.getSnapshot()).toMatchObject({ handle: { id: handle?.id } });
    expect(video.getSnapshot().error).toBeUndefined();
    expect(bills).toHaveLength(1);
  });

  test("gets the video of a page that was killed while it waited", async () => {
    const { openPage, bills, keys } = openProxy();
    const storage = memoryStorage();
    const dying = openPage({ faults: ["kill"] });
    const dead = visit(dying.client, storage).video.create(reef);
    await dying.killed;
    const storageOfKilledPage = memoryStorage();
    await storageOfKilledPage.write("video-tasks", await storage.read("video-tasks"));
    // the locks of the page are released when it ends
    dying.bury();
    await dead;
    expect((await visit(openPage().client, storageOfKilledPage).video.create(reef)).handle?.id).toBeTruthy();
    expect([bills.length, new Set(keys).size]).toEqual([1, 1]);
  });

  test("gets one video where two pages ask for the lost one at once", async () => {
    const { openPage, bills } = openProxy();
    const storage = memoryStorage();
    await visit(openPage({ faults: ["lose"] }).client, storage).video.create(reef);
    const pages = [visit(openPage().client, storage), visit(openPage().client, storage)];
    const states = await Promise.all(pages.map(({ video }) => video.create(reef)));
    const ids = new Set(states.map(({ handle }) => handle?.id));
    expect([ids.size, ids.has(undefined), bills.length]).toEqual([1, false, 1]);
  });

  test("gets the lost video after the proxy was restarted", async () => {
    const { openPage, bills, kill } = openProxy();
    const storage = memoryStorage();
    await visit(openPage({ faults: ["lose"] }).client, storage).video.create(reef);
    kill();
    expect((await visit(openPage().client, storage).video.create(reef)).handle?.id).toBeTruthy();
    expect(bills).toHaveLength(1);
  });
});

/** Returns a result without `queryableUntil`, which depends on the time of the response. */
function readOutcome(result: unknown) {
  return { ...(result as object), queryableUntil: undefined };
}

/** Applies a browser's CORS rules for a page of `from`: sends a preflight, and hides headers that are not exposed. */
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
    const allowed = readList(preflight, "access-control-allow-headers");
    if (!isReadable(preflight) || !own.every((name) => allowed.includes(name)))
      throw new TypeError("Failed to fetch");
    const headers = new Headers(request.headers);
    headers.set("origin", from);
    const response = await reach(new Request(request, { headers }));
    if (!isReadable(response)) throw new TypeError("Failed to fetch");
    const exposed = ["content-type", ...readList(response, "access-control-expose-headers")];
    const shown = [...response.headers].filter(([name]) => exposed.includes(name));
    return new Response(response.body, { status: response.status, headers: shown });
  }

  function isReadable({ headers }: Response): boolean {
    return headers.get("access-control-allow-origin") === from;
  }
}

function readList({ headers }: Response, name: string): string[] {
  return (headers.get(name) ?? "").toLowerCase().split(/\s*,\s*/);
}
