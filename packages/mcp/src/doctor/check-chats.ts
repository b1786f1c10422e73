import { describeThrown, isRecord } from "@sluice/core/extend";
import type { AssumptionName, assumptions } from "@sluice/emulator/assumptions";
import { type ChatCall, type ChatRun, readEvents, readUsages } from "./chats.js";
import { describe, readError } from "./check-connection.js";
import { type Check, type Checks, combine, differs, type Finding, holds, unclear } from "./findings.js";

type ChatName = {
  [Name in AssumptionName]: (typeof assumptions)[Name] extends { group: "Chat"; check: "chat" }
    ? Name
    : never;
}[AssumptionName];

/** Checks by small chats. */
export const chatChecks: Checks<ChatName> = {
  "client-stream": eachCall("stream", checkClient),
  "client-whole": eachCall("whole", checkClient),
  "stream-type": eachStream(({ exchange }) => {
    const type = exchange.headers.get("content-type") ?? "no type";
    return /^text\/event-stream\b/i.test(type) ? holds() : differs(type);
  }),
  "stream-chunks": eachStream((call) => {
    const events = readEvents(call.exchange).filter((event) => event !== DONE);
    const odd = events.filter((event) => !isRecord(event) || !Array.isArray(event["choices"]));
    const deltas = readDeltas(call);
    if (odd.length > 0) return differs(`an event is ${JSON.stringify(odd[0]).slice(0, 80)}`);
    return deltas.length > 0 ? holds() : differs(`${events.length} events, and none has a delta`);
  }),
  "stream-finish": eachStream((call) => {
    const reason = readChoices(call).find(({ finish_reason: given }) => typeof given === "string");
    return reason ? holds(String(reason["finish_reason"])) : differs("no `finish_reason`");
  }),
  "stream-done": eachStream(({ exchange }) =>
    readEvents(exchange).at(-1) === DONE ? holds() : differs("the last event is another one"),
  ),
  "stream-id": eachStream((call) => {
    const chunks = readEvents(call.exchange).filter(isRecord);
    const [ids, names] = ["id", "model"].map((field) => new Set(chunks.map((chunk) => chunk[field])));
    if (ids?.size === 1 && names?.size === 1) return holds();
    return differs(`${ids?.size} ids and ${names?.size} models`);
  }),
  "usage-option": eachCall("stream", checkAdditions),
  "usage-reported": eachStream(({ exchange, refused }) => {
    if (refused) return unclear("the request did not ask");
    return readUsages(exchange).length > 0 ? holds() : differs("no `usage`");
  }),
  "usage-last": eachStream(({ exchange }) => {
    const counts = readUsages(exchange).map(({ completion_tokens: count }) => Number(count) || 0);
    if (counts.length === 0) return unclear("no usage came");
    const last = counts.at(-1) ?? 0;
    return last >= Math.max(...counts) && last > 0 ? holds() : differs(`${counts.join(", ")} tokens`);
  }),
  "max-tokens": eachRun(({ stream, whole }) => {
    const findings = [stream, whole].flatMap((call) =>
      (call ? readUsages(call.exchange) : []).map(({ completion_tokens: count }) =>
        Number(count) > (call?.maxTokens ?? 0)
          ? differs(`${count} tokens, though max_tokens is ${call?.maxTokens}`)
          : holds(),
      ),
    );
    return combine(findings, "no usage came");
  }),
  thinking: eachRun((run) => {
    const calls = [run.stream, run.whole].filter((call) => call !== undefined);
    const results = calls.flatMap(({ result }) => result?.message ?? []);
    if (results.some(({ content }) => /<think/i.test(JSON.stringify(content ?? ""))))
      return differs("the text has <think>");
    if (results.some(({ reasoning_content: thinking }) => thinking)) return holds();
    const isThinker = run.model === "delta-5.3" && results.some(({ content }) => content);
    return isThinker ? differs("a text, and no thinking") : unclear("no thinking came");
  }),
  "tool-calls": eachRun(({ tool }) => {
    if (!tool) return unclear("no model was asked to call a tool");
    const fragments = readDeltas(tool).flatMap(({ tool_calls: calls }) =>
      Array.isArray(calls) ? calls.filter(isRecord) : [],
    );
    const [first] = fragments;
    if (!first) return unclear("no tool was called");
    const hasIndex = fragments.every(({ index }) => typeof index === "number");
    const named = isRecord(first["function"]) && first["function"]["name"] && first["id"];
    return hasIndex && named ? holds() : differs(`the first fragment is ${JSON.stringify(first)}`);
  }),
  "unknown-field": eachRun(({ model, whole }) => {
    if (!whole || model === "delta-5.3") return unclear("no request had an unknown field");
    return checkAdditions(whole);
  }),
  "delta-fields": eachRun(({ model, whole }) => {
    if (!whole || model !== "delta-5.3") return unclear("no chat was with delta-5.3");
    return checkAdditions(whole);
  }),
  unbuffered: eachStream(({ exchange }) => {
    const events = readEvents(exchange).length;
    if (events < MIN_EVENTS) return unclear("the stream was too short");
    // a piece of a live stream has one or a few events
    if (exchange.pieces * MAX_EVENTS_PER_PIECE >= events) return holds(`${exchange.pieces} pieces`);
    if (exchange.ms < MIN_MS) return unclear("the stream was too fast to tell");
    return differs(`${events} events in ${exchange.pieces} piece(s)`);
  }),
};

const DONE = "[DONE]";
const MIN_EVENTS = 6;
const MAX_EVENTS_PER_PIECE = 5;
const MIN_MS = 200;

/** Checks if the client read a response. A refusal, for example of a model that is not offered, says nothing. */
function checkClient({ error, exchange }: ChatCall): Finding {
  if (error === undefined) return holds();
  const { status = 0 } = exchange;
  if (status >= 400 && status < 500) return unclear(describe(exchange));
  return differs(status === 200 ? describeThrown(error) : describe(exchange));
}

/** Checks if a request with additions was accepted, or was accepted only without them. */
function checkAdditions({ refused, exchange }: ChatCall): Finding {
  if (exchange.status !== 200) return unclear(describe(exchange));
  if (refused && readError(refused)?.["code"] === "field_not_allowed")
    return unclear("the Worker passes no such field on");
  return refused ? differs(describe(refused)) : holds();
}

function eachRun(check: (run: ChatRun) => Finding): Check {
  return ({ chats }) => {
    const findings = chats.map((run) => ({ ...check(run), model: run.model }));
    // models of one gateway often differ in the same way
    const named = findings.map((finding) => {
      if (finding.verdict !== "differs") return finding;
      const same = findings.filter(({ verdict, found }) => verdict === "differs" && found === finding.found);
      return differs(`${same.map(({ model }) => model).join(", ")}: ${finding.found}`);
    });
    return combine(named, "no chat was sent");
  };
}

function eachCall(name: "stream" | "whole", check: (call: ChatCall) => Finding): Check {
  return eachRun((run) => {
    const call = run[name];
    return call ? check(call) : unclear("the tokens did not suffice");
  });
}

/** Checks streams that came. A refusal says nothing about them. */
function eachStream(check: (call: ChatCall) => Finding): Check {
  return eachCall("stream", (call) =>
    call.exchange.status === 200 ? check(call) : unclear(describe(call.exchange)),
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
