import { type EmulatorClock, systemClock } from "../base/clock.js";
import { badRequest } from "../server/http.js";
import { reset } from "../server/network-faults.js";
import { toRequest } from "../server/request.js";
import { readBody } from "../server/request-body.js";
import { type BodyEnd, pulledBody } from "../server/response-body.js";
import { createRedactor } from "../server/secrets.js";
import { addSecrets } from "./exchange-secrets.js";
import type { NamedRecording } from "./folder.js";
import { keyOf, nearestTo } from "./match.js";
import type { RecordedExchange } from "./record.js";
import { requestOf } from "./recorded-request.js";
import { type RecordedResponse, textOfEvent } from "./recording.js";

/** Options of {@link createReplay}. */
export interface ReplayOptions {
  /** Recorded exchanges, in the order of their recording. */
  readonly recordings: readonly NamedRecording[];
  /** Factor by which answers come faster than they were recorded; `Infinity` does not wait. @default 1 */
  readonly speed?: number;
  /** Source of time, for tests. @default the platform's */
  readonly clock?: EmulatorClock;
  /** Receives each request whose answer has ended; `note` names its recording, or says what does not match. */
  readonly onEnd?: (exchange: RecordedExchange) => void;
}

/** Answers from recordings, as {@link createReplay} makes it. */
export interface Replay {
  /** Answers a request from its recording. A request without one gets 400 `no_recording`, which names the nearest recording. */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>;
  /** One text for each request so far that no recording fits. */
  readonly misses: readonly string[];
  /** Names of the recordings that no request has used yet. */
  readonly unused: () => string[];
}

/**
 * Creates a handler that answers requests from recordings: the same status, headers and bytes, at the recorded pace. A request
 * fits a recording with the same method, path and body. Equal requests get their recordings in the recorded order, then the last
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
    const key = keyOf(named.recording.request);
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
    const asked = redacted(request, text);
    const end = (status: number, note: string) => {
      const { pathname: path } = new URL(request.url);
      onEnd?.({ method: request.method, path, body: asked.body, status, at, ms: clock.now() - at, note });
    };

    const key = keyOf(asked);
    const queue = queues.get(key) ?? [];
    const nth = used.get(key) ?? 0;
    used.set(key, nth + 1);
    const found = queue[Math.min(nth, queue.length - 1)];
    if (!found) {
      const problem = `no recording fits ${asked.method} ${asked.path}: ${nearestTo(asked, recordings) ?? "none has this method and path"}`;
      misses.push(problem);
      end(400, problem);
      const { body, headers } = badRequest(`In these recordings, ${problem}.`, undefined, "no_recording");
      return new Response(body as string, { status: 400, headers: { ...headers, [RECORDING]: "none" } });
    }
    seen.add(found.name);
    const again = nth >= queue.length ? ", again" : "";
    const { response } = found.recording;
    const isEmpty = response.body === undefined && response.text === undefined && !response.events;
    await pause(response.afterMs, request.signal);
    const ended = (how: BodyEnd) => end(response.status, `${wordOf[how]} ${found.name}${again}`);
    if (isEmpty) ended("finished");
    const body = isEmpty ? null : pulledBody(request, (signal) => write(response, signal), ended);
    return new Response(body, {
      status: response.status,
      headers: { ...response.headers, [RECORDING]: found.name },
    });
  }

  async function* write(response: RecordedResponse, signal: AbortSignal) {
    if (response.text !== undefined) yield response.text;
    if (response.body !== undefined) yield JSON.stringify(response.body);
    for (const event of response.events ?? []) {
      await pause(event.afterMs, signal);
      yield textOfEvent(event);
    }
    // the rest is not known
    if (response.end !== "finished") throw reset();
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms / speed > 0) await clock.sleep(ms / speed, signal);
  }
}

const RECORDING = "x-sluice-recording";
const wordOf = { finished: "replayed", aborted: "client left", broken: "replayed, with its break," } as const;

function redacted(request: Request, text: string) {
  const redactor = createRedactor();
  const asked = requestOf(request, text);
  addSecrets(request, asked.body, redactor);
  const body = asked.body === undefined ? {} : { body: redactor.value(asked.body) };
  return { method: asked.method, path: redactor.text(asked.path), ...body };
}
