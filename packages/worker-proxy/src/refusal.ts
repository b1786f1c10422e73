interface RefusalDetails {
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string | undefined;
  readonly param?: string | undefined;
}

/** An answer that is no success, in the gateway's own error shape (spec, Errors). */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  /** `error.code`: stable, to be switched on. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `error.type`. @default by status */
  readonly type: string;
  readonly param: string | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    { headers = {}, type, param }: RefusalDetails = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.type = type ?? typeOf(status);
    this.param = param;
  }
}

/** The body of a refusal, and of an error inside a stream. */
export function errorBody({ message, type, code, param }: Refusal): string {
  return JSON.stringify({ error: { message, type, code, ...(param && { param }) } });
}

/** The operator's mistake: the caller can do nothing about it, and is told nothing of it. */
export function misconfigured(problem: string): Refusal {
  // biome-ignore lint/suspicious/noConsole: a Worker's log is where its operator looks; no value is ever named
  console.error(`sluice proxy: ${problem}`);
  return new Refusal(500, "misconfigured", "the proxy is set up wrongly; its log says how");
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "proxy_error";
}
