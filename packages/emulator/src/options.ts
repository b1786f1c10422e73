import type { ChatScript } from "./chat/reply.js";
import type { EmulatorClock } from "./clock.js";
import type { Durations } from "./server/durations.js";
import type { Fault } from "./server/faults.js";
import type { RequestRecord } from "./server/recorder.js";

/** Options of `createEmulator`. */
export interface EmulatorOptions {
  /** Keys that are accepted in `Authorization: Bearer <API_KEY>`; at least one. */
  readonly apiKeys: readonly string[];
  /**
   * Source of time, for tests. `now()` is milliseconds since 1970.
   * @default the platform's clock
   */
  readonly clock?: EmulatorClock;
  /**
   * Factor by which answers come faster than the gateway's. 1 is a human reading pace, `Infinity` does not wait.
   * @default 1
   */
  readonly speed?: number;
  /**
   * Times that images and videos take before they are divided by `speed`. Scenes such as `slow` keep their own.
   * @default some seconds for images, one to two minutes for videos
   */
  readonly durations?: Durations;
  /** Decides what the model answers, instead of the emulator's own texts. @default none */
  readonly chat?: ChatScript;
  /** Decides, before each request, if the network fails. `nth` counts from 1, and from 1 again after `reset()`. */
  readonly faults?: (request: RequestRecord, nth: number) => Fault | undefined;
  /**
   * Origin of the URLs of image and video files. Set it behind a proxy, where clients see another origin.
   * @default the origin of each request
   */
  readonly origin?: string;
  /**
   * Answers pages of other origins too. The gateway's description has no CORS.
   * @default false
   */
  readonly cors?: boolean;
  /**
   * Refuses fields that the specification does not list for a model, with 400. By default they are accepted and change
   * nothing; `requests` and the header `x-sluice-emulator-unknown` name them (wire, 4.1).
   * @default false
   */
  readonly strict?: boolean;
  /**
   * Number of requests that `requests` keeps; older ones are deleted.
   * @default 1000
   */
  readonly keepRequests?: number;
}

/** Checks that there are keys, and that a request can carry them. Throws a `TypeError` if not. */
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
