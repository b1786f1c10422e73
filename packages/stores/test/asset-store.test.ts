import type { ClientOptions, TaskError } from "@sluice/core";
import { type AssetStoreOptions, createAssetStore, type Presence } from "@sluice/stores";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestClient, settled, shows, stoppedClock } from "../../core/test/support/gateway.js";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const dataURI = `data:image/png;base64,${btoa(String.fromCharCode(...PNG))}`;
const file = () => new File([PNG], "hero.png", { type: "image/png" });
const present: Presence = { absence: undefined, subscribe: () => () => {} };

/**
 * Creates an asset store whose lookups return `statuses`; the last one is repeated. The tests of video tasks cover what
 * stores of both kinds do.
 */
function createStore(
  statuses: readonly string[],
  {
    create = () => Response.json({ Id: "a-1" }),
    ...options
  }: AssetStoreOptions & { create?: () => Response | Promise<Response> } = {},
) {
  const clock = stoppedClock();
  const lookups: unknown[] = [];
  const { client, requests } = createTestClient(
    (sent) => {
      if (sent.url.endsWith("CreateAsset")) return create();
      lookups.push(sent);
      return Response.json({ Id: "a-1", Status: statuses[Math.min(lookups.length, statuses.length) - 1] });
    },
    {
      clock,
      random: () => 0.5,
      baseURL: `https://gateway-${Math.random()}.test`,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    },
  );
  const store = createAssetStore(client, { groupId: "group-1", presence: present, ...options });
  onTestFinished(store.subscribe(() => {}));
  const creates = () => requests.filter(({ url }) => url.endsWith("CreateAsset"));
  return { client, clock, store, creates, lookups };
}

