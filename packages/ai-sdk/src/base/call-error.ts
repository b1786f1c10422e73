import { APICallError } from "@ai-sdk/provider";
import { type AnyGatewayError, type Billing, type Client, isGatewayError } from "@sluice/core";
import { readDelivery } from "@sluice/core/internal";

/** A call of the provider, as its error describes it. */
export interface Call {
  readonly client: Client;
  /** Path of the gateway, `/v1/…`. */
  readonly path: string;
  /** Body of the request; undefined for a query. */
  readonly body: unknown;
  /** True for a query, which is never billed. */
  readonly isQuery?: boolean;
  /** True once the gateway has made something: another call would be billed again. @default false */
  readonly isMade?: boolean;
}

/** Facts of an `APICallError` that a caller may act on: its `data`. */
interface CallErrorData {
  /** Name of the client's error: `APIError`, `ValidationError`, `TimeoutError`, … */
  readonly name: string;
  readonly billing: Billing;
  readonly requestId?: string | undefined;
  /** `error.code` of the answer's body. */
  readonly code?: string | undefined;
  /** The broken rules of a request that was not sent. */
  readonly issues?: unknown;
}

/**
 * Makes an `APICallError` of an error of the client. Aborts and other errors stay as they are.
 *
 * @param more further facts for its `data`
 */
export function callErrorOf(call: Call, error: unknown, more: object = {}): unknown {
  if (!isGatewayError(error)) return error;
  const { client, path, body } = call;
  const refusal = error.name === "APIError" ? error : undefined;
  return new APICallError({
    message: error.message,
    url: client.baseURL + path,
    requestBodyValues: body,
    cause: error,
    ...(refusal && { statusCode: refusal.status, responseBody: refusal.body }),
    responseHeaders: headersIn(error),
    isRetryable: isRetryable(call, error),
    data: { ...dataOf(error), ...more },
  });
}

function dataOf(error: AnyGatewayError): CallErrorData {
  const { name, billing = "maybe", requestId } = error;
  return {
    name,
    billing,
    requestId,
    ...(error.name === "APIError" && { code: error.code }),
    ...(error.name === "ValidationError" && { issues: error.issues }),
  };
}

function headersIn(error: AnyGatewayError): Record<string, string> {
  const { requestId } = error;
  const retryAfterMs = error.name === "APIError" ? error.retryAfterMs : undefined;
  return {
    ...(requestId !== undefined && { "x-request-id": requestId }),
    ...(retryAfterMs !== undefined && { "retry-after-ms": `${retryAfterMs}` }),
  };
}

/**
 * Returns true if the SDK may send a call again: it can't be billed twice, and the client has not retried it. The client
 * itself retries a refusal, and not a request that was never sent.
 */
function isRetryable({ client, isQuery, isMade }: Call, error: AnyGatewayError): boolean {
  if (isMade || !mayPass(error)) return false;
  const delivery = readDelivery(error);
  return isQuery || delivery === "not-sent" || (delivery === "refused" && client.retry.limit === 0);
}

/** Returns true for a failure that may pass by itself. */
function mayPass(error: AnyGatewayError): boolean {
  if (error.name === "ConnectionError" || error.name === "TimeoutError") return true;
  return error.name === "APIError" && (error.status === 408 || error.status === 429 || error.status >= 500);
}
