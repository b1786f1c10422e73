import type { Admitted, Payable } from "../admitted.js";
import { openPipe } from "../gateway/bytes.js";
import { misconfigured, Refusal } from "../refusal.js";
import { type Details, errorBody, textOf } from "../refusals.js";

/*
 * The part of the Durable Objects' API that is used here, and the way from the proxy to an object. The types are
 * written out, so that neither `cloudflare:workers` nor a package of types is needed; the platform's own types fit them.
 */

/** A Durable Object's own database. Its calls are synchronous: those of one turn are one transaction. */
export interface ObjectSQL {
  exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] };
}

/** Storage of a Durable Object, kept when its memory is lost. */
export interface ObjectStorage {
  get<T = unknown>(key: string): Promise<T | undefined>;
  put(key: string, value: unknown): Promise<void>;
  deleteAll(): Promise<void>;
  getAlarm(): Promise<number | null>;
  /** Sets the object's only alarm, in Unix milliseconds. */
  setAlarm(at: number): Promise<void>;
  deleteAlarm(): Promise<void>;
  readonly sql: ObjectSQL;
}

/** First argument of a Durable Object's constructor. */
export interface ObjectState {
  readonly storage: ObjectStorage;
  /** Holds all requests and alarms back until `work` is done. */
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>;
  waitUntil(promise: Promise<unknown>): void;
}

/** Methods of a Durable Object that the platform calls. */
export interface DurableObjectHandlers {
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
}

/** A class of Durable Objects, to be exported by the Worker under the name that its configuration binds. */
export type DurableObjectClass<Env> = new (state: ObjectState, env: Env) => DurableObjectHandlers;

/** A binding to a class of Durable Objects, `env.VIDEO_WATCH`. */
export interface ObjectNamespace {
  idFromName(name: string): unknown;
  // a method, so that the platform's narrower parameter fits
  get(id: never): { fetch(request: Request): Promise<Response> };
}

/** Returns the object of this name; the same one from everywhere. */
export function objectNamed(namespace: ObjectNamespace, name: string) {
  return namespace.get(namespace.idFromName(name) as never);
}

/** SHA-256 of a text, in hex. It stands for a user in an object's name, which the platform's logs and dashboards show. */
export async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The refusals of the stream log, of `once` and of the video watch: status, message, and the code where that is not the name. */
const refusals = {
  stream_not_found: [404, "there is no stream with this id, or not any more", "not_found"],
  stream_stopped: [499, "the stream was stopped"],
  stream_interrupted: [502, "the rest of this answer is lost; ask again"],
  idempotency_key_invalid: [400, "idempotency-key: send 1 to 255 visible ASCII characters"],
  idempotency_mismatch: [422, "this idempotency-key was used for another request; use a new one"],
  user_erased: [410, "what this user had here was erased; the request was given up"],
  request_lost: [502, "nobody knows how this request ended; it is not sent again with this idempotency-key"],
  answer_not_kept: [502, "the answer was too large to be kept; this idempotency-key sends nothing again"],
  event_id_invalid: [400, "last-event-id: send the id of an event of this stream", "invalid_request"],
  too_many_readers: [429, "this is open in {what} places already; close one, or try again later"],
  task_unknown: [404, "the gateway does not know this task", "task_not_found"],
  upstream_unreadable: [502, "the gateway's answers show no task; ask it yourself"],
  watch_timeout: [504, "the task was not over after 24 hours"],
} as const satisfies Record<string, readonly [status: number, message: string, code?: string]>;

/** Makes a refusal of an object's own. */
export function objectRefusal(reason: keyof typeof refusals, details: Details = {}): Refusal {
  const [status, message, code = reason]: readonly [number, string, string?] = refusals[reason];
  const text = message.replace("{what}", String(details.what));
  return new Refusal("said", { ...details, said: { status, code, message: text } });
}

/** Header of a POST to an object: the JSON of a {@link Caller}, encoded as a part of an address. */
export const CALLER = "x-sluice-caller";

/** The part of an admitted request that is not its body. */
export interface Caller extends Pick<Payable, "user" | "model">, Pick<Admitted, "headers"> {
  /** True where the proxy has a meter. */
  readonly isMetered: boolean;
}

/** Header of an answer that an object has given before. */
export const REPLAYED = "x-sluice-replayed";

/** Header of a refusal by an object itself; its value is the code. An answer of the gateway never has it. */
const REFUSED = "x-sluice-object";

/** Headers of an object's refusal that the client gets. */
const SAID = ["retry-after", "x-request-id", "x-sluice-source"];

/**
 * Sends a request to an object.
 *
 * @throws {Refusal} the object's own, or 503 `object_unavailable` where the object can't be reached
 */
export async function askObject(object: ReturnType<typeof objectNamed>, request: Request): Promise<Response> {
  const answer = await object.fetch(request);
  const refused = answer.headers.get(REFUSED);
  if (refused === null) return answer;
  const { error } = (await answer.json()) as { error: Record<"message" | "type" | "code" | "param", string> };
  const { param, ...said } = error;
  const passed = [...answer.headers].filter(([name]) => SAID.includes(name));
  throw new Refusal("said", {
    said: { status: answer.status, ...said },
    param,
    budget: decodeURIComponent(refused) || undefined,
    headers: Object.fromEntries(passed),
  });
}

/**
 * Response by which an object hands a refusal to {@link askObject}.
 *
 * @throws whatever is no refusal
 */
