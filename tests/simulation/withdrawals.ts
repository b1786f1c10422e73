import type { DeviceSimulation } from "./device-simulation.js";
import type { Exchange } from "./network.js";
import type { Page } from "./page.js";
import { isOfStorage } from "./remote-devices.js";

/*
 * A message that waits in the queue is stopped. Its device may be cut off, and its lease have ended: then another device
 * sends it, and nobody could tell that one. What is promised: none sends it after the server knew of the stop, no device
 * takes it over while its own one can be reached, and none gives it away before its stop is known.
 */

/** A stop of a message that its page had not sent. */
export interface Withdrawal {
  readonly page: Page;
  /** Id of the device. */
  readonly device: string;
  readonly at: number;
}

/** A step of a device at the server that stores the chat, with the server's action. */
export interface KeptEvent {
  /** Milliseconds at which it was certainly done. */
  readonly at: number;
  /** Id of the device. */
  readonly device: string;
  readonly did: "write" | "lease" | "give back";
  /** Key of a record; the name of a lease. */
  readonly key: string;
  /** Record that was written; undefined for a removal. */
  readonly record?: unknown;
}

/** Time within which a device that works on a message learns what the server knows, in milliseconds: two reads. */
const NEWS_MS = 60_000;

/** Returns the broken rule if a stopped message was sent. */
export function sendsNothingStopped(simulation: DeviceSimulation): string | undefined {
  for (const [content, stop] of simulation.withdrawn) {
    const first =
      simulation.gateway.calls.some(({ body }) => listRequested(body) === content) &&
      firstSend(simulation, content);
    // what comes later is about a message of the thread
    if (!first || first.at <= stop.at) continue;
    const fault = findFault(simulation, content, stop, first);
    if (fault) return `"${content}" was sent after it was stopped${fault}`;
  }
  return undefined;
}

/** Returns a reason why a message may not have been sent; undefined where no device could know better. */
function findFault(
  { kept, getId }: DeviceSimulation,
  content: string,
  stop: Withdrawal,
  sent: Exchange,
): string | undefined {
  const sender = getId(sent.page);
  if (sender === stop.device) return ", on its own device";
  const events = kept.events();
  const key = events.find(({ record }) => contentOf(record) === content)?.key;
  const ofKey = events.filter((event) => event.key === key);
  const isOfStopper = ({ device, at }: KeptEvent) => device === stop.device && at >= stop.at;
  const told =
    ofKey.find((event) => isOfStopper(event) && event.did === "write" && event.record === undefined)?.at ??
    Number.POSITIVE_INFINITY;
  const isTaken = ofKey.some(({ did, device, at }) => did === "lease" && device === sender && at <= told);
  if (!isTaken) return ", without a lease from before";
  if (sent.at > told + NEWS_MS) return ", and long known as such";
  const isGivenAway = ofKey.some(
    (event) => isOfStopper(event) && event.did === "give back" && event.at < told,
  );
  return isGivenAway && stop.page.state !== "gone" ? ", and given away before" : undefined;
}

/** Returns the first request of a page for the reply to a message. */
function firstSend({ network }: DeviceSimulation, content: string): Exchange | undefined {
  return network.exchanges.find(
    (each) =>
      each.to === "" &&
      !isOfStorage(each) &&
      each.method === "POST" &&
      each.body?.includes(`"${content}"`) &&
      listRequested(JSON.parse(each.body)) === content,
  );
}

/** Text of the last question of a request. */
function listRequested(body: Readonly<Record<string, unknown>>): string | undefined {
  const messages = (body["messages"] ?? []) as readonly { role: string; content?: string }[];
  return messages.findLast(({ role }) => role === "user")?.content;
}

function contentOf(record: unknown): unknown {
  return (record as { content?: unknown } | null | undefined)?.content;
}
