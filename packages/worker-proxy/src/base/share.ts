import { waitAtMost } from "./time.js";

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
  measure?(value: T): number;
}

const WAIT_MS = 1000;
/** Bounds of the memory: keys, and characters of all values. */
const MOST_KEYS = 1000;
const MOST_CHARACTERS = 4_000_000;

/**
 * Reads a value once for all requests that need it at the same time, and caches it for the next ones.
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
    // each waits with a timer: a Worker drops the reading request when its client leaves
    if (flight.value === undefined) await waitAtMost(flight.until - Date.now(), flight.settled);
    if (flight.value !== undefined) return flight.value;
  }

  async function lead(last: Flight<T> | undefined): Promise<T> {
    // a slow read that is still in flight also serves the requests that wait for this read
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

  /** Puts a flight behind all others, and drops expired flights, and the oldest beyond the limits. */
  function put(flight: Flight<T>): void {
    flights.delete(key);
    flights.set(key, flight);
    const measure = ({ value }: Flight<T>) => (value === undefined ? 0 : (keeping.measure?.(value) ?? 0));
    let size = 0;
    for (const kept of flights.values()) size += measure(kept);
    for (const [oldest, kept] of flights) {
      if (flights.size <= MOST_KEYS && size <= MOST_CHARACTERS && kept.until > Date.now()) return;
      size -= measure(kept);
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
