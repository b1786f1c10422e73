import type { JobEvent } from "@sluice/worker-proxy";
import type { CallOutcome, HostContext, PluginServer, Refusal } from "@sluice/worker-proxy/plugin";
import type { Ending, Sending } from "./sending.js";
import type { JobStore } from "./store.js";

/** How a plugin sends and stores its requests. */
export interface JobsOptions {
  /** Name of the plugin in errors. */
  readonly plugin: string;
  /** Name of the plugin's jobs. It separates their rows from other plugins, and prefixes the operation names. */
  readonly kind: string;
  /** Type of their events. */
  readonly eventJob: JobEvent["job"];
  /** True if the responses are event streams. */
  readonly isStream: boolean;
  /** The end code of a lost job. */
  readonly lostCode: string;
  /** Time for which a response is stored after its end, in milliseconds. */
  readonly retentionMs: number;
  /** Maximum size of a stored response, in bytes. */
  readonly maxBytes: number;
  /** Maximum number of stored responses of a key. The oldest is dropped. @default any */
  readonly maxStored?: number;
  /** Maximum number of stored jobs of a key. Further jobs are refused. @default any */
  readonly maxJobs?: number;
  /** Maximum number of large stored responses of a key. The oldest is deleted; its job stays. @default any */
  readonly maxLarge?: number;
  /** Time after which a job without a reader is stopped, in milliseconds. @default never */
  readonly idleTimeoutMs?: number;
  /** Reads the gateway's response, JSON or an event stream, into `sending.live`. @throws {Refusal} */
  respond(sending: Sending, type: string): Promise<Ending>;
  /** Returns true if the gateway did nothing, so that the request may be sent again. */
  isFree(sending: Sending, refusal: Refusal, outcome: CallOutcome): boolean;
}

/** The server of the proxy. Jobs pass its environment on without reading it. */
export type JobServer = PluginServer<unknown>;

/** The jobs of one plugin, as their functions share them. */
export interface JobsContext extends JobsOptions {
  readonly store: JobStore;
  /** @throws {Error} before the plugin belongs to a proxy */
  getServer(): JobServer;
}

/** The host and the key of a user, from a job or a request. */
export type KeyContext = Pick<HostContext, "host" | "key" | "env">;
