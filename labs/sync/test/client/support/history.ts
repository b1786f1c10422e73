import { type Client, createClient, type RecordStorage } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { type RemoteStorage, remoteStorage } from "@sluice/sync";
import { settled, stoppedClock } from "../../../../../packages/core/test/support/gateway.js";
import { message, settle } from "./device.js";

/** A server with several accounts, as a history uses it. */
export interface HistoryServer {
  /** Returns a `fetch` of a page whose session is that of `readUser()`. */
  connect(readUser: () => string | undefined): (request: Request) => Promise<Response>;
  /** Takes a backup. Returns the function that restores it. */
  backUp(): Promise<() => Promise<void>>;
  /** Waits until the server has done what was sent to it. */
  rest(): Promise<void>;
}

type Network = "on" | "off" | "html" | "empty" | "json" | "busy" | "lossy";
type Values = Map<string, unknown>;
/** What the server has of a user. */
interface Stored {
  readonly chat: ReadonlyMap<string, unknown>;
  readonly list: ReadonlyMap<string, unknown>;
}

const USERS = ["ada", "bob"] as const;
const CHAT = "chat/trip";
const LIST = "conversations";

/** A write of a user, as the history remembers it. */
interface Written {
  readonly user: string;
  readonly browser: string;
  readonly collection: string;
  readonly key: string;
  readonly text: string;
}

interface Tab {
  readonly user: string;
  readonly storage: RemoteStorage;
  readonly chat: Values;
  readonly list: Values;
  isOpen: boolean;
}

interface Browser {
  readonly name: string;
  readonly local: RecordStorage;
  session: string | undefined;
  network: Network;
  /** Fails writes of the local storage. */
  isFull: boolean;
  readonly tabs: Tab[];
}

/** A generator of numbers from 0 to 1, by a seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

let histories = 0;

/**
 * Plays one history: two users on three browsers with up to two tabs each write, sign in and out, lose their network, and
 * their server is restored from backups. Then everything is repaired. Returns what is wrong at the end.
 */
