import type { ChildProcess } from "node:child_process";
import type { AddressInfo, Server, Socket } from "node:net";
import { afterAll, beforeEach, onTestFinished } from "vitest";
import { readHandles, readShared } from "./handles.ts";

/*
 * Setup file of every project that runs in Node. It fails a file in which a server, socket, watcher, worker, child process,
 * interval or timer of more than two seconds is still open after the last hook, and names the test that started it. It
 * checks each file, not each test: tests may share a server, and a store takes a second to disconnect from its gateway.
 */

/** Time for closed sockets, ended processes and stores that were left. */
const GRACE_MS = 2000;

/** The running test, or "a hook". */
let opener = "a hook";
/** Tests that opened the handles of this file. */
const openers = new Map<object, string>();
const known = new Set<object>([...readHandles(), ...readShared()]);
/** Timers of this file, with the place in the code and the test that started them. */
const timers = new Map<NodeJS.Timeout, { readonly started: Error; readonly opener: string }>();
const realSetTimeout = watchTimers("setTimeout");
watchTimers("setInterval");

beforeEach(({ task }) => {
  noteHandles();
  opener = task.name;
  // the first hook that a test registers runs last
  onTestFinished(() => {
    noteHandles();
    opener = "a hook";
  });
});

afterAll(async () => {
  noteHandles();
  if (await isGone(() => readLeaks().length === 0)) return;
  throw new Error(
    `Still open after the file: ${readLeaks().join("; ")}. Close it in the test or in afterAll.`,
  );
});

/** Returns a line for each handle and timer that is left. */
function readLeaks(): string[] {
  const handles = readHandles().filter((handle) => openers.has(handle) && !readShared().has(handle));
  const running = [...timers].filter(([timer]) => isRunning(timer));
  return [
    ...handles.map((handle) => `${describeHandle(handle)}, opened in "${openers.get(handle)}"`),
    ...running.map(([, { started, opener }]) => `timer of ${findCaller(started)}, started in "${opener}"`),
  ];
}

function noteHandles(): void {
  for (const handle of readHandles())
    if (!known.has(handle)) {
      known.add(handle);
      openers.set(handle, opener);
    }
}

/** Waits until a condition holds, at most `GRACE_MS`. Its own timer does not count: it is not referenced. */
async function isGone(check: () => boolean): Promise<boolean> {
  for (let waited = 0; !check(); waited += 10) {
    if (waited >= GRACE_MS) return false;
    await new Promise<void>((resolve) => {
      const timer = realSetTimeout(resolve, 10) as unknown as NodeJS.Timeout;
      timer.unref();
    });
  }
  return true;
}

/** Notes each timer that code starts by this global function. Returns the platform's own function. */
function watchTimers(name: "setTimeout" | "setInterval"): typeof setTimeout {
  const current = globalThis[name] as typeof setTimeout & { platform?: typeof setTimeout };
  const platform = current.platform ?? current;
  const watched = (...given: Parameters<typeof setTimeout>) => {
    const timer = platform(...given);
    // a short timer ends before it can slow down another test
    const isShort = name === "setTimeout" && (given[1] ?? 0) <= GRACE_MS;
    if (typeof timer === "object" && !isShort)
      timers.set(timer, { started: new Error("started here"), opener });
    return timer;
  };
  Object.defineProperties(watched, Object.getOwnPropertyDescriptors(platform));
  globalThis[name] = Object.assign(watched, { platform }) as never;
  return platform;
}

/** Returns the place in the code that started a timer. */
function findCaller({ stack = "" }: Error): string {
  const lines = stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !line.includes(import.meta.filename));
  return /([^/(]+\/[^/]+\/[^/]+):\d+\)?$/.exec(lines[0] ?? "")?.[0] ?? "an unknown place";
}

function isRunning(timer: NodeJS.Timeout): boolean {
  return timer.hasRef() && !(timer as { _destroyed?: boolean })._destroyed;
}

function describeHandle(handle: object): string {
  const name = handle.constructor.name;
  if (name === "ChildProcess")
    return `child process ${(handle as ChildProcess).spawnargs.join(" ").slice(0, 120)}`;
  if (name === "Server")
    return `server on port ${((handle as Server).address() as AddressInfo | null)?.port}`;
  if (name === "Socket") return `socket to port ${(handle as Socket).remotePort}`;
  return name;
}
