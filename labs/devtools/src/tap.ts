import type { Store } from "@sluice/core";
import { createStore, isCreatePath } from "@sluice/core/extend";
import { createConnectionError, createResponse, type Fault } from "./faults.js";
import { tapBody } from "./tapped-body.js";

/** One event of a stream, or the whole of another response. */
export interface Frame {
  /** Number in its response, from 1. */
  readonly nth: number;
  /** Milliseconds since the request. */
  readonly ms: number;
  readonly bytes: number;
  /** Text of the frame, cut to 2,000 characters. Empty once it is dropped. */
  readonly text: string;
}

/**
 * How a request ended.
 *
 * - `complete`: the page has the whole response
 * - `broken`: the connection broke before or within the response
 * - `aborted`: the page aborted it
 * - `not-sent`: a fault ended it in the page
 */
export type RequestEnd = "complete" | "broken" | "aborted" | "not-sent";

/** One request, as seen by the tap. */
export interface TappedRequest {
  /** Number among all requests of the tap, from 1. */
  readonly nth: number;
  /** Id of the client's call. Undefined for a request outside of calls. */
  readonly callId: string | undefined;
  readonly method: string;
  /** Path and query of the URL. */
  readonly path: string;
  /** True if the gateway may bill it. */
  readonly isPaid: boolean;
  /** True if it was sent. */
  readonly wasSent: boolean;
  /** Fault that affected it. */
  readonly fault: Fault | undefined;
  /** Status of the response, from the server or the fault. */
  readonly status: number | undefined;
  readonly end: RequestEnd | undefined;
  /** Its `idempotency-key`. Never shown. */
  readonly key: string | undefined;
  /** True if the server says that it replays the response to a repeated key. */
  readonly isBilledOnce: boolean;
  /** Number of frames, including dropped frames. */
  readonly frameCount: number;
  readonly frames: readonly Frame[];
  /** JSON of the request, cut to 20,000 characters. */
  readonly body: string | undefined;
}

/** A request whose record is updated. */
type OpenRequest = { -readonly [Key in keyof TappedRequest]: TappedRequest[Key] } & { frames: Frame[] };

/** A fault that waits for a matching request. */
interface ArmedFault {
  readonly fault: Fault;
  /** True if it affects every matching request until it is disarmed. */
  readonly isRepeated: boolean;
}

/** The interface of {@link devtoolsFetch} for the panel. */
export interface Tap {
  /** Fault that waits for a matching request. */
  readonly armed: Store<ArmedFault | undefined>;
  /** Arms a fault; undefined disarms. `offline` also breaks open responses. */
  readonly arm: (next: ArmedFault | undefined) => void;
  /** Sets the call of the next request in the same task. */
  readonly announce: (callId: string) => void;
  /** Calls `listener` with each request that changes. The object stays the same. */
  readonly subscribe: (listener: (request: TappedRequest) => void) => () => void;
}

type Fetch = (request: Request) => Promise<Response>;

const taps = new WeakMap<object, Tap>();

/** Returns the tap of a client's `fetch`. Undefined for a `fetch` without {@link devtoolsFetch}. */
export function getTap({ fetch }: { readonly fetch: object }): Tap | undefined {
  return taps.get(fetch);
}

/**
 * Plays a fault on the next matching request of a client, as a button of the panel does. `offline` lasts until another
 * call with `undefined`. Does nothing for a client without {@link devtoolsFetch}.
 *
 * @example
 * ```ts
 * const chat = createChatStore(client, { model: "delta-5.3" });
 * playFault(client, "cut");
 * await chat.send("Hello"); // the stream breaks after three events
 * ```
 */
export function playFault(client: { readonly fetch: object }, fault: Fault | undefined): void {
  getTap(client)?.arm(fault && { fault, isRepeated: fault === "offline" });
}

/** Maximum number of stored frames per request. */
const MAX_FRAMES = 300;
/** Maximum number of stored characters of a frame, and of a request's body. */
const MAX_FRAME_TEXT = 2000;
const MAX_BODY_TEXT = 20_000;

