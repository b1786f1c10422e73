import type { CallOutcome, ProxyPlugin, Usage } from "../api/plugin.js";
import type { RouteName } from "../api/routes.js";
import { type OwnBytes, openPieces } from "../base/bytes.js";
import { tooMuchIn } from "../base/json-size.js";
import { Refusal } from "../refusals/refusal.js";
import type { Reason } from "../refusals/texts.js";
import { failed } from "./call.js";
import type { AnswerRules, Exchange, Upstream } from "./exchange.js";
import { holdsKey, passedHeadersOf } from "./key.js";

/** Time for which the gateway may send nothing, in milliseconds, where `timeout.chunkMs` is not set. */
export const CHUNK_MS = 60_000;

/** Larger than any JSON of the spec's. */
export const JSON_CHARACTERS = 32 * 1024 * 1024;

/** The bytes of a JSON answer, checked and written anew. @throws {Refusal} 502 for what is no JSON, or breaks off */
export async function jsonOf<Env>(
  exchange: Exchange<Env>,
  response: Response,
  rules: AnswerRules<Env>,
): Promise<OwnBytes> {
  const { route, report, account, call } = exchange;
  const text = await readText({ response, call }, JSON_CHARACTERS, rules.chunkMs);
  const json = parsed(text);
  const usage = usageOf(json);
  account?.close(outcomeOf(json), usage);
  if (holdsKey(text, rules.keys)) throw new Refusal("upstream_type");
  if (usage) report.known.usage = usage;
  if (isFailure(json, route.name)) Object.assign(report.known, { outcome: "failed", code: "upstream_error" });
  else if (!isConfirmed(json)) report.known.outcome = "unconfirmed";
  return new TextEncoder().encode(await signed(json, exchange, rules));
}

