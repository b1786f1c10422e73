import { createClient, streamResumption } from "@sluice/core";
import { type ChatStore, createChatStore } from "@sluice/stores";
import type { WhenBusy } from "@sluice/stores/internal";
import { serverRunner } from "@sluice/sync";
import type { JobEvent } from "@sluice/worker-proxy";
import { createChannels } from "./channels.js";
import { createGateway } from "./gateway.js";
import { createLocks } from "./locks.js";
import { createNetwork, type Exchange } from "./network.js";
import { getCurrentPage, openPage, type Page } from "./page.js";
import { installPlatform } from "./platform.js";
import { createProxyServer, type ProxyMode } from "./proxy.js";
import { createRandom } from "./random.js";
import { createRemoteDevice, getStorageFault, isOfStorage, readStoredByObjects } from "./remote-devices.js";
import { createRepeats } from "./repeats.js";
import { createPageTools, type ToolRun } from "./runs.js";
import { createDevice, createSharedServer, type Device, type KeptChat } from "./shared-server.js";
import { createTools } from "./tab.js";
import { createTimeline } from "./timeline.js";
import type { Withdrawal } from "./withdrawals.js";

/** A page on one device, and the chat in it. */
export interface DeviceTab {
  readonly page: Page;
  readonly device: Device;
  readonly chat: ChatStore;
  /** Calls of verbs that are not settled. */
  readonly pending: Map<object, string>;
  call(name: string, verb: () => Promise<unknown>): void;
  close(): void;
}

/** Parts of a plan that make a simulation. */
export interface DeviceSimulationOptions {
  readonly seed: number;
  /** Error of each device's clock in milliseconds. */
  readonly clocks: readonly number[];
  readonly whenBusy: WhenBusy;
  readonly proxy: ProxyMode;
  /**
   * `model`: a storage that fulfils the contract, without HTTP. `real`: `remoteStorage`, and `conversations()` at the
   * proxy.
   */
  readonly storage?: "model" | "real" | undefined;
  /** Where turns run. The server runs them if the storage is `real`. @default "device" */
  readonly runsOn?: "device" | "server" | undefined;
}

/** A user with several devices, the server that stores the chat, the proxy and the gateway. */
export type DeviceSimulation = ReturnType<typeof createDeviceSimulation>;

type Channels = ReturnType<typeof createChannels>;

/** Tokens that the user may spend in one window: more than anybody can. */
const BUDGET = 10_000_000;

/** Events of a simulation: a lease is renewed as long as a page works. */
const MOST_EVENTS = 600_000;

