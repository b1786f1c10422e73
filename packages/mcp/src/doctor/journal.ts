import { isRecord } from "@sluice/core/extend";
import type { DiagnoseOptions, Plan } from "./diagnose.js";

const POLLS = 20;
const POLL_MS = 250;

/** Waits up to 5 s until the emulator behind a Worker has seen one more abort. */
export async function seeAbort(before: number, plan: Plan, options: DiagnoseOptions): Promise<boolean> {
  for (let attempt = 0; attempt < POLLS; attempt++) {
    if (((await countAborts(plan, options)) ?? 0) > before) return true;
    await options.clock.sleep(POLL_MS, options.signal);
  }
  return false;
}

/** Counts the aborted requests in the journal of the emulator behind a Worker. Undefined if it has none. */
export async function countAborts(
  { behind }: Plan,
  { fetch, signal }: DiagnoseOptions,
): Promise<number | undefined> {
  if (!behind) return undefined;
  const headers = behind.key === undefined ? {} : { authorization: `Bearer ${behind.key}` };
  try {
    const response = await fetch(new Request(`${behind.address}/journal`, { headers, signal }));
    const journal: unknown = await response.json();
    if (!isRecord(journal) || !Array.isArray(journal["requests"])) return undefined;
    return journal["requests"].filter((request) => isRecord(request) && request["aborted"] === true).length;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