/**
 * Wraps a client's `fetch`, so that {@link SluiceDevtools} shows its requests and streams, and plays faults on them.
 * Responses are unchanged, at the reader's pace. Their data stays in memory for the panel, and is sent nowhere. In a
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
  let armed: ArmedFault | undefined;
  const armedStore = createStore(() => armed);
  let requestCount = 0;
  /** Id of the call of the next request. */
  let nextCallId: string | undefined;
  let connection = new AbortController();
  /** Header `x-sluice-features` of the last response that had it. */
  let features: string | null = null;

  const fetchTapped: Fetch = (request) => {
    const record = openRecord(request);
    record.fault = takeFault(record);
    notify(record);
    return forward(request, record).catch((error) => {
      record.end ??= request.signal.aborted ? "aborted" : "broken";
      notify(record);
      throw error;
    });
  };
  taps.set(fetchTapped, {
    armed: armedStore,
    arm,
    announce(callId) {
      nextCallId = callId;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  return fetchTapped;

  function arm(next: ArmedFault | undefined): void {
    armed = next;
    armedStore.flush();
    if (next?.fault !== "offline") return;
    connection.abort(createConnectionError());
    connection = new AbortController();
  }

  function openRecord(request: Request): OpenRequest {
    const { method, headers } = request;
    const { pathname, search } = new URL(request.url);
    const callId = nextCallId;
    nextCallId = undefined;
    requestCount += 1;
    const record: OpenRequest = {
      nth: requestCount,
      callId,
      method,
      path: pathname + search,
      isPaid: isCreatePath(pathname),
      wasSent: false,
      fault: undefined,
      status: undefined,
      end: undefined,
      key: headers.get("idempotency-key") ?? undefined,
      isBilledOnce: false,
      frameCount: 0,
      frames: [],
      body: undefined,
    };
    if (headers.get("content-type")?.includes("json")) storeBody(request, record);
    return record;
  }

  function storeBody(request: Request, record: OpenRequest): void {
    request
      .clone()
      .text()
      .then(
        (text) => {
          record.body = text.length > MAX_BODY_TEXT ? `${text.slice(0, MAX_BODY_TEXT)}…` : text;
        },
        () => {},
      );
  }

  /** Takes the fault that waits for a matching request. */
  function takeFault({ isPaid }: OpenRequest): Fault | undefined {
    if (!armed) return undefined;
    const { fault, isRepeated } = armed;
    // cut and stall wait for a stream, which only the response reveals
    if (fault === "cut" || fault === "stall" || !(isPaid || fault === "offline")) return undefined;
    if (!isRepeated) arm(undefined);
    return fault;
  }

  async function forward(request: Request, record: OpenRequest): Promise<Response> {
    const faultResponse = createResponse(record.fault, features);
    if (faultResponse) {
      Object.assign(record, { status: faultResponse.status, end: "not-sent" });
      notify(record);
      return faultResponse;
    }
    if (record.fault === "offline") {
      record.end = "not-sent";
      throw createConnectionError();
    }
    const { signal } = connection;
    record.wasSent = true;
    const response = await rejectOnAbort(send(request), signal);
    record.status = response.status;
    features = response.headers.get("x-sluice-features") ?? features;
    const feature = record.path.includes("/chat/") ? "resumable-streams" : "idempotency";
    record.isBilledOnce = (features ?? "").split(/\s*,\s*/).includes(feature);
    if (record.fault === "lost-response") {
      response.body?.cancel().catch(() => {});
      throw createConnectionError();
    }
    return tapResponse(response, record, request.signal, signal);
  }

  function tapResponse(
    response: Response,
    record: OpenRequest,
    pageSignal: AbortSignal,
    offlineSignal: AbortSignal,
  ): Response {
    const { body, status, statusText, headers } = response;
    if (!(body instanceof ReadableStream)) {
      record.end = "complete";
      notify(record);
      return response;
    }
    const isStream = headers.get("content-type")?.includes("event-stream") === true;
    const fault = isStream ? takeStreamFault() : undefined;
    record.fault ??= fault;
    notify(record);
    const startedAt = performance.now();
    const observer = {
      onFrame(text: string, bytes: number) {
        record.frameCount += 1;
        if (record.frames.length < MAX_FRAMES)
          record.frames.push({ nth: record.frameCount, ms: performance.now() - startedAt, bytes, text });
        notify(record);
      },
      onEnd(end: RequestEnd) {
        record.end = pageSignal.aborted ? "aborted" : end;
        notify(record);
      },
    };
    const signal = AbortSignal.any([pageSignal, offlineSignal]);
    const settings = { isStream, fault, signal, maxText: isStream ? MAX_FRAME_TEXT : MAX_BODY_TEXT };
    return new Response(tapBody(body, observer, settings), { status, statusText, headers });
  }

  function takeStreamFault(): "cut" | "stall" | undefined {
    const fault = armed?.fault;
    if (fault !== "cut" && fault !== "stall") return undefined;
    if (!armed?.isRepeated) arm(undefined);
    return fault;
  }

  function notify(record: TappedRequest): void {
    for (const listener of [...listeners]) listener(record);
  }
}

/** Settles as the promise does, or rejects with the signal's reason if the signal aborts first. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
