import type { Timeout } from "../api/options.js";
import type { Account, AdmittedRequest, CallOutcome, Usage } from "../api/plugin.js";
import type { MarkedId, Tenancy } from "../api/routes.js";
import type { Route } from "../checks/path.js";
import type { Refusal } from "../refusals/refusal.js";
import type { Report } from "../refusals/report.js";
import type { Call } from "./call.js";

/** A response of the gateway under way, and the call that it belongs to. */
export interface GatewayResponse {
  readonly response: Response;
  readonly call: Call;
}

/** An admitted request on its way to the gateway and back. */
export interface Exchange<Env> {
  readonly admitted: AdmittedRequest<Env>;
  readonly route: Route;
  readonly report: Report;
  readonly call: Call;
  /** Values that no response may hold: the gateway's keys, and keys in further headers. */
  readonly keys: readonly string[];
  /** The marks of this user's ids; undefined without a `secret`. */
  readonly tenancy: Tenancy | undefined;
  readonly settings: ResponseSettings<Env>;
  /** The reservation. It is set right before the request to the gateway. */
  account?: Account | undefined;
}

/** The settings for responses. */
interface ResponseSettings<Env> {
  readonly timeout: Required<Timeout>;
  /** The plugins; undefined without any. */
  readonly run: ResponsePlugins<Env> | undefined;
}

/** The points at which plugins act on a response. */
interface ResponsePlugins<Env> {
  /** Reads the gateway's streams; undefined where the platform passes them on. */
  readonly readStream: ReadStream | undefined;
  /** Settles by a response of JSON. */
  settleJSON(exchange: Exchange<Env>, json: unknown): void;
  /** Notes the outcome of a response of JSON, and shows the plugins one about a task, an asset or images. */
  reportResponse(exchange: Exchange<Env>, json: unknown, marked: MarkedId | undefined): Promise<void>;
}

/** Reads a stream of the gateway and passes it on, event by event. */
export type ReadStream = <Env>(
  exchange: Exchange<Env>,
  body: ReadableStream<Uint8Array>,
  onEnd: (code?: string) => void,
) => ReadableStream<Uint8Array>;

/** The end of a stream, and details that were read from it. */
export interface StreamEnd {
  /** The `error.code` of what went wrong; absent if the response is whole. */
  readonly code?: string;
  /** The failure behind the `code`; absent for a whole response, and for an error that the gateway sent. */
  readonly problem?: Refusal;
  /** The last `usage` of the stream. */
  readonly usage?: Usage;
  /** Outcome of the call. A response whose choices had finished before a cut is `responded`. */
  readonly outcome: CallOutcome;
  /** False if `[DONE]` came before the `finish_reason` of a choice. */
  readonly isConfirmed: boolean;
  /** Number of bytes that were passed on. */
  readonly bytes: number;
}
