import {
  type ClientEvent,
  type ClientOptions,
  createClient,
  defineTool,
  type RecordStorage,
  streamResumption,
} from "@sluice/core";
import {
  type AssetStore,
  type AssetStoreOptions,
  type ChatStore,
  type ChatStoreOptions,
  createAssetStore,
  createChatStore,
  createImageStore,
  createVideoTaskList,
  createVideoTaskStore,
  customStorage,
  type ImageStore,
  type ImageStoreOptions,
  signOut,
  type VideoTaskList,
  type VideoTaskStore,
} from "@sluice/stores";
import type { WhenBusy } from "../support/when-busy.js";
import { openTree, type Tree } from "./hooks.js";
import type { Page } from "./page.js";
import type { Random } from "./random.js";

/** An event of a call. */
type CallEvent = Extract<ClientEvent, { readonly kind: string }>;

/** How an app uses the library: with stores, or with components and hooks. */
export type View = "stores" | "hooks" | "strict hooks";

type ChatMethod = "send" | "stop" | "reset" | "retry" | "regenerate" | "edit";
type TurnMethod = "switchBranch" | "cancelQueued" | "approve" | "deny" | "addToolOutput";

/** The stores of an app, or the methods of its hooks: the chat, the videos, images, and one asset. */
export interface Stores {
  readonly chat: Pick<ChatStore, "getSnapshot" | ChatMethod | TurnMethod>;
  readonly list: Omit<VideoTaskList, "subscribe">;
  readonly video: Pick<VideoTaskStore, "create" | "refetch" | "reset">;
  readonly images: Pick<ImageStore<"gamma-image-5-0-260128">, "getSnapshot" | "generate" | "stop" | "reset">;
  readonly asset: Pick<AssetStore, "create" | "refetch" | "reset">;
}

/** The app in a page: one chat and the videos over the storage of the browser, images, and one asset. */
export interface Tab extends Stores {
  readonly page: Page;
  /** The React tree of an app with hooks; undefined for an app with stores. */
  readonly tree: Tree | undefined;
  /** Ids of the assets that were registered here. */
  readonly assetIds: ReadonlySet<string>;
  /** Steps of the calls of the client, with their times. */
  readonly steps: readonly { readonly at: number; readonly event: CallEvent }[];
  /** Calls of methods that are not settled. */
  readonly pending: Map<object, string>;
  /** Set while the session of the user is over: no request can be made. */
  isSignedOut: boolean;
  /** Calls a method, and notes it until it is settled. */
  call(name: string, method: () => Promise<unknown>): void;
  /** Runs code of the app. */
  run<T>(act: () => T): T;
  /** Signs the user out: removes all that the app has stored for the user. Only in apps that use the stores. */
  forget?: () => Promise<unknown>;
  /** Ends all that the app has begun. */
  close(): void;
}

/** Parts of the simulation that an app needs. */
export interface TabParts {
  readonly page: Page;
  /** User of the app's data. Undefined for an app with a single user. */
  readonly scope?: string;
  readonly random: Random;
  readonly storage: RecordStorage;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly whenBusy: WhenBusy;
  readonly view: View;
  /** Notes that a tool was run. */
  readonly onTool: (toolCallId: string) => void;
  /** Notes an outcome of a method that was called at the time `from`. */
  readonly onSettled: (name: string, settled: unknown, from: number) => void;
}

/** Options of an app. */
export interface AppOptions {
  readonly client: ClientOptions;
  readonly chat: (id: string) => ChatStoreOptions;
  readonly images: ImageStoreOptions<"gamma-image-5-0-260128">;
  readonly asset: AssetStoreOptions;
  readonly storage: RecordStorage;
}

/** Opens the app in a page. */
export function openTab(parts: TabParts): Tab {
  const { page, scope, random, storage, fetch, whenBusy, view, onTool, onSettled } = parts;
  const steps: { readonly at: number; readonly event: CallEvent }[] = [];
  const pending = new Map<object, string>();
  const assetIds = new Set<string>();
  const tab = { page, steps, pending, assetIds, isSignedOut: false, call, run: page.run };

  const tools = createTools(page, onTool);
  const options: AppOptions = {
    client: {
      resume: streamResumption(),
      baseURL: "https://proxy.test",
      user: scope,
      fetch,
      random,
      clock: page.clock,
      headers() {
        if (tab.isSignedOut) throw new Error("the session has expired");
        return {};
      },
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
      timeout: { firstChunkMs: 60_000, chunkMs: 20_000 },
      onEvent(event) {
        if ("kind" in event) steps.push({ at: page.clock.now(), event });
      },
    },
    chat: (id) => ({
      id,
      model: "alpha-v4.1-flash",
      tools,
      whenBusy,
      maxSteps: 4,
      storage: customStorage(storage),
    }),
    images: { model: "gamma-image-5-0-260128" },
    asset: { groupId: "group", onCreate: ({ id }) => void assetIds.add(id) },
    storage,
  };
  return page.run(() =>
    Object.assign(tab, view === "stores" ? openStores(options, page) : openTree(options, page, view)),
  );

  function call(name: string, method: () => Promise<unknown>): void {
    const key = {};
    const from = page.clock.now();
    pending.set(key, name);
    const settle = (settled: unknown) => {
      pending.delete(key);
      onSettled(name, settled, from);
    };
    page.run(method).then(settle, (error) => settle(new Error(`${name} rejected`, { cause: error })));
  }
}

/** Opens an app that uses the stores. */
function openStores(options: AppOptions, page: Page) {
  const { storage } = options;
  const client = createClient(options.client);
  const chat = createChatStore(client, options.chat("a"));
  const list = createVideoTaskList(client, { storage });
  const video = createVideoTaskStore(client, { storage });
  const images = createImageStore(client, options.images);
  const asset = createAssetStore(client, options.asset);
  const stops = [chat, list, video, images, asset].map((store) => store.subscribe(() => {}));
  return { chat, list, video, images, asset, tree: undefined, close, forget: () => signOut(client) };

  function close(): void {
    page.run(() => {
      for (const stop of stops) stop();
      chat.close();
    });
  }
}

/** Makes the tools of an app. */
function createTools(page: Page, onTool: (toolCallId: string) => void) {
  const parameters = { type: "object" };
  const run =
    (output: string, ms = 0) =>
    async (_: unknown, { toolCallId, signal }: { toolCallId: string; signal: AbortSignal }) => {
      onTool(toolCallId);
      await page.clock.sleep(ms, signal);
      return output;
    };
  return [
    defineTool({ name: "quick", inputSchema: parameters, execute: run("done") }),
    defineTool({ name: "slow", inputSchema: parameters, execute: run("done at last", 8000) }),
    defineTool({ name: "guarded", inputSchema: parameters, needsApproval: true, execute: run("allowed") }),
    defineTool({ name: "asked", inputSchema: parameters }),
  ];
}
