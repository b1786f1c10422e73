import { type Clock, openSpan, rejectOnAbort } from "../base/clock.js";
import { createLazyModule } from "../base/lazy-module.js";
import { APIError } from "../types/errors.js";
import type { ResponseDescription } from "./describe-response.js";
import type { ErrorFields } from "./error-response.js";
import { readRequestId } from "./failure.js";
import { createBodyReader } from "./read-body.js";

/**
 * The code that describes a refusal and repeats a request. A page loads it before the network fails, but not beside its
 * first request, which seldom needs it. Servers have it locally.
 */
const failures = createLazyModule(() => import("./failures.js"));

/** Loads the code for failed requests; undefined if loading fails. */
export function loadFailures() {
  return failures.load().catch(() => undefined);
}

/** Longest wait for the body of a rejection, in milliseconds. */
const REFUSAL_MS = 5000;

/**
 * Reads the error of a response with an error status. The status decides, so a truncated, stalled or endless body is
 * fine. Reads only the beginning of a long body.
 */
export async function readRefusal(
  response: Response,
  { clock, scrub }: { readonly clock: Clock; readonly scrub: (text: string) => string },
  signal: AbortSignal,
): Promise<APIError> {
  const loaded = await loadFailures();
  const reader = createBodyReader(response);
  const span = openSpan(clock, signal, REFUSAL_MS, () => undefined);
  const read = () => rejectOnAbort(reader.read(), span.signal);
  const description = await loaded?.describeRefusal(response, read, scrub);
  span.end();
  reader.cancel().catch(() => {});
  return createRefusal(response.status, "", readRequestId(response), description);
}

/** Describes a body with status 200 that contains no response. */
export async function describeBody(
  body: string,
  { requestId, fields }: { readonly requestId: string | undefined; readonly fields: ErrorFields | undefined },
): Promise<APIError> {
  const loaded = await loadFailures();
  const description = loaded?.describeResponse({ status: 200 }, body, { fields });
  return createRefusal(200, body, requestId, description, fields);
}

/** Creates the error of a response. Without the code that describes its body, the error has the known `fields`. */
export function createRefusal(
  status: number,
  body: string,
  requestId: string | undefined,
  description?: ResponseDescription,
  fields?: ErrorFields,
): APIError {
  const { message = `HTTP ${status}`, ...others } = description ?? { ...fields, status, body };
  return new APIError(message, others, { requestId });
}
