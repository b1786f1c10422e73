import type { Limits } from "../options.js";
import { Refusal } from "../refusal.js";
import { logError } from "../report.js";
import type { Settings, Setup } from "../settings.js";
import { type Call, failed, unfit } from "./call.js";
import { openKeyWatch } from "./keys.js";
import { outcomeOfThrow } from "./outcome.js";

/** An answer of the gateway under way, and the call that it belongs to. */
export interface Upstream {
  readonly response: Response;
  readonly call: Call;
  /** True if an extension answered in the gateway's stead. */
  readonly isExtensions: boolean;
}

/** What leaves for the gateway. */
export interface Outgoing {
  readonly method: string;
  /** A constant one, or one with an id that was checked. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Headers beside the proxy's own. */
  readonly headers?: Readonly<Record<string, string>>;
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
    const connected = async () => {
      try {
        return await fetch(request, env);
      } catch (error) {
        const isUnsent = outcomeOfThrow(error, Date.now() - startedAt) === "not_reached";
        throw failed(isUnsent ? "upstream_unreachable" : "upstream_cut", undefined, error);
      }
    };
    const limit = { ms: limits.headersMs, late: "upstream_timeout" } as const;
    return call.wait(connected, "upstream_unreachable", limit);
  }
}

function requestOf(
  baseURL: string,
  apiKey: string,
  { method, path, body, headers }: Outgoing,
  signal: AbortSignal,
): Request {
  return new Request(baseURL + path, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${apiKey}`,
      accept: body?.["stream"] === true ? "text/event-stream" : "application/json",
      // a compressed stream is held back until it ends by whatever decompresses it on the way
      "accept-encoding": "identity",
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
    // a redirect would take the key to another address
    redirect: "manual",
    signal,
  });
}

/** Limits of an error's body: size in characters, time in milliseconds. */
const ERROR_CHARACTERS = 65_536;
const ERROR_MS = 10_000;

/** Status 0 is how a host that keeps to the letter of the standard shows a redirect. */
const REDIRECTS = [0, 301, 302, 303, 307, 308];

/** The account behind the key: no caller can mend it, and the gateway's words speak of keys and balances. */
const ACCOUNT = [401, 402, 403, 407];

/**
 * What a gateway's answer that is no success becomes. The caller's own mistakes are told in the gateway's words;
 * the operator's (a wrong key, a wrong address) are not the caller's to see.
 */
export async function refusalOf(
  { response, call }: Upstream,
  { guarded }: Setup,
  { stallMs = ERROR_MS }: Limits,
): Promise<Refusal> {
  const { status } = response;
  if (status < 400)
    return REDIRECTS.includes(status)
      ? new Refusal(502, "upstream_redirect", "the gateway answered with a redirect, never followed")
      : new Refusal(502, "upstream_type", `the gateway answered with ${status}, which is no answer`);
  if (ACCOUNT.includes(status)) {
    const problem = `the gateway refused the key with ${status}`;
    return new Refusal(502, "upstream_auth", "the gateway refused the proxy's key; tell its operator", {
      problem,
    });
  }
  const headers = passedHeadersOf(response, guarded);
  if (status >= 500)
    return new Refusal(502, "upstream_error", `the gateway failed with ${status}; try again`, { headers });
  const said = errorIn(await errorText(response, call, Math.min(stallMs, ERROR_MS)), guarded);
  const message = said["message"] ?? `the gateway refused with ${status}`;
  return new Refusal(status, said["code"] ?? "upstream_refused", message, {
    headers: { ...headers, "x-sluice-source": "upstream" },
    type: said["type"],
    param: said["param"],
  });
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
    if (shape.test(value) && !openKeyWatch(apiKeys)(value)) passed[name] = value;
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
      if (typeof value === "string" && value !== "" && !openKeyWatch(apiKeys)(value)) said[name] = value;
    }
  } catch {
    // no JSON, or none of the spec's: the status alone speaks
  }
  return said;
}

/** What has come of an error's body when its time is over. A refusal stays one, whatever becomes of its body. */
async function errorText({ body }: Response, call: Call, ms: number): Promise<string> {
  const until = Date.now() + ms;
  let text = "";
  const limit = () => ({ ms: until - Date.now(), late: "upstream_idle" }) as const;
  try {
    for await (const part of textOf(body, call, limit)) {
      text += part;
      if (text.length > ERROR_CHARACTERS) break;
    }
  } catch (error) {
    if (call.stopped === "client_left") throw error;
  }
  return text;
}

/**
 * The whole text of an answer.
 *
 * @throws {Refusal} 504 when the gateway sends nothing for `stallMs`, 502 for a text longer than `most` characters
 */
export async function readText(
  { response, call }: Pick<Upstream, "response" | "call">,
  stallMs: number,
  most: number,
): Promise<string> {
  let text = "";
  for await (const part of textOf(response.body, call, () => ({ ms: stallMs, late: "upstream_idle" }))) {
    text += part;
    if (text.length > most) throw unfit();
  }
  return text;
}

async function* textOf(
  body: ReadableStream<Uint8Array> | null,
  call: Call,
  limit: () => Parameters<Call["wait"]>[2],
): AsyncGenerator<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  while (reader) {
    const { done, value } = await call.wait(() => reader.read(), "upstream_cut", limit());
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}
