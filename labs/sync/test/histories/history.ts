import { createClient } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { remoteStorage } from "@sluice/sync";
import { createClock, createRandom } from "./clock.js";
import { findProblems, isOpenResponse } from "./rules.js";
import type { HistoryServer, HistoryTurns } from "./server.js";
import {
  type Browser,
  CHAT,
  getShown,
  getStored,
  LIST,
  type Stored,
  type Tab,
  USERS,
  type Written,
} from "./state.js";
import {
  createTurns,
  findQuestion,
  listPending,
  type PendingCall,
  PLANS,
  SERVER_CHAT,
  type TurnDevice,
} from "./turns.js";

const COLLECTIONS = [CHAT, LIST, SERVER_CHAT] as const;
/** Characters of a message that the server refuses. */
const TOO_LARGE = 1_048_600;

let histories = 0;

/**
 * Plays one history. Two users on three browsers with up to two tabs each write, sign in and out, lose their network, and
 * run turns on the server, whose calls they approve or deny. The server ends at any time and is restored from backups.
 * Then everything is repaired.
 *
 * @returns the events of the history and then the problems at its end; empty without problems
 */
export async function playHistory(
  openServer: (turns: HistoryTurns) => Promise<HistoryServer>,
  seed: number,
  steps = 40,
): Promise<readonly string[]> {
  histories += 1;
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const clock = createClock();
  const turns = createTurns(pick);
  const server = await openServer(turns.server);
  const { settle } = server;
  const written: Written = { messages: [], removed: new Set(), uncertain: new Set(), wasRestored: false };
  const backups: (() => Promise<void>)[] = [];
  const trace: string[] = [];
  let count = 0;
  const browsers = Array.from({ length: 3 }, (_, nth): Browser => {
    const name = `history-${histories}-${nth}`;
    return {
      name,
      local: memoryStorage(),
      session: nth === 2 ? pick(USERS) : "ada",
      network: "on",
      tabs: [],
    };
  });

  try {
    for (let nth = 0; nth < steps; nth += 1) {
      await step(pick(browsers));
      if (random() < 0.6) await settle();
      if (random() < 0.2) await clock.advance(Math.floor(random() * 20_000), settle);
    }
    const problems = await finish();
    return problems.length > 0 ? [`seed ${seed}`, ...trace, ...problems] : [];
  } finally {
    for (const { tabs } of browsers) for (const tab of tabs) await closeTab(tab);
    while (turns.respond());
    await settle();
    await server.close();
  }

  async function step(browser: Browser): Promise<void> {
    const at = random();
    // a page may be open for one user while the cookie is of the other
    if (browser.tabs.length === 0 || (at < 0.06 && browser.tabs.length < 2))
      return openTab(browser, random() < 0.85 ? browser.session : pick(USERS));
    const tab = pick(browser.tabs);
    const [pending] = listPending(getShown(tab, SERVER_CHAT));
    if (pending && random() < 0.3) return decide(browser, tab, pending);
    if (at < 0.22) return writeMessage(browser, tab);
    if (at < 0.28) return renameConversation(browser, tab);
    if (at < 0.33) return removeRecord(browser, tab, pick([CHAT, CHAT, SERVER_CHAT]));
    if (at < 0.37) return finishResponse(browser, tab);
    if (at < 0.66) return stepTurn(browser, tab);
    if (at < 0.75) {
      browser.network = pick(["on", "on", "off", "html", "empty", "json", "busy", "lossy"] as const);
      return log(`${browser.name}: network ${browser.network}`);
    }
    if (at < 0.81) {
      browser.session = pick([...USERS, undefined]);
      return log(`${browser.name}: session ${browser.session}`);
    }
    if (at < 0.86) {
      log(`${browser.name}: a tab of ${tab.user} is killed`);
      browser.tabs = browser.tabs.filter((each) => each !== tab);
      return closeTab(tab);
    }
    if (at < 0.9) return signOut(browser, tab);
    if (at < 0.93) {
      log(`${browser.name}: retryNow()`);
      return tab.storage.retryNow();
    }
    if (at < 0.97) {
      log(`the server ends and starts again, with backup ${backups.length}`);
      turns.noteRestart(false);
      return void backups.push(await server.backUp());
    }
    const restore = pick(backups);
    if (!restore) return;
    log("restore");
    turns.noteRestart(true);
    written.wasRestored = true;
    await restore();
  }

  function log(text: string): void {
    trace.push(text);
  }

  function openTab(browser: Browser, user = "ada"): void {
    log(`${browser.name}: open a tab of ${user}`);
    const { name, local } = browser;
    const fetch = (request: Request) => respond(browser, request);
    const client = createClient({
      ...{ baseURL: "https://proxy.example", clock, user, random, fetch },
      onEvent,
    });
    const storage = remoteStorage(client, { local, name });
    const shown = new Map(COLLECTIONS.map((collection) => [collection, new Map<string, unknown>()] as const));
    for (const [collection, values] of shown) {
      const full = `${JSON.stringify(user)}/${collection}`;
      storage.subscribe(full, (changes) => {
        for (const [key, value] of changes)
          if (value === undefined) values.delete(key);
          else values.set(key, value);
      });
      storage.read(full).then(
        (records) => {
          for (const [key, value] of records) if (!values.has(key)) values.set(key, value);
        },
        () => {},
      );
    }
    browser.tabs = [...browser.tabs, { user, client, storage, shown, ended: new AbortController() }];
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
        { status: 503, headers: { "x-sluice-features": "sync", "retry-after": "30" } },
      );
    const response = await server.connect(() => browser.session)(request);
    // the request has arrived, and its response gets lost
    if (network === "lossy" && !isEvents && random() < 0.5) throw new TypeError("connection reset");
    return response;
  }

  async function write(browser: Browser, tab: Tab, collection: string, key: string, value: unknown) {
    const values = getShown(tab, collection);
    await tab.storage.write(`${JSON.stringify(tab.user)}/${collection}`, new Map([[key, value]])).then(
      () => {
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      },
      () => void written.uncertain.add(`${tab.user} ${collection} ${key}`),
    );
    log(`${browser.name}: ${tab.user} writes ${collection} ${key} ${JSON.stringify(value)?.slice(0, 90)}`);
  }

  async function writeMessage(browser: Browser, tab: Tab): Promise<void> {
    count += 1;
    const { user } = tab;
    const key = `${user}-${count}`;
    const parents = [...getShown(tab, CHAT).keys()];
    const parent = parents.length > 0 && random() < 0.8 ? pick(parents) : null;
    const isTooLarge = random() < 0.04;
    const isResponse = random() < 0.3;
    const isFinished = !isResponse || random() < 0.6;
    const content = isTooLarge ? "x".repeat(TOO_LARGE) : `${key} by ${browser.name}`;
    if (isTooLarge) written.uncertain.add(`${user} ${CHAT} ${key}`);
    if (isFinished) written.messages.push({ user, browser: browser.name, key });
    const more = isResponse ? { role: "assistant", ...(isFinished && { outcome: "complete" }) } : {};
    await write(browser, tab, CHAT, key, createMessage(content, parent, more));
  }

  async function finishResponse(browser: Browser, tab: Tab): Promise<void> {
    const open = [...getShown(tab, CHAT)].filter(([, value]) => isOpenResponse(value));
    if (open.length === 0) return;
    const [key, value] = pick(open) as [string, { message: object; revision: number }];
    const message = { ...value.message, outcome: "complete" };
    await write(browser, tab, CHAT, key, { ...value, message, revision: value.revision + 1 });
  }

  async function renameConversation(browser: Browser, tab: Tab): Promise<void> {
    count += 1;
    const key = `${tab.user}-c${Math.floor(random() * 3)}`;
    const known = getShown(tab, LIST).get(key) as { revision: number } | undefined;
    const title = `${tab.user}'s title ${count}`;
    await write(browser, tab, LIST, key, { title, revision: (known?.revision ?? 0) + 1 });
  }

  async function removeRecord(browser: Browser, tab: Tab, collection: string): Promise<void> {
    const keys = [...getShown(tab, collection).keys()];
    if (keys.length === 0) return;
    const key = pick(keys);
    written.removed.add(`${tab.user} ${collection} ${key}`);
    await write(browser, tab, collection, key, undefined);
  }

  /** Asks, decides, stops, follows or forges a turn of the server, or lets the model respond. */
  async function stepTurn(browser: Browser, tab: Tab): Promise<void> {
    const shown = getShown(tab, SERVER_CHAT);
    const at = random();
    if (at < 0.3) return void (await ask(browser, tab, pick(PLANS)));
    if (at < 0.75) return log(`the model responds: ${turns.respond()}`);
    const responses = [...shown].filter(([, value]) => readTurn(value) !== undefined);
    if (responses.length === 0) return;
    const [record, value] = pick(responses);
    const turn = String(readTurn(value));
    if (at < 0.82) {
      log(`${browser.name}: follows ${turn}`);
      return turns.start(createDevice(browser, tab), turn, findQuestion(shown, record));
    }
    if (at < 0.9) {
      log(`${browser.name}: stops ${turn}`);
      return turns.stop(createDevice(browser, tab), turn);
    }
    await forge(browser, tab, record);
  }

  /** Writes a question and starts its turn. Returns the id of the turn. */
  async function ask(browser: Browser, tab: Tab, plan: (typeof PLANS)[number]): Promise<string> {
    count += 1;
    const key = `${tab.user}-${count}`;
    const parents = [...getShown(tab, SERVER_CHAT).keys()];
    const parent = parents.length > 0 && random() < 0.8 ? pick(parents) : null;
    await write(browser, tab, SERVER_CHAT, key, createMessage(`${key} ${plan}`, parent));
    const turn = `${tab.user}-turn-${count}`;
    log(`${browser.name}: starts ${turn}`);
    turns.start(createDevice(browser, tab), turn, key);
    return turn;
  }

  /** Decides a call, maybe at the same time as another device, or as a write of the same record. */
  async function decide(browser: Browser, tab: Tab, pending: PendingCall): Promise<void> {
    const others = browsers.flatMap((each) =>
      each.tabs.filter(({ user }) => user === tab.user).map((other) => [each, other] as const),
    );
    const rivals = random() < 0.5 ? [pick(others)] : [];
    for (const [each, other] of [[browser, tab] as const, ...rivals]) {
      const type = random() < 0.7 ? "approve" : "deny";
      log(`${each.name}: ${type} ${pending.call}`);
      turns.decide(createDevice(each, other), pending, type);
      turns.start(createDevice(each, other), pending.turn, pending.question);
    }
    const at = random();
    if (at < 0.2) await forge(browser, tab, pending.record);
    else if (at < 0.3) await removeRecord(browser, tab, SERVER_CHAT);
    else if (at < 0.4) await ask(browser, tab, pick(PLANS));
  }

  /** Writes other calls into a response of the server. */
  async function forge(browser: Browser, tab: Tab, record: string): Promise<void> {
    const value = getShown(tab, SERVER_CHAT).get(record) as {
      message: { toolCalls?: object[] };
      turn?: string;
    };
    const { turn: _, ...own } = value ?? {};
    if (!own.message) return;
    const forged = { name: pick(["mail", "pay"]), arguments: '{"id":"forged"}', input: { id: "forged" } };
    const [first = { id: "forged", state: "approved" }, ...rest] = own.message.toolCalls ?? [];
    // a response in flight would wait for its page
    const message = { outcome: "tool-calls", ...own.message, toolCalls: [{ ...first, ...forged }, ...rest] };
    await write(browser, tab, SERVER_CHAT, record, { ...own, message });
  }

  function createDevice({ name }: Browser, { user, client, storage, ended }: Tab): TurnDevice {
    return { user, device: name, client, storage, signal: ended.signal };
  }

  /** Closes a tab as a crash does: nothing is told to it. Its lock is released. */
  async function closeTab({ storage, ended }: Tab): Promise<void> {
    ended.abort(new Error("the tab is closed"));
    // ends its sync without a removal: the name is of no collection
    await storage.clear?.("nothing").catch(() => {});
  }

  async function signOut(browser: Browser, tab: Tab): Promise<void> {
    const { user } = tab;
    log(`${browser.name}: ${user} signs out`);
    for (const { user: writer, key, browser: name } of written.messages)
      if (writer === user && name === browser.name) written.uncertain.add(`${user} ${CHAT} ${key}`);
    const tabs = browser.tabs.filter((each) => each.user === user);
    browser.tabs = browser.tabs.filter((each) => each.user !== user);
    await tab.storage.clear?.(JSON.stringify(user));
    // other tabs of the user hear of it
    for (const each of tabs) await closeTab(each);
    await settle();
  }

  /** Repairs all connections and servers, and compares the records of all devices. */
  async function finish(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const user of USERS) {
      for (const browser of browsers) Object.assign(browser, { network: "on", session: user });
      log(`--- all sign in as ${user}`);
      for (const browser of browsers)
        if (!browser.tabs.some((tab) => tab.user === user)) openTab(browser, user);
      await synchronize(user, 2);
      await endTurns(user);
      found.push(...(await startAnother(user)));
      await synchronize(user, 1);
      const stored = await readAll(user);
      const tabs = listTabs(user);
      found.push(...turns.findProblems(user, getStored(stored, SERVER_CHAT)));
      found.push(...(await findProblems({ user, tabs, stored, written })));
    }
    return found;
  }

  function listTabs(user: string): readonly (readonly [Browser, Tab])[] {
    return browsers.flatMap((browser) =>
      browser.tabs.filter((tab) => tab.user === user).map((tab) => [browser, tab] as const),
    );
  }

  /** Waits until each browser of a user has sent and read everything. Returns the reason if one does not. */
  async function synchronize(user: string, rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      for (const { tabs } of browsers) {
        const tab = tabs.find((each) => each.user === user);
        tab?.storage.retryNow();
        for (const collection of COLLECTIONS) tab?.storage.sync(collection).catch(() => {});
      }
      await settle();
      await clock.advance(1000, settle);
    }
    // the time may have ended change events that nothing was sent on
    for (const [, { storage }] of listTabs(user)) storage.retryNow();
    await settle();
  }

  /** Lets the model respond, and approves what waits, until no turn of a user runs. */
  async function endTurns(user: string): Promise<void> {
    const [[browser, tab] = []] = listTabs(user);
    if (!browser || !tab) return;
    const decided = new Set<string>();
    for (let round = 0; round < 12; round += 1) {
      while (turns.respond()) await settle();
      // a restored server may not know the turn of a call
      const pending = listPending(getShown(tab, SERVER_CHAT)).filter(({ call }) => !decided.has(call));
      for (const each of pending) {
        decided.add(each.call);
        turns.decide(createDevice(browser, tab), each, "approve");
        turns.start(createDevice(browser, tab), each.turn, each.question);
      }
      await settle();
      if (pending.length === 0 && !turns.isRunning(user)) return;
      await clock.advance(12_000, settle);
    }
  }

  /** A conversation takes another question, whatever has happened to its turns. */
  async function startAnother(user: string): Promise<readonly string[]> {
    const [[browser, tab] = []] = listTabs(user);
    if (!browser || !tab) return [];
    // the time may have ended its change events
    tab.storage.retryNow();
    await settle();
    const turn = await ask(browser, tab, "say");
    await settle();
    await endTurns(user);
    const end = turns.readEnd(turn);
    return end === "complete" ? [] : [`${turn}, which was asked last, ends with ${end}`];
  }

  /** Reads all records of the server, as a new device does. */
  async function readAll(user: string): Promise<Stored> {
    const fetch = server.connect(() => user);
    const client = createClient({ ...{ baseURL: "https://proxy.example", clock, user, fetch }, onEvent });
    const storage = remoteStorage(client, { local: memoryStorage(), name: `new-${Math.random()}` });
    const stored = new Map<string, ReadonlyMap<string, unknown>>();
    for (const collection of COLLECTIONS) {
      await storage.sync(collection);
      stored.set(collection, await storage.read(`${JSON.stringify(user)}/${collection}`));
    }
    await storage.clear?.("nothing");
    return stored;
  }
}

const onEvent = () => {};

function readTurn(value: unknown): unknown {
  return (value as { readonly turn?: unknown }).turn;
}

/** A message of the user, or a response with an outcome, as a chat stores it. */
function createMessage(content: string, parent: string | null, more: object = {}) {
  return { message: { id: content, role: "user", content, createdAt: 1, ...more }, parent, revision: 0 };
}