describe("an asset", () => {
  test("an asset without a lookup is not read, uploaded or billed", async () => {
    const { client, requests } = createTestClient(() => Response.json({ Id: "a-1" }));
    const errors: Error[] = [];
    const prepared: Blob[] = [];
    const store = createAssetStore(client, {
      groupId: "group-1",
      onError: (error) => errors.push(error),
      prepare: (given) => {
        prepared.push(given);
        return given;
      },
    });
    const { status, error } = await store.create(file());
    await settled();
    expect([status, errors, prepared, requests]).toEqual(["error", [error], [], []]);
    expect(error).toMatchObject({
      name: "ConfigurationError",
      message: expect.stringContaining("assetLookup"),
    });
  });

  test("a lookup that the proxy does not serve ends at once with an error that names the fix", async () => {
    const clock = stoppedClock();
    const { client } = createTestClient(
      ({ url }) =>
        url.endsWith("CreateAsset")
          ? Response.json({ Id: "a-1" })
          : Response.json(
              { error: { message: "there is nothing at this path", code: "not_found" } },
              { status: 404, headers: { "x-sluice-source": "proxy" } },
            ),
      { clock, gateway: { assetLookup: "/gamma/asset/GetAsset" } },
    );
    const store = createAssetStore(client, { groupId: "group-1", presence: present });
    onTestFinished(store.subscribe(() => {}));
    await store.create(file());
    await shows(store, ({ status }) => status === "error");
    expect(store.getSnapshot()).toMatchObject({
      handle: { id: "a-1" },
      error: { status: 404, message: expect.stringContaining("set its `gateway.assetLookup`") },
    });
  });

  test("create reads, sends and prepares the asset, and gives its uri once requests may use it", async () => {
    const done: string[] = [];
    const { store, clock, creates } = createStore(["Processing", "Active"], {
      onSuccess: ({ uri }) => done.push(uri),
    });
    const phases: unknown[] = [];
    store.subscribe(() => {
      const { phase, progress } = store.getSnapshot();
      if (phases.at(-1) !== `${phase} ${progress}`) phases.push(`${phase} ${progress}`);
    });
    const registered = store.create(file());
    expect(store.getSnapshot()).toMatchObject({ status: "pending", phase: "uploading" });
    expect(await registered).toMatchObject({ status: "pending", phase: "processing", handle: { id: "a-1" } });
    await shows(store, ({ nextPollAt }) => nextPollAt !== undefined);
    expect(store.getSnapshot()).toMatchObject({ asset: { rawStatus: "Processing" }, data: undefined });
    await clock.advance(3000);
    await shows(store, ({ status }) => status === "success");
    expect(store.getSnapshot()).toMatchObject({
      phase: undefined,
      data: { state: "active", uri: "asset://a-1" },
    });
    await settled();
    expect(done).toEqual(["asset://a-1"]);
    expect(phases).toEqual([
      "uploading undefined",
      "uploading 1",
      "creating undefined",
      "processing undefined",
      "undefined 1",
    ]);
    expect(creates()).toHaveLength(1);
    expect(await creates()[0]?.json()).toEqual({
      model: "gamma-asset",
      GroupId: "group-1",
      Name: "hero.png",
      AssetType: "Image",
      URL: dataURI,
    });
  });

  test("a double click registers the asset once", async () => {
    const { store, creates } = createStore(["Processing"]);
    const clicks = [store.create(file()), store.create(file())];
    expect(clicks[0]).toBe(clicks[1]);
    await Promise.all(clicks);
    await store.create(file());
    expect(creates()).toHaveLength(1);
  });

  test("create accepts a URL, a name and a group", async () => {
    const { store, creates } = createStore(["Active"]);
    await store.create("https://files.test/pictures/reef.png?size=2");
    store.reset();
    await store.create(new URL("https://files.test/reef.png"), { name: "Reef", groupId: "group-2" });
    expect(await creates()[0]?.json()).toMatchObject({ Name: "reef.png", GroupId: "group-1" });
    expect(await creates()[1]?.json()).toMatchObject({
      Name: "Reef",
      GroupId: "group-2",
      URL: "https://files.test/reef.png",
    });
  });

  test.each([
    ["URL", {}, new Blob(["text"], { type: "text/plain" })],
    ["URL", {}, "https://"],
    ["GroupId", { groupId: "" }, "https://files.test/reef.png"],
  ])("a broken rule is refused at %s, and nothing is sent", async (path, options, source) => {
    const errors: Error[] = [];
    const { store, creates } = createStore(["Active"], {
      ...options,
      onError: (error) => errors.push(error),
    });
    const progress: unknown[] = [];
    store.subscribe(() => progress.push(store.getSnapshot().progress));
    const state = await store.create(source);
    // the file is not read before, either
    expect(progress.every((seen) => seen === undefined)).toBe(true);
    expect(state).toMatchObject({ status: "error", error: { name: "ValidationError", issues: [{ path }] } });
    await settled();
    expect(errors).toEqual([state.error]);
    expect(creates()).toHaveLength(0);
  });

  test('prepare changes the file before it is sent, and encoding: "multipart" sends a form', async () => {
    const prepared = new Blob([PNG], { type: "image/png" });
    const { store, creates } = createStore(["Active"], {
      prepare: () => prepared,
      encoding: "multipart",
    });
    await store.create(file());
    const form = await (creates()[0] as Request).formData();
    expect(form.get("Name")).toBe("hero.png");
    expect((form.get("URL") as File).size).toBe(PNG.length);
  });

  test("a failed asset shows its error, and another one can be registered", async () => {
    const errors: Error[] = [];
    const { store, creates } = createStore(["Failed", "Active"], { onError: (error) => errors.push(error) });
    await store.create(file());
    await shows(store, ({ status }) => status === "error");
    const { asset, error } = store.getSnapshot();
    expect(asset).toMatchObject({ id: "a-1", state: "failed", raw: { Status: "Failed" } });
    expect(error).toMatchObject({
      name: "TaskError",
      message: expect.stringContaining("(Failed)"),
      handle: { id: "a-1", uri: "asset://a-1" },
    });
    expect((error as TaskError).task).toBe(asset);
    expect(store.getSnapshot().error).toBe(error);
    await settled();
    expect(errors).toEqual([error]);
    await store.create(file());
    expect(creates()).toHaveLength(2);
  });

  test("an asset that may be registered shows its billing, and is not sent again", async () => {
    const { store, creates } = createStore(["Active"], {
      create: () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } })),
    });
    expect(await store.create(file())).toMatchObject({ status: "error", error: { billing: "maybe" } });
    expect(creates()).toHaveLength(1);
  });

  test("reset before the request is sent sends nothing", async () => {
    const reported: unknown[] = [];
    const { store, creates } = createStore(["Active"], { onError: (error) => reported.push(error) });
    const registered = store.create(file());
    store.reset();
    expect(await registered).toMatchObject({ status: "idle" });
    await settled();
    expect([creates().length, reported]).toEqual([0, []]);
    expect(store.getSnapshot()).toMatchObject({ status: "idle", phase: undefined });
  });

  test("attach watches an asset by its id", async () => {
    const { store, creates } = createStore(["Active"]);
    store.attach("a-1");
    await shows(store, ({ status }) => status === "success");
    expect(store.getSnapshot().data?.uri).toBe("asset://a-1");
    expect(creates()).toHaveLength(0);
  });

  test("an asset that was seen before survives a minute of 404s", async () => {
    const clock = stoppedClock();
    let lookup = () => Response.json({ Status: "Processing" });
    const { client } = createTestClient(() => lookup(), {
      clock,
      random: () => 0.5,
      baseURL: `https://gateway-${Math.random()}.test`,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    });
    const store = createAssetStore(client, { presence: present });
    onTestFinished(store.subscribe(() => {}));
    store.attach("a-1");
    await shows(store, ({ nextPollAt }) => nextPollAt !== undefined);
    store.detach();
    await clock.advance(1000);
    lookup = () => Response.json({ error: { message: "no such asset" } }, { status: 404 });
    store.refetch();
    await shows(store, ({ failureReason }) => failureReason !== undefined);
    for (let polls = 0; polls < 20; polls += 1) {
      await clock.advance(3000);
      await settled();
    }
    expect(store.getSnapshot()).toMatchObject({ status: "pending", failureReason: { status: 404 } });
    lookup = () => Response.json({ Status: "Active" });
    await clock.advanceUntil(
      shows(store, ({ status }) => status === "success"),
      3000,
    );
  });

  test("a client without a lookup gets an error that names the option", async () => {
    const { client } = createTestClient(() => Response.json({ Id: "a-1" }), {
      baseURL: "https://no-lookup.test",
    });
    const store = createAssetStore(client, { presence: present });
    onTestFinished(store.subscribe(() => {}));
    store.attach("a-1");
    await shows(store, ({ status }) => status === "error");
    expect(store.getSnapshot().error?.message).toContain("assetLookup");
  });
});

