import { type JSONValue, Refusal } from "@sluice/worker-proxy/plugin";

/** The action that a Worker requests from the object of a key. */
export type ObjectAction = "run" | "start" | "open";

/** The body of a request to a Durable Object. */
export interface ObjectRequest {
  readonly key: string;
  readonly name: string;
  readonly input: JSONValue;
}

/** A refusal as JSON. */
export type SentRefusal = Pick<Refusal, "reason" | "details">;

/** An error in the form that an object sends to a Worker. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly refusal?: SentRefusal;
}

/** The body of an object's response. */
interface ObjectReply {
  readonly output?: unknown;
  readonly error?: SentError;
}

/** Creates a request to an object. */
export function createObjectRequest(action: ObjectAction, body: ObjectRequest): Request {
  return new Request(`https://object.invalid/${action}`, { method: "POST", body: JSON.stringify(body) });
}

/** Creates a response with an output. */
export function createReply(output: unknown): Response {
  return Response.json({ output } satisfies ObjectReply);
}

/** Creates a response with an error. */
export function createErrorReply(error: unknown): Response {
  return Response.json({ error: describeError(error) } satisfies ObjectReply, { status: 500 });
}

/** Describes an error for another process, without its stack. A refusal's cause becomes part of its `problem`. */
export function describeError(error: unknown): SentError {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const refusal = error instanceof Refusal && readRefusal(error);
  return { name, message, ...(refusal && { refusal }) };
}

function readRefusal({ reason, details }: Refusal): SentRefusal {
  const { cause, ...sent } = details;
  const problem = cause === undefined ? details.problem : `${details.problem ?? reason}: ${String(cause)}`;
  return { reason, details: { ...sent, ...(problem && { problem }) } };
}

/**
 * Reads the response of an object.
 *
 * @throws {Error} the error that was thrown in the object
 */
export async function readReply(response: Response): Promise<unknown> {
  const { output, error } = (await response.json()) as ObjectReply;
  if (error) throw restoreError(error);
  return output;
}

/** Creates an error from its description. */
export function restoreError({ name, message, refusal }: SentError): Error {
  if (refusal) return new Refusal(refusal.reason, refusal.details);
  return name === "TypeError" ? new TypeError(message) : Object.assign(new Error(message), { name });
}
