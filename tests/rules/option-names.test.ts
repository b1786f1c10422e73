import { type BatchOptions, createBatch } from "@sluice/batch";
import { type ClientEvent, type ClientOptions, createClient, streamResumption } from "@sluice/core";
import { noteOptions } from "@sluice/core/extend";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { createUploadStore, uploadMedia, uploads } from "@sluice/media";
import {
  type AssetStoreOptions,
  type ChatStoreOptions,
  createAssetStore,
  createChatStore,
  createImageStore,
  createVideoTaskList,
  createVideoTaskStore,
  type ImageStoreOptions,
  memoryStorage,
  recordReceipts,
  signOut,
  type VideoTaskListOptions,
  type VideoTaskStoreOptions,
} from "@sluice/stores";
import { chat as chatRoutes, createProxy, type ProxyOptions } from "@sluice/worker-proxy";
import { afterEach, describe, expect, test, vi } from "vitest";

/*
 * Unknown options give a warning. The compiler compares the names below with the types, and the tests compare them with
 * the names that the functions know: an option that is added to a type only does not pass.
 */

/** A list of every option of a type. The compiler reports a missing one. */
type Names<Options> = Readonly<Record<keyof Options, unknown>>;

const client: Names<ClientOptions> = {
  baseURL: "https://gateway.test",
  apiKey: () => "sk-test",
  headers: {},
  credentials: "omit",
  user: "ada",
  fetch,
  timeout: { firstChunkMs: 1, chunkMs: 1, totalMs: 1 },
  retry: { limit: 1, maxRetryAfterMs: 1 },
  idempotencyKeys: true,
  gateway: { assetLookup: "/look/up", parseVideoTask: () => {}, includeUsage: true },
  uploads: uploads(),
  resume: streamResumption(),
  onEvent: () => {},
  clock: undefined,
  random: () => 0,
  dangerouslyAllowBrowser: true,
};
const sent = { headers: {}, timeout: {}, retry: {}, checks: true };
const chat: Names<ChatStoreOptions> = {
  model: "delta-5.3",
  params: {},
  id: "a",
  initialMessages: [],
  instructions: "",
  prepareMessages: (messages: unknown) => messages,
  tools: [],
  maxSteps: 1,
  outputSchema: undefined,
  whenBusy: "queue",
  throttleMs: 1,
  ...sent,
  storage: undefined,
  runner: undefined,
  onFinish: () => {},
  onError: () => {},
};
const image: Names<ImageStoreOptions> = {
  model: "gamma-image-5-0-260128",
  params: {},
  whenBusy: "reject",
  ...sent,
  onSuccess: () => {},
  onError: () => {},
};
const videos: Names<VideoTaskListOptions> = {
  storage: undefined,
  presence: undefined,
  intervalMs: 1000,
  pollInBackground: true,
};
const video: Names<VideoTaskStoreOptions> = {
  ...videos,
  whenBusy: "join",
  ...sent,
  onCreate: () => {},
  onSuccess: () => {},
  onError: () => {},
};
const asset: Names<AssetStoreOptions> = {
  groupId: "g",
  prepare: (file: Blob) => file,
  whenBusy: "join",
  ...sent,
  encoding: "data-uri",
  intervalMs: 1000,
  pollInBackground: true,
  presence: undefined,
  onCreate: () => {},
  onSuccess: () => {},
  onError: () => {},
};
const upload: Names<Exclude<Parameters<typeof createUploadStore>[1], undefined | (() => unknown)>> = {
  use: "reference_video",
  parser: {},
  headers: {},
  storage: undefined,
};
const batch: Names<BatchOptions> = {
  id: "reefs",
  storage: memoryStorage(),
  concurrency: 2,
  onResult: () => {},
  headers: {},
  timeout: {},
  retry: {},
  intervalMs: 1000,
  deadlineMs: 1000,
};
const proxy: Names<ProxyOptions> = {
  baseURL: "https://gateway.test",
  apiKey: () => "sk-gateway",
  authenticate: "public",
  origins: [],
  credentials: false,
  models: ["delta-5.3"],
  allowFields: [],
  routes: [chatRoutes],
  secret: undefined,
  rateLimit: undefined,
  gateway: { includeUsage: true },
  mediaURLs: "public",
  plugins: [],
  host: undefined,
  basePath: "",
  limits: { maxBodyBytes: 1, maxTokens: 1 },
  timeout: { bodyMs: 1, firstChunkMs: 1, chunkMs: 1, totalMs: 1 },
  fetch: undefined,
};
const emulator: Names<EmulatorOptions> = {
  apiKeys: ["sk-test"],
  clock: undefined,
  speed: 1,
  durations: { imageMs: 1, videoMs: 1 },
  chat: undefined,
  media: undefined,
  script: undefined,
  fetchMedia: undefined,
  onEnd: undefined,
  faults: undefined,
  faultCases: undefined,
  origin: undefined,
  cors: false,
  differs: undefined,
  maxRequests: 1,
  state: new Map(),
};

/** The client of the stores, and the warnings that it emits about options. */
function openClient() {
  const warned: string[] = [];
  const onEvent = (event: ClientEvent) => {
    if (event.type === "warning") warned.push(`${event.issue.path} ${event.issue.message}`);
  };
  return { warned, client: createClient({ baseURL: "https://gateway.test", onEvent }) };
}
type Client = ReturnType<typeof openClient>["client"];