export function refusedBy(refusal: unknown): Response {
  if (!(refusal instanceof Refusal)) throw refusal;
  const { headers, budget = "" } = refusal.details;
  return new Response(errorBody(refusal), {
    status: textOf(refusal).status,
    headers: { ...headers, "content-type": "application/json", [REFUSED]: encodeURIComponent(budget) },
  });
}

/**
 * Checks that the platform reports clients that leave: without its flag a signal never aborts, and closed tabs would
 * count as readers.
 *
 * @throws {Refusal} 500 `misconfigured`
 */
export function checkLeavingIsReported(): void {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  if (Cloudflare?.compatibilityFlags?.["enable_request_signal"] === false)
    throw misconfigured("durable: set the compatibility flag enable_request_signal");
}

/** Event streams from one object to its clients. */
export interface Readers {
  /** Number of requests that read or wait now. */
  readonly count: number;
  /** Unix milliseconds since which there is no reader. */
  readonly aloneSince: number;
  /** Counts a request as a reader until its client leaves or the returned function is called. */
  hold(signal: AbortSignal): () => void;
  /**
   * Opens an event stream.
   *
   * @param next called whenever the client can take more; it holds the reader's place
   * @throws {Refusal} 429 `too_many_readers`
   */
  open(next: () => Next, signal: AbortSignal): Response;
  /** Makes each waiting reader call `next` again. */
  wake(): void;
  /** Writes to each reader that waits, and returns the number of those that are still there a second later. */
  probe(): Promise<number>;
  /** Ends all streams as they are. */
  close(): void;
}

/** Next bytes of a stream; `"wait"` until {@link Readers.wake}, or `"end"`. */
export type Next = Uint8Array | "wait" | "end";

interface Reader {
  wake(): void;
  beat(): void;
  probe(): void;
  end(): void;
}

/** Longest silence in a stream, in milliseconds: shorter than the 60 s of networks, of the proxy and of clients. */
const BEAT_MS = 25_000;
/** The most of one write, which a client has to take within two beats. */
const WRITE_BYTES = 64 * 1024;
/** Time in which a write to a client that has left fails, in milliseconds. */
const PROBE_MS = 1_000;
const COMMENT = new TextEncoder().encode(":\n\n");

/**
 * Serves up to `most` readers, each at its own pace: each reader pulls what follows its own place, so that nothing is
 * buffered for a slow one, and no event is lost between stored and new ones. A reader that takes nothing for two beats is
 * ended; it can reconnect and go on.
 */
export function openReaders(most: number): Readers {
  const readers = new Set<Reader>();
  let aloneSince = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;

  return {
    get count() {
      return readers.size;
    },
    get aloneSince() {
      return aloneSince;
    },
    hold,
    open,
    wake: () => all("wake"),
    async probe() {
      all("probe");
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
      return readers.size;
    },
    close: () => all("end"),
  };

  function all(act: keyof Reader): void {
    for (const reader of readers) reader[act]();
  }

  function hold(signal: AbortSignal): () => void {
    const reader: Reader = { wake() {}, beat() {}, probe() {}, end: () => void remove(reader) };
    add(reader, signal);
    return reader.end;
  }

  function open(next: () => Next, signal: AbortSignal): Response {
    if (readers.size >= most) throw tooMany(most);
    const { readable, writable } = openPipe();
    const writer = writable.getWriter();
    /** The rest of the part that is being written. */
    let rest: Uint8Array | undefined;
    let isWriting = false;
    /** Beats since the client has taken something. */
    let beats = 0;
    const reader: Reader = { wake, beat, probe, end };
    add(reader, signal);
    goOn();
    return new Response(readable, { headers: { "content-type": "text/event-stream" } });

    function wake(): void {
      if (!isWriting) goOn();
    }

    /** Writes what follows. One write is under way at a time: what comes meanwhile waits in the log. */
    function goOn(): void {
      isWriting = false;
      if (!readers.has(reader)) return;
      const part = rest ?? next();
      if (part === "end") return end();
      if (part === "wait") return;
      rest = part.byteLength > WRITE_BYTES ? part.subarray(WRITE_BYTES) : undefined;
      send(rest ? part.subarray(0, WRITE_BYTES) : part);
    }

    function send(bytes: Uint8Array): void {
      isWriting = true;
      beats = 0;
      writer.write(bytes).then(goOn, () => remove(reader));
    }

    function probe(): void {
      if (!isWriting) send(COMMENT);
    }

    /** Ends a reader that has taken nothing for two beats. */
    function beat(): void {
      beats += 1;
      if (isWriting && beats > 1) end();
      else probe();
    }

    function end(): void {
      if (remove(reader)) writer.close().catch(() => {});
    }
  }

  function add(reader: Reader, signal: AbortSignal): void {
    readers.add(reader);
    timer ??= setInterval(() => all("beat"), BEAT_MS);
    // the platform reports here, and neither by `cancel` nor by a failing write, that a client has left
    signal.addEventListener("abort", reader.end);
    if (signal.aborted) reader.end();
  }

  /** Returns false where the reader was removed before. */
  function remove(reader: Reader): boolean {
    if (!readers.delete(reader)) return false;
    if (readers.size === 0) {
      aloneSince = Date.now();
      clearInterval(timer);
      timer = undefined;
    }
    return true;
  }
}

function tooMany(most: number): Refusal {
  return objectRefusal("too_many_readers", { what: most, headers: { "retry-after": "60" } });
}
