import { within } from "../base/time.js";
import { Refusal } from "../refusals/refusal.js";
import { checkedType } from "./answer.js";
import type { Call } from "./call.js";
import type { Exchange } from "./exchange.js";
import { passedHeadersOf } from "./passed-headers.js";
import { JSON_CHARACTERS, readText, refusalOf } from "./read-answer.js";
import { ask, type Gateway, type Outgoing } from "./request.js";

/** An answer as text. It holds nothing of the request that read it, which workerd forbids to share. */
interface Finished {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The end of a poll: an answer, or a refusal that others share. */
export type Polled = Finished | Refusal;

/** The polls of one proxy, and the rules for them. */
interface PollRules {
  readonly flights: Flights<Polled>;
  /** Time for which an answer serves further polls of its user, in milliseconds; 0 for none. */
  readonly memoMs: number;
  readonly stallMs: number | undefined;
  /** Values that no answer may hold. */
  readonly keys: readonly string[];
}

/**
 * Polls a task or an asset, or returns the answer that the same user had a moment ago.
 *
 * @throws {Refusal} the gateway's refusal, which is shared like an answer
 */
export async function poll<Env>(
  exchange: Exchange<Env>,
  gateway: Gateway,
  outgoing: Outgoing,
  rules: PollRules,
): Promise<Response> {
  const { admitted, call } = exchange;
  const { flights, memoMs } = rules;
  const key = JSON.stringify([admitted.user.id, gateway.baseURL, outgoing.path, outgoing.body]);
  const keeping = {
    freshMs: () => memoMs,
    sizeOf: (polled: Polled) => (polled instanceof Refusal ? 0 : polled.text.length),
  };
  const read = () => readPoll(call, () => ask(gateway, outgoing, exchange), rules).catch(shareable);
  const shared = () => (memoMs === 0 ? read() : share(flights, key, keeping, read));
  const polled = await call.wait(shared, "upstream_cut");
  if (polled instanceof Refusal) throw polled;
  // a 204 has no body, not even an empty one
  return new Response(polled.text || null, polled);
}

async function readPoll(
  call: Call,
  send: () => Promise<Response>,
  { keys, stallMs }: PollRules,
): Promise<Finished> {
  const response = await send();
  if (!response.ok) throw await refusalOf({ response, call }, keys, stallMs);
  const { type } = checkedType(response, false);
  const text = await readText({ response, call }, JSON_CHARACTERS, stallMs);
  const headers = { ...passedHeadersOf(response, keys), "content-type": type };
  return { status: response.status, headers, text };
}

/** Returns a refusal as a value that others share; that of a client that left is the client's own. */
function shareable(error: unknown): Refusal {
  if (error instanceof Refusal && !error.reason.startsWith("client_")) return error;
  throw error;
}

/** One read of a value: in flight, or settled and kept for a while. */
interface Flight<T> {
  /** Absent while the read is in flight. */
  value?: T;
  /** End of the time for which others wait for the read, or for which its value is reused. */
  until: number;
  /** Resolves when the read is settled, with a value or with an error. */
  readonly settled: Promise<void>;
  readonly settle: () => void;
}

/** The reads of one kind in this isolate, by key. */
export type Flights<T> = Map<string, Flight<T>>;

/** Time for which a value is kept, and its share of the memory. */
interface Keeping<T> {
  /** Time for which others wait for a read in flight before one more is begun, in milliseconds. @default 1000 */
  readonly waitMs?: number;
  /** Time for which a value is fresh, in milliseconds. */
  freshMs(value: T): number;
  /** Size of a value, in characters. @default 0 */
  sizeOf?(value: T): number;
}

const WAIT_MS = 1000;
/** Bounds of the memory: keys, and characters of all values. */
const MOST_KEYS = 1000;
const MOST_CHARACTERS = 4_000_000;

/**
 * Reads a value once for all requests that need it at the same time, and keeps it for those that come soon after.
 *
 * @throws the error of `read`, which is not shared: one of the requests that wait reads next
 */
export async function share<T>(
  flights: Flights<T>,
  key: string,
  keeping: Keeping<T>,
  read: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const flight = flights.get(key);
    if (!flight || Date.now() >= flight.until) return await lead(flight);
    // a timer of its own: a Worker drops the reading request when its client leaves
    if (flight.value === undefined) await within(flight.until - Date.now(), flight.settled);
    if (flight.value !== undefined) return flight.value;
  }

  async function lead(last: Flight<T> | undefined): Promise<T> {
    // a slow read that is still in flight serves those that wait for this one too
    const flight = last && last.value === undefined ? last : openFlight<T>();
    flight.until = Date.now() + (keeping.waitMs ?? WAIT_MS);
    put(flight);
    try {
      const value = await read();
      flight.value = value;
      flight.until = Date.now() + keeping.freshMs(value);
      if (flights.get(key) === flight) put(flight);
      return value;
    } catch (error) {
      if (flights.get(key) === flight && flight.value === undefined) flights.delete(key);
      throw error;
    } finally {
      flight.settle();
    }
  }

  /** Puts a flight behind all others, and drops from the front what is over or too much. */
  function put(flight: Flight<T>): void {
    flights.delete(key);
    flights.set(key, flight);
    const sizeOf = ({ value }: Flight<T>) => (value === undefined ? 0 : (keeping.sizeOf?.(value) ?? 0));
    let size = 0;
    for (const kept of flights.values()) size += sizeOf(kept);
    for (const [oldest, kept] of flights) {
      if (flights.size <= MOST_KEYS && size <= MOST_CHARACTERS && kept.until > Date.now()) return;
      size -= sizeOf(kept);
      flights.delete(oldest);
    }
  }
}

function openFlight<T>(): Flight<T> {
  let settle = () => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { until: 0, settled, settle };
}