const stores: Readonly<
  Record<string, readonly [known: object, create: (client: Client, options: never) => unknown]>
> = {
  createChatStore: [chat, createChatStore],
  createImageStore: [image, createImageStore],
  createVideoTaskStore: [video, createVideoTaskStore],
  createVideoTaskList: [videos, createVideoTaskList],
  createAssetStore: [asset, createAssetStore],
  createUploadStore: [upload, createUploadStore],
  createBatch: [batch, (client, options) => createBatch(client, [], options)],
};

/** Waits until the names are loaded and earlier options are checked. */
async function checked(): Promise<void> {
  const { client, warned } = openClient();
  createUploadStore(client, { [`zz${Math.random()}`]: 1 } as never);
  await vi.waitFor(() => expect(warned).toHaveLength(1));
}

describe.each(Object.entries(stores))("An option of %s", (name, [known, create]) => {
  test("is accepted without a warning where it is known", async () => {
    const { client, warned } = openClient();
    create(client, known as never);
    create(client, (() => known) as never);
    await checked();
    expect(warned).toEqual([]);
  });

  test("gives one warning with the nearest name where it is unknown", async () => {
    const { client, warned } = openClient();
    const [first = ""] = Object.keys(known);
    const misspelt = { ...known, [`${first}s`]: 1, nothingLikeIt: 1, absent: undefined };
    create(client, misspelt as never);
    create(client, (() => misspelt) as never);
    await checked();
    expect(warned).toEqual([
      expect.stringMatching(
        `^${name}\\.${first}s is not an option of ${name}.*; did you mean \`${first}\`\\?$`,
      ),
      expect.stringMatching(`^${name}\\.nothingLikeIt is not an option of ${name}[^;]*$`),
    ]);
  });
});

test("An unknown option of a function that is called once gives one warning", async () => {
  const { client, warned } = openClient();
  const storage = memoryStorage();
  await uploadMedia(client, new Blob(["a"]), { onProgres: 1, signal: AbortSignal.abort() } as never).catch(
    () => {},
  );
  recordReceipts(client, { storage, sinc: 1 } as never);
  await signOut(client, { storage } as never);
  await checked();
  expect(warned).toEqual([
    expect.stringMatching(/^uploadMedia\.onProgres .*did you mean `onProgress`\?$/),
    expect.stringMatching(/^recordReceipts\.sinc .*did you mean `since`\?$/),
    expect.stringMatching(/^signOut\.storage .*did you mean `storages`\?$/),
  ]);
});

test("The store of an add-on may have any option of every task store", async () => {
  const { client, warned } = openClient();
  const { groupId: _, prepare: __, encoding: ___, ...known } = asset;
  const options = { taskId: "t-1", ...known, intervalms: 1 };
  noteOptions("createMusicStore or useMusic", options, client);
  await checked();
  expect(warned).toEqual([
    expect.stringMatching(
      /^createMusicStore\.intervalms is not an option of createMusicStore or useMusic; did you mean `intervalMs`\?$/,
    ),
  ]);
});

test("An unknown option within an option gives a warning with its path", async () => {
  const { client, warned } = openClient();
  createChatStore(client, { model: "delta-5.3", timeout: { chunksMs: 1 } } as never);
  await checked();
  expect(warned).toEqual([
    expect.stringMatching(/^createChatStore\.timeout\.chunksMs .*did you mean `chunkMs`\?$/),
  ]);
});

describe("The warning of code without events", () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  const open: Readonly<Record<string, readonly [known: object, create: (options: never) => unknown]>> = {
    createClient: [{ ...client, onEvent: undefined }, createClient],
    createEmulator: [emulator, createEmulator],
  };
  const misspelt = { orgin: 1, timeuot: 1, limit: 1, speeed: 1 };

  test.each(Object.entries(open))("is printed for %s", async (name, [known, create]) => {
    const log = vi.spyOn(console, "warn").mockImplementation(() => {});
    create(known as never);
    await checked();
    expect(log.mock.calls).toEqual([]);
    for (const _ of [1, 2]) create({ ...known, ...misspelt } as never);
    await vi.waitFor(() => expect(log).toHaveBeenCalled());
    await checked();
    const lines = log.mock.calls.map(([line]) => String(line));
    expect(lines.every((line) => line.includes(`${name}.`) && line.includes("is not an option of"))).toBe(
      true,
    );
    expect(lines).toHaveLength(Object.keys(misspelt).length);
  });

  test("is an error of createProxy, which names it", () => {
    expect(() => createProxy(proxy as never)).not.toThrow();
    for (const unknown of [{ orgin: 1 }, { limits: { maxBodyByte: 1 } }, { timeout: { bodyMS: 1 } }]) {
      const [[name = "", value] = []] = Object.entries(unknown);
      const path = typeof value === "object" ? `${name}.${Object.keys(value)[0]}` : name;
      expect(() => createProxy({ ...proxy, ...unknown } as never)).toThrow(
        `${path}: is not an option of createProxy`,
      );
    }
  });

  test("is not printed in production", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const { client, warned } = openClient();
    createUploadStore(client, { zz: 1 } as never);
    vi.unstubAllEnvs();
    await checked();
    expect(warned).toEqual([]);
  });
});
