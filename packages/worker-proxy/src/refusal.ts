/** An answer that is no success, in the gateway's own error shape (spec, Errors). */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  /** `error.code`: stable, to be switched on. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly param: string | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    { headers = {}, param }: { headers?: Record<string, string>; param?: string | undefined } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.param = param;
  }
}

/** The body of a refusal, and of an error inside a stream. */
export function errorBody({ status, code, message, param }: Refusal): string {
  return JSON.stringify({ error: { message, type: typeOf(status), code, ...(param && { param }) } });
}

/** Our own mistake or the operator's: the caller can do nothing about it, and is told nothing of it. */
export function misconfigured(): Refusal {
  return new Refusal(
    500,
    "misconfigured",
    "the proxy is not set up correctly; its operator finds why in its log",
  );
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "proxy_error";
}
