import type { Admitted } from "../admitted.js";
import type { Account } from "../gates/budget.js";
import type { Tenancy } from "../gates/ids.js";
import type { Route } from "../gates/path.js";
import { Refusal } from "../refusal.js";
import type { Report } from "../report.js";
import type { Settings, Setup } from "../settings.js";
import { relay, usageIn } from "./relay.js";
import { checkLines, leaks, passedHeadersOf, readText, type Upstream, unfit } from "./request.js";

/** Larger than any JSON of the spec's. */
const JSON_CHARACTERS = 32 * 1024 * 1024;

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
  const { body, status, headers } = response;
  const sent = headersOf(response, passing);
  if (status === 204 && route.extension) {
    call.close();
    report.end(status);
    return new Response(null, { status, headers: sent });
  }
  const [type] =
    /^(?:application\/json|text\/event-stream)(?=\s*(?:;|$))/i.exec(headers.get("content-type") ?? "") ?? [];
  if (!body || !type) throw wrongType("answered with no JSON and no event stream");
  sent["content-type"] = type.toLowerCase();
  if (sent["content-type"] === "application/json") {
    const text = await readText(upstream, settings.limits.idleMs, JSON_CHARACTERS);
    if (text.length > JSON_CHARACTERS) throw unfit();
    call.close();
    const answer = await signed(text, passing);
    // looked at as it leaves: written anew, what was escaped is not any more
    if (leaks(answer, setup.apiKeys)) throw unfit();
    const usage = usageIn(text);
    if (usage) report.known.usage = usage;
    account.close("answered", usage);
    const bytes = new TextEncoder().encode(answer);
    report.known.bytes = bytes.byteLength;
    report.firstByte();
    report.end(status);
    return new Response(bytes, { status, headers: sent });
  }
  const stream = relay(body, call, {
    idleMs: settings.limits.idleMs,
    isChat: !route.extension,
    countsUsage: settings.meter !== undefined,
    check: (lines) => checkLines(lines, setup.apiKeys),
    onFirstByte: report.firstByte,
    onEnd({ code, usage, bytes }) {
      if (usage) report.known.usage = usage;
      report.known.bytes = bytes;
      account.close(code === undefined ? "answered" : "unknown", usage);
      report.end(code === "client_left" ? 499 : status, code);
    },
  });
  return new Response(stream, { status, headers: sent });
}

function headersOf<Env>(
  response: Response,
  { settings, setup, admitted, route, report }: Passing<Env>,
): Record<string, string> {
  const passed = passedHeadersOf(response, setup.apiKeys);
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
    ...(isStream && !leaks(stream, setup.apiKeys) && { "x-stream-id": stream }),
    ...(offers.length > 0 && { "x-sluice-offers": offers.join(", ") }),
  };
}

/** The answer with each id marked for its user: the one that was asked about, or the one that was just given. */
async function signed<Env>(text: string, { route, tenancy, admitted }: Passing<Env>): Promise<string> {
  if (!tenancy || !route.ids) return text;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw wrongType("answered with broken JSON");
  }
  const id = admitted.id ?? (route.isLookup ? (admitted.body?.["Id"] as string) : givenId(json));
  const mark = id === undefined ? undefined : (admitted.sentId ?? (await tenancy.sign(route.ids, id)));
  return JSON.stringify(json, (_, value) => (value === id && id !== undefined ? mark : value));
}

/** The id in a receipt (spec, Video task and Asset): some gateways wrap it in `data`. */
function givenId(json: unknown): string | undefined {
  const { id, task_id, Id, data } = { ...(json as Record<string, unknown>) };
  const given = [id, task_id, Id].find((value) => typeof value === "string" && value !== "");
  return (given as string | undefined) ?? (data === undefined ? undefined : givenId(data));
}

function wrongType(problem: string): Refusal {
  return new Refusal(502, "upstream_type", `the gateway ${problem}`, { outcome: "refused" });
}
