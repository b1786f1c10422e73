/** Answer of a handler; the emulator makes a `Response` of it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Bytes | BodyWriter;
}

/** A piece of a file. The type is derived, because `Uint8Array` takes no type argument before TypeScript 5.7. */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** Makes the pieces of a body one by one. `signal` aborts when the reader has left. */
export type BodyWriter = (signal: AbortSignal) => AsyncGenerator<string | Bytes>;

/** The gateway's error body (spec, Errors), with the `param` that compatible services add. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    /** Dot path of the wrong field, `messages.0.content`; absent where no field is wrong. */
    readonly param?: string;
  };
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const STREAM_TYPE = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(value) };
}

/** Answers with a body that is labelled as JSON, whatever it is. */
export function jsonBody(body: string | BodyWriter): Answer {
  return { status: 200, headers: JSON_TYPE, body };
}

export function eventStream(body: BodyWriter): Answer {
  return { status: 200, headers: STREAM_TYPE, body };
}

export function badRequest(message: string, param?: string, code = "invalid_parameter"): Answer {
  return json(errorBody(message, "invalid_request_error", code, param), 400);
}

export function unauthorized(): Answer {
  const message = "The API key is missing or not valid. Send it as `Authorization: Bearer <API_KEY>`.";
  return json(errorBody(message, "authentication_error", "invalid_api_key"), 401);
}

export function notFound(path: string, hint: string): Answer {
  const message = `There is no endpoint at ${path}.${hint && ` ${hint}`}`;
  return json(errorBody(message, "invalid_request_error", "not_found"), 404);
}

/** Answers 404 for an id that does not exist. */
export function unknownThing(message: string, code: string): Answer {
  return json(errorBody(message, "invalid_request_error", code), 404);
}

export function forbidden(message: string, code: string): Answer {
  return json(errorBody(message, "permission_error", code), 403);
}

export function methodNotAllowed(method: string, allowed: readonly string[]): Answer {
  const message = `${method} is not accepted here; use ${allowed.join(" or ")}.`;
  const body = errorBody(message, "invalid_request_error", "method_not_allowed");
  return json(body, 405, { allow: allowed.join(", ") });
}

export function rateLimited(retryAfterSeconds: number): Answer {
  const message = `Rate limit exceeded. Try again in ${retryAfterSeconds} s.`;
  const body = errorBody(message, "rate_limit_error", "rate_limit_exceeded");
  return json(body, 429, { "retry-after": String(retryAfterSeconds) });
}

export function serverError(message = "The gateway failed while it handled the request."): Answer {
  return json(errorBody(message, "server_error", "internal_error"), 500);
}

export function errorBody(message: string, type: string, code: string, param?: string): ErrorBody {
  return { error: { message, type, code, ...(param === undefined ? {} : { param }) } };
}
