import { LEFT_ANSWER, LOST_ANSWER } from "./end.js";
import {
  changedRecord,
  isInFlight,
  isInterrupted,
  isPendingCall,
  isReadOn,
  type KeptCall,
  type KeptMessage,
  type MessageRecord,
  stepsIn,
} from "./records.js";

/** The next thing to do for a turn, by the newest message of its thread. */
export type NextStep =
  /** The chat asks for the next answer, or reads the kept one. */
  | { readonly do: "ask" }
  /** The chat runs calls again that have kept how to go on. */
  | { readonly do: "rerun"; readonly calls: readonly string[] }
  /** A call waits for a device. */
  | { readonly do: "wait" }
  /** The turn is over. */
  | { readonly do: "end"; readonly outcome: string };

/**
 * Age of an answer up to which the proxy surely knows its key, in milliseconds: half of the usual `keepMs` of kept answers,
 * which begins at their end. A key that is forgotten would be billed again. The id of a kept answer is read at any age:
 * nothing is bought by that.
 */
const REMEMBERED_MS = 300_000;
const LOST_CALL = "the server was restarted before the call had a result; it may have had its effect";

/**
 * Ends what a process that is gone has left in flight.
 *
 * @param keepsChats true where the proxy gives the rest of an answer, and bills no request twice that has the same key
 * @returns the message as it is now; the same object where nothing was left
 */
export function settledRecord(record: MessageRecord, keepsChats: boolean): MessageRecord {
  const { message } = record;
  if (isInFlight(message)) {
    const { streamId, idempotencyKey: key, ...rest } = message;
    const { createdAt = 0 } = message;
    const isRecent = Date.now() - createdAt < REMEMBERED_MS;
    const known = { ...(streamId && { streamId }), ...(key && isRecent && { idempotencyKey: key }) };
    const isThere = keepsChats && Object.keys(known).length > 0;
    const left = { ...record, message: { ...rest, ...(isThere && known) } };
    return changedRecord(left, { outcome: "truncated", error: isThere ? LEFT_ANSWER : LOST_ANSWER });
  }
  const isLost = ({ state, savedState }: KeptCall) => state === "running" && savedState === undefined;
  if (!message.toolCalls?.some(isLost)) return record;
  const toolCalls: readonly KeptCall[] = message.toolCalls.map((call) =>
    isLost(call) ? { ...call, state: "cancelled", error: LOST_CALL } : call,
  );
  return changedRecord(record, { toolCalls });
}

/**
 * True for an answer that was left in flight, and that can be read on by its id but not be asked for again: the proxy may
 * have forgotten its key.
 */
export function isReadOnly({ message }: MessageRecord): boolean {
  const { role, outcome, streamId, idempotencyKey } = message;
  return role === "assistant" && outcome === "truncated" && !!streamId && !idempotencyKey;
}

/** True for an answer that came to its end. */
export function isRead({ outcome }: Partial<KeptMessage>): boolean {
  return !!outcome && ["complete", "tool-calls", "length", "content-filter"].includes(outcome);
}

/** Decides how a turn goes on. `below` is the message that it began below. */
export function nextStep(path: readonly MessageRecord[], below: string, maxSteps: number): NextStep {
  const message = path.at(-1)?.message;
  if (!message) return { do: "end", outcome: "stopped" };
  const { id, role, outcome = "", toolCalls = [], error } = message;
  if (role !== "assistant") return { do: "ask" };
  if (["complete", "length", "content-filter"].includes(outcome)) return { do: "end", outcome };
  if (id === below) return { do: "ask" };
  const running = toolCalls.filter(({ state }) => state === "running");
  if (running.length > 0) return { do: "rerun", calls: running.map((call) => call.id) };
  if (toolCalls.some(isPendingCall)) return { do: "wait" };
  if (outcome === "tool-calls" && !error)
    return stepsIn(path) < maxSteps ? { do: "ask" } : { do: "end", outcome: "step-limit" };
  if (isReadOn(message)) return { do: "ask" };
  return { do: "end", outcome: isInterrupted(message) ? "interrupted" : outcome };
}

/** Lets the chat run calls again: as calls that the user approves once more, which no device gets to see. */
export function withRerun(path: readonly MessageRecord[], calls: readonly string[]): MessageRecord[] {
  return path.map((record, at) => {
    const { toolCalls } = record.message;
    if (at < path.length - 1 || !toolCalls) return record;
    const again: readonly KeptCall[] = toolCalls.map((call) =>
      calls.includes(call.id) && call.state === "running" ? { ...call, state: "needs-approval" } : call,
    );
    return { ...record, message: { ...record.message, toolCalls: again } };
  });
}
