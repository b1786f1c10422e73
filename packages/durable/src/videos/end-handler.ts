import type {
  AdminOperation,
  BoundHost,
  Checked,
  JobEvent,
  StoredPart,
  Transaction,
} from "@sluice/worker-proxy";
import type { PluginServer } from "@sluice/worker-proxy/plugin";
import { type EndState, getEndState, type TaskEnd, type WatchedTask } from "./task.js";

/** The end of a task that was watched from its create. */
export type EndedTask = {
  /** Id of this end, the same in each attempt: 32 hex digits. */
  readonly id: string;
  /** The task's id as its user knows it. */
  readonly taskId: string;
  /** The gateway's id. */
  readonly gatewayId: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  readonly model?: string | undefined;
  /**
   * `expired`: the gateway does not know the task any more. `unknown`: no end was seen in 24 hours. If its user asks again
   * later, the gateway is polled, and an end that is seen then is another `EndedTask`.
   */
  readonly state: EndState;
  /** The gateway's newest response, with the task's id as its user knows it; null if none showed the task. */
  readonly task: unknown;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** True after the user has removed the task. */
  readonly isRemoved: boolean;
  /** The `x-request-id` of the create. */
  readonly requestId?: string | undefined;
};

/** The circumstances of one attempt of an {@link EndHandler}. */
export interface EndContext<Env = unknown> {
  readonly env: Env;
  readonly host: BoundHost;
  /** The key of the user's rows. */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts after ten minutes, if the user is erased meanwhile, and when the host closes. */
  readonly signal: AbortSignal;
}

/** The status that a receiver answered with. */
interface Received {
  readonly upstreamStatus: number;
}

/**
 * Work after the end of a task: `webhook(…)`, or a function of the app. It runs as a job. If it throws, the cause is in the
 * log, and it runs again after 5 s, 1 min, 5 min, 30 min, 2, 5, 10 and 14 hours. After that the end is a dead letter of
 * this handler. A handler that has succeeded can run again if its process was lost right then: `ended.id` is the same.
 *
 * The function's name stands for the handler in the stored rows. Do not change it while ends are due.
 *
 * @example
 * ```ts
 * const sendMail: EndHandler<Env> = async ({ userId, state, id }, { signal }) => {
 *   const body = JSON.stringify({ userId, state, id });
 *   await fetch("https://mail.example.com/send", { method: "POST", body, signal });
 * };
 * videoWatch<Env>({ onEnd: endHandlers(sendMail) });
 * ```
 */
export interface EndHandler<Env = unknown> extends Checked<Env> {
  (ended: EndedTask, context: EndContext<Env>): Promise<void> | Promise<Received>;
  /** Kind of the events of its attempts. @default none: its failures are in the log alone */
  readonly kind?: JobEvent["kind"];
}

/** A failure of a handler of this package. Its message holds no address and no secret. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  /** The receiver's status; undefined if it did not answer. */
  readonly upstreamStatus: number | undefined;
  /** True if the receiver wants no further attempt. */
  readonly isRefusal: boolean;

  constructor(message: string, { upstreamStatus, isRefusal = false, cause }: Partial<DeliveryFailure> = {}) {
    super(message, { cause });
    this.upstreamStatus = upstreamStatus;
    this.isRefusal = isRefusal;
  }
}

interface DeliveryFailure {
  readonly upstreamStatus: number | undefined;
  readonly isRefusal: boolean;
  readonly cause: unknown;
}

/** The rows of the work after ends, for the operations of a watch. */
export interface EndRows {
  /** Adds the work of all handlers after an end. */
  add(transaction: Transaction, task: string, ended: EndedTask, handlers: readonly string[]): Promise<void>;
  /** Ends all work after the ends of a task. Returns true if some of it was not done. */
  cancel(transaction: Transaction, task: string): Promise<boolean>;
  /** Returns the time until which the work needs its task, in Unix milliseconds. */
  readNeeds(transaction: Transaction, task: string): Promise<number>;
  remove(transaction: Transaction, task: string): Promise<void>;
}

/** Handlers of ends, with all that runs them and stores their progress. */
export interface EndWork<Env> extends Checked<Env> {
  readonly names: readonly string[];
  readonly rows: EndRows;
  readonly storage: StoredPart;
  readonly operations: readonly AdminOperation<Env>[];
  connect(server: PluginServer<Env>): void;
  /** Deletes the dead letters of a user. */
  eraseUser(host: BoundHost, key: string): Promise<void>;
}

const offered = new WeakMap<object, EndWork<never>>();

/** Lets a plugin of this package work after each end of a watch, as the archive of files does. */
export function offerEndWork<Env>(plugin: object, work: EndWork<Env>): void {
  offered.set(plugin, work as unknown as EndWork<never>);
}

/** Returns the work that plugins of a proxy offer. */
export function findEndWork<Env>(plugins: readonly object[]): readonly EndWork<Env>[] {
  return plugins.flatMap((plugin) => (offered.get(plugin) as EndWork<Env> | undefined) ?? []);
}

const STATES: readonly EndState[] = ["succeeded", "failed", "expired", "unknown"];

/**
 * Returns the end of a task as handlers get it.
 *
 * @param hash of the user and the task. It differs for each state by its last digit
 */
export function createEndedTask(task: WatchedTask, end: TaskEnd, hash: string): EndedTask {
  const { id, userId, envelope, created, isRemoved = false } = task;
  const { sentId = id, model, requestId } = created ?? {};
  const state = getEndState(task, end);
  return {
    id: `${hash.slice(0, 31)}${STATES.indexOf(state)}`,
    taskId: sentId,
    gatewayId: id,
    userId,
    model,
    state,
    task: envelope === undefined ? null : JSON.parse(renameTask(envelope, id, sentId)),
    endedAt: end.at,
    isRemoved,
    requestId,
  };
}

/** Returns an envelope with the task's id as the client knows it. */
export function renameTask(envelope: string, id: string, sentId: string): string {
  return JSON.stringify(JSON.parse(envelope), (_, value) => (value === id ? sentId : value));
}
