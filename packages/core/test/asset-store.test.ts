import {
  type AssetStoreOptions,
  createAssetStore,
  type Presence,
  type Store,
  watchAsset,
} from "@sluice/core";
import { afterEach, describe, expect, test } from "vitest";
import { clientOf, settled, stoppedClock } from "./support/gateway.js";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const dataURI = `data:image/png;base64,${btoa(String.fromCharCode(...PNG))}`;
const file = () => new File([PNG], "hero.png", { type: "image/png" });
const present: Presence = { absence: undefined, subscribe: () => () => {} };
const leaves: (() => void)[] = [];
afterEach(() => {
  for (const leave of leaves.splice(0)) leave();
});

/** An asset store on a gateway whose lookups say `statuses`, the last one for ever. */
function storeOf(
  statuses: readonly string[],
  {
    create = () => Response.json({ Id: "a-1" }),
    ...options
  }: AssetStoreOptions & { create?: () => Response | Promise<Response> } = {},
) {
  const clock = stoppedClock();
  const lookups: unknown[] = [];
  const { client, requests } = clientOf(
    (sent) => {
      if (sent.url.endsWith("CreateAsset")) return create();
      lookups.push(sent);
      return Response.json({ Id: "a-1", Status: statuses[Math.min(lookups.length, statuses.length) - 1] });
    },
    {
      clock,
      random: () => 0.5,
      baseURL: `https://gateway-${Math.random()}.test`,
      assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
    },
  );
  const store = createAssetStore(client, { groupId: "group-1", presence: present, ...options });
  leaves.push(store.subscribe(() => {}));
  const creates = () => requests.filter(({ url }) => url.endsWith("CreateAsset"));
  return { client, clock, store, creates, lookups };
}

function shows<State>(store: Store<State>, isWanted: (state: State) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isWanted(store.getSnapshot())) return;
      stop();
      resolve();
    };
    const stop = store.subscribe(check);
    check();
  });
}

describe("an asset", () => {
  test("is read, sent and prepared, and gives its uri once it may be used", async () => {
    const done: string[] = [];
    const { store, clock, creates } = storeOf(["Processing", "Active"], {
      onSuccess: ({ uri }) => done.push(uri),
    });
    const phases: unknown[] = [];
    store.subscribe(() => {
      const { phase, progress } = store.getSnapshot();
      if (phases.at(-1) !== `${phase} ${progress}`) phases.push(`${phase} ${progress}`);
    });
    const registered = store.register(file());
    expect(store.getSnapshot()).toMatchObject({ status: "pending", phase: "reading", uri: undefined });
    expect(await registered).toMatchObject({ status: "pending", phase: "preparing", handle: { id: "a-1" } });
    await shows(store, ({ nextPollAt }) => nextPollAt !== undefined);
    expect(store.getSnapshot()).toMatchObject({ asset: { rawStatus: "Processing" }, uri: undefined });
    await clock.advance(3000);
    await shows(store, ({ status }) => status === "success");
    expect(store.getSnapshot()).toMatchObject({
      uri: "asset://a-1",
      phase: undefined,
      data: { state: "active" },
    });
    await settled();
    expect(done).toEqual(["asset://a-1"]);
    expect(phases).toEqual([
      "reading undefined",
      "reading 1",
      "sending undefined",
      "preparing undefined",
      "undefined undefined",
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

  test("is registered once for a double click", async () => {
    const { store, creates } = storeOf(["Processing"]);
    const clicks = [store.register(file()), store.register(file())];
    expect(clicks[0]).toBe(clicks[1]);
    await Promise.all(clicks);
    await store.register(file());
    expect(creates()).toHaveLength(1);
  });

  test("may be a URL, with a name and a group of its own", async () => {
    const { store, creates } = storeOf(["Active"]);
    await store.register("https://files.test/pictures/reef.png?size=2");
    store.reset();
    await store.register(new URL("https://files.test/reef.png"), { name: "Reef", groupId: "group-2" });
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
  ])("that breaks a rule is refused at %s, and nothing is sent", async (path, options, source) => {
    const errors: Error[] = [];
    const { store, creates } = storeOf(["Active"], { ...options, onError: (error) => errors.push(error) });
    const progress: unknown[] = [];
    store.subscribe(() => progress.push(store.getSnapshot().progress));
    const state = await store.register(source);
    // nor is the file read before
    expect(progress.every((seen) => seen === undefined)).toBe(true);
    expect(state).toMatchObject({ status: "error", error: { name: "ValidationError", issues: [{ path }] } });
    await settled();
    expect(errors).toEqual([state.error]);
    expect(creates()).toHaveLength(0);
  });

  test("is sent as the app prepares it, as a form if that is wanted", async () => {
    const prepared = new Blob([PNG], { type: "image/png" });
    const { store, creates } = storeOf(["Active"], {
      prepare: () => prepared,
      request: { upload: "multipart" },
    });
    await store.register(file());
    const form = await (creates()[0] as Request).formData();
    expect(form.get("Name")).toBe("hero.png");
    expect((form.get("URL") as File).size).toBe(PNG.length);
  });

  test("that failed says so, and another can be registered", async () => {
    const { store } = storeOf(["Failed", "Active"]);
    await store.register(file());
    await shows(store, ({ status }) => status === "error");
    expect(store.getSnapshot()).toMatchObject({
      error: { name: "AssetFailedError" },
      asset: { state: "failed" },
    });
    expect(store.getSnapshot().error).toBe(store.getSnapshot().error);
  });

  test("that may have been registered says so, and is not sent again", async () => {
    const { store, creates } = storeOf(["Active"], {
      create: () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } })),
    });
    expect(await store.register(file())).toMatchObject({ status: "error", error: { outcome: "unknown" } });
    expect(creates()).toHaveLength(1);
  });

  test("that is reset before it was sent is not sent", async () => {
    const { store, creates } = storeOf(["Active"]);
    const registered = store.register(file());
    store.reset();
    expect(await registered).toMatchObject({ status: "idle" });
    await settled();
    expect(creates()).toHaveLength(0);
    expect(store.getSnapshot()).toMatchObject({ status: "idle", phase: undefined });
  });

  test("that is there already is watched by its id", async () => {
    const { store, creates } = storeOf(["Active"]);
    store.attach("a-1");
    await shows(store, ({ status }) => status === "success");
    expect(store.getSnapshot().uri).toBe("asset://a-1");
    expect(creates()).toHaveLength(0);
  });

  test("that is watched gives a snapshot for each change, and ends when it may be used", async () => {
    const { client, clock } = storeOf(["Processing", "Processing", "Active"]);
    const seen: string[] = [];
    let isOver = false;
    const watching = (async () => {
      for await (const { rawStatus } of watchAsset(client, "a-1")) seen.push(rawStatus);
      isOver = true;
    })();
    while (!isOver) {
      await clock.advance(3000);
      // workerd reads a body in no lesser turn
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await watching;
    expect(seen).toEqual(["Processing", "Active"]);
  });

  test("without a lookup says what is missing", async () => {
    const { client } = clientOf(() => Response.json({ Id: "a-1" }), { baseURL: "https://no-lookup.test" });
    const store = createAssetStore(client, { presence: present });
    leaves.push(store.subscribe(() => {}));
    store.attach("a-1");
    await shows(store, ({ status }) => status === "error");
    expect(store.getSnapshot().error?.message).toContain("assetLookup");
  });
});
