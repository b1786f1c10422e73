import type { CallOutcome } from "../admitted.js";
import { formOf } from "../gates/form.js";
import { logError, Refusal } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { type Call, type Failure, failed } from "./call.js";

/** An answer of the gateway under way, and the call that it belongs to. */
export interface Upstream {
  readonly response: Response;
  readonly call: Call;
}

/** What leaves for the gateway. */
export interface Outgoing {
  readonly method: string;
  /** A constant one, or one with an id that was checked. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Asks the gateway. Of the client's request goes nothing but what `body` holds: the headers are ours, the path is
 * the table's.
 *
 * @throws {Refusal} 502 when there is no answer, 504 when it takes too long, 499 when the client has left
 */
export async function ask<Env>(
  { fetch, limits }: Settings<Env>,
  { baseURL, apiKeys }: Setup,
  outgoing: Outgoing,
  env: Env,
  call: Call,
): Promise<Response> {
  const [key = "", next] = apiKeys;
  const answer = await askWith(key);
  if (answer.status !== 401 || next === undefined) return answer;
  logError("the gateway refused the first key with 401; the second one is used");
  answer.body?.cancel().catch(() => {});
  return await askWith(next);

  function askWith(apiKey: string): Promise<Response> {
    if (call.stopped) throw failed(call.stopped, "not_reached");
    const request = requestOf(baseURL, apiKey, outgoing, call.signal);
    const startedAt = Date.now();
    return call.wait(
      async () => {
        try {
          return await fetch(request, env);
        } catch (error) {
          throw failed(connectionFailure(error, Date.now() - startedAt));
        }
      },
      limits.headersMs,
      "upstream_timeout",
      "upstream_unreachable",
    );
  }
}

/**
 * The time within which a connection fails that was never made, in milliseconds. workerd throws the same error
 * for a refused connection and for one that was cut after the request had been sent, so that only the time is left to
 * tell them apart. A model that works longer than this before a cut is paid for.
 */
const CONNECT_MS = 5000;
/** Errors of other hosts that say that there was no connection. */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** The failure of a `fetch` that threw `afterMs` milliseconds after it began. */
function connectionFailure(error: unknown, afterMs: number): Failure {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const isUnsent = afterMs < CONNECT_MS || NO_CONNECTION.test(String(cause?.code ?? code));
  return isUnsent ? "upstream_unreachable" : "upstream_cut";
}

function requestOf(
  baseURL: string,
  apiKey: string,
  { method, path, body }: Outgoing,
  signal: AbortSignal,
): Request {
  // only a form has a file in it
  const isForm = Object.values(body ?? {}).some((value) => value instanceof Blob);
  return new Request(baseURL + path, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      accept: body?.["stream"] === true ? "text/event-stream" : "application/json",
      // a compressed stream is held back until it ends by whatever decompresses it on the way
      "accept-encoding": "identity",
      ...(body && !isForm && { "content-type": "application/json" }),
    },
    ...(body && { body: isForm ? formOf(body) : JSON.stringify(body) }),
    // a redirect would take the key to another address
    redirect: "manual",
    signal,
  });
}

/** As much of an error's body as is read. */
const ERROR_BYTES = 65_536;

/** The account behind the key: no caller can mend it, and the gateway's words speak of keys and balances. */
const ACCOUNT = [401, 402, 403, 407];

/**
 * What a gateway's answer that is no success becomes. The caller's own mistakes are told in the gateway's words;
 * the operator's (a wrong key, a wrong address) are not the caller's to see.
 */
export async function refusalOf(upstream: Upstream, { apiKeys }: Setup, idleMs: number): Promise<Refusal> {
  const { response } = upstream;
  const { status } = response;
  // status 0 is how a host that keeps to the letter of the standard shows a redirect
  if (status < 400)
    return new Refusal(502, "upstream_redirect", "the gateway answered with a redirect, never followed");
  if (ACCOUNT.includes(status)) {
    logError(`the gateway refused the key with ${status}`);
    return new Refusal(502, "upstream_auth", "the gateway refused the proxy's key; tell its operator");
  }
  const headers = passedHeadersOf(response, apiKeys);
  if (status >= 500)
    return new Refusal(502, "upstream_error", `the gateway failed with ${status}; try again`, { headers });
  const said = errorIn(await readText(upstream, idleMs, ERROR_BYTES), apiKeys);
  const message = said["message"] ?? `the gateway refused with ${status}`;
  return new Refusal(status, said["code"] ?? "upstream_refused", message, {
    headers: { ...headers, "x-sluice-source": "upstream" },
    type: said["type"],
    param: said["param"],
  });
}

/**
 * Statuses of a wait that ended before the work did, and of a connection that Cloudflare lost after it had been made.
 * The work may be done, and a user could ask for answers that take that long.
 */
const MAY_HAVE_WORKED = [408, 504, 520, 524];

/** The outcome of a call whose answer has a status of no success. */
export function outcomeOf(status: number): CallOutcome {
  return MAY_HAVE_WORKED.includes(status) ? "unknown" : "refused";
}

/** Whether `text` has a piece of a key that is long enough to matter. */
export function leaks(text: string, apiKeys: readonly string[]): boolean {
  return apiKeys.some((key) => {
    // how keys of a kind begin is no secret, and a model may well write it
    const [, own = ""] = /^(?:[a-z]+[-_])*(.*)$/i.exec(key) ?? [];
    const secret = own.length < 8 ? key : own;
    const size = Math.min(8, secret.length);
    for (let at = 0; at + size <= secret.length; at += 1)
      if (text.includes(secret.slice(at, at + size))) return true;
    return false;
  });
}

/**
 * Refuses lines of a stream that quote a key. To look for each piece would take longer than passing them on: the whole
 * key is looked for, and its pieces where an error is spoken of.
 *
 * @throws {Refusal} 502
 */
export function checkLines(lines: string, apiKeys: readonly string[]): void {
  if (apiKeys.some((key) => lines.includes(key)) || (lines.includes("error") && leaks(lines, apiKeys)))
    throw unfit();
}

/** The refusal of an answer that can't be passed on. */
export function unfit(): Refusal {
  return new Refusal(502, "upstream_type", "the gateway sent what can't be passed on");
}

const PASSED = {
  "x-request-id": /^[\w.:-]{1,128}$/,
  "retry-after": /^(?:\d{1,6}|[A-Z][a-z]{2}, [\w :]{10,30})$/,
};

/** The headers of an answer that may go on to the client, where they look as they should. */
export function passedHeadersOf({ headers }: Response, apiKeys: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, shape] of Object.entries(PASSED)) {
    const value = headers.get(name) ?? "";
    if (shape.test(value) && !leaks(value, apiKeys)) passed[name] = value;
  }
  return passed;
}

/** What an error's body says (spec, Errors); a part that quotes the key is left out. */
function errorIn(text: string, apiKeys: readonly string[]): Record<string, string> {
  const said: Record<string, string> = {};
  try {
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    for (const name of ["message", "type", "code", "param"]) {
      const value = error[name];
      if (typeof value === "string" && value !== "" && !leaks(value, apiKeys)) said[name] = value;
    }
  } catch {
    // no JSON, or none of the spec's: the status alone speaks
  }
  return said;
}

/** An answer's text, or the first `most` characters of it and a little more. */
export async function readText({ response, call }: Upstream, idleMs: number, most: number): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (reader && text.length <= most) {
    const { done, value } = await call.wait(() => reader.read(), idleMs, "upstream_idle", "upstream_cut");
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
