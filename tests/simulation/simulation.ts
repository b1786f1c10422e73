import type { ChatMessage } from "@sluice/stores";
import { createChannels } from "./channels.js";
import { createDisk } from "./disk.js";
import { createGateway } from "./gateway.js";
import { createLocks } from "./locks.js";
import { createNetwork } from "./network.js";
import { type Order, type OrderKind, settleOrder } from "./orders.js";
import { openPage, type Page } from "./page.js";
import type { Plan } from "./plan.js";
import { installPlatform } from "./platform.js";
import { createProxyServer } from "./proxy.js";
import { createRandom } from "./random.js";
import { openTab, type Tab } from "./tab.js";
import { createTimeline } from "./timeline.js";

/** A browser with its tabs, the network, the proxy and the gateway. */
export type Simulation = ReturnType<typeof createSimulation>;

/** The other user of the browser, and the beginning of all that this user writes. */
export const STRANGER = "stranger";
export const SECRET = "secret";
/** First id of the other user's pages: above the ids of all tabs. */
const STRANGERS = 100;

/** Creates the simulation of a plan. `restore` brings the globals back. */
export function createSimulation(plan: Plan) {
  const { seed, locks: lockMode, whenBusy } = plan;
  const timeline = createTimeline();
  const gateway = createGateway(timeline);
  const disk = createDisk(timeline, createRandom(seed, "disk"), detail);
  const locks = createLocks(timeline, createRandom(seed, "locks"), lockMode, detail);
  const channels = createChannels(timeline, createRandom(seed, "channels"));
  const restore = installPlatform({
    timeline,
    random: createRandom(seed, "ids"),
    getLocks: () => locks.createManager(),
    openChannel: channels.open,
    logError: (line) => {
      logs.push(line);
      detail(line);
    },
  });
  const proxy =
    plan.proxy === "absent" ? undefined : createProxyServer(plan, timeline, gateway.fetch, detail);
  const network = createNetwork(timeline, createRandom(seed, "network"), (proxy ?? gateway).fetch, detail);
  const jitter = createRandom(seed, "jitter");
  const tabs: Tab[] = [];
  const trace: string[] = [];
  const logs: string[] = [];
  let opened = 0;
  const simulation = {
    timeline,
    whenBusy,
    /** Budget of the user in one window, in tokens. */
    budget: plan.budget,
    gateway,
    /** The server between the tabs and the gateway; undefined in a simulation without one. */
    proxy,
    /** Lines of the proxy's log. */
    logs,
    disk,
    locks,
    network,
    channels,
    /** Tabs that are open or frozen. */
    tabs,
    /** All tabs that were ever open. */
    everOpen: [] as Tab[],
    /** App of another user of the same browser; undefined until that user signs in. */
    stranger: undefined as Tab | undefined,
    /** True while no data of the other user may be stored, because the user has signed out. */
    isForgotten: false,
    /** Rule that a step has broken. */
    broken: undefined as string | undefined,
    /** Steps, requests and outcomes in order. */
    trace,
    /** Turns that have ended. */
    turns: [] as {
      readonly page: Page;
      readonly at: number;
      readonly question: string;
      readonly outcome: string;
    }[],
    /** Verbs that have settled. */
    settled: [] as {
      readonly page: Page;
      readonly name: string;
      readonly from: number;
      readonly to: number;
      readonly result: unknown;
    }[],
    /** Runs of tools, by the id of the call. */
    toolRuns: [] as string[],
    /** Prompts that were stopped before they were sent, and not sent again. */
    withdrawn: new Set<string>(),
    /** Prompts and complete messages that were shown. `isStored` is true once they were on the disk. */
    finished: new Map<string, { readonly content: string; readonly isStored: boolean }>(),
    /** Number of events that each allow one more chat request. */
    reasons: 0,
    /** True if the proxy stores responses: a repeated request with the same key is not billed again. */
    storesResponses: plan.proxy === "stored",
    /** Number of events that each allow one more bill for a reply. */
    chatCount: 0,
    /** Ids of messages that a tab has cleared. */
    cleared: new Set<string>(),
    /** True once the user has removed videos on purpose. */
    hasRemoved: false,
    /** The user's last order of each kind. */
    orders: new Map<OrderKind, Order>(),
    log,
    open,
    openStranger,
    close,
    restore,
  };
  return simulation;

  function log(text: string): void {
    trace.push(`${(timeline.now() / 1000).toFixed(3).padStart(10)} s  ${text}`);
  }

  /** Notes what happens between the steps. */
  function detail(text: string): void {
    log(`· ${text}`);
  }

  function open(): Tab {
    const page = openPage(timeline, ++opened);
    const tab = openTab({
      page,
      random: jitter,
      storage: disk.createStorage(page),
      fetch: network.createFetch(page),
      whenBusy,
      view: opened % 2 === 1 ? plan.view : "stores",
      onTool: (id) => void simulation.toolRuns.push(id),
      onSettled(name, result, from) {
        log(`tab ${page.id}: ${name} → ${getOutcome(result)}`);
        settleOrder(simulation, name, result);
        simulation.settled.push({ page, name, from, to: timeline.now(), result });
        const { outcome } = Object(result) as { outcome?: string };
        if (outcome !== undefined)
          simulation.turns.push({ page, at: timeline.now(), question: name, outcome });
      },
    });
    tabs.push(tab);
    simulation.everOpen.push(tab);
    return tab;
  }

  function openStranger(): Tab {
    const page = openPage(timeline, STRANGERS + ++opened, "stranger");
    simulation.stranger = openTab({
      page,
      scope: STRANGER,
      random: jitter,
      storage: disk.createStorage(page),
      fetch: network.createFetch(page),
      whenBusy: "queue",
      view: "stores",
      onTool() {},
      onSettled: (name, settled) => log(`stranger: ${name} → ${getOutcome(settled)}`),
    });
    return simulation.stranger;
  }

  /** Closes a page immediately, like a crash. */
  function close(tab: Tab): void {
    const { page } = tab;
    page.state = "gone";
    if (tabs.includes(tab)) tabs.splice(tabs.indexOf(tab), 1);
    network.drop(page);
    locks.drop(page);
    channels.drop(page);
  }
}

function getOutcome(settled: unknown): string {
  if (settled instanceof Error) return settled.message;
  const { outcome, status, error } = (settled ?? {}) as Record<string, { message?: string } | undefined>;
  return `${outcome ?? status}${error ? ` (${error.message})` : ""}`;
}

/** Returns every message of a chat that can be shown, by id. May change the shown branch. */
export function listReachable({
  page,
  chat,
}: Pick<Tab, "page"> & { readonly chat: Pick<Tab["chat"], "getSnapshot" | "switchBranch"> }): Map<
  string,
  ChatMessage
> {
  return page.run(() => {
    const found = new Map<string, ChatMessage>();
    const visited = new Set<string>();
    for (;;) {
      for (const message of chat.getSnapshot().messages) found.set(message.id, message);
      const all = [...found.values()].flatMap(({ branches = [] }) => branches);
      const next = all.find((id) => !visited.has(id));
      if (next === undefined) return found;
      visited.add(next);
      chat.switchBranch(next);
    }
  });
}

/** Returns true if a disk was ever in another mode than `well`. */
export function isIll(modes: ReadonlySet<string>): boolean {
  return [...modes].some((mode) => mode !== "well");
}
