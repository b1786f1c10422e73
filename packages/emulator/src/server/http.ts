/** Response of a handler. The emulator converts it to a `Response`. */
export interface HandlerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Bytes | BodyWriter;
}

/** Bytes of a file. The type is derived, because `Uint8Array` takes no type argument before TypeScript 5.7. */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** Writes a body chunk by chunk. `signal` aborts when the reader disconnects. */
export type BodyWriter = (signal: AbortSignal) => AsyncGenerator<string | Bytes>;

/** The gateway's error body (spec, Errors), with the `param` that compatible services add. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    /** Dot path of the wrong field, `messages.0.content`. Absent if no field is wrong. */
    readonly param?: string;
  };
}

export const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
export const STREAM_TYPE = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
};

export function createJSON(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): HandlerResponse {
  return { status, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(value) };
}

/** Creates a response labeled as JSON, whatever its body is. */
export function createJSONBody(body: string | BodyWriter): HandlerResponse {
  return { status: 200, headers: JSON_TYPE, body };
}

export function createEventStream(body: BodyWriter): HandlerResponse {
  return { status: 200, headers: STREAM_TYPE, body };
}

export function createBadRequest(
  message: string,
  param?: string,
  code = "invalid_parameter",
): HandlerResponse {
  return createJSON(createErrorBody(message, "invalid_request_error", code, param), 400);
}

export function createUnauthorized(): HandlerResponse {
  const message = "The API key is missing or not valid. Send it as `Authorization: Bearer <API_KEY>`.";
  return createJSON(createErrorBody(message, "authentication_error", "invalid_api_key"), 401);
}

export function createNotFound(path: string, hint: string): HandlerResponse {
  const message = `There is no endpoint at ${path}.${hint && ` ${hint}`}`;
  return createJSON(createErrorBody(message, "invalid_request_error", "not_found"), 404);
}

/** Creates a 404 response for an unknown id. */
export function createUnknownId(message: string, code: string): HandlerResponse {
  return createJSON(createErrorBody(message, "invalid_request_error", code), 404);
}

export function createForbidden(message: string, code: string): HandlerResponse {
  return createJSON(createErrorBody(message, "permission_error", code), 403);
}

export function createMethodNotAllowed(method: string, allowed: readonly string[]): HandlerResponse {
  const message = `${method} is not accepted here; use ${allowed.join(" or ")}.`;
  const body = createErrorBody(message, "invalid_request_error", "method_not_allowed");
  return createJSON(body, 405, { allow: allowed.join(", ") });
}

export function createRateLimited(retryAfterSeconds: number): HandlerResponse {
  const message = `Rate limit exceeded. Try again in ${retryAfterSeconds} s.`;
  const body = createErrorBody(message, "rate_limit_error", "rate_limit_exceeded");
  return createJSON(body, 429, { "retry-after": String(retryAfterSeconds) });
}

export function createServerError(
  message = "The gateway failed while it handled the request.",
): HandlerResponse {
  return createJSON(createErrorBody(message, "server_error", "internal_error"), 500);
}

export function createErrorBody(message: string, type: string, code: string, param?: string): ErrorBody {
  return { error: { message, type, code, ...(param === undefined ? {} : { param }) } };
}
