import { isGatewayError } from "@sluice/core";
import { describeThrown } from "@sluice/core/extend";
import { NotSent } from "../base/not-sent.js";
import { isUnknownTask, NoTask } from "../base/watch.js";

/** A failed call, for the advice about it. */
interface FailedCall {
  /** Key of a paid call. Undefined for a free call. */
  readonly key: string | undefined;
  /** True if the gateway may have acted. */
  readonly mayBeBilled: boolean;
  /** True if the client sends keys: a proxy may store them. */
  readonly hasProxy: boolean;
}

/** Describes an error for a model: what happened, if it may be billed, and what to do. */
export function describeFailure(error: unknown, { key, mayBeBilled, hasProxy }: FailedCall): string {
  const message = describeThrown(error);
  if (error instanceof NotSent || error instanceof NoTask) return message;
  if (isGatewayError(error) && error.handle && isUnknownTask(error))
    return new NoTask(error.handle.id).message;
  if (key === undefined) return `${message}\n${describeNextStep(error)}`;
  if (!mayBeBilled) return `${message}\nNothing was billed. ${describeNextStep(error)}`;
  const partial = describePartial(error);
  const repeat = hasProxy
    ? `If the user agrees, call again with the same arguments and idempotency_key ${JSON.stringify(key)}: it is sent only where nothing is paid twice.`
    : "Do not call it again by yourself: each call would be paid for.";
  return `${message}\nIt may have been done, and may be billed. ${repeat} Tell the user.${partial}`;
}

function describeNextStep(error: unknown): string {
  if (!isGatewayError(error)) return "";
  if (error.name === "ValidationError" || error.name === "ConfigurationError")
    return "Nothing was sent. Correct the arguments.";
  if (error.handle)
    return `The task ${error.handle.id} is unchanged: call again with its id, and do not start another.`;
  if (error.name !== "APIError") return "You may call it again.";
  if (error.status === 429)
    return `Call it again in ${Math.ceil((error.retryAfterMs ?? 10_000) / 1000)} seconds.`;
  if (error.status === 401 || error.status === 403) return "The user has to look at the key of this server.";
  return error.status >= 500
    ? "You may call it again later."
    : "Change the arguments before you call it again.";
}

function describePartial(error: unknown): string {
  const partial = (error as { partial?: { content?: unknown } }).partial?.content;
  return typeof partial === "string" && partial !== "" ? `\nThe response so far:\n${partial}` : "";
}