export async function playHistory(
  server: HistoryServer,
  seed: number,
  steps = 40,
): Promise<readonly string[]> {
  histories += 1;
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const clock = stoppedClock();
  const written: Written[] = [];
  /** Keys that a user has removed, and messages whose writing was refused or lost with a sign-out. */
  const removed = new Set<string>();
  const unsure = new Set<string>();
  const backups: (() => Promise<void>)[] = [];
  const trace: string[] = [];
  let count = 0;
  let wasRestored = false;
  const browsers = Array.from({ length: 3 }, (_, nth): Browser => {
    const name = `history-${histories}-${nth}`;
    const user = nth === 2 ? pick(USERS) : "ada";
    return { name, local: createLocal(), session: user, network: "on", isFull: false, tabs: [] };
  });
  const log = (text: string) => void trace.push(text);

  for (let nth = 0; nth < steps; nth += 1) {
    await step(pick(browsers));
    if (random() < 0.6) await settle();
    if (random() < 0.2) await clock.advance(Math.floor(random() * 20_000));
  }
  const problems = await finish();
  for (const { tabs } of browsers) for (const tab of tabs) await tab.storage.drop?.("").catch(() => {});
  await settle();
  return problems.length > 0 ? [`seed ${seed}`, ...trace, ...problems] : [];

  function createLocal(): RecordStorage {
    return memoryStorage();
  }

  async function step(browser: Browser): Promise<void> {
    const at = random();
    const open = browser.tabs.filter(({ isOpen }) => isOpen);
    if (open.length === 0 || (at < 0.06 && open.length < 2))
      return openTab(browser, random() < 0.85 ? browser.session : pick(USERS));
    const tab = pick(open);
    if (at < 0.4) return writeMessage(browser, tab);
    if (at < 0.5) return renameConversation(browser, tab);
    if (at < 0.55) return removeMessage(browser, tab);
    if (at < 0.6) return finishResponse(browser, tab);
    if (at < 0.72) {
      browser.network = pick(["on", "on", "off", "html", "empty", "json", "busy", "lossy"] as const);
      return log(`${browser.name}: network ${browser.network}`);
    }
    if (at < 0.8) {
      browser.session = pick([...USERS, undefined]);
      return log(`${browser.name}: session ${browser.session}`);
    }
    if (at < 0.86) return closeTab(browser, tab);
    if (at < 0.9) return signOut(browser, tab);
    if (at < 0.93) return retry(browser, tab);
    if (at < 0.97) {
      log(`backup ${backups.length}`);
      return void backups.push(await server.backUp());
    }
    const restore = pick(backups);
    if (!restore) return;
    log("restore");
    wasRestored = true;
    await restore();
  }

  function openTab(browser: Browser, user = "ada"): void {
    log(`${browser.name}: open a tab of ${user}`);
    const client: Client = createClient({
      baseURL: "https://proxy.example",
      onEvent: () => {},
      clock,
      user,
      random,
      fetch: (request) => respond(browser, request),
    });
    const storage = remoteStorage(client, { local: browser.local, name: browser.name });
    const tab: Tab = { user, storage, chat: new Map(), list: new Map(), isOpen: true };
    browser.tabs.push(tab);
    for (const [collection, values] of [
      [CHAT, tab.chat],
      [LIST, tab.list],
    ] as const) {
      const name = `${JSON.stringify(user)}/${collection}`;
      storage.watch(name, (changes) => {
        for (const [key, value] of changes)
          if (value === undefined) values.delete(key);
          else values.set(key, value);
      });
      storage.read(name).then(
        (records) => {
          for (const [key, value] of records) if (!values.has(key)) values.set(key, value);
        },
        () => {},
      );
    }
  }

  async function respond(browser: Browser, request: Request): Promise<Response> {
    const { network } = browser;
    const isEvents = request.url.includes("/events");
    if (network === "off") throw new TypeError("offline");
    if (network === "html")
      return new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
    if (network === "empty") return new Response(null, { status: 204 });
    if (network === "json") return Response.json({ results: [], changes: [], hasMore: false, cursor: "1.x" });
    if (network === "busy")
      return Response.json(
        { error: { code: "busy", message: "busy" } },
        { status: 503, headers: { "x-sluice-offers": "sync", "retry-after": "30" } },
      );
    const response = await server.connect(() => browser.session)(request);
    // the request has arrived, and its response gets lost
    if (network === "lossy" && !isEvents && random() < 0.5) throw new TypeError("connection reset");
    return response;
  }

  async function write(browser: Browser, tab: Tab, collection: string, key: string, value: unknown) {
    const name = `${JSON.stringify(tab.user)}/${collection}`;
    const values = collection === CHAT ? tab.chat : tab.list;
    await tab.storage.write(name, new Map([[key, value]])).then(
      () => {
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      },
      () => void unsure.add(`${tab.user} ${collection} ${key}`),
    );
    log(`${browser.name}: ${tab.user} writes ${collection} ${key} ${JSON.stringify(value)?.slice(0, 90)}`);
  }

  async function writeMessage(browser: Browser, tab: Tab): Promise<void> {
    count += 1;
    const key = `${tab.user}-${count}`;
    const parents = [...tab.chat.keys()].filter((each) => !each.startsWith("/"));
    const parent = parents.length > 0 && random() < 0.8 ? pick(parents) : null;
    const isBig = random() < 0.04;
    const isResponse = random() < 0.3;
    const more = isResponse ? { role: "assistant", ...(random() < 0.6 && { outcome: "complete" }) } : {};
    const content = isBig ? "x".repeat(1_048_600) : `${key} by ${browser.name}`;
    if (isBig) unsure.add(`${tab.user} ${CHAT} ${key}`);
    if (!isResponse || "outcome" in more)
      written.push({ user: tab.user, browser: browser.name, collection: CHAT, key, text: content });
    await write(browser, tab, CHAT, key, message(content, parent, more));
  }

  async function finishResponse(browser: Browser, tab: Tab): Promise<void> {
    const open = [...tab.chat].filter(([, value]) => isOpenResponse(value));
    if (open.length === 0) return;
    const [key, value] = pick(open) as [string, { message: object; revision: number }];
    const ended = {
      ...value,
      message: { ...value.message, outcome: "complete" },
      revision: value.revision + 1,
    };
    await write(browser, tab, CHAT, key, ended);
  }

  async function renameConversation(browser: Browser, tab: Tab): Promise<void> {
    count += 1;
    const key = `${tab.user}-c${Math.floor(random() * 3)}`;
    const known = tab.list.get(key) as { revision: number } | undefined;
    const title = `${tab.user}'s title ${count}`;
    await write(browser, tab, LIST, key, { title, revision: (known?.revision ?? 0) + 1 });
  }

  async function removeMessage(browser: Browser, tab: Tab): Promise<void> {
    const keys = [...tab.chat.keys()];
    if (keys.length === 0) return;
    const key = pick(keys);
    removed.add(`${tab.user} ${CHAT} ${key}`);
    await write(browser, tab, CHAT, key, undefined);
  }

  /** Closes a tab as a crash does: nothing is told to it. Its lock is released. */
  async function closeTab(browser: Browser, tab: Tab): Promise<void> {
    log(`${browser.name}: a tab is killed`);
    tab.isOpen = false;
    // ends its sync without a removal: the name is of no collection
    await tab.storage.drop?.("nothing");
  }

  async function signOut(browser: Browser, tab: Tab): Promise<void> {
    log(`${browser.name}: ${tab.user} signs out`);
    for (const { user, key, collection, browser: name } of written)
      if (user === tab.user && name === browser.name) unsure.add(`${user} ${collection} ${key}`);
    for (const key of tab.list.keys()) unsure.add(`${tab.user} ${LIST} ${key}`);
    for (const each of browser.tabs) if (each.user === tab.user) each.isOpen = false;
    await tab.storage.drop?.(JSON.stringify(tab.user));
    // other tabs of the user hear of it
    for (const each of browser.tabs)
      if (each.user === tab.user && each !== tab) await each.storage.drop?.("nothing");
    await settle();
  }

  function retry(browser: Browser, tab: Tab): void {
    log(`${browser.name}: retryNow()`);
    tab.storage.retryNow();
  }

  /** Repairs everything, and compares what is left. */
  async function finish(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const user of USERS) {
      for (const browser of browsers) Object.assign(browser, { network: "on", session: user });
      log(`--- all sign in as ${user}`);
      for (let round = 0; round < 3; round += 1) {
        for (const browser of browsers) {
          if (!browser.tabs.some((tab) => tab.isOpen && tab.user === user)) openTab(browser, user);
          await settle();
          for (const tab of browser.tabs) if (tab.isOpen && tab.user === user) tab.storage.retryNow();
        }
        await synchronize(user);
        await clock.advance(1000);
      }
      // the time may have ended change events that nothing was sent on
      for (const { tabs } of browsers)
        for (const tab of tabs) if (tab.isOpen && tab.user === user) tab.storage.retryNow();
      await synchronize(user);
      const stored = await readAll(user);
      found.push(...findStrangers(user, stored), ...findLosses(user, stored), ...findHoles(user, stored));
      for (const browser of browsers)
        for (const tab of browser.tabs)
          if (tab.isOpen && tab.user === user) found.push(...(await findDifferences(browser, tab, stored)));
    }
    return found;
  }

  /** Waits until each tab of a user has sent and read everything, or says why not. */
  async function synchronize(user: string): Promise<void> {
    for (const { tabs } of browsers)
      for (const tab of tabs)
        if (tab.isOpen && tab.user === user)
          for (const collection of [CHAT, LIST]) await tab.storage.sync(collection).catch(() => {});
    await rest();
  }

  async function rest(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) {
      await settle();
      await server.rest();
      await settled();
    }
    await settle();
  }

  /** Reads what the server has, as a new device does. */
  async function readAll(user: string): Promise<Stored> {
    const client = createClient({
      baseURL: "https://proxy.example",
      onEvent: () => {},
      clock,
      user,
      fetch: server.connect(() => user),
    });
    const storage = remoteStorage(client, { local: memoryStorage(), name: `new-${Math.random()}` });
    const read = (collection: string) => storage.read(`${JSON.stringify(user)}/${collection}`);
    await storage.sync(CHAT);
    await storage.sync(LIST);
    const [chat, list] = [await read(CHAT), await read(LIST)];
    await storage.drop?.("nothing");
    return { chat, list };
  }

  /** Nothing of another user has crossed. */
  function findStrangers(user: string, { chat, list }: Stored): string[] {
    const keys = [...chat.keys(), ...list.keys()];
    return keys.filter((key) => !key.startsWith(user)).map((key) => `${user}'s account has ${key}`);
  }

  /** Nothing that was written is lost, unless it was removed, refused or forgotten by a sign-out. */
  function findLosses(user: string, { chat }: Pick<Stored, "chat">): string[] {
    return written
      .filter((each) => each.user === user && each.collection === CHAT)
      .filter(({ key }) => !removed.has(`${user} ${CHAT} ${key}`) && !unsure.has(`${user} ${CHAT} ${key}`))
      .filter(({ key }) => !chat.has(key) && !isBelowMissing(user, key, chat))
      .map(({ key }) => `${user} lost ${key}`);
  }

  /** Returns true for a message that waits for a refused or unfinished one, on a device that has it. */
  function isBelowMissing(user: string, key: string, chat: Stored["chat"]): boolean {
    for (const { tabs } of browsers)
      for (const tab of tabs) {
        if (!tab.isOpen || tab.user !== user) continue;
        for (let at: string | null = key; at !== null; ) {
          const value = tab.chat.get(at) as
            | { parent: string | null; message: { content: string } }
            | undefined;
          if (!value) break;
          if (value.message.content.length > 1_000_000 || (isOpenResponse(value) && !chat.has(at)))
            return true;
          at = value.parent;
        }
      }
    return false;
  }

  /** No message is on the server without its parent, unless a user has removed the parent. */
  function findHoles(user: string, { chat }: Pick<Stored, "chat">): string[] {
    return [...chat].flatMap(([key, value]) => {
      const { parent } = value as { parent: string | null };
      if (parent === null || chat.has(parent)) return [];
      const name = `${user} ${CHAT} ${parent}`;
      return removed.has(name) || (unsure.has(name) && wasForgotten(name))
        ? []
        : [`${user}: ${key} has no parent ${parent}`];
    });
  }

  function wasForgotten(name: string): boolean {
    return wasRestored && unsure.has(name);
  }

  /** Every tab shows what the server has, and its status is true. */
  async function findDifferences(browser: Browser, tab: Tab, stored: Stored) {
    const found: string[] = [];
    const local = await tab.storage.read(`${JSON.stringify(tab.user)}/${CHAT}`);
    let unsent = 0;
    let hasRefusal = false;
    for (const [key, value] of local) {
      const content = (value as { message: { content: string } }).message.content;
      if (stored.chat.has(key)) continue;
      if (isOpenResponse(value)) continue;
      if (content.length > 1_000_000) hasRefusal ||= !isBelowOpen(key, local, stored.chat);
      else if (!isBelowMissing(tab.user, key, stored.chat))
        found.push(`${browser.name}: ${key} is only here`);
      unsent += 1;
    }
    for (const [key, value] of stored.chat)
      if (JSON.stringify(local.get(key)) !== JSON.stringify(value) && !isOpenResponse(value))
        found.push(
          `${browser.name}: ${key} is ${JSON.stringify(local.get(key))}, at the server ${JSON.stringify(value)}`,
        );
    for (const [key, value] of stored.list)
      if (JSON.stringify(tab.list.get(key)) !== JSON.stringify(value))
        found.push(
          `${browser.name}: shows ${JSON.stringify(tab.list.get(key))}, the server has ${JSON.stringify(value)}`,
        );
    for (const key of tab.list.keys())
      if (!stored.list.has(key)) found.push(`${browser.name}: ${key} is only here`);
    for (const key of [...tab.chat.keys(), ...tab.list.keys()])
      if (!key.startsWith(tab.user)) found.push(`${browser.name}: ${tab.user} sees ${key}`);
    const status = tab.storage.status.getSnapshot();
    if (status.isSyncing || status.unsent !== unsent || (status.error !== undefined) !== hasRefusal)
      found.push(`${browser.name}: ${tab.user} status ${JSON.stringify(status)}, ${unsent} unsent`);
    return found;
  }
}

/** Returns true for a message below a response in flight, which waits for its end. */
function isBelowOpen(key: string, local: ReadonlyMap<string, unknown>, stored: Stored["chat"]): boolean {
  for (let at: string | null = key; at !== null; ) {
    const value = local.get(at) as { readonly parent: string | null } | undefined;
    if (!value) return false;
    if (isOpenResponse(value) && !stored.has(at)) return true;
    at = value.parent;
  }
  return false;
}

function isOpenResponse(value: unknown): boolean {
  const { role, outcome } = (value as { message: { role: string; outcome?: string } }).message;
  return role === "assistant" && outcome === undefined;
}
