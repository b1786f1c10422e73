import type { AdmittedRequest, OnJobEvent } from "@sluice/worker-proxy";
import type { Way } from "@sluice/worker-proxy/internal";
import type { Caller, ObjectNamespace } from "../objects/object.js";

/** Options of one object, with their defaults. */
export interface OnceSetup<Env> {
  readonly way: Way<Env>;
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  readonly answerBytes: number;
  readonly onEvent: OnJobEvent<Env> | undefined;
}

/** The part of an admitted create that is not its body. */
export interface Create extends Caller, Pick<AdmittedRequest, "route" | "path"> {
  /** The object's name without the user's part. */
  readonly id: string;
}

/** The data that an object keeps of its user. */
export interface ExportedCreate {
  /** Unix milliseconds at which it is deleted. */
  readonly endsAt: number;
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  /** The status of the answer; absent as long as there is none. */
  readonly status?: number;
  /** Size of the answer, in bytes. */
  readonly bytes?: number;
  /** The answer, as text; absent where it is larger than was asked for. */
  readonly answer?: string;
}

/** Header of an export: the most bytes of an answer that go along. */
export const MOST_BYTES = "x-sluice-most";

/** Interval of the alarm of a request in flight, in milliseconds: an object that gets no events is evicted. */
export const BEAT_MS = 30_000;
/** Longest time until an answer is deleted after its day. */
export const JITTER_MS = 60 * 60 * 1000;
