import { type EmulatorClock, systemClock } from "../base/clock.js";
import { createBadRequest } from "../server/http.js";
import { createResetError } from "../server/network-faults.js";
import { toRequest } from "../server/request.js";
import { readBody } from "../server/request-body.js";
import { type BodyEnd, createPulledBody } from "../server/response-body.js";
import { createRedactor } from "../server/secrets.js";
import type { NamedRecording } from "./folder.js";
import { computeKey, findNearest } from "./match.js";
import type { RecordedExchange } from "./record.js";
import { redactRequest, toRecordedRequest } from "./recorded-request.js";
import { type RecordedResponse, toEventText } from "./recording.js";

/** Options of {@link createReplay}. */
export interface ReplayOptions {
  /** Recorded exchanges, in recorded order. */
  readonly recordings: readonly NamedRecording[];
  /** Factor that speeds up the recorded pace. `Infinity` does not wait. @default 1 */
  readonly speed?: number;
  /** Source of time, for tests. @default the platform's */
  readonly clock?: EmulatorClock;
  /** Runs when a response has ended. `note` names its recording, or says what does not match. */
  readonly onEnd?: (exchange: RecordedExchange) => void;
}

/** A replay that {@link createReplay} returns. */
export interface Replay {
  /**
   * Responds to a request from its recording. A request without a recording gets 400 `no_recording`, which names the
   * nearest recording.
   */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>;
  /** A text for each request so far without a recording. */
  readonly misses: readonly string[];
  /** Names of the recordings that no request has used yet. */
  readonly unused: () => string[];
}

/**
 * Creates a handler that replays recordings: the same status, headers and bytes, at the recorded pace. A recording fits
 * a request with the same method, path and body. Equal requests get their recordings in recorded order, then the last
 * one again.
 *
 * @example
 * ```ts
 * const replay = createReplay({ recordings: readRecordings("test/recordings"), speed: Number.POSITIVE_INFINITY });
 * const client = createClient({ baseURL: "https://gateway.example.com", apiKey: "none", fetch: replay.fetch });
 * ```
 */
export function createReplay({ recordings, speed = 1, clock = systemClock, onEnd }: ReplayOptions): Replay {
  const queues = new Map<string, NamedRecording[]>();
  for (const named of recordings) {
    const key = computeKey(named.recording.request);
    queues.set(key, [...(queues.get(key) ?? []), named]);
  }
  const used = new Map<string, number>();
  const seen = new Set<string>();
  const misses: string[] = [];
  const unused = () => recordings.filter(({ name }) => !seen.has(name)).map(({ name }) => name);
  return { fetch: receive, misses, unused };

  async function receive(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    const request = toRequest(input, init);
    const at = clock.now();
    const { text } = await readBody(request);
    const redactor = createRedactor();
    const recorded = redactRequest(toRecordedRequest(request, text, redactor), redactor);
    const reportEnd = (status: number, note: string) => {
      const { pathname: path } = new URL(request.url);
      onEnd?.({ method: request.method, path, body: recorded.body, status, at, ms: clock.now() - at, note });
    };

    const key = computeKey(recorded);
    const queue = queues.get(key) ?? [];
    const index = used.get(key) ?? 0;
    used.set(key, index + 1);
    const match = queue[Math.min(index, queue.length - 1)];
    if (!match) {
      const reason = findNearest(recorded, recordings) ?? "none has this method and path";
      const problem = `no recording fits ${recorded.method} ${recorded.path}: ${reason}`;
      misses.push(problem);
      reportEnd(400, problem);
      const { body, headers } = createBadRequest(
        `In these recordings, ${problem}.`,
        undefined,
        "no_recording",
      );
      return new Response(body as string, {
        status: 400,
        headers: { ...headers, [RECORDING_HEADER]: "none" },
      });
    }
    seen.add(match.name);
    const again = index >= queue.length ? ", again" : "";
    const { response } = match.recording;
    const isEmpty = response.body === undefined && response.text === undefined && !response.events;
    await pause(response.afterMs, request.signal);
    const reportBodyEnd = (bodyEnd: BodyEnd) =>
      reportEnd(response.status, `${endTexts[bodyEnd]} ${match.name}${again}`);
    if (isEmpty) reportBodyEnd("finished");
    const body = isEmpty
      ? null
      : createPulledBody(request, (signal) => write(response, signal), reportBodyEnd);
    return new Response(body, {
      status: response.status,
      headers: { ...response.headers, [RECORDING_HEADER]: match.name },
    });
  }

  async function* write(response: RecordedResponse, signal: AbortSignal) {
    if (response.text !== undefined) yield response.text;
    if (response.body !== undefined) yield JSON.stringify(response.body);
    for (const event of response.events ?? []) {
      await pause(event.afterMs, signal);
      yield toEventText(event);
    }
    // the rest was never recorded
    if (response.end !== "finished") throw createResetError();
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms / speed > 0) await clock.sleep(ms / speed, signal);
  }
}

const RECORDING_HEADER = "x-sluice-recording";
const endTexts = {
  finished: "replayed",
  aborted: "client disconnected during",
  broken: "replayed, with its break,",
} as const;
