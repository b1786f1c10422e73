import { idle, within } from "../base/clock.js";
import { assertClient } from "../base/note-options.js";
import type { Client } from "../client.js";
import { isRecord, parseJSON } from "../transport/error-response.js";
import { connectionError } from "../transport/failure.js";
import { errorOf } from "../transport/refusal.js";
import { requestOnce } from "../transport/request-once.js";
import { isGatewayError, ResponseError } from "../vocabulary/errors.js";

/** Longest wait for an answer, in milliseconds. */
const LONGEST_MS = 30_000;

/**
 * Sends one request about a conversation, and reads the JSON of its answer; undefined for an answer without one.
 *
 * @throws the errors of this library
 */
export async function ask(client: Client, path: string, method: string, body?: object): Promise<unknown> {
  assertClient(client);
  const headers = { "content-type": "application/json" };
  const init = { method, ...(body && { headers, body: JSON.stringify(body) }) };
  try {
    const answer = requestOnce(client, path, init, async (response) => {
      if (!response.ok) throw await errorOf(response, client, new AbortController().signal);
      return parseJSON(client.scrub(await response.text()));
    });
    return await within(idle(client.clock), LONGEST_MS, answer, "the server");
  } catch (cause) {
    throw isGatewayError(cause) ? cause : connectionError(cause);
  }
}

/** Returns the objects of a list, and nothing of another value. */
export function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Makes the error of an answer of another shape. */
export function misfitOf(subject: string, path: string): ResponseError {
  return new ResponseError(`the answer about ${subject} does not fit at ${path}`, { path, body: "" });
}
