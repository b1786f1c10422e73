import { APICallError } from "@ai-sdk/provider";
import { type AnyGatewayError, type Billing, type Client, isGatewayError } from "@sluice/core";
import { getDelivery } from "@sluice/core/extend";

/** A call of the provider, as described by its error. */
export interface Call {
  readonly client: Client;
  /** Path of the gateway, `/v1/…`. */
  readonly path: string;
  /** Body of the request. Undefined for a query. */
  readonly body: unknown;
  /** True for a query, which is never billed. */
  readonly isQuery?: boolean;
  /** True once the gateway has created a result: another call would be billed again. @default false */
  readonly hasResult?: boolean;
}

/** The `data` of an `APICallError`: metadata that a caller may act on. */
interface CallErrorData {
  /** Name of the client's error: `APIError`, `ValidationError`, `TimeoutError`, … */
  readonly name: string;
  readonly billing: Billing;
  readonly requestId?: string | undefined;
  /** `error.code` of the response's body. */
  readonly code?: string | undefined;
  /** The broken rules of a request that was not sent. */
  readonly issues?: unknown;
}

/**
 * Converts an error of the client to an `APICallError`. Returns aborts and other errors unchanged.
 *
 * @param moreData additional fields for its `data`
 */
export function toCallError(call: Call, error: unknown, moreData: object = {}): unknown {
  if (!isGatewayError(error)) return error;
  const { client, path, body } = call;
  const refusal = error.name === "APIError" ? error : undefined;
  return new APICallError({
    message: error.message,
    url: client.baseURL + path,
    requestBodyValues: body,
    cause: error,
    ...(refusal && { statusCode: refusal.status, responseBody: refusal.body }),
    responseHeaders: toHeaders(error),
    isRetryable: isRetryable(call, error),
    data: { ...toData(error), ...moreData },
  });
}

function toData(error: AnyGatewayError): CallErrorData {
  const { name, billing = "maybe", requestId } = error;
  return {
    name,
    billing,
    requestId,
    ...(error.name === "APIError" && { code: error.code }),
    ...(error.name === "ValidationError" && { issues: error.issues }),
  };
}

function toHeaders(error: AnyGatewayError): Record<string, string> {
  const { requestId } = error;
  const retryAfterMs = error.name === "APIError" ? error.retryAfterMs : undefined;
  return {
    ...(requestId !== undefined && { "x-request-id": requestId }),
    ...(retryAfterMs !== undefined && { "retry-after-ms": `${retryAfterMs}` }),
  };
}

/**
 * Checks if the SDK may send a call again: a second attempt can't be billed twice, and the client made none. The client
 * retries a refusal, but not a request that was never sent.
 */
function isRetryable({ client, isQuery, hasResult }: Call, error: AnyGatewayError): boolean {
  if (hasResult || !isTemporary(error)) return false;
  const delivery = getDelivery(error);
  return isQuery || delivery === "not-sent" || (delivery === "refused" && client.retry.limit === 0);
}

/** Checks for a failure that may be temporary. */
function isTemporary(error: AnyGatewayError): boolean {
  if (error.name === "ConnectionError" || error.name === "TimeoutError") return true;
  return error.name === "APIError" && (error.status === 408 || error.status === 429 || error.status >= 500);
}
