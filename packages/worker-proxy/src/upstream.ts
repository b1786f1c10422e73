import type { Settings, Setup } from "./options.js";
import { Refusal } from "./refusal.js";
import type { Match } from "./routes.js";

/** A request to the gateway under way, and the way to end it. */
export interface Upstream {
  readonly response: Response;
  readonly abort: () => void;
}

/**
 * Asks the gateway. Of the client's request goes nothing but what `body` holds: the headers are ours, the path is
 * the table's.
 *
 * @throws {Refusal} 502 when there is no answer, 504 when it takes too long, 499 when the client has left
 */
export async function ask<Env>(
  { fetch, limits }: Settings<Env>,
  { baseURL, apiKey }: Setup,
  { route, upstreamPath }: Match,
  body: object | undefined,
  client: AbortSignal,
): Promise<Upstream> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (client.aborted) abort();
  client.addEventListener("abort", abort, { once: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abort();
  }, limits.headersMs);
  try {
    const response = await fetch(
      new Request(baseURL + upstreamPath, {
        method: route.method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          accept: "application/json, text/event-stream",
          // a compressed stream is held back until it ends by whatever decompresses it on the way
          "accept-encoding": "identity",
          ...(body && { "content-type": "application/json" }),
        },
        ...(body && { body: JSON.stringify(body) }),
        // a redirect would take the key to another address
        redirect: "manual",
        signal: controller.signal,
      }),
    );
    return { response, abort };
  } catch {
    if (client.aborted) throw new Refusal(499, "client_left", "the client has left");
    if (isLate) throw new Refusal(504, "upstream_timeout", "the gateway did not answer in time; try again");
    throw new Refusal(502, "upstream_unreachable", "the gateway could not be reached; try again");
  } finally {
    clearTimeout(timer);
  }
}

/** As much of an error's body as is read. */
const ERROR_BYTES = 65_536;

/**
 * What a gateway's answer that is no success becomes. The caller's own mistakes are told in the gateway's words;
 * the operator's (a wrong key, a wrong address) are not the caller's to see.
 */
export async function refusalOf({ response, abort }: Upstream, { apiKey }: Setup): Promise<Refusal> {
  const { status } = response;
  if (status === 401 || status === 403) {
    abort();
    // biome-ignore lint/suspicious/noConsole: the operator has to know, and the caller must not
    console.error(`sluice proxy: the gateway refused the key with ${status}`);
    return new Refusal(
      502,
      "upstream_auth",
      "the gateway refused the proxy's key; its operator has to look at it",
    );
  }
  if (status < 400 || status >= 500) {
    abort();
    const isRedirect = status < 400;
    return isRedirect
      ? new Refusal(502, "upstream_redirect", "the gateway answered with a redirect, which is not followed")
      : new Refusal(502, "upstream_error", `the gateway failed with ${status}; try again`, {
          headers: retryAfterOf(response),
        });
  }
  const said = errorIn(await readSome(response), apiKey);
  return new Refusal(
    status,
    said.code ?? "upstream_refused",
    said.message ?? `the gateway refused with ${status}`,
    {
      headers: { ...retryAfterOf(response), "x-sluice-source": "upstream" },
      param: said.param,
    },
  );
}

/** Whether `text` has a piece of the key that is long enough to matter. */
export function leaks(text: string, apiKey: string): boolean {
  const size = Math.min(8, apiKey.length);
  for (let at = 0; at + size <= apiKey.length; at += 1)
    if (text.includes(apiKey.slice(at, at + size))) return true;
  return false;
}

/** The headers of an answer that may go on to the client, as far as they are harmless. */
export function passedHeadersOf(response: Response, apiKey: string): Record<string, string> {
  const id = response.headers.get("x-request-id") ?? "";
  return /^[\w.:-]{1,128}$/.test(id) && !leaks(id, apiKey) ? { "x-request-id": id } : {};
}

function retryAfterOf({ headers }: Response): Record<string, string> {
  const value = headers.get("retry-after") ?? "";
  return /^(?:\d{1,6}|[A-Z][a-z]{2}, [\w :]{10,30})$/.test(value) ? { "retry-after": value } : {};
}

function errorIn(text: string, apiKey: string): { message?: string; code?: string; param?: string } {
  try {
    const { error } = JSON.parse(text) as { error?: Record<string, unknown> };
    const safe = (name: string) => {
      const value = error?.[name];
      return typeof value === "string" && value !== "" && !leaks(value, apiKey) ? { [name]: value } : {};
    };
    return { ...safe("message"), ...safe("code"), ...safe("param") };
  } catch {
    return {};
  }
}

async function readSome({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (
      let piece = await reader.read();
      !piece.done && text.length < ERROR_BYTES;
      piece = await reader.read()
    )
      text += decoder.decode(piece.value, { stream: true });
  } catch {
    // what came before the connection broke is what there is
  }
  reader.cancel().catch(() => {});
  return text;
}