/** Creates a simulation of devices. `restore` brings the globals back. */
export function createDeviceSimulation({
  seed,
  clocks,
  whenBusy,
  proxy: mode,
  storage = "model",
  runsOn = "device",
}: DeviceSimulationOptions) {
  const timeline = createTimeline(MOST_EVENTS);
  const trace: string[] = [];
  const gateway = createGateway(timeline);
  const server = createSharedServer(timeline, describeDetail);
  const channels = clocks.map((_, nth) => createChannels(timeline, createRandom(seed, `channels ${nth}`)));
  const devices = clocks.map((_, nth): Device => {
    const random = createRandom(seed, `device ${nth}`);
    return storage === "real"
      ? createRemoteDevice(`device-${nth}`, timeline, random, channels[nth] as Channels, describeDetail)
      : createDevice(`device-${nth}`, server, timeline, random, describeDetail);
  });
  const locks = clocks.map((_, nth) =>
    createLocks(timeline, createRandom(seed, `locks ${nth}`), "sound", describeDetail),
  );
  const homes = new Map<Page, number>();
  const restore = installPlatform({
    timeline,
    random: createRandom(seed, "ids"),
    locksOf: (page) => locks[homes.get(page) ?? -1]?.managerOf(),
    openChannel: (name) =>
      storage === "real"
        ? (channels[homes.get(getCurrentPage() as Page) ?? 0] as Channels).open(name)
        : Object.assign(new EventTarget(), { postMessage() {}, close() {} }),
    logError: describeDetail,
  });
  const keepsConversations = storage === "real";
  const isOnServer = runsOn === "server";
  const onTool = (run: ToolRun) => {
    describeDetail(`${run.page.name}: runs ${run.name} ${run.callId}`);
    simulation.runs.push(run);
  };
  const onEnd = (event: JobEvent) => {
    describeDetail(`turn ${event.id} has ended: ${event.outcome}, ${event.code}`);
    simulation.ends.push(event);
  };
  const runs = isOnServer ? { onTool, onEnd } : undefined;
  const parts = { seed, budget: BUDGET, keepsConversations, runs };
  const proxy =
    mode === "absent" && !keepsConversations
      ? undefined
      : createProxyServer(
          { ...parts, proxy: mode === "absent" ? "metered" : mode },
          timeline,
          gateway.fetch,
          describeDetail,
        );
  const network = createNetwork(
    timeline,
    createRandom(seed, "network"),
    serve,
    describeDetail,
    (page, path) => getStorageFault(devices[homes.get(page) ?? -1], path),
  );
  const jitter = createRandom(seed, "jitter");
  const tabs: DeviceTab[] = [];
  let opened = 0;
  const simulation = {
    timeline,
    trace,
    gateway,
    server,
    kept:
      keepsConversations && proxy
        ? readStoredByObjects(proxy, timeline, network.exchanges, getId)
        : (server as KeptChat),
    devices,
    locks,
    channels,
    proxy,
    network,
    tabs,
    whenBusy,
    clocks,
    isOnServer,
    keepsAnswers: mode === "kept",
    /** Number of events for which a request may be sent once more, and for which it may be billed once more. */
    reasons: 0,
    asked: 0,
    repeats: createRepeats(),
    /** Runs of tools, by the id of the call. */
    toolRuns: [] as string[],
    /** Tool runs, and events of finished turns, if the server runs turns. */
    runs: [] as ToolRun[],
    ends: [] as JobEvent[],
    /** Questions that were stopped before their page had sent them, by their texts. */
    withdrawn: new Map<string, Withdrawal>(),
    /** Prompts and complete messages that were shown. `isStored` is true once a device has stored them. */
    finished: new Map<string, { readonly content: string; readonly isStored: boolean }>(),
    /** Ids of messages that a tab has cleared, and of those that the server has deleted since. */
    cleared: new Set<string>(),
    gone: new Set<string>(),
    /** Contents of queued messages that were on a device, by the ids of their messages. */
    queued: new Map<string, string>(),
    dropped: new Set<string>(),
    /** Turns that have ended, by their questions. */
    turns: [] as {
      readonly page: Page;
      readonly at: number;
      readonly question: string;
      readonly outcome: string;
    }[],
    getId,
    log,
    open,
    close,
    restore,
  };
  return simulation;

  function serve(request: Request, exchange: Exchange): Promise<Response> {
    const isDirect = mode === "absent" && !isOfStorage(exchange);
    return (isDirect ? gateway : (proxy ?? gateway)).fetch(request, exchange);
  }

  /** Id of the device of a page. */
  function getId(page: Page): string {
    return devices[homes.get(page) ?? -1]?.id ?? "";
  }

  function log(text: string): void {
    trace.push(`${(timeline.now() / 1000).toFixed(3).padStart(10)} s  ${text}`);
  }

  function describeDetail(text: string): void {
    log(`· ${text}`);
  }

  function open(nth: number): DeviceTab {
    const device = devices[nth] as Device;
    const page = openPage(timeline, ++opened, `tab ${opened} of ${device.id}`);
    homes.set(page, nth);
    page.clockErrorMs = clocks[nth] as number;
    page.isOnline = device.isOnline;
    const pending = new Map<object, string>();
    const chat = page.run(() => {
      const client = createClient({
        baseURL: "https://proxy.test",
        resume: streamResumption(),
        fetch: network.fetchOf(page),
        random: jitter,
        clock: page.clock,
        timeout: { firstChunkMs: 60_000, chunkMs: 20_000 },
        // two devices may request a deleted record, which would be printed
        onEvent: () => {},
      });
      const tools = isOnServer
        ? createPageTools(onTool)
        : createTools(page, (id) => void simulation.toolRuns.push(id));
      const store = createChatStore(client, {
        id: "a",
        model: "alpha-v4.1-flash",
        tools,
        whenBusy,
        maxSteps: 4,
        storage: device.createStorage(page, client),
        ...(isOnServer && { runner: serverRunner() }),
      });
      store.subscribe(() => {});
      return store;
    });
    const tab = { page, device, chat, pending, call, close: () => page.run(() => chat.close()) };
    tabs.push(tab);
    return tab;

    function call(name: string, verb: () => Promise<unknown>): void {
      const key = {};
      pending.set(key, name);
      const settle = (settled: unknown) => {
        pending.delete(key);
        const { outcome, error } = Object(settled) as { outcome?: string; error?: Error };
        log(
          `tab ${page.id}: ${name} → ${settled instanceof Error ? settled : outcome}${error ? ` (${error.message})` : ""}`,
        );
        if (outcome !== undefined)
          simulation.turns.push({ page, at: timeline.now(), question: name, outcome });
      };
      page.run(verb).then(settle, (error) => settle(new Error(`${name} rejected`, { cause: error })));
    }
  }

  /** Closes a page at once, as a crash does; or in peace, once it has heard of that. */
  function close(tab: DeviceTab, isInPeace = false): void {
    const { page, device } = tab;
    page.state = "gone";
    tabs.splice(tabs.indexOf(tab), 1);
    device.pages.delete(page);
    network.drop(page, isInPeace);
    locks[homes.get(page) as number]?.drop(page);
    channels[homes.get(page) as number]?.drop(page);
  }
}
