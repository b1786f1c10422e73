import type { Store } from "@sluice/core";
import { createStore, systemClock } from "@sluice/core/internal";
import { answerOf, type Fault, lostConnection } from "./faults.js";
import { tapBody } from "./tapped-body.js";

/** One event of a stream, or the whole of another answer. */
export interface Frame {
  /** Place in its answer, from 1. */
  readonly nth: number;
  /** Milliseconds since the request. */
  readonly ms: number;
  readonly bytes: number;
  /** Text of the frame, cut to 2,000 characters; empty where it is no longer kept. */
  readonly text: string;
}

/**
 * End of a request.
 *
 * - `whole`: the page has the whole answer
 * - `broken`: the connection broke before or within the answer
 * - `left`: the page ended it
 * - `not-sent`: a fault kept it in the page
 */
export type RequestEnd = "whole" | "broken" | "left" | "not-sent";

/** One request as it passed the tap. */
export interface TappedRequest {
  /** Place among all requests of the tap, from 1. */
  readonly nth: number;
  /** Id of the client's call; undefined for a request beside the calls. */
  readonly callId: string | undefined;
  readonly method: string;
  /** Path and query of the address. */
  readonly path: string;
  /** True if the gateway may bill it. */
  readonly isPaid: boolean;
  /** True if it left the page. */
  readonly hasLeft: boolean;
  /** Fault that hit it. */
  readonly fault: Fault | undefined;
  /** Status that the server answered with, or the fault. */
  readonly status: number | undefined;
  readonly end: RequestEnd | undefined;
  /** Its `idempotency-key`. Never shown. */
  readonly key: string | undefined;
  /** True if the server has said that it answers a repeated key from its memory. */
  readonly isOnce: boolean;
  /** Number of frames, also of those that are not kept. */
  readonly frameCount: number;
  readonly frames: readonly Frame[];
  /** JSON of the request, cut to 20,000 characters. */
  readonly body: string | undefined;
}

type Writable = { -readonly [Key in keyof TappedRequest]: TappedRequest[Key] } & { frames: Frame[] };

/** A fault that waits for its request. */
interface Armed {
  readonly fault: Fault;
  /** True if it stays after its first request. */
  readonly isKept: boolean;
}

/** The part of {@link devtoolsFetch} that the panel uses. */
export interface Tap {
  /** Fault that waits for its request. */
  readonly armed: Store<Armed | undefined>;
  /** Arms a fault; undefined disarms. `offline` also breaks what is under way. */
  readonly arm: (next: Armed | undefined) => void;
  /** Says which call the request belongs to that is fetched next, in the same task. */
  readonly announce: (callId: string) => void;
  /** Calls `listener` with each request that changes. The object stays the same. */
  readonly subscribe: (listener: (request: TappedRequest) => void) => () => void;
}

type Fetch = (request: Request) => Promise<Response>;

const taps = new WeakMap<object, Tap>();

/** Returns the tap of a client's `fetch`; undefined where it was not made by {@link devtoolsFetch}. */
export function tapOf({ fetch }: { readonly fetch: object }): Tap | undefined {
  return taps.get(fetch);
}

/** Largest number of frames that are kept of one request. */
const MOST_FRAMES = 300;
/** Largest number of characters that are kept of one frame, and of one request's body. */
const MOST_FRAME_TEXT = 2000;
const MOST_BODY_TEXT = 20_000;

const PAID = /\/(?:chat\/completions|(?:images|video)\/generations|CreateAsset|\w+2video)$/;

/** Returns true for the path of a request that may be billed. Queries and kept answers are free. */
export function isPaidPath(path: string): boolean {
  return PAID.test(path);
}

/**
 * Wraps a client's `fetch`, so that {@link SluiceDevtools} shows its requests and streams and plays faults on them.
 * Answers pass unchanged, at the reader's pace. What passes is kept in memory for the panel, and sent nowhere. In a
 * production build it returns `fetch` unchanged.
 *
 * @param fetch the app's own `fetch`. @default globalThis.fetch
 * @example
 * ```ts
 * const client = createClient({ baseURL: "/api", fetch: devtoolsFetch() });
 * ```
 */
