import type { JSONValue } from "@sluice/worker-proxy";
import { Refusal } from "@sluice/worker-proxy/plugin";

/** What a Worker asks the object of a key to do. */
export type ObjectAction = "run" | "start" | "open";

/** The body of a request to an object. */
export interface ObjectRequest {
  readonly key: string;
  readonly name: string;
  readonly input: JSONValue;
}

/** An error, as it crosses from an object to a Worker. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly refusal?: Pick<Refusal, "reason" | "details">;
}

/** The body of an object's response. */
interface ObjectReply {
  readonly output?: unknown;
  readonly error?: SentError;
}

/** Makes a request to an object. */
export function createObjectRequest(action: ObjectAction, body: ObjectRequest): Request {
  return new Request(`https://object.invalid/${action}`, { method: "POST", body: JSON.stringify(body) });
}

/** Makes the response with an output. */
export function createReply(output: unknown): Response {
  return Response.json({ output } satisfies ObjectReply);
}

/** Makes the response with an error. */
export function createErrorReply(error: unknown): Response {
  return Response.json({ error: describeError(error) } satisfies ObjectReply, { status: 500 });
}

/** Describes an error for another process. Its stack and its cause stay in the log of this one. */
export function describeError(error: unknown): SentError {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const refusal = error instanceof Refusal && readRefusal(error);
  return { name, message, ...(refusal && { refusal }) };
}

function readRefusal({ reason, details }: Refusal): Pick<Refusal, "reason" | "details"> {
  const { cause, ...sent } = details;
  const problem = cause === undefined ? details.problem : `${details.problem ?? reason}: ${String(cause)}`;
  return { reason, details: { ...sent, ...(problem && { problem }) } };
}

/**
 * Reads the output of an object.
 *
 * @throws {Error} the error that was thrown in the object
 */
export async function readReply(response: Response): Promise<unknown> {
  const { output, error } = (await response.json()) as ObjectReply;
  if (error) throw restoreError(error);
  return output;
}

/** Makes an error of its description. */
export function restoreError({ name, message, refusal }: SentError): Error {
  if (refusal) return new Refusal(refusal.reason, refusal.details);
  return name === "TypeError" ? new TypeError(message) : Object.assign(new Error(message), { name });
}
