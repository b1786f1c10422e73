import type { Client } from "@sluice/core";
import { callAfter, toIdleClock } from "@sluice/core/extend";
import type { Line } from "./line.js";
import type { Wire } from "./wire.js";

/** Time in which nothing is passed after nobody followed, in milliseconds. */
const QUIET_MS = 2000;

/**
 * Creates a function that shows records of one conversation on other devices. One request at a time: what comes meanwhile
 * goes with the next one, the newest of each record. It may lose records.
 */
export function createPassing(
  client: Client,
  wire: Wire,
  line: Line,
  id: string,
): (records: ReadonlyMap<string, unknown>) => void {
  let waiting = new Map<string, unknown>();
  let isBusy = false;
  const always = new AbortController().signal;
  return (records) => {
    if (line.isLocal || line.error) return;
    for (const [key, value] of records) waiting.set(key, value);
    if (!isBusy) void send();
  };

  async function send(): Promise<void> {
    isBusy = true;
    const records = waiting;
    waiting = new Map();
    const others = await wire.pass(id, records).catch(() => 0);
    if (others === 0) callAfter(toIdleClock(client.clock), QUIET_MS, always, end);
    else end();
  }

  function end(): void {
    isBusy = false;
    if (waiting.size > 0 && !line.isLocal && !line.error) void send();
  }
}
