import type { Job, Transaction } from "@sluice/worker-proxy";
import { operation } from "../host/define.js";
import { readWatch, storeWatch } from "./rows.js";
import type { Delivery, WatchedTask } from "./task.js";

/** Delivery of the end of a task to one handler. The watch of the task stores its attempts. */
export type DeliveryId = {
  /** The gateway's id of the task. */
  readonly id: string;
  readonly handler: string;
};

/** Runs a handler once. */
export const DELIVER: Job<DeliveryId> = {
  name: "videos.deliver",
  // the watch counts the attempts of the handler
  attempts: 100_000,
  run: () => Promise.reject(new Error("videos.deliver: belongs to no plugin")),
};

/** The result of one attempt. */
export type Attempted = {
  /** Why the attempt failed. Absent if the handler succeeded. */
  readonly failure?: string;
  /** HTTP status of the receiver. */
  readonly upstreamStatus?: number | undefined;
};

/** A delivery after an attempt: the time of the next attempt, or the last failure. Null if the delivery was deleted. */
export type DeliveryEnd = (Delivery & { readonly nextAt?: number | undefined }) | null;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Pauses between two attempts, in milliseconds. */
const PAUSES_MS = [5_000, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR];
/** Maximum number of attempts. */
export const MAX_ATTEMPTS = PAUSES_MS.length + 1;
/** Time for which a dead letter is stored, in milliseconds. */
export const DEAD_LETTER_MS = 7 * 24 * HOUR;
const MAX_CAUSE_CHARACTERS = 500;
/** HTTP status of a receiver that wants no more attempts. */
const GONE = 410;

/** Identifies the end of a delivery, because a resumed watch may end again. */
type DeliveryInput = DeliveryId & { readonly endedAt: number };

/**
 * Stores the result of an attempt: removes the delivery after a success, or schedules the next attempt.
 *
 * @param attempts number of earlier attempts
 */
export const endDelivery = operation(
  "videos.endDelivery",
  async (
    transaction,
    input: DeliveryInput & { readonly attempts: number; readonly attempted: Attempted },
  ): Promise<DeliveryEnd> => {
    const { now } = transaction;
    const { attempts, attempted } = input;
    const { failure: cause, upstreamStatus } = attempted;
    const task = await readWatch(transaction, input.id);
    const isReplaced = task?.end?.at !== input.endedAt;
    const delivery = task?.deliveries?.[input.handler];
    if (cause === undefined) {
      if (task && !isReplaced) await storeDelivery(transaction, task, input.handler, undefined);
      return { attempts: attempts + 1 };
    }
    // the next end of the watch schedules its own deliveries
    if (task && isReplaced) return { attempts: attempts + 1, nextAt: now };
    if (!task || !delivery) return null;
    const pause = upstreamStatus === GONE ? undefined : PAUSES_MS[attempts];
    const nextAt = pause === undefined ? undefined : now + pause;
    // the attempt is already counted: by the same input before, or by another process while this process was paused
    if (delivery.attempts !== attempts) return { ...delivery, nextAt };
    const text = cause.replaceAll("\0", " ").slice(0, MAX_CAUSE_CHARACTERS);
    const failure = nextAt === undefined ? { cause: text, upstreamStatus, at: now } : undefined;
    const next = { attempts: attempts + 1, ...(failure && { failure }) };
    await storeDelivery(transaction, task, input.handler, next);
    if (nextAt !== undefined) await schedule(transaction, input, nextAt);
    return { ...next, nextAt };
  },
);

/** Schedules a dead letter again. Returns false if the delivery was deleted, or a later end has replaced it. */
export const resendDelivery = operation("videos.resend", async (transaction, input: DeliveryInput) => {
  const task = await readWatch(transaction, input.id);
  const delivery = task?.deliveries?.[input.handler];
  if (!task || !delivery || task.end?.at !== input.endedAt) return false;
  if (!delivery.failure) return true;
  await storeDelivery(transaction, task, input.handler, { attempts: 0 });
  await schedule(transaction, input, transaction.now);
  return true;
});

async function storeDelivery(
  transaction: Transaction,
  task: WatchedTask,
  handler: string,
  delivery: Delivery | undefined,
): Promise<void> {
  const { [handler]: _, ...others } = task.deliveries ?? {};
  const deliveries = { ...others, ...(delivery && { [handler]: delivery }) };
  await storeWatch(transaction, { ...task, deliveries });
}

/** Schedules all pending deliveries of a task, in place of those of an earlier end. */
export async function scheduleDeliveries(transaction: Transaction, { id, deliveries = {} }: WatchedTask) {
  for (const [handler, { failure }] of Object.entries(deliveries))
    if (!failure) await schedule(transaction, { id, handler }, transaction.now);
}

async function schedule(transaction: Transaction, { id, handler }: DeliveryId, at: number): Promise<void> {
  await transaction.schedule(DELIVER, { id: `${id}:${handler}`, at, input: { id, handler } });
}

export async function cancelDeliveries(transaction: Transaction, { id, deliveries = {} }: WatchedTask) {
  for (const handler of Object.keys(deliveries))
    await transaction.cancel(DELIVER as Job<never>, `${id}:${handler}`);
}

/** Returns true while a delivery of a task is pending. */
export function hasPending({ deliveries = {} }: WatchedTask): boolean {
  return Object.values(deliveries).some(({ failure }) => !failure);
}

/** Returns true while a delivery of a task is pending or its dead letter can be resent. */
export function hasDeliveries({ deliveries = {} }: WatchedTask, now: number): boolean {
  return Object.values(deliveries).some(({ failure }) => now < (failure?.at ?? now) + DEAD_LETTER_MS);
}

export const DELIVERY_OPERATIONS = [endDelivery, resendDelivery];
