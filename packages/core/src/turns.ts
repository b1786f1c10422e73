/**
 * Runs `act` on one page of the origin at a time: each that asks by the same name waits for its turn, and gets it as
 * soon as the page before it is done, aborts or is closed. Where there are no Web Locks, everybody acts at once.
 *
 * @throws the signal's reason while it waits, and what `act` throws
 */
export async function takeTurns(name: string, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  if (!locks) return act();
  await locks.request(name, { signal }, act);
}

/** Whether pages can tell what others do. */
export function canTell(): boolean {
  return globalThis.navigator?.locks !== undefined;
}

/** Says under a name that this page is at work, until `work` is settled: to be asked for with {@link isTaken}. */
export async function holdWhile(name: string, work: Promise<unknown>): Promise<void> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  // shared: several pages may be at work, and whoever takes turns waits for all of them
  await locks?.request(name, { mode: "shared" }, () => work.catch(() => {}));
}

/** Whether some page acts by this name now; undefined where nobody can tell. */
export async function isTaken(name: string): Promise<boolean | undefined> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  const { held } = (await locks?.query()) ?? {};
  return held?.some((lock) => lock.name === name);
}

/** What pages of one origin tell each other by a name; silent where there is no `BroadcastChannel`. */
export interface PageChannel<Message> {
  /** Tells all other pages. */
  readonly tell: (message: Message) => void;
  readonly close: () => void;
}

/** Opens a channel; `hear` gets what others tell, never one's own words. */
export function openPageChannel<Message>(
  name: string,
  hear: (message: Message) => void,
): PageChannel<Message> {
  if (typeof BroadcastChannel === "undefined") return { tell() {}, close() {} };
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<Message>) => hear(data);
  return { tell: (message) => channel.postMessage(message), close: () => channel.close() };
}
