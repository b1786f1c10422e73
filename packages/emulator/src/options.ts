import type { GatewayDifference } from "./base/assumptions.js";
import type { EmulatorClock } from "./base/clock.js";
import type { ChatScript } from "./chat/reply.js";
import type { FaultCase } from "./fault-cases/fault-case.js";
import type { MediaScript } from "./files/media.js";
import type { Script } from "./script/script.js";
import type { FetchMedia } from "./server/fetch-media.js";
import type { Fault } from "./server/network-faults.js";
import type { EmulatorRequest } from "./server/request-log.js";
import type { EmulatorState } from "./server/state.js";

/** Options of `createEmulator`. */
export interface EmulatorOptions {
  /**
   * Keys to accept in `Authorization: Bearer <API_KEY>`. Every other request is refused with 401.
   * @default every key is accepted, and none is needed
   */
  readonly apiKeys?: readonly string[];
  /**
   * Source of time, for tests. `now()` is milliseconds since 1970.
   * @default the platform's clock
   */
  readonly clock?: EmulatorClock;
  /**
   * Factor that speeds up responses. 1 is a human reading pace, `Infinity` does not wait.
   * @default 1
   */
  readonly speed?: number;
  /**
   * Durations of images and videos before they are divided by `speed`. Faults such as `slow` ignore them.
   * @default some seconds for images, one to two minutes for videos
   */
  readonly durations?: {
    /** Milliseconds from an image request to its response. */
    readonly imageMs?: number;
    /** Milliseconds from the creation of a video task to its end. */
    readonly videoMs?: number;
  };
  /** Decides the model's reply, instead of the emulator's own texts. @default none */
  readonly chat?: ChatScript;
  /**
   * Decides which files the URLs of images and videos return: your own files, or files that you create from the
   * description. @default a gradient with the prompt as its caption
   */
  readonly media?: MediaScript;
  /**
   * Replies and faults as plain JSON, for chats without a reply from `chat` and for all other requests. The first
   * rule that fits a request decides. @default none
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
   * Fetches the URLs of images and videos in a request, as a gateway does. The emulator refuses a request with 400 if a
   * URL fails or returns an error status. Return undefined to accept the URL. URLs of this machine are then not refused
   * as such.
   *
   * @default no URL is fetched
   */
  readonly fetchMedia?: FetchMedia;
  /** Runs when a response has ended, for example to log its request. An error that it throws is not caught. */
  readonly onEnd?: (request: EmulatorRequest) => void;
  /** Decides before each request if the network fails. `nth` counts from 1, and again from 1 after `reset()`. */
  readonly faults?: (request: EmulatorRequest, nth: number) => Fault | undefined;
  /**
   * Known faults of gateways to serve, each at `/faults/<name>/…`, whatever the key. `GET /faults` lists them. Pass
   * `readFaultCases()` of `@sluice/emulator/faults`, or your own. @default none
   */
  readonly faultCases?: readonly FaultCase[];
  /**
   * Origin in the URLs of image and video files. Set it behind a proxy, where clients see another origin.
   * @default the origin of each request
   */
  readonly origin?: string;
  /**
   * Allows pages of other origins with CORS headers. The gateway's description does not mention CORS.
   * @default false
   */
  readonly cors?: boolean;
  /**
   * Assumptions of the client that this gateway breaks, by their names in `@sluice/emulator/assumptions`. Tests an app against a
   * gateway that differs, as `sluice doctor` found it.
   *
   * @default none: every assumption holds
   * @example
   * ```ts
   * createEmulator({ differs: ["stream-done", "usage-reported"] });
   * ```
   */
  readonly differs?: readonly GatewayDifference[];
  /**
   * Maximum number of entries in `requests`. The oldest are deleted.
   * @default 1000
   */
  readonly maxRequests?: number;
  /**
   * Stores tasks, assets and files beyond this process: a later emulator with the same state continues with them.
   * `createEmulator` reads the state once. It calls `set` and `delete` before the response. Responses in flight,
   * `requests` and the counts of faults are not stored.
   *
   * @default they end with the emulator
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
