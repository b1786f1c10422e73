import { errorBody, misconfigured, Refusal } from "../refusal.js";

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

/** Header of a refusal by an object itself; its value is the code. An answer of the gateway never has it. */
const REFUSED = "x-sluice-object";

/**
 * Sends a request to an object.
 *
 * @throws {Refusal} the object's own, or 503 `object_unavailable` where the object can't be reached
 */
export async function askObject(object: ReturnType<typeof objectNamed>, request: Request): Promise<Response> {
  const answer = await object.fetch(request);
  if (answer.headers.get(REFUSED) === null) return answer;
  const { error } = (await answer.json()) as { error: Record<"message" | "type" | "code", string> };
  const retryAfter = answer.headers.get("retry-after");
  throw new Refusal(answer.status, error.code, error.message, {
    type: error.type,
    headers: retryAfter === null ? {} : { "retry-after": retryAfter },
  });
}

/**
 * Response by which an object hands a refusal to {@link askObject}.
 *
 * @throws whatever is no refusal
 */
export function refusedBy(refusal: unknown): Response {
  if (!(refusal instanceof Refusal)) throw refusal;
  return new Response(errorBody(refusal), {
    status: refusal.status,
    headers: { ...refusal.headers, "content-type": "application/json", [REFUSED]: "refused" },
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
