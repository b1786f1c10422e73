import type { OnJobEvent } from "@sluice/worker-proxy";
import type { Way } from "@sluice/worker-proxy/internal";
import type { Caller, ObjectNamespace } from "../objects/object.js";

/** Options of one stream, with their defaults. */
export interface StreamLogSetup<Env> {
  readonly way: Way<Env>;
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  readonly orphanMs: number;
  readonly keepMs: number;
  readonly logBytes: number;
  readonly keptPerUser: number;
  readonly onEvent: OnJobEvent<Env> | undefined;
}

/** The part of an admitted chat that is not its body. */
export interface StreamCaller extends Caller {
  /** Id of the stream. */
  readonly id: string;
  /** True where all callers are one user, whose streams are not bounded. */
  readonly isPublic?: boolean;
}

/**
 * Paths of this package's own requests to an object. `export` returns the whole answer as JSON, `end` the code of its
 * end; `erase` deletes the answer at once, `drop` when nobody reads it any more.
 */
export const OWN = { export: "/export", end: "/end", erase: "/erase", drop: "/drop" } as const;
/** Headers of an answer to `OWN.end`: the code of the end, and the state. */
export const END_CODE = "x-sluice-end";
export const STATE = "x-sluice-state";

/** Interval of the checks of an open stream, in milliseconds. An object that gets no events is evicted after a minute or two. */
export const BEAT_MS = 30_000;
