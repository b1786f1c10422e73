import type { ObjectNamespace } from "@sluice/durable";
import type { JobEvent, OnJobEvent } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/internal";
import type { Runner } from "./runner/place.js";

/** Options of `conversations` and `conversationsObject`: give both the same. */
export interface ConversationsOptions<Env = unknown> {
  /** The binding to the class that `conversationsObject` made. */
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  /**
   * Space of all conversations of one user, in bytes. A conversation sets up to half as much again aside as it uses, and
   * at least 2,048 bytes, so that few writes have to ask. A write beyond it is refused with `space_exceeded`.
   * @default 268_435_456
   */
  readonly bytesPerUser?: number;
  /** Most records of one conversation; a further one is refused with `conversation_full`. @default 10_000 */
  readonly recordsPerConversation?: number;
  /**
   * Time for which a conversation is kept that nobody writes to, in milliseconds; at least an hour. Then it is removed for
   * good. @default conversations stay until they are removed
   */
  readonly keepMs?: number;
  /**
   * The part that does turns without a page: `runner(…)`. It opens `POST` and `DELETE` of
   * `/v1/conversations/{id}/turns`.
   * @default none
   */
  readonly runner?: Runner<Env> | undefined;
  /**
   * Receives an event of kind `sync:conversation` for each record that is refused, and for each conversation that is
   * removed because its time is over.
   * @default none
   */
  readonly onEvent?: OnJobEvent<Env> | undefined;
}

/** The options with their defaults. */
export interface ConversationsSetup<Env> {
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  readonly bytesPerUser: number;
  readonly recordsPerConversation: number;
  readonly keepMs: number | undefined;
  readonly runner: Runner<Env> | undefined;
  readonly onEvent: ((event: JobEvent, env: Env) => unknown) | undefined;
}

/** Shortest `keepMs`. */
const HOUR_MS = 3_600_000;

/** @throws {TypeError} for an option that can't work */
export function checkedConversations<Env>({
  namespace,
  bytesPerUser = 256 * 1024 * 1024,
  recordsPerConversation = 10_000,
  keepMs,
  runner,
  onEvent,
}: ConversationsOptions<Env>): ConversationsSetup<Env> {
  const isWhole = (value: number, least: number) => Number.isSafeInteger(value) && value >= least;
  const example = "give the binding to the class, (env) => env.CONVERSATIONS";
  ensure(typeof namespace === "function", `namespace: ${example}`);
  ensure(isWhole(bytesPerUser, 1), "bytesPerUser: give a whole number of bytes from 1 up");
  ensure(isWhole(recordsPerConversation, 1), "recordsPerConversation: give a whole number from 1 up");
  ensure(keepMs === undefined || isWhole(keepMs, HOUR_MS), "keepMs: give at least an hour, 3_600_000");
  return { namespace, bytesPerUser, recordsPerConversation, keepMs, runner, onEvent };
}