/** @throws {Refusal} 502 for a page, a text, JSON that was cut, or more values than an answer has */
export function parsed(text: string): unknown {
  // 16 MB of small values would take the memory of all streams of an isolate
  if (tooMuchIn(text, MOST_OF_ANSWER)) throw new Refusal("upstream_too_much");
  const json = parseJSON(text);
  if (json !== undefined) return json;
  // a page is a refusal; JSON that was cut may be an answer
  const outcome = /^\s*[^\s{["]/.test(text) ? "refused" : "unknown";
  throw new Refusal("upstream_broken_json", { outcome });
}

/** More than any answer of the spec has. */
export const MOST_OF_ANSWER = { values: 1_000_000, depth: 100 };

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads the whole text of an answer.
 *
 * @param idleMs the time that each piece of it may take
 * @param endsAt the time until which all of it has to be there
 * @throws {Refusal} 504 when it takes longer, 502 for a text longer than `most` characters
 */
export async function readText(
  { response, call }: Upstream,
  most: number,
  idleMs = CHUNK_MS,
  endsAt = Infinity,
): Promise<string> {
  const pieces = response.body && openPieces(response.body);
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (pieces) {
      const ms = Math.min(idleMs, endsAt - Date.now());
      const piece = await call.wait(pieces.next, "upstream_cut", { ms, late: "upstream_idle" });
      if (!piece) break;
      text += decoder.decode(piece, { stream: true });
      if (text.length > most) throw new Refusal("upstream_type");
    }
  } finally {
    pieces?.cancel();
  }
  return text;
}

/** The outcome of a JSON answer: with an `error` and nothing else that could be one, the gateway has refused. */
export function outcomeOf(json: unknown): CallOutcome {
  const { error, choices, data, usage } = { ...(json as Record<string, unknown>) };
  return error && !choices && !data && !usage ? "refused" : "answered";
}

/** Returns true for an answer that is an error under a status of success. A chat may have the error beside its choices. */
function isFailure(json: unknown, route: RouteName): boolean {
  if (route !== "chat") return outcomeOf(json) === "refused";
  const { choices, usage, error, errors, object, message, detail } = { ...(json as Record<string, unknown>) };
  const said = Array.isArray(choices) ? choices : [];
  const inside = said.map((choice) => choice?.error ?? choice?.message?.error);
  const isInstead = said.length === 0 && !usage && (message || detail);
  return Boolean(isInstead) || object === "error" || [error, errors, ...inside].some(saysSomething);
}

/** Returns false for null, `""`, `{}` and `[]`: many services send an `error` that says nothing. */
function saysSomething(value: unknown): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some(saysSomething)
    : Boolean(value);
}

/** Returns false for the answer of a chat without a `finish_reason`. */
function isConfirmed(json: unknown): boolean {
  const { choices } = { ...(json as { choices?: unknown }) };
  return !Array.isArray(choices) || choices.every((choice) => choice?.finish_reason);
}

/** The `usage` of an answer. */
export function usageOf(json: unknown): Usage | undefined {
  const { usage } = { ...(json as { usage?: unknown }) };
  return typeof usage === "object" && usage !== null ? (usage as Usage) : undefined;
}

/** The answer, written anew, with each id marked for its user: the id of the request, or a new task's or asset's. */
async function signed<Env>(
  json: unknown,
  { route, admitted, report }: Exchange<Env>,
  { tenancy, plugins }: Pick<AnswerRules<Env>, "tenancy" | "plugins">,
): Promise<string> {
  const tell = async (seen: Parameters<NonNullable<ProxyPlugin<Env>["answered"]>>[0]) => {
    const told = plugins.map(async ({ answered }) => answered?.(seen, json));
    for (const result of await Promise.allSettled(told))
      if (result.status === "rejected") report.logFailure("plugins: answered", result.reason);
  };
  const id = admitted.id ?? givenId(json);
  if (!route.ids || id === undefined) {
    if (route.name === "images") await tell(admitted);
    return JSON.stringify(json);
  }
  const mark = admitted.sentId ?? (await tenancy?.sign(route.ids, id)) ?? id;
  // the id that the client gets: the gateway may have given one
  const headers = { ...admitted.headers, "x-request-id": report.known.requestId };
  const seen = { ...admitted, id, sentId: mark, headers };
  await tell(seen);
  return JSON.stringify(json, (_, value) => (value === id ? mark : value));
}

/** The id in a receipt (spec, Video task and Asset): some gateways wrap it in `data`. */
function givenId(json: unknown): string | undefined {
  const { id, task_id, Id, data } = { ...(json as Record<string, unknown>) };
  const given = [id, task_id, Id].find((value) => typeof value === "string" && value !== "");
  return (given as string | undefined) ?? (data === undefined ? undefined : givenId(data));
}

/** Limits of an error's body: size in characters, time in milliseconds. */
const ERROR_CHARACTERS = 65_536;
const ERROR_MS = 10_000;

/** Statuses of redirects. Some hosts show status 0 instead, as the standard says. */
const REDIRECTS = [0, 301, 302, 303, 307, 308];

/** Problems of the account behind the key. The gateway's message may name keys and balances, and is not passed on. */
const ACCOUNT = [401, 402, 403, 407];

/** Statuses of a wait or a connection that ended before the work did: it may be done all the same. */
const MAY_HAVE_WORKED = [408, 504, 520, 524];

/** Statuses of a server that does not have the path or the method: the gateway has both, and says other things in JSON. */
const NO_SUCH_PATH = [404, 405];
const OTHER_SERVER: Partial<Record<"code" | "message" | "param", string>> = {
  code: "upstream_type",
  message: "what answered is not the gateway; the proxy's operator checks `baseURL`",
};

/** Makes a refusal of an answer that is no success. Only the caller's mistakes come with the gateway's message. */
export async function refusalOf(
  upstream: Upstream,
  keys: readonly string[],
  chunkMs = ERROR_MS,
): Promise<Refusal> {
  const { response } = upstream;
  const { status } = response;
  const outcome = MAY_HAVE_WORKED.includes(status) ? "unknown" : "refused";
  const headers = passedHeadersOf(response, keys);
  const refuse = (reason: Reason, problem?: string) =>
    new Refusal(reason, { what: status, outcome, problem, ...(status >= 500 && { headers }) });
  if (REDIRECTS.includes(status)) return refuse("upstream_redirect");
  if (status < 400) return refuse("upstream_no_answer");
  if (status >= 500) return refuse("upstream_error");
  if (ACCOUNT.includes(status)) return refuse("upstream_auth", `the gateway refused the key with ${status}`);
  const known = await errorIn(upstream, keys, Math.min(chunkMs, ERROR_MS), outcome);
  // a page may be of any server on the way: only the gateway's JSON says that there is no such task (spec, Errors)
  const isForeign = known === undefined && NO_SUCH_PATH.includes(status);
  const { param, ...said } = known ?? (isForeign ? OTHER_SERVER : {});
  return new Refusal("upstream_refused", {
    what: status,
    param,
    ...(isForeign && { advice: "baseURL" }),
    headers: { ...headers, "x-sluice-source": "upstream" },
    outcome,
    said: { type: "proxy_error", ...said, status },
  });
}

/** Reads what an error says (spec, Errors), without a part that quotes a key; undefined for what is no JSON object. */
async function errorIn(
  upstream: Upstream,
  keys: readonly string[],
  idleMs: number,
  outcome: CallOutcome,
): Promise<Partial<Record<"message" | "type" | "code" | "param", string>> | undefined> {
  const isSaid = ([, value]: [string, unknown]) =>
    typeof value === "string" && value !== "" && !holdsKey(value, keys);
  try {
    const json = parseJSON(await readText(upstream, ERROR_CHARACTERS, idleMs, Date.now() + idleMs));
    if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
    const { error } = json as { readonly error?: unknown };
    return typeof error === "object" ? Object.fromEntries(Object.entries({ ...error }).filter(isSaid)) : {};
  } catch {
    if (upstream.call.stopped === "client_left") throw failed("client_left", outcome);
    return undefined;
  }
}
