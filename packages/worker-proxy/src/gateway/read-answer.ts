import type { Admitted, CallOutcome, Usage } from "../admitted.js";
import type { Account } from "../gates/account.js";
import type { Tenancy } from "../gates/ids.js";
import type { Route } from "../gates/path.js";
import { Refusal } from "../refusal.js";
import type { Report } from "../report.js";
import type { Settings, Setup } from "../settings.js";
import { openPieces } from "./bytes.js";
import { type Call, STALL_MS } from "./call.js";
import { openKeyWatch } from "./keys.js";
import { relay } from "./relay.js";

/* Loaded for an answer that the proxy reads: JSON, and a stream where something needs it. */

/** An answer of the gateway under way, and the call that it belongs to. */
export interface Upstream {
  readonly response: Response;
  readonly call: Call;
  /** True if an extension answered in the gateway's stead. */
  readonly isExtensions: boolean;
}

/** The parts of a request that its answer needs. */
export interface Passing<Env> {
  readonly settings: Settings<Env>;
  readonly setup: Setup;
  readonly tenancy: Tenancy | undefined;
  readonly admitted: Admitted<Env>;
  readonly route: Route;
  readonly report: Report;
  readonly account: Account | undefined;
}

/** Larger than any JSON of the spec's. */
export const JSON_CHARACTERS = 32 * 1024 * 1024;

/**
 * The bytes of a JSON answer, checked and written anew.
 *
 * @throws {Refusal} 502 for what is no JSON, or breaks off
 */
export async function jsonOf<Env>(
  upstream: Upstream,
  passing: Passing<Env>,
): Promise<Uint8Array<ArrayBuffer>> {
  const { settings, setup, report, account } = passing;
  const json = parsed(await readText(upstream, JSON_CHARACTERS, () => settings.limits.stallMs ?? STALL_MS));
  const usage = usageOf(json);
  account?.close(outcomeOf(json), usage);
  if (openKeyWatch(setup.guarded)(json)) throw new Refusal("upstream_type");
  if (usage) report.known.usage = usage;
  return new TextEncoder().encode(await signed(json, passing));
}

/** Passes on a stream that has to be read: for a meter, for its silences, or because an extension sent it. */
export function readStream<Env>(
  { call }: Upstream,
  body: ReadableStream<Uint8Array>,
  { settings, setup, report, account, admitted }: Passing<Env>,
  onEnd: (code?: string) => void,
): ReadableStream<Uint8Array> {
  const n = admitted.body?.["n"];
  return relay(body, call, {
    keys: setup.guarded,
    choices: typeof n === "number" ? n : 1,
    stallMs: settings.limits.stallMs ?? STALL_MS,
    onFirstByte: report.firstByte,
    onEnd({ usage, bytes, outcome, code }) {
      if (usage) report.known.usage = usage;
      report.known.bytes = bytes;
      account?.close(outcome, usage);
      onEnd(code);
    },
  });
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
