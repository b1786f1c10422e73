/*
 * The part of the Durable Objects API that this package uses. The types are declared here, so that users need neither
 * `cloudflare:workers` nor a package of types. The platform's types are assignable to them.
 */

/** A binding to the class that `durableObject` returns, `env.SLUICE`. */
export interface DurableObjectNamespace {
  idFromName(name: string): unknown;
  // the parameter is `never`, so that the platform's narrower parameter type is assignable
  get(id: never): { fetch(request: Request): Promise<Response> };
}

/** Storage of a Durable Object. */
export interface ObjectStorage {
  readonly sql: { exec(query: string, ...values: unknown[]): { toArray(): Record<string, unknown>[] } };
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
  deleteAlarm(): Promise<void>;
}

/** The first argument of a Durable Object's constructor. */
export interface ObjectState {
  readonly id: { toString(): string };
  readonly storage: ObjectStorage;
  blockConcurrencyWhile<Result>(work: () => Promise<Result>): Promise<Result>;
  waitUntil(promise: Promise<unknown>): void;
}

/** The class of the Durable Objects. Export it from the Worker under the `class_name` in the configuration. */
export type DurableObjectClass<Env> = new (
  state: ObjectState,
  env: Env,
) => { fetch(request: Request): Promise<Response>; alarm(): Promise<void> };
