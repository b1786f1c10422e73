import {
  type AssetStore,
  type ChatStore,
  type ClientEvent,
  createAssetStore,
  createChatStore,
  createClient,
  createImageStore,
  createVideoTaskList,
  createVideoTaskStore,
  defineTool,
  type ImageStore,
  type RecordStorage,
  type VideoTaskList,
  type VideoTaskStore,
  type WhenBusy,
} from "@sluice/core";
import type { Page } from "./page.js";
import type { Random } from "./random.js";

/** The app in a page: one chat and the videos over the storage of the browser, images, and one asset. */
export interface Tab {
  readonly page: Page;
  readonly chat: ChatStore;
  readonly list: VideoTaskList;
  readonly video: VideoTaskStore;
  readonly images: ImageStore<"gamma-image-5-0-260128">;
  readonly asset: AssetStore;
  /** Ids of the assets that were registered here. */
  readonly assetIds: ReadonlySet<string>;
  readonly events: readonly ClientEvent[];
  /** Calls of verbs that are not settled. */
  readonly pending: Map<object, string>;
  /** Set while the session of the user is over: no request can be made. */
  isSignedOut: boolean;
  /** Calls a verb, and notes it until it is settled. */
  call(name: string, verb: () => Promise<unknown>): void;
  /** Runs code of the app. */
  run<T>(act: () => T): T;
  /** Ends all that the app has begun. */
  close(): void;
}

/** Parts of the world that an app needs. */
export interface TabParts {
  readonly page: Page;
  readonly random: Random;
  readonly storage: RecordStorage;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly whenBusy: WhenBusy;
  /** Notes that a tool was run. */
  readonly onTool: (toolCallId: string) => void;
  /** Notes an outcome of a verb. */
  readonly onSettled: (name: string, settled: unknown) => void;
}

/** Opens the app in a page. */
export function openTab(parts: TabParts): Tab {
  const { page, random, storage, fetch, whenBusy, onTool, onSettled } = parts;
  const events: ClientEvent[] = [];
  const pending = new Map<object, string>();
  const stops: (() => void)[] = [];
  const assetIds = new Set<string>();
  const tab = { page, events, pending, assetIds, isSignedOut: false, call, run: page.run, close };

  return page.run(() => {
    const client = createClient({
      baseURL: "https://proxy.test",
      fetch,
      random,
      clock: page.clock,
      headers() {
        if (tab.isSignedOut) throw new Error("the session has expired");
        return {};
      },
      assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
      timeouts: { headersMs: 60_000, firstChunkMs: 60_000, chunkMs: 20_000 },
      onEvent: (event) => events.push(event),
    });
    const tools = toolsOf(page, onTool);
    const model = "alpha-v4.1-flash";
    const chat = createChatStore(client, { id: "a", model, tools, whenBusy, maxSteps: 4, storage });
    const list = createVideoTaskList(client, { storage });
    const video = createVideoTaskStore(client, { storage });
    const images = createImageStore(client, { model: "gamma-image-5-0-260128" });
    const asset = createAssetStore(client, { groupId: "group", onCreate: ({ id }) => void assetIds.add(id) });
    for (const store of [chat, list, video, images, asset]) stops.push(store.subscribe(() => {}));
    return Object.assign(tab, { chat, list, video, images, asset });
  });

  function call(name: string, verb: () => Promise<unknown>): void {
    const key = {};
    pending.set(key, name);
    const settle = (settled: unknown) => {
      pending.delete(key);
      onSettled(name, settled);
    };
    page.run(verb).then(settle, (error) => settle(new Error(`${name} rejected`, { cause: error })));
  }

  function close(): void {
    page.run(() => {
      for (const stop of stops) stop();
      (tab as unknown as Tab).chat.close();
    });
  }
}

function toolsOf(page: Page, onTool: (toolCallId: string) => void) {
  const parameters = { type: "object" };
  const run =
    (output: string, ms = 0) =>
    async (_: unknown, { toolCallId, signal }: { toolCallId: string; signal: AbortSignal }) => {
      onTool(toolCallId);
      await page.clock.sleep(ms, signal);
      return output;
    };
  return [
    defineTool({ name: "quick", parameters, execute: run("done") }),
    defineTool({ name: "slow", parameters, execute: run("done at last", 8000) }),
    defineTool({ name: "guarded", parameters, needsApproval: true, execute: run("allowed") }),
    defineTool({ name: "asked", parameters }),
  ];
}
