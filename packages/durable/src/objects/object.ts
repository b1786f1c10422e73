import type { AdmittedRequest, Payable } from "@sluice/worker-proxy";
import { errorBody, Refusal, textOf } from "@sluice/worker-proxy/internal";

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
  /** Resolves when all that was written is kept. @throws {Error} where it could not be */
  sync(): Promise<void>;
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

/** Makes the class whose objects `open` opens. */
export function classOf<Env>(
  open: (state: ObjectState, env: Env) => DurableObjectHandlers,
): DurableObjectClass<Env> {
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const { fetch, alarm } = open(state, env);
      this.fetch = fetch;
      this.alarm = alarm;
    }
  };
}

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

/** Header of a POST to an object: the JSON of a {@link Caller}, encoded as a part of an address. */
export const CALLER = "x-sluice-caller";

/** The part of an admitted request that is not its body. */
export interface Caller extends Pick<Payable, "user" | "model">, Pick<AdmittedRequest, "headers"> {
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
 * @throws any other error as it is
 */
export function refusedBy(refusal: unknown): Response {
  if (!(refusal instanceof Refusal)) throw refusal;
  const { headers, budget = "" } = refusal.details;
  return new Response(errorBody(refusal), {
    status: textOf(refusal).status,
    headers: { ...headers, "content-type": "application/json", [REFUSED]: encodeURIComponent(budget) },
  });
}
