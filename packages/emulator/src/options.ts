import type { ChatScript } from "./chat/reply.js";
import type { EmulatorClock } from "./clock.js";
import type { Fault } from "./faults.js";
import type { RequestRecord } from "./recorder.js";

/** Options of `createEmulator`. */
export interface EmulatorOptions {
  /** The keys it accepts in `Authorization: Bearer <API_KEY>`; at least one. */
  readonly apiKeys: readonly string[];
  /**
   * Time. Its `now()` is epoch milliseconds.
   * @default the platform's clock
   */
  readonly clock?: EmulatorClock;
  /**
   * Factor by which it answers faster than the gateway: 1 is a human reading pace, `Infinity` does not wait at all.
   * @default 1
   */
  readonly speed?: number;
  /** Words of the model, in place of the emulator's own texts; undefined leaves them. */
  readonly chat?: ChatScript;
  /** Failures of the network, asked before each request is answered; `nth` counts from 1, and anew after `reset()`. */
  readonly faults?: (request: RequestRecord, nth: number) => Fault | undefined;
  /**
   * Origin of the addresses of image and video files, where it is not the one that requests come to: behind a proxy, say.
   * @default the origin of each request
   */
  readonly origin?: string;
  /**
   * Answer other origins of a browser too. The gateway itself shows nothing of the kind.
   * @default false
   */
  readonly cors?: boolean;
  /**
   * Refuse fields that the specification does not list for a model, with 400. By default they are accepted, change
   * nothing, and are named in `requests` and in the answer's header `x-sluice-emulator-unknown`: the specification
   * itself says that there are fields whose names it does not show.
   * @default false
   */
  readonly strict?: boolean;
  /**
   * Number of requests that `requests` holds; older ones are dropped.
   * @default 1000
   */
  readonly keepRequests?: number;
}

/** Throws a `TypeError` unless there are keys, and requests can carry them. */
export function assertKeys(options: Partial<EmulatorOptions> | undefined): void {
  const example = 'createEmulator({ apiKeys: ["sk-test"] })';
  const keys: unknown = options?.apiKeys;
  if (!Array.isArray(keys) || keys.length === 0)
    throw new TypeError(`apiKeys is missing: give the keys that the emulator accepts, as in ${example}`);
  if (!keys.every((key) => typeof key === "string" && /^[!-~]+$/.test(key)))
    throw new TypeError(
      `apiKeys has a key that no request could send: give keys without spaces, as in ${example}`,
    );
}
