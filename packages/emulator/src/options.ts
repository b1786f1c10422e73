import type { EmulatorClock } from "./base/clock.js";
import type { ChatScript } from "./chat/reply.js";
import type { MediaScript } from "./files/media.js";
import type { Script } from "./script/script.js";
import type { Durations } from "./server/durations.js";
import type { Fault } from "./server/network-faults.js";
import type { FetchMedia } from "./server/reach.js";
import type { EmulatorRequest } from "./server/request-log.js";
import type { EmulatorState } from "./server/state.js";

/** Options of `createEmulator`. */
export interface EmulatorOptions {
  /**
   * Keys that are accepted in `Authorization: Bearer <API_KEY>`; every other request is refused with 401.
   * @default every key is accepted, and none is needed
   */
  readonly apiKeys?: readonly string[];
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
   * Times that images and videos take before they are divided by `speed`. Faults such as `slow` keep their own.
   * @default some seconds for images, one to two minutes for videos
   */
  readonly durations?: Durations;
  /** Decides what the model answers, instead of the emulator's own texts. @default none */
  readonly chat?: ChatScript;
  /**
   * Decides what the URLs of images and videos lead to, instead of the emulator's own drawings: files of yours, or what
   * you make of the description. @default a gradient with the prompt as its caption
   */
  readonly media?: MediaScript;
  /**
   * Replies and faults as plain JSON, for chats that `chat` leaves alone and for all other requests. The first rule
   * that fits a request decides. @default none
   * @example
   * ```ts
   * createEmulator({
   *   script: {
   *     replies: [
   *       { prompt: "weather", toolCalls: [{ name: "get_weather", arguments: { city: "Paris" } }] },
   *       { tool: "get_weather", content: "It rains in Paris." },
   *       { prompt: "castle", faults: ["slow", "429:2"] },
   *     ],
   *   },
   * });
   * ```
   */
  readonly script?: Script;
  /**
   * Fetches the addresses of images and videos in a request, as a gateway does. A request with an address that fails or
   * gives no success is refused with 400; for undefined, the address is accepted as it is. Addresses of this machine are
   * no longer refused as such.
   *
   * @default no address is fetched
   */
  readonly fetchMedia?: FetchMedia;
  /** Receives each request when its answer has ended, for example to log it. An error that it throws is not caught. */
  readonly onEnd?: (request: EmulatorRequest) => void;
  /** Decides, before each request, if the network fails. `nth` counts from 1, and from 1 again after `reset()`. */
  readonly faults?: (request: EmulatorRequest, nth: number) => Fault | undefined;
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
   * Refuses with 400 what the specification does not list for a model, such as an unknown field, and what it refuses
   * beyond the rules of the client: `json_object` where no message asks for JSON, a tool call without a name or id, a
   * `tool` message without its call, `reasoning_content` that does not come back unchanged beside its tool calls, an empty
   * `image` list, and a private image address. By default unknown fields are accepted and change nothing; `requests` and
   * the header `x-sluice-unknown-fields` name them (wire, 4.1).
   * @default false
   */
  readonly strict?: boolean;
  /**
   * Number of requests that `requests` keeps; older ones are deleted.
   * @default 1000
   */
  readonly maxRequests?: number;
  /**
   * Keeps tasks, assets and files beyond this process: a later emulator with the same state goes on with them. It is read
   * once, by `createEmulator`; `set` and `delete` are called before the answer. Answers in flight, `requests` and the counts
   * of faults are not kept.
   *
   * @default they are gone with the emulator
   * @example
   * ```ts
   * const state = new Map<string, unknown>();
   * createEmulator({ state });
   * const later = createEmulator({ state }); // has the tasks of the first one
   * ```
   */
  readonly state?: EmulatorState;
}

/** Checks that a request can carry the keys. Throws a `TypeError` if not. */
export function assertKeys({ apiKeys }: EmulatorOptions): void {
  if (apiKeys === undefined) return;
  const example = 'createEmulator({ apiKeys: ["sk-test"] })';
  const keys: unknown = apiKeys;
  if (!Array.isArray(keys) || keys.length === 0)
    throw new TypeError(
      `apiKeys has no key: give some, as in ${example}, or leave it out to accept every key`,
    );
  if (!keys.every((key) => typeof key === "string" && /^[!-~]+$/.test(key)))
    throw new TypeError(
      `apiKeys has a key that no request could send: give keys without spaces, as in ${example}`,
    );
}
