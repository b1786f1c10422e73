import type { AdmittedRequest, BoundHost, JSONValue, PluginRoute } from "@sluice/worker-proxy/plugin";
import { ACCOUNT, checkAccount, createAccount, createKey } from "./account.js";
import { SyncFailure } from "./failure.js";

/** A request of a user, whose account was checked. */
export interface SyncRequest<Env> {
  readonly host: BoundHost;
  readonly key: string;
  readonly account: string;
  readonly admitted: AdmittedRequest<Env>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A route without its path. */
export interface RouteOptions<Env> {
  readonly method?: "GET" | "POST";
  readonly query?: readonly string[];
  /** True if the request needs the header of the account. @default true */
  readonly needsAccount?: boolean;
  /** True for a request that costs money. @default false */
  readonly isPaid?: boolean;
  readonly host: (env: Env) => BoundHost;
  /** Returns the JSON of the response, or the response. */
  serve(request: SyncRequest<Env>): Promise<JSONValue | Response>;
}

/** Maximum size of a body, in bytes. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Time limit for the arrival of a body, in milliseconds. */
const BODY_MS = 30_000;

/** Creates a route. It checks the account first, and names the account in each response. */
export function createRoute<Env>(path: string, options: RouteOptions<Env>): PluginRoute<Env> {
  const { method = "POST", query, needsAccount = true, isPaid = false, host, serve } = options;
  return {
    name: "sync",
    method,
    path: `/v1/sync/${path}`,
    id: "own",
    isRaw: true,
    isFree: !isPaid,
    ...(query && { query }),
    async serve(admitted) {
      const { request, user, env } = admitted;
      const account = await createAccount(user.id);
      const respond = (body: string, status = 200) =>
        new Response(body, { status, headers: { "content-type": "application/json", [ACCOUNT]: account } });
      try {
        checkAccount(request, account, needsAccount);
        const body = method === "POST" ? await readBody(request) : {};
        const served = await serve({
          host: host(env),
          key: await createKey(user.id),
          account,
          admitted,
          body,
        });
        if (!(served instanceof Response)) return respond(JSON.stringify(served));
        served.headers.set(ACCOUNT, account);
        return served;
      } catch (error) {
        if (!(error instanceof SyncFailure)) throw error;
        const { code, message, status } = error;
        return respond(JSON.stringify({ error: { code, message } }), status);
      }
    },
  };
}

/** Reads a JSON object of at most {@link MAX_BYTES}. @throws {SyncFailure} */
async function readBody({ body, headers }: Request): Promise<Readonly<Record<string, unknown>>> {
  // a page can send other types without a preflight
  if (!/^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? ""))
    throw new SyncFailure("invalid_request", "send the body as content-type: application/json");
  const json = parseJSON(await readText(body));
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new SyncFailure("invalid_request", "send one JSON object");
  return json as Readonly<Record<string, unknown>>;
}

async function readText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (!body) return "";
  const reader = body.getReader();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reader.cancel().catch(() => {});
  }, BODY_MS);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.byteLength;
      if (bytes > MAX_BYTES) throw new SyncFailure("body_too_large");
      text += decoder.decode(read.value, { stream: true });
    }
    if (isLate) throw new SyncFailure("invalid_request", "the body took too long to arrive");
    return text + decoder.decode();
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
