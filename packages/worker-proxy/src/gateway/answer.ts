import type { Admitted, CallOutcome, Usage } from "../admitted.js";
import type { Account } from "../gates/limits.js";
import type { Route } from "../gates/path.js";
import type { Tenancy } from "../gates/user.js";
import { Refusal } from "../refusal.js";
import type { Report } from "../report.js";
import type { Settings, Setup } from "../settings.js";
import { openPieces } from "./bytes.js";
import type { Call } from "./call.js";
import { openKeyWatch } from "./keys.js";
import { pump } from "./pump.js";

/** An answer of the gateway under way, and the call that it belongs to. */
export interface Upstream {
  readonly response: Response;
  readonly call: Call;
  /** True if an extension answered in the gateway's stead. */
  readonly isExtensions: boolean;
}

/** Larger than any JSON of the spec's. */
export const JSON_CHARACTERS = 32 * 1024 * 1024;
/** What an answer is passed on with. */
export interface Passing<Env> {
  readonly settings: Settings<Env>;
  readonly setup: Setup;
  readonly tenancy: Tenancy | undefined;
  readonly admitted: Admitted<Env>;
  readonly route: Route;
  readonly report: Report;
  readonly account: Account;
}

/**
 * What the client gets of a success.
 *
 * @throws {Refusal} 502 for what is no JSON and no event stream, or breaks off
 */
export async function passOn<Env>(upstream: Upstream, passing: Passing<Env>): Promise<Response> {
  const { response, call } = upstream;
  const { settings, setup, route, report, account } = passing;
  const { status } = response;
  const sent = headersOf(response, passing);
  if (status === 204 && route.extension) {
    call.close();
    report.end(status);
    return new Response(null, { status, headers: sent });
  }
  const { type, body } = checkedType(response, route.name === "chat" || route.extension !== undefined);
  sent["content-type"] = type;
  if (type === "application/json") {
    const json = parsed(await readText(upstream, JSON_CHARACTERS, () => settings.limits.stallMs ?? STALL_MS));
    call.close();
    const usage = usageOf(json);
    account.close(outcomeOf(json), usage);
    if (openKeyWatch(setup.guarded)(json)) throw new Refusal("upstream_type");
    if (usage) report.known.usage = usage;
    const bytes = new TextEncoder().encode(await signed(json, passing));
    report.known.bytes = bytes.byteLength;
    report.firstByte();
    report.end(status);
    return new Response(bytes, { status, headers: sent });
  }
  return new Response(await streamOf(upstream, body, passing), { status, headers: sent });
}

/** @throws {Refusal} 502 for an answer that is no JSON, and no event stream where there can be one */
export function checkedType({ body, headers }: Response, canStream: boolean) {
  const [type] =
    /^(?:application\/json|text\/event-stream)(?=\s*(?:;|$))/i.exec(headers.get("content-type") ?? "") ?? [];
  const isFit = type && (canStream || type.toLowerCase() === "application/json");
  if (body && isFit) return { body, type: type.toLowerCase() };
  body?.cancel().catch(() => {});
  throw new Refusal("upstream_no_json", { outcome: "refused" });
}

/** How long the gateway may send nothing, where it is read and `limits.stallMs` is not set. */
export const STALL_MS = 60_000;

/** A stream is read where something needs it; elsewhere the platform passes it on. */
async function streamOf<Env>(
  { response, call, isExtensions }: Upstream,
  body: ReadableStream<Uint8Array>,
  { settings, setup, route, report, account, admitted }: Passing<Env>,
): Promise<ReadableStream<Uint8Array>> {
  const { meter, limits } = settings;
  const options = { keys: setup.guarded, onFirstByte: report.firstByte };
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : response.status, code);
  // an extension's own stream has no content to wait for: a task may stay as it is for minutes
  const isRead = !route.extension && (meter !== undefined || limits.stallMs !== undefined || isExtensions);
  if (!isRead) return pump(body, call, { ...options, isChat: !route.extension, onEnd });
  const { relay } = await call.wait(() => import("./relay.js"), "upstream_cut");
  const n = admitted.body?.["n"];
  return relay(body, call, {
    ...options,
    choices: typeof n === "number" ? n : 1,
    stallMs: limits.stallMs ?? STALL_MS,
    onEnd(end) {
      if (end.usage) report.known.usage = end.usage;
      report.known.bytes = end.bytes;
      account.close(end.outcome, end.usage);
      onEnd(end.code);
    },
  });
}