export function devtoolsFetch(fetch?: Fetch): Fetch | undefined {
  const send: Fetch = fetch ?? ((request) => globalThis.fetch(request));
  const listeners = new Set<(request: TappedRequest) => void>();
  let armed: Armed | undefined;
  const armedStore = createStore(() => armed, { clock: systemClock });
  let count = 0;
  /** Call that the next request belongs to. */
  let announced: string | undefined;
  let cable = new AbortController();
  /** `x-sluice-offers` of the last answer that had one. */
  let offers: string | null = null;

  const tapped: Fetch = (request) => {
    const record = open(request);
    record.fault = faultFor(record);
    notify(record);
    return pass(request, record).catch((error) => {
      record.end ??= request.signal.aborted ? "left" : "broken";
      notify(record);
      throw error;
    });
  };
  taps.set(tapped, {
    armed: armedStore,
    arm,
    announce(callId) {
      announced = callId;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  return tapped;

  function arm(next: Armed | undefined): void {
    armed = next;
    armedStore.flush();
    if (next?.fault !== "offline") return;
    cable.abort(lostConnection());
    cable = new AbortController();
  }

  function open(request: Request): Writable {
    const { method, headers } = request;
    const { pathname, search } = new URL(request.url);
    const callId = announced;
    announced = undefined;
    count += 1;
    const record: Writable = {
      nth: count,
      callId,
      method,
      path: pathname + search,
      isPaid: isPaidPath(pathname),
      hasLeft: false,
      fault: undefined,
      status: undefined,
      end: undefined,
      key: headers.get("idempotency-key") ?? undefined,
      isOnce: false,
      frameCount: 0,
      frames: [],
      body: undefined,
    };
    if (headers.get("content-type")?.includes("json")) keepBody(request, record);
    return record;
  }

  function keepBody(request: Request, record: Writable): void {
    request
      .clone()
      .text()
      .then(
        (text) => {
          record.body = text.length > MOST_BODY_TEXT ? `${text.slice(0, MOST_BODY_TEXT)}…` : text;
        },
        () => {},
      );
  }

  /** Takes the fault that waits for a request like this one. */
  function faultFor({ isPaid }: Writable): Fault | undefined {
    if (!armed) return undefined;
    const { fault, isKept } = armed;
    // cut and stall wait for a stream, which its answer shows
    if (fault === "cut" || fault === "stall" || !(isPaid || fault === "offline")) return undefined;
    if (!isKept) arm(undefined);
    return fault;
  }

  async function pass(request: Request, record: Writable): Promise<Response> {
    const made = answerOf(record.fault, offers);
    if (made) {
      Object.assign(record, { status: made.status, end: "not-sent" });
      notify(record);
      return made;
    }
    if (record.fault === "offline") {
      record.end = "not-sent";
      throw lostConnection();
    }
    const { signal } = cable;
    record.hasLeft = true;
    const response = await untilAborted(send(request), signal);
    record.status = response.status;
    offers = response.headers.get("x-sluice-offers") ?? offers;
    const word = record.path.includes("/chat/") ? "chat-once" : "once";
    record.isOnce = (offers ?? "").split(/\s*,\s*/).includes(word);
    if (record.fault === "lost-response") {
      response.body?.cancel().catch(() => {});
      throw lostConnection();
    }
    return withTap(response, record, request.signal, signal);
  }

  function withTap(response: Response, record: Writable, left: AbortSignal, cut: AbortSignal): Response {
    const { body, status, statusText, headers } = response;
    if (!(body instanceof ReadableStream)) {
      record.end = "whole";
      notify(record);
      return response;
    }
    const isStream = headers.get("content-type")?.includes("event-stream") === true;
    const fault = isStream ? streamFault() : undefined;
    record.fault ??= fault;
    notify(record);
    const began = performance.now();
    const observer = {
      onFrame(text: string, bytes: number) {
        record.frameCount += 1;
        if (record.frames.length < MOST_FRAMES)
          record.frames.push({ nth: record.frameCount, ms: performance.now() - began, bytes, text });
        notify(record);
      },
      onEnd(end: RequestEnd) {
        record.end = left.aborted ? "left" : end;
        notify(record);
      },
    };
    const signal = AbortSignal.any([left, cut]);
    const settings = { isStream, fault, signal, mostText: isStream ? MOST_FRAME_TEXT : MOST_BODY_TEXT };
    return new Response(tapBody(body, observer, settings), { status, statusText, headers });
  }

  function streamFault(): "cut" | "stall" | undefined {
    const fault = armed?.fault;
    if (fault !== "cut" && fault !== "stall") return undefined;
    if (!armed?.isKept) arm(undefined);
    return fault;
  }

  function notify(record: TappedRequest): void {
    for (const listener of [...listeners]) listener(record);
  }
}

/** Returns the promise, or rejects with the signal's reason if that aborts first. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
