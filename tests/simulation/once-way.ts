import type { Admitted, Meter } from "@sluice/worker-proxy";

/** Longest time for an answer of the gateway, in milliseconds, as in the proxy. */
const ANSWER_MS = 600_000;
/** Milliseconds in which a call that fails counts as one that never reached the gateway. */
const CONNECT_MS = 5000;
/** Statuses of a wait that ended before the work did. */
const MAY_HAVE_WORKED = [408, 504, 520, 524];

interface Parts<Env> {
  readonly meter: Meter<Env>;
  readonly send: (request: Request, env: Env) => Promise<Response>;
  readonly key: string;
}

/** Creates the way to the gateway of a proxy that remembers answers: it reserves, sends and settles. */
export function createOnceWay<Env>({ meter, send, key }: Parts<Env>) {
  return async (admitted: Admitted<Env>): Promise<Response | undefined> => {
    const reserved = await meter.reserve(admitted);
    if ("retryAfterMs" in reserved) return refusal(429, "budget_exhausted");
    const close = (isFree: boolean, usage?: Readonly<Record<string, unknown>>) =>
      (isFree ? reserved.release() : reserved.settle(usage)).catch(() => {});
    const startedAt = Date.now();
    let status: number | undefined;
    try {
      const text = await within(async (signal) => {
        const response = await send(requestOf(admitted, key, signal), admitted.env);
        status = response.status;
        if (status === 200) return response.text();
        await response.body?.cancel();
        return "{}";
      });
      const { usage } = JSON.parse(text);
      void close(status !== 200 && !MAY_HAVE_WORKED.includes(status ?? 0), usage);
      return status === 200 ? new Response(text) : refusal(status ?? 502, "busy");
    } catch (error) {
      const { code } = (error as { cause?: { code?: string } }).cause ?? {};
      const isQuick = code !== undefined && Date.now() - startedAt < CONNECT_MS;
      void close(status === undefined && (code === "ECONNREFUSED" || isQuick));
      if (code === "ECONNREFUSED" && status === undefined) return undefined;
      throw error;
    }
  };
}

function requestOf(
  { path, body }: Pick<Admitted, "path" | "body">,
  key: string,
  signal: AbortSignal,
): Request {
  return new Request(`https://gateway.test${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

/** Ends work that takes too long, also where it ignores its signal. */
async function within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error("late")), ANSWER_MS);
  try {
    return await new Promise<T>((resolve, reject) => {
      limit.signal.addEventListener("abort", () => reject(limit.signal.reason));
      work(limit.signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

function refusal(status: number, code: string): Response {
  return Response.json({ error: { message: code, code } }, { status });
}
