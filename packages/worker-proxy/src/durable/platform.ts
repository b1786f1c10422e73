/**
 * As much of the Durable Objects' API as is used here. Written out, so that neither `cloudflare:workers` nor a package of
 * types has to be there; the platform's own types fit these.
 */

/** A Durable Object's own database, of which nothing is awaited: what runs in one turn is one transaction. */
export interface ObjectSQL {
  exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] };
}

/** What a Durable Object keeps beyond its memory. */
export interface ObjectStorage {
  get<T = unknown>(key: string): Promise<T | undefined>;
  put(key: string, value: unknown): Promise<void>;
  deleteAll(): Promise<void>;
  getAlarm(): Promise<number | null>;
  /** Unix milliseconds; an object has one alarm, which replaces the one before. */
  setAlarm(at: number): Promise<void>;
  deleteAlarm(): Promise<void>;
  readonly sql: ObjectSQL;
}

/** What a Durable Object is made with. */
export interface ObjectState {
  readonly storage: ObjectStorage;
  /** Lets no request and no alarm in before `work` is done. */
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>;
}

/** What the platform calls. */
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
