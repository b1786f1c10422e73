import { createClient, streamResumption } from "@sluice/core";
import { type ChatStore, createChatStore, customStorage } from "@sluice/stores";
import { createGateway } from "./gateway.js";
import { createLocks } from "./locks.js";
import { createNetwork, type Exchange } from "./network.js";
import { openPage, type Page } from "./page.js";
import { installPlatform } from "./platform.js";
import { createProxyServer, type ProxyMode } from "./proxy.js";
import { createRandom } from "./random.js";
import { createDevice, createSharedServer, type Device } from "./shared-server.js";
import { createTools } from "./tab.js";
import { createTimeline } from "./timeline.js";

/** A page on one device, and the chat in it. */
export interface DeviceTab {
  readonly page: Page;
  readonly device: Device;
  readonly chat: ChatStore;
  close(): void;
}

/** Parts that make a simulation. */
export interface DeviceSimulationOptions {
  readonly seed: number;
  /** Error of each device's clock in milliseconds. */
  readonly clocks: readonly number[];
  readonly proxy: ProxyMode;
}

/** A user with several devices, the server that stores the chat, the proxy and the gateway. */
export type DeviceSimulation = ReturnType<typeof createDeviceSimulation>;

/** Tokens that the user may spend in one window: more than anybody can. */
const BUDGET = 10_000_000;

/** Events of a simulation: a lease is renewed as long as a page works. */
const MOST_EVENTS = 600_000;

/**
 * Creates a simulation of devices whose storage fulfils the contract of `RecordStorage`, without HTTP. `restore` brings
 * the globals back.
 */
export function createDeviceSimulation({ seed, clocks, proxy: mode }: DeviceSimulationOptions) {
  const timeline = createTimeline(MOST_EVENTS);
  const log = () => {};
  const gateway = createGateway(timeline);
  const server = createSharedServer(timeline, log);
  const devices = clocks.map((_, nth) =>
    createDevice(`device-${nth}`, server, timeline, createRandom(seed, `device ${nth}`), log),
  );
  const locks = clocks.map((_, nth) =>
    createLocks(timeline, createRandom(seed, `locks ${nth}`), "sound", log),
  );
  const homes = new Map<Page, number>();
  const restore = installPlatform({
    timeline,
    random: createRandom(seed, "ids"),
    locksOf: (page) => locks[homes.get(page) ?? -1]?.managerOf(),
    openChannel: () => Object.assign(new EventTarget(), { postMessage() {}, close() {} }),
    logError: log,
  });
  const proxy =
    mode === "absent"
      ? undefined
      : createProxyServer({ seed, budget: BUDGET, proxy: mode }, timeline, gateway.fetch, log);
  const network = createNetwork(timeline, createRandom(seed, "network"), serve, log);
  const jitter = createRandom(seed, "jitter");
  const tabs: DeviceTab[] = [];
  let opened = 0;
  /** Runs of tools, by the id of the call. */
  const toolRuns: string[] = [];
  return {
    timeline,
    gateway,
    network,
    toolRuns,
    /** Counts requests for a lease, leases that are held, and writes. */
    countOnServer: () => ({ requests: server.asked, leases: server.leases.size, writes: server.version }),
    /** Writes a record that no device has sent. */
    writeOnServer: (key: string, record: object) =>
      void server.write(new Map([[key, { text: JSON.stringify(record), seen: 0 }]])),
    open,
    close,
    setOnline,
    restore,
  };

  function serve(request: Request, exchange: Exchange): Promise<Response> {
    return (proxy ?? gateway).fetch(request, exchange);
  }

  function open(nth: number): DeviceTab {
    const device = devices[nth] as Device;
    const page = openPage(timeline, ++opened, `tab ${opened} of ${device.id}`);
    homes.set(page, nth);
    page.clockErrorMs = clocks[nth] as number;
    page.isOnline = device.isOnline;
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
      const store = createChatStore(client, {
        id: "a",
        model: "alpha-v4.1-flash",
        tools: createTools(page, (id) => void toolRuns.push(id)),
        whenBusy: "queue",
        maxSteps: 4,
        storage: customStorage(device.createStorage(page)),
      });
      store.subscribe(() => {});
      return store;
    });
    const tab = { page, device, chat, close: () => page.run(() => chat.close()) };
    tabs.push(tab);
    return tab;
  }

  /** Closes a page at once, as a crash does. */
  function close(tab: DeviceTab): void {
    const { page, device } = tab;
    page.state = "gone";
    tabs.splice(tabs.indexOf(tab), 1);
    device.pages.delete(page);
    network.drop(page);
    locks[homes.get(page) as number]?.drop(page);
  }

  /** Disconnects a device from the server and the proxy, or connects it again. */
  function setOnline(device: Device, isOnline: boolean): void {
    if (isOnline) device.goOnline();
    else device.isOnline = false;
    for (const { page, device: home } of tabs) {
      if (home !== device) continue;
      page.isOnline = isOnline;
      if (!isOnline) network.breakAll((exchange) => exchange.page === page);
      page.deliver(() => page.window.dispatchEvent(new Event(isOnline ? "online" : "offline")));
    }
  }
}
