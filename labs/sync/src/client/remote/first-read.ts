import { toIdleClock } from "@sluice/core/extend";
import { stateNameOf } from "./place.js";
import type { Replica } from "./replica.js";
import type { Shared } from "./shared.js";

type Records = ReadonlyMap<string, unknown>;

/** Longest wait for the server where nothing is here yet, in milliseconds. A chat waits 3 s for its storage. */
const FIRST_MS = 2500;

/** A promise that is resolved from outside. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

export function createGate(): Gate {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/**
 * Reads the copy of a collection. Where a watched one is new to this browser, it waits a moment for the server.
 *
 * @param first opens when the first records are here
 * @param elsewhere resolves when they are here by another tab
 */
export async function readCollection(
  { client, local, line, references }: Shared,
  replica: Replica,
  first: Gate,
  elsewhere: () => Promise<void>,
): Promise<Records> {
  const records = await replica.read();
  if (replica.watchers() === 0 || line.isLocal || line.error) return records;
  if (records.size > 0) return renewed();
  const isKnown = (await local.read(stateNameOf(client, replica.place))).has("state");
  if (!isKnown) await inTime(Promise.race([first.opened, elsewhere()]));
  return replica.read();

  /** Replaces the links to files that have run out. */
  async function renewed(): Promise<Records> {
    const changes = await inTime(references.renewed(records));
    if (!changes?.size) return records;
    await replica.keep(changes).catch(() => {});
    return new Map([...records, ...changes]);
  }

  /** Waits for work for at most 2.5 s; undefined where it took longer, or failed. */
  async function inTime<T>(work: Promise<T>): Promise<T | undefined> {
    const over = new AbortController();
    const late = toIdleClock(client.clock)
      .sleep(FIRST_MS, over.signal)
      .then(() => undefined);
    return Promise.race([work, late])
      .catch(() => undefined)
      .finally(() => over.abort(null));
  }
}
