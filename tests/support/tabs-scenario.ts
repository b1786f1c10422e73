import { AsyncLocalStorage } from "node:async_hooks";
import { defineTool, type RecordStorage } from "@sluice/core";
import {
  type ChatMessage,
  type ChatStore,
  type ChatTurn,
  createChatStore,
  customStorage,
  memoryStorage,
} from "@sluice/stores";
import {
  createTestClient,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../packages/core/test/support/gateway.js";
import type { WhenBusy } from "./when-busy.js";

/** Behaviour of a tab's storage when it is read. */
export type Reads = "sound" | "hangs" | "fails";
/** Locks of the browser. */
export type Locks = "sound" | "absent" | "refused";

/** A connection between a tab and the gateway. */
export interface Connection {
  readonly body: ReturnType<typeof openBody>;
  readonly requests: Record<string, unknown>[];
  readonly tab: Tab;
  said: string;
  calls: number;
  isOver: boolean;
}

/** A tab that can crash. After a crash, none of its code runs. */
export interface Tab {
  isAlive: boolean;
  readonly reads: Reads;
  readonly chat: ChatStore;
  readonly turns: Promise<ChatTurn>[];
  /** Runs code of the tab. */
  readonly run: <T>(act: () => T) => T;
  readonly release: () => void;
}

const current = new AsyncLocalStorage<{ isAlive: boolean }>();

/** Tabs of one browser over one storage, and their gateway. */
export function createTabsScenario(whenBusy: WhenBusy, kind: Locks) {
  const clock = stoppedClock();
  const storage = memoryStorage();
  const watchers = new Map<object, (changes: ReadonlyMap<string, unknown>) => void>();
  const connections: Connection[] = [];
  const executions: string[] = [];
  const finishTool: (() => void)[] = [];
  const locks = createLocks();
  const createRefusal = () => Promise.reject(new DOMException("access is denied", "SecurityError"));
  const navigator =
    kind === "sound"
      ? { locks }
      : kind === "refused"
        ? { locks: { request: createRefusal, query: createRefusal } }
        : {};
  return { clock, storage, connections, executions, finishTool, navigator, open, crash };

  function open(reads: Reads): Tab {
    const state = { isAlive: true };
    const run = <T>(act: () => T): T => current.run(state, act);
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const turns: Promise<ChatTurn>[] = [];
    const { client } = createTestClient(
      async (request) => {
        if (!state.isAlive) return new Promise<never>(() => {});
        const requests = (await request.json()).messages;
        const body = openBody();
        connections.push({ body, requests, tab, said: "", calls: 0, isOver: false });
        return streamResponse(body.body);
      },
      { clock, retry: { limit: 0 } },
    );
    const parameters = { type: "object" };
    const countConnection =
      (output: string) =>
      (_: unknown, { toolCallId }: { toolCallId: string }) => {
        executions.push(toolCallId);
        return output;
      };
    const tools = [
      defineTool({ name: "quick", inputSchema: parameters, execute: countConnection("done") }),
      defineTool({
        name: "guarded",
        inputSchema: parameters,
        needsApproval: true,
        execute: countConnection("allowed"),
      }),
      defineTool({ name: "asked", inputSchema: parameters }),
      defineTool({
        name: "slow",
        inputSchema: parameters,
        timeoutMs: Number.POSITIVE_INFINITY,
        execute: (_, { toolCallId }) => {
          executions.push(toolCallId);
          return new Promise<string>((resolve) => finishTool.push(() => resolve("at last")));
        },
      }),
    ];
    const model = "alpha-v4.1-flash";
    const own = createStorage(state, run, reads, released);
    const chat = run(() => {
      const opened = createChatStore(client, {
        id: "a",
        model,
        tools,
        whenBusy,
        maxSteps: 3,
        storage: customStorage(own),
      });
      opened.subscribe(() => {});
      return opened;
    });
    const tab: Tab = Object.assign(state, { reads, chat, turns, run, release });
    return tab;
  }

  function createStorage(
    state: { isAlive: boolean },
    run: <T>(act: () => T) => T,
    reads: Reads,
    released: Promise<void>,
  ): RecordStorage {
    let failures = reads === "fails" ? 2 : 0;
    const ignoreIfGone = <T>(act: () => Promise<T>) => (state.isAlive ? act() : new Promise<never>(() => {}));
    return {
      read: (collection) =>
        ignoreIfGone(async () => {
          if (reads === "hangs") await released;
          if (failures-- > 0) throw new Error("the connection to the database was lost");
          return storage.read(collection);
        }),
      write: (collection, changes) => ignoreIfGone(() => storage.write(collection, changes)),
      subscribe(collection, listener) {
        const notify = (changes: ReadonlyMap<string, unknown>) => {
          if (state.isAlive) run(() => listener(changes));
        };
        watchers.set(state, notify);
        return storage.subscribe(collection, notify);
      },
      // as through a channel: copies, for the others alone
      broadcast(_, changes) {
        const texts = JSON.stringify([...changes]);
        for (const [watcher, notify] of watchers)
          if (watcher !== state && state.isAlive) queueMicrotask(() => notify(new Map(JSON.parse(texts))));
      },
    };
  }

  function crash(tab: Tab): void {
    tab.isAlive = false;
    for (const connection of connections) if (connection.tab === tab) connection.isOver = true;
    locks.drop(tab);
  }
}

interface Entry {
  readonly tab: unknown;
  readonly mode: string;
  isGranted: boolean;
  readonly grant: () => void;
}

/** Web Locks of one browser. A crashed tab releases its locks. */
function createLocks() {
  const queues = new Map<string, Entry[]>();
  const findQueue = (name: string) => {
    const queue = queues.get(name) ?? [];
    queues.set(name, queue);
    return queue;
  };

  return {
    request(
      name: string,
      { mode = "exclusive", signal }: { mode?: string; signal?: AbortSignal },
      act: () => Promise<unknown>,
    ): Promise<unknown> {
      const tab = current.getStore();
      return new Promise((resolve, reject) => {
        if (!tab?.isAlive) return;
        const queue = findQueue(name);
        const leave = () => {
          if (queue.includes(entry)) queue.splice(queue.indexOf(entry), 1);
          grantLocks(name);
        };
        const entry: Entry = {
          tab,
          mode,
          isGranted: false,
          grant() {
            entry.isGranted = true;
            current
              .run(tab, async () => act())
              .then(resolve, reject)
              .finally(leave);
          },
        };
        signal?.addEventListener("abort", () => {
          if (entry.isGranted) return;
          leave();
          reject(signal.reason);
        });
        if (signal?.aborted) return reject(signal.reason);
        queue.push(entry);
        grantLocks(name);
      });
    },
    query: async () => ({
      held: [...queues].flatMap(([name, queue]) =>
        queue.some(({ isGranted }) => isGranted) ? [{ name }] : [],
      ),
      pending: [],
    }),
    drop(tab: unknown): void {
      for (const [name, queue] of queues) {
        queue.splice(0, queue.length, ...queue.filter((entry) => entry.tab !== tab));
        grantLocks(name);
      }
    },
  };

  function grantLocks(name: string): void {
    queueMicrotask(() => {
      const queue = findQueue(name);
      const shared = queue.findIndex(({ mode }) => mode === "exclusive");
      const first = shared === 0 ? queue.slice(0, 1) : queue.slice(0, shared === -1 ? queue.length : shared);
      for (const entry of first) if (!entry.isGranted) entry.grant();
    });
  }
}

/** Every message that can be shown, by id: the path, and each branch of each message on it. */
export function listReachable(chat: ChatStore): Map<string, ChatMessage> {
  const found = new Map<string, ChatMessage>();
  const visited = new Set<string>();
  const visit = () => {
    for (const message of chat.getSnapshot().messages) found.set(message.id, message);
  };
  visit();
  for (;;) {
    const next = [...found.values()].flatMap(({ branches = [] }) => branches).find((id) => !visited.has(id));
    if (next === undefined) return found;
    visited.add(next);
    chat.switchBranch(next);
    visit();
  }
}

/** Waits until all promises and short timers have run. */
export async function waitForRest(clock: ReturnType<typeof stoppedClock>, ms = 60): Promise<void> {
  await settled();
  await clock.advance(ms);
}
