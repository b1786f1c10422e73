import { describeThrown, isRecord } from "@sluice/core/extend";
import { type ChatCall, type ChatRun, readEvents, readUsages } from "./chats.js";
import { describe, isBetween, readError } from "./check-connection.js";
import {
  type Check,
  type Checks,
  combine,
  combineModels,
  confirm,
  type Finding,
  refute,
  skip,
} from "./findings.js";
import type { Exchange } from "./send.js";

/** Checks by small chats. */
export const chatChecks = {
  "client-stream": checkCalls("stream", checkClient),
  "client-whole": checkCalls("whole", checkClient),
  "stream-type": checkStreams(({ exchange }) => {
    const type = exchange.headers.get("content-type") ?? "no type";
    return /^text\/event-stream\b/i.test(type) ? confirm() : refute(type);
  }),
  "stream-chunks": checkStreams((call) => {
    const events = readEvents(call.exchange).filter((event) => event !== DONE);
    const withoutChoices = events.filter((event) => !isRecord(event) || !Array.isArray(event["choices"]));
    const deltas = readDeltas(call);
    if (withoutChoices.length > 0)
      return refute(`an event is ${JSON.stringify(withoutChoices[0]).slice(0, 80)}`);
    return deltas.length > 0 ? confirm() : refute(`${events.length} events, and none has a delta`);
  }),
  "stream-finish": checkStreams((call) => {
    const last = readChoices(call).find(({ finish_reason: reason }) => typeof reason === "string");
    return last ? confirm(String(last["finish_reason"])) : refute("no `finish_reason`");
  }),
  "stream-done": checkStreams(({ exchange }) =>
    readEvents(exchange).at(-1) === DONE ? confirm() : refute("the last event is another one"),
  ),
  "stream-id": checkStreams((call) => {
    const chunks = readEvents(call.exchange).filter(isRecord);
    const countValues = (field: string) => new Set(chunks.map((chunk) => chunk[field])).size;
    const [ids, names] = [countValues("id"), countValues("model")];
    return ids === 1 && names === 1 ? confirm() : refute(`${ids} ids and ${names} models`);
  }),
  "usage-option": checkCalls("stream", checkAdditions),
  "usage-reported": checkStreams(({ exchange, refused }) => {
    if (refused) return skip("the request did not ask");
    return readUsages(exchange).length > 0 ? confirm() : refute("no `usage`");
  }),
  "usage-last": checkStreams(({ exchange }) => {
    const counts = readUsages(exchange).map(({ completion_tokens: count }) => Number(count) || 0);
    if (counts.length === 0) return skip("no usage came");
    const last = counts.at(-1) ?? 0;
    return last >= Math.max(...counts) && last > 0 ? confirm() : refute(`${counts.join(", ")} tokens`);
  }),
  "max-tokens": checkRuns(({ stream, whole }) => {
    const findings = [stream, whole].flatMap((call) =>
      (call ? readUsages(call.exchange) : []).map(({ completion_tokens: count }) =>
        Number(count) > (call?.maxTokens ?? 0)
          ? refute(`${count} tokens, though max_tokens is ${call?.maxTokens}`)
          : confirm(),
      ),
    );
    return combine(findings, "no usage came");
  }),
  thinking: checkRuns((run) => {
    const calls = [run.stream, run.whole].filter((call) => call !== undefined);
    const results = calls.flatMap(({ result }) => result?.message ?? []);
    if (results.some(({ content }) => /<think/i.test(JSON.stringify(content ?? ""))))
      return refute("the text has <think>");
    if (results.some(({ reasoning_content: thinking }) => thinking)) return confirm();
    const shouldThink = run.model === "delta-5.3" && results.some(({ content }) => content);
    return shouldThink ? refute("a text, and no thinking") : skip("no thinking came");
  }),
  "tool-calls": checkRuns(({ tool }) => {
    if (!tool) return skip("no model was asked to call a tool");
    const fragments = readDeltas(tool).flatMap(({ tool_calls: calls }) =>
      Array.isArray(calls) ? calls.filter(isRecord) : [],
    );
    const [first] = fragments;
    if (!first) return skip("no tool was called");
    const hasIndex = fragments.every(({ index }) => typeof index === "number");
    const hasName = isRecord(first["function"]) && first["function"]["name"] && first["id"];
    return hasIndex && hasName ? confirm() : refute(`the first fragment is ${JSON.stringify(first)}`);
  }),
  "unknown-field": checkRuns(({ model, whole }) => {
    if (!whole || model === "delta-5.3") return skip("no request had an unknown field");
    return checkAdditions(whole);
  }),
  "delta-fields": checkDelta(({ whole }) => whole && checkAdditions(whole)),
  "delta-tools": checkDelta(({ tool }) => {
    if (!tool) return undefined;
    const isRefused = isBetween(tool.exchange.status, 400, 499);
    return isRefused ? refute(describe(tool.exchange)) : checkAdditions(tool);
  }),
  unbuffered: checkStreams(({ exchange }) => {
    const events = readEvents(exchange).length;
    if (events < MIN_EVENTS) return skip("the stream was too short");
    // a piece of a live stream has one or a few events
    if (exchange.pieces * MAX_EVENTS_PER_PIECE >= events) return confirm(`${exchange.pieces} pieces`);
    if (exchange.ms < MIN_MS) return skip("the stream was too fast to tell");
    return refute(`${events} events in ${exchange.pieces} piece(s)`);
  }),
} satisfies Checks;