describe("reset while an asset is being sent", () => {
  /** Creates a store whose create waits for the test, with its callbacks. */
  function createSendingStore(options: AssetStoreOptions & { onEvent?: ClientOptions["onEvent"] } = {}) {
    const reported: string[] = [];
    const open: ((respond: Response | Promise<Response>) => void)[] = [];
    const arrivals: (() => void)[] = [];
    const signals: AbortSignal[] = [];
    const clock = stoppedClock();
    const { client, requests } = createTestClient(
      ({ signal, url }) => {
        // after a lost response the client requests the features of the proxy
        if (url.endsWith("/health")) return new Response(null, { status: 404 });
        signals.push(signal);
        arrivals.shift()?.();
        return new Promise<Response>((resolve) => open.push(resolve));
      },
      {
        clock,
        random: () => 0.5,
        baseURL: `https://gateway-${Math.random()}.test`,
        gateway: { assetLookup: () => Promise.resolve({ Status: "Active" }) },
        ...(options.onEvent && { onEvent: options.onEvent }),
      },
    );
    const store = createAssetStore(client, {
      groupId: "group-1",
      presence: present,
      onCreate: ({ uri }) => reported.push(`registered ${uri}`),
      onSuccess: ({ uri }) => reported.push(`success ${uri}`),
      onError: (error) => reported.push(`${error.name} ${(error as { billing?: string }).billing}`),
      ...options,
    });
    onTestFinished(store.subscribe(() => {}));
    const arrived = () => new Promise<void>((resolve) => arrivals.push(resolve));
    const respond = (response: Response | Promise<Response>) => open.shift()?.(response);
    return { store, reported, requests, signals, clock, arrived, respond };
  }

  const breakConnection = () =>
    Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));

  test("does not stop the registration: onCreate gets the handle, and the state does not show it", async () => {
    const { store, reported, signals, arrived, respond } = createSendingStore();
    const arrival = arrived();
    const registered = store.create(file());
    await arrival;
    store.reset();
    expect(signals[0]?.aborted).toBe(false);
    respond(Response.json({ Id: "a-1" }));
    expect(await registered).toMatchObject({ status: "idle", handle: undefined });
    await settled();
    expect([reported, store.getSnapshot().status]).toEqual([["registered asset://a-1"], "idle"]);
  });

  test.each([
    ["maybe", breakConnection],
    ["none", () => Response.json({ error: { message: "no" } }, { status: 400 })],
  ] as const)(
    "reports a failure with the billing %s, and the state does not show it",
    async (billing, fail) => {
      const { store, reported, requests, arrived, respond } = createSendingStore();
      const arrival = arrived();
      const registered = store.create(file());
      await arrival;
      store.reset();
      respond(fail());
      expect(await registered).toMatchObject({ status: "idle", error: undefined });
      await settled();
      expect(reported).toEqual([expect.stringContaining(billing)]);
      expect(requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    },
  );

  test("does not write into the next registration", async () => {
    const { store, reported, arrived, respond } = createSendingStore();
    const arrival = arrived();
    const first = store.create(file());
    await arrival;
    store.reset();
    const next = arrived();
    const second = store.create("https://files.test/reef.png");
    await next;
    respond(breakConnection());
    expect(await first).toMatchObject({ status: "pending", phase: "creating", error: undefined });
    expect(store.create(file())).toBe(second);
    respond(Response.json({ Id: "a-2" }));
    expect(await second).toMatchObject({ handle: { id: "a-2" } });
    await shows(store, ({ status }) => status === "success");
    await settled();
    expect(reported).toEqual([
      expect.stringContaining("maybe"),
      "registered asset://a-2",
      "success asset://a-2",
    ]);
  });

  test("does not repeat a rejected request, and reports nothing because nothing is billed", async () => {
    let onRetry: () => void = () => {};
    const retried = new Promise<void>((resolve) => {
      onRetry = resolve;
    });
    const { store, reported, requests, clock, arrived, respond } = createSendingStore({
      onEvent: ({ type }) => type === "retry" && onRetry(),
    });
    const arrival = arrived();
    const registered = store.create(file());
    await arrival;
    const refusal = Response.json({ error: { message: "slow down" } }, { status: 429 });
    respond(refusal.clone());
    await retried;
    store.reset();
    expect(await registered).toMatchObject({ status: "idle" });
    await clock.advance(60_000);
    // the same if the rejection arrives after the reset
    const second = arrived();
    const again = store.create(file());
    await second;
    store.reset();
    respond(refusal);
    expect(await again).toMatchObject({ status: "idle" });
    await clock.advance(60_000);
    expect([requests.length, reported]).toEqual([2, []]);
  });

  test("sends and reports nothing while the file is being prepared", async () => {
    const signals: AbortSignal[] = [];
    const ends: ((file: Blob) => void)[] = [];
    const { store, reported, requests } = createSendingStore({
      encoding: "multipart",
      prepare: (_, signal) => {
        signals.push(signal);
        return new Promise<Blob>((resolve) => ends.push(resolve));
      },
    });
    const registered = store.create(file());
    await settled();
    store.reset();
    expect(signals[0]?.aborted).toBe(true);
    const next = store.create(file());
    await settled();
    ends[0]?.(file());
    await registered;
    expect(store.getSnapshot()).toMatchObject({ status: "pending", phase: "uploading" });
    ends[1]?.(file());
    store.reset();
    await next;
    await settled();
    expect([requests.length, reported, store.getSnapshot().status]).toEqual([0, [], "idle"]);
  });
});
