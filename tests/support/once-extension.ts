import type { Admitted, Extension } from "@sluice/worker-proxy";

const DAY_MS = 86_400_000;
const creates = ["images", "videos", "assets", "epsilon"] as const;

/** An answer as it is kept. */
interface Kept {
  readonly status: number;
  readonly body: string;
}

/** One request that is remembered. It is noted before it is sent; `answer` is absent while it is in flight. */
interface Entry {
  readonly body: string;
  readonly askedAt: number;
  answer?: Kept;
}

/** Storage of an object: it outlasts what its process has in memory. */
export type OnceRows = Map<string, Entry>;

interface OnceOptions<Env> {
  /**
   * Sends a create to the gateway. It rejects where nobody knows how the request ended, and gives undefined where it was
   * not sent.
   */
  readonly ask: (admitted: Admitted<Env>) => Promise<Response | undefined>;
  /** True where `ask` reserves and settles what a request costs. @default false */
  readonly isMetered?: boolean;
  /** Rows of an earlier process. @default none */
  readonly rows?: OnceRows;
  readonly now?: () => number;
}

/** The answer to a request whose end nobody knows. It fails closed. */
const lost: Kept = { status: 502, body: '{"error":{"message":"its end is unknown","code":"once_lost"}}' };
/** The answer to a request that was not sent. */
const unsent: Kept = { status: 503, body: '{"error":{"message":"it was not sent","code":"once_unsent"}}' };

/**
 * Remembers the answers to creates, as docs/spec/once.md says, over the public interface of extensions. A second call
 * with the rows of the first is the same object after a restart.
 */
export function onceExtension<Env>({
  ask,
  isMetered: isAccounted = false,
  rows = new Map(),
  now = Date.now,
}: OnceOptions<Env>): Extension<Env> {
  /** Requests that this process waits for. */
  const inFlight = new Map<string, Promise<Kept>>();
  return {
    routes: [],
    offers: Object.fromEntries([...creates, "health" as const].map((route) => [route, "once"])),
    send(admitted, isMetered) {
      const key = admitted.request.headers.get("idempotency-key");
      const isCreate = creates.some((route) => route === admitted.route) && admitted.id === undefined;
      if (key === null || !isCreate) return undefined;
      if (isMetered && !isAccounted) return Promise.resolve(refusal(500, "misconfigured"));
      if (!/^[\x21-\x7e]{1,255}$/.test(key)) return Promise.resolve(refusal(400, "idempotency_key_invalid"));
      return answer(JSON.stringify([admitted.user.id, key]), admitted);
    },
  };

  async function answer(name: string, admitted: Admitted<Env>): Promise<Response> {
    const body = JSON.stringify([admitted.path, admitted.body]);
    const known = rows.get(name);
    if (known && now() - known.askedAt < DAY_MS) {
      if (known.body !== body) return refusal(422, "idempotency_mismatch");
      return responseOf(known.answer ?? (await (inFlight.get(name) ?? lost)));
    }
    const entry: Entry = { body, askedAt: now() };
    rows.set(name, entry);
    const asking = sendOnce(name, entry, admitted).finally(() => inFlight.delete(name));
    inFlight.set(name, asking);
    return responseOf(await asking);
  }

  async function sendOnce(name: string, entry: Entry, admitted: Admitted<Env>): Promise<Kept> {
    const kept = await ask(admitted).then(
      (response) => (response ? keptOf(response) : unsent),
      () => lost,
    );
    // what costs nothing is not kept: the key is free again
    const isRefusal = kept.status >= 400 && kept.status < 500 && kept.status !== 408;
    if (isRefusal || kept === unsent) rows.delete(name);
    else entry.answer = kept;
    return kept;
  }
}

async function keptOf(response: Response): Promise<Kept> {
  return { status: response.status, body: await response.text() };
}

function responseOf({ status, body }: Kept): Response {
  return new Response(body, { status, headers: { "content-type": "application/json" } });
}

function refusal(status: number, code: string): Response {
  return Response.json({ error: { message: code, code } }, { status });
}