const DONE = "[DONE]";
/** Bounds of a stream that shows if it is buffered: its events, its events in one piece, and its duration. */
const MIN_EVENTS = 6;
const MAX_EVENTS_PER_PIECE = 5;
const MIN_MS = 200;

/** Checks if the client read a response. */
function checkClient({ error, exchange }: ChatCall): Finding {
  if (error === undefined) return confirm();
  return refute(exchange.status === 200 ? describeThrown(error) : describe(exchange));
}

/** Checks if a request with additions was accepted, or was accepted only without them. */
function checkAdditions({ refused, exchange }: ChatCall): Finding {
  const refusal = findRefusal(exchange);
  if (exchange.status !== 200 || refusal) return skip(refusal ?? describe(exchange));
  if (refused && readError(refused)?.["code"] === "field_not_allowed")
    return skip("the Worker passes no such field on");
  return refused ? refute(describe(refused)) : confirm();
}

function checkRuns(check: (run: ChatRun) => Finding): Check {
  return ({ chats }) => combineModels(chats, check, "no chat was sent");
}

/** Checks the chats with `delta-5.3`. */
function checkDelta(check: (run: ChatRun) => Finding | undefined): Check {
  return checkRuns(
    (run) => (run.model === "delta-5.3" ? check(run) : undefined) ?? skip("no chat was with delta-5.3"),
  );
}

function checkCalls(name: "stream" | "whole", check: (call: ChatCall) => Finding): Check {
  return checkRuns((run) => {
    const call = run[name];
    if (!call) return skip("the tokens did not suffice");
    const refusal = findRefusal(call.exchange);
    return refusal === undefined ? check(call) : skip(refusal);
  });
}

/**
 * Describes a refusal, for example of a model that is not offered. Undefined for any other response. Some servers refuse
 * with the status 200, and with an error in place of the first event.
 */
function findRefusal(exchange: Exchange): string | undefined {
  const { status = 0, json } = exchange;
  if (status >= 400 && status < 500) return describe(exchange);
  const [first = json] = readEvents(exchange);
  const error = isRecord(first) && first["choices"] === undefined ? first["error"] : undefined;
  return status === 200 && isRecord(error) ? `200: ${error["message"] ?? JSON.stringify(error)}` : undefined;
}

/** Checks the streams of all models. A refusal says nothing about streams. */
function checkStreams(check: (call: ChatCall) => Finding): Check {
  return checkCalls("stream", (call) =>
    call.exchange.status === 200 ? check(call) : skip(describe(call.exchange)),
  );
}

function readChoices({ exchange }: ChatCall): Readonly<Record<string, unknown>>[] {
  return readEvents(exchange).flatMap((event) =>
    isRecord(event) && Array.isArray(event["choices"]) ? event["choices"].filter(isRecord) : [],
  );
}

function readDeltas(call: ChatCall): Readonly<Record<string, unknown>>[] {
  return readChoices(call).flatMap(({ delta }) => (isRecord(delta) ? [delta] : []));
}