function headersOf<Env>(
  response: Response,
  { settings, setup, admitted, route, report }: Passing<Env>,
): Record<string, string> {
  const passed = passedHeadersOf(response, setup.guarded);
  const stream = response.headers.get("x-stream-id") ?? "";
  // only an extension's: the gateway may mean something else by it
  const isStream =
    settings.extensions.length > 0 && admitted.route === "chat" && /^[\w-]{1,128}$/.test(stream);
  report.known.requestId = passed["x-request-id"] ?? report.known.requestId;
  const offers = settings.extensions.flatMap(({ offers }) => offers?.[route.name] ?? []);
  return {
    ...passed,
    "x-request-id": report.known.requestId,
    "x-sluice-source": "upstream",
    "server-timing": report.timing(),
    ...(isStream && !openKeyWatch(setup.guarded)(stream) && { "x-stream-id": stream }),
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
    ...(offers.length > 0 && { "x-sluice-offers": offers.join(", ") }),
  };
}

/** @throws {Refusal} 502 for a page, a text, or JSON that was cut */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // a page is a refusal; JSON that was cut may be an answer
    const outcome = /^\s*[^\s{["]/.test(text) ? "refused" : "unknown";
    throw new Refusal("upstream_broken_json", { outcome });
  }
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

/**
 * The whole text of an answer.
 *
 * @param idleMs the time that the next bytes may take
 * @throws {Refusal} 504 when they take longer, 502 for a text longer than `most` characters
 */
export async function readText(
  { response, call }: Pick<Upstream, "response" | "call">,
  most: number,
  idleMs: () => number,
): Promise<string> {
  const pieces = response.body && openPieces(response.body);
  const decoder = new TextDecoder();
  let text = "";
  while (pieces) {
    const limit = { ms: idleMs(), late: "upstream_idle" } as const;
    const piece = await call.wait(pieces.next, "upstream_cut", limit);
    if (!piece) break;
    text += decoder.decode(piece, { stream: true });
    if (text.length > most) throw new Refusal("upstream_type");
  }
  return text;
}

/** The outcome of a JSON answer: with an `error` and nothing else that could be one, the gateway has refused. */
export function outcomeOf(json: unknown): CallOutcome {
  const { error, choices, data, usage } = { ...(json as Record<string, unknown>) };
  return error && !choices && !data && !usage ? "refused" : "answered";
}

/** The `usage` of an answer. */
export function usageOf(json: unknown): Usage | undefined {
  const { usage } = { ...(json as { usage?: unknown }) };
  return typeof usage === "object" && usage !== null ? (usage as Usage) : undefined;
}

/** The answer, written anew, with each id marked for its user: the id of the request, or a new task's or asset's. */
async function signed<Env>(json: unknown, { route, tenancy, admitted }: Passing<Env>): Promise<string> {
  if (!tenancy || !route.ids) return JSON.stringify(json);
  const id = admitted.id ?? givenId(json);
  const mark = id === undefined ? undefined : (admitted.sentId ?? (await tenancy.sign(route.ids, id)));
  return JSON.stringify(json, (_, value) => (value === id && id !== undefined ? mark : value));
}

/** The id in a receipt (spec, Video task and Asset): some gateways wrap it in `data`. */
function givenId(json: unknown): string | undefined {
  const { id, task_id, Id, data } = { ...(json as Record<string, unknown>) };
  const given = [id, task_id, Id].find((value) => typeof value === "string" && value !== "");
  return (given as string | undefined) ?? (data === undefined ? undefined : givenId(data));
}
