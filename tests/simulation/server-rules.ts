import type { ChatMessage } from "@sluice/stores";
import type { DeviceSimulation, DeviceTab } from "./device-simulation.js";
import { billsAnswersOnce, billsForAReason } from "./invariants.js";
import { findBrokenMoneyRuleAtRest } from "./money-rules.js";
import { listReachable } from "./simulation.js";

/* Rules of simulations whose turns run on the server. Each returns the broken rule, if it is. */

/** Returns the first rule that is broken now, whatever may still come. */
export function findBrokenServerRule(simulation: DeviceSimulation): string | undefined {
  const { gateway, keepsAnswers, reasons, asked } = simulation;
  return (
    runsToolsOnce(simulation) ??
    sendsNothingStopped(simulation) ??
    callsNothingUnsent(simulation) ??
    billsForAReason(gateway, reasons) ??
    (keepsAnswers ? billsAnswersOnce(gateway, asked) : undefined)
  );
}

/** Returns the first rule that is broken when nothing is in flight any more. */
export function findBrokenServerRuleAtRest(simulation: DeviceSimulation): string | undefined {
  const [tab] = simulation.tabs;
  return (
    leavesNoTurn(simulation) ??
    (tab && endsHonestly(simulation, tab)) ??
    findBrokenMoneyRuleAtRest(simulation)
  );
}

/** A call is run once, by the server or by one page, whatever is lost. A tool of the server never runs in a page. */
function runsToolsOnce({ runs }: DeviceSimulation): string | undefined {
  const keys = runs.map(({ messageId, callId }) => `${callId} of ${messageId}`);
  const twice = keys.find((key, index) => keys.indexOf(key) < index);
  if (twice) return `the tool call ${twice} was run twice`;
  const stray = runs.find(({ name, page }) => (name === "paged") !== page.name.startsWith("tab"));
  return stray && `${stray.page.name} ran ${stray.name}`;
}

/** A message that was stopped before its page handed it over is never sent to the model. */
function sendsNothingStopped({ gateway, withdrawn }: DeviceSimulation): string | undefined {
  const sent = gateway.calls.map(({ body }) => readPrompt(body)).find((text) => withdrawn.has(text));
  return sent === undefined ? undefined : `"${sent}" was sent after it was stopped`;
}

/** A message is shown as unsent only if the server refused it or never got it. */
function callsNothingUnsent({ turns, network }: DeviceSimulation): string | undefined {
  for (const { page, question, outcome, at } of turns) {
    if (outcome !== "not-sent" || !question.startsWith("question")) continue;
    const sent = network.exchanges.filter(
      (each) =>
        each.page === page &&
        each.method === "POST" &&
        each.path.endsWith("/turns") &&
        each.at <= at &&
        each.body?.includes(`"${question}"`),
    );
    // it is sent again with its id: the last response is valid for all earlier attempts
    const arrived = sent.findLast(({ hasArrived }) => hasArrived);
    if (arrived && (arrived.status ?? 200) < 400)
      return `"${question}" has arrived, and its outcome is not-sent`;
  }
  return undefined;
}

/** At rest, only turns that wait for the user are open, and nothing remains of finished turns. */
function leavesNoTurn({ proxy, kept }: DeviceSimulation): string | undefined {
  const { records } = kept;
  for (const { storage } of proxy?.objects.storagesOf("CONVERSATIONS") ?? []) {
    if (!storage.hasTable("turns")) continue;
    const [open] = storage.rowsOf("SELECT id, run FROM turns WHERE run IS NOT NULL");
    const { tip } = JSON.parse(String(open?.["run"] ?? "{}"));
    const { toolCalls = [] } = JSON.parse(records.get(tip)?.text ?? "{}").message ?? {};
    // another branch may be shown
    if (toolCalls.some(({ state }: { state: string }) => state.startsWith("needs-"))) continue;
    if (open) return `the turn ${open["id"]} is open for ever`;
    const left = [...records].find(([key, { text }]) => /^.(claim|reaction)/.test(key) && text !== undefined);
    if (left) return `${left[0]} is left of a turn that is over`;
  }
  return undefined;
}

/** A billed request has a reply that was not refused, and a lost reply says so. */
function endsHonestly({ gateway, cleared }: DeviceSimulation, tab: DeviceTab): string | undefined {
  const thread = tab.chat.getThread();
  const messages = listReachable(tab);
  const parents = new Map(thread.map(({ id, parentId }) => [id, parentId]));
  for (const { id, role, outcome, error, branches = [id] } of messages.values()) {
    // a message that was left in flight is resumed in another version
    const { reason, code } = Object(error) as { reason?: unknown; code?: unknown };
    const isLeft = reason === "interrupted" && code === undefined;
    const isReadOn = isLeft && branches.at(-1) !== id;
    if (role !== "assistant" || (error && !isLeft) || isReadOn) continue;
    if (["truncated", "error"].includes(outcome ?? ""))
      return `the answer ${id} is ${outcome}, and has no error`;
  }
  const billed = new Set(
    gateway.calls.flatMap(({ isBilled, path, body }) =>
      isBilled && path.startsWith("/v1/chat") ? readPrompt(body) : [],
    ),
  );
  for (const question of messages.values()) {
    if (question.role !== "user" || !billed.has(question.content) || cleared.has(question.id)) continue;
    const answers = [...messages.values()].filter(
      ({ id, role }) => role === "assistant" && findPrompt(id, messages, parents) === question.id,
    );
    // the user continued from here, and a reply that never began is no version
    const isPassed = thread.some(
      ({ parentId, message }) => parentId === question.id && message.role === "user",
    );
    if (answers.length === 0 && isPassed) continue;
    const said = answers.length > 0 ? answers : [question];
    if (said.every(isSafe)) return `"${question.content}" was billed, and nothing says so`;
  }
  return undefined;
}

/** True for an answer, or for a question without one, that shows nothing and does not say that it may be billed. */
function isSafe({ role, content, toolCalls, error }: ChatMessage): boolean {
  if (role === "assistant" && (content || toolCalls)) return false;
  return error ? Object(error).billing === "none" : role === "user";
}

function findPrompt(
  id: string,
  messages: ReadonlyMap<string, ChatMessage>,
  parents: ReadonlyMap<string, string | undefined>,
): string | undefined {
  let at: string | undefined = id;
  while (at !== undefined && messages.get(at)?.role !== "user") at = parents.get(at);
  return at;
}

/** Text of the last question of a request. */
function readPrompt(body: Readonly<Record<string, unknown>>): string {
  const messages = (body["messages"] ?? []) as readonly { role: string; content?: string }[];
  return messages.findLast(({ role }) => role === "user")?.content ?? "";
}
