import { getEventListeners } from "node:events";
import type { ChatMessage } from "@sluice/stores";
import { saysWhatIsBilled, takesResultsOnce } from "./claim-rules.js";
import type { GatewayCall } from "./gateway.js";
import { pollsForWhatIsShown, rendersInPeace, showsItsStores } from "./hook-rules.js";
import { findBrokenMoneyRule, findBrokenMoneyRuleAtRest } from "./money-rules.js";
import { KEY } from "./proxy.js";
import { isIll, listReachable, type Simulation } from "./simulation.js";
import { forgetsAll, keepsCleared, keepsUsersApart } from "./storage-rules.js";
import type { Tab } from "./tab.js";
import {
  keepsTasks,
  knowsItsAssets,
  knowsItsTasks,
  listsTheSame,
  pollsOnce,
  readPrompt,
} from "./task-rules.js";

/** Returns the first rule that is broken at any time. Undefined if all hold. */
export function findBrokenRule(simulation: Simulation): string | undefined {
  if (simulation.broken) return simulation.broken;
  for (const rule of [
    billsOnce,
    sendsSoundHistories,
    sendsForAReason,
    billsWhatIsSent,
    sendsNothingWithdrawn,
    saysWhatWasNotSent,
    runsToolsOnce,
    keepsUsersApart,
    findBrokenMoneyRule,
  ]) {
    const broken = rule(simulation);
    if (broken) return broken;
  }
  for (const tab of simulation.tabs) {
    const broken = keepsFinished(simulation, tab) ?? rendersInPeace(tab);
    if (broken) return `tab ${tab.page.id}: ${broken}`;
  }
  return undefined;
}

/** Returns the first rule that is broken once nothing is in flight. `fresh` is a tab that was opened after that. */
export function findBrokenRuleAtRest(simulation: Simulation, fresh: Tab): string | undefined {
  for (const tab of simulation.tabs) {
    const broken =
      showsItsStores(tab) ??
      pollsForWhatIsShown(simulation, tab) ??
      isSettled(simulation, tab) ??
      knowsItsTasks(simulation, tab) ??
      knowsItsAssets(simulation, tab);
    if (broken) return `tab ${tab.page.id}: ${broken}`;
  }
  return (
    losesNothing(simulation) ??
    keepsCleared(simulation) ??
    forgetsAll(simulation) ??
    (simulation.stranger && isSettled(simulation, simulation.stranger)) ??
    keepsTasks(simulation, fresh) ??
    storesAll(simulation, fresh) ??
    showsTheSame(simulation) ??
    listsTheSame(simulation) ??
    pollsOnce(simulation) ??
    keepsTheKey(simulation) ??
    saysWhatIsBilled(simulation) ??
    takesResultsOnce(simulation) ??
    findBrokenMoneyRuleAtRest(simulation)
  );
}

/** Finds timers, connections or listeners that a tab still has after its app was closed. */
export function findLeftBy(
  { network, locks, channels, disk }: Simulation,
  { page, pending }: Tab,
): string | undefined {
  const listeners = [
    ...["pagehide", "online", "offline"].map((type) => getEventListeners(page.window, type)),
    getEventListeners(page.document, "visibilitychange"),
  ].flat().length;
  const left = {
    timers: page.timers.size,
    connections: network.countFor(page),
    locks: locks.listNames(page).length,
    channels: channels.countFor(page),
    listeners,
    "watched chats": disk.countWatchers(page, "chat/a") + disk.countWatchers(page, "chat/b"),
    promises: pending.size,
  };
  const [name, count] = Object.entries(left).find(([, count]) => count > 0) ?? [];
  return (
    name && `tab ${page.id}: ${count} ${name} are left: ${[...pending.values()]} ${locks.listNames(page)}`
  );
}

function billsOnce({ gateway }: Simulation): string | undefined {
  const names = gateway.calls.flatMap(({ isBilled, path, body }) => (isBilled && readName(path, body)) || []);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice && `"${twice}" was billed twice`;
}

/** Returns the name of the submission that a request belongs to; undefined for other requests. */
function readName(path: string, body: Readonly<Record<string, unknown>>): string | undefined {
  if (path.startsWith("/v1/video")) return readPrompt(body);
  if (path.startsWith("/v1/images")) return body["prompt"] as string;
  return path.endsWith("/CreateAsset") ? (body["Name"] as string) : undefined;
}

/** Checks histories as a gateway does: one result directly after each call, and a question or a result at the end. */
function sendsSoundHistories({ gateway }: Pick<Simulation, "gateway">): string | undefined {
  for (const messages of listHistories(gateway.calls)) {
    let open: string[] = [];
    for (const { role, content, tool_calls, tool_call_id } of messages) {
      if (role === "tool") {
        if (open.shift() !== tool_call_id) return "a request has a result without its call";
        continue;
      }
      if (open.length > 0) return "a request has a call without its result";
      if (role !== "assistant") continue;
      open = (tool_calls ?? []).map(({ id }) => id);
      if (!content && open.length === 0) return "a request has an empty assistant message";
    }
    if (open.length > 0) return "a request has a call without its result";
    if (messages.at(-1)?.role === "assistant") return "a request ends with a message of the assistant";
  }
  return undefined;
}

interface WireMessage {
  readonly role: string;
  readonly content?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

function listHistories(calls: readonly GatewayCall[]): (readonly WireMessage[])[] {
  return calls.flatMap(({ path, body }) =>
    path.startsWith("/v1/chat") ? [body["messages"] as readonly WireMessage[]] : [],
  );
}

/** Without locks, each tab works alone and may repeat the work of another tab. */
function sendsForAReason({ gateway, locks, disk, tabs, reasons }: Simulation): string | undefined {
  if (locks.mode !== "sound") return undefined;
  // tabs without a storage do not see each other's messages
  return billsForAReason(gateway, reasons + (isIll(disk.modes) ? tabs.length : 0));
}

/** Checks that no request is billed more often than there are reasons to repeat it. */
function billsForAReason(gateway: Simulation["gateway"], reasons: number): string | undefined {
  const billed = gateway.calls.filter(({ isBilled }) => isBilled);
  const counts = new Map<string, number>();
  for (const messages of listHistories(billed)) {
    const text = JSON.stringify(messages);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    if (count > 1 + reasons)
      return `${count} equal requests were billed, with ${reasons} reasons for a repetition`;
  }
  return undefined;
}

/** Minimum time for which the proxy stores a response, in milliseconds. */
const STORED_MS = 600_000;

/** Checks that a proxy with stored responses bills each request of the user once, whatever the network does. */
function billsWhatIsSent({
  gateway,
  storesResponses,
  locks,
  disk,
  chatCount,
}: Simulation): string | undefined {
  if (!storesResponses || locks.mode !== "sound" || isIll(disk.modes)) return undefined;
  return billsResponsesOnce(gateway, chatCount);
}

/** Checks that stored replies are billed again only if the user requested it. */
function billsResponsesOnce(gateway: Simulation["gateway"], chatCount: number): string | undefined {
  const last = new Map<string, number>();
  let repeated = 0;
  for (const { at, body } of gateway.calls.filter(
    ({ isBilled, path }) => isBilled && path.startsWith("/v1/chat"),
  )) {
    const text = JSON.stringify(body["messages"]);
    if (at - (last.get(text) ?? Number.NEGATIVE_INFINITY) < STORED_MS) repeated += 1;
    last.set(text, at);
  }
  if (repeated <= chatCount) return undefined;
  return `${repeated} stored responses were billed again, and the user sent ${chatCount} of them`;
}

function sendsNothingWithdrawn({ gateway, withdrawn }: Simulation): string | undefined {
  for (const messages of listHistories(gateway.calls)) {
    const { content } = messages.findLast(({ role }) => role === "user") ?? {};
    if (content !== undefined && withdrawn.has(content)) return `"${content}" was sent after it was stopped`;
  }
  return undefined;
}

/** An unsent turn is not shown as interrupted, and a turn that arrived is not shown as unsent. */
function saysWhatWasNotSent({ turns, network }: Simulation): string | undefined {
  for (const { page, at, question, outcome } of turns) {
    if (!question.startsWith("question")) continue;
    const sent = network.exchanges.filter(
      (exchange) => exchange.page === page && exchange.at <= at && exchange.body?.includes(`"${question}"`),
    );
    if (sent.length === 0 && ["error", "truncated", "complete"].includes(outcome))
      return `"${question}" was never sent, and its outcome is ${outcome}`;
    if (outcome === "not-sent" && sent.some(({ hasArrived }) => hasArrived))
      return `"${question}" has arrived, and its outcome is ${outcome}`;
  }
  return undefined;
}

function runsToolsOnce({ toolRuns, locks, reasons }: Simulation): string | undefined {
  if (locks.mode !== "sound" || reasons > 0) return undefined;
  const twice = toolRuns.find((id, index) => toolRuns.indexOf(id) < index);
  return twice && `the tool call ${twice} was run twice`;
}

/** A complete message is complete, and never changes again. */
function keepsFinished({ finished, gateway, disk }: Simulation, { chat }: Tab): string | undefined {
  const stored = disk.readTexts("chat/a");
  for (const { id, role, outcome, content } of chat.getSnapshot().messages) {
    if (outcome === "unconfirmed")
      return `the end of a response is unconfirmed, and the gateway sent all of it`;
    if (outcome !== "complete" && role !== "user") continue;
    if (outcome === "complete" && !gateway.texts.has(content))
      return `a part of a response is complete: "${content}"`;
    const known = finished.get(id);
    if (known && known.content !== content) return `"${known.content}" became "${content}"`;
    const isStored = known?.isStored || (role === "user" || stored.get(id)?.includes('"complete"')) === true;
    finished.set(id, { content, isStored: isStored && (known?.isStored || stored.has(id)) });
  }
  return undefined;
}

/** Each call is settled, and nothing is shown as if it went on. */
function isSettled({ locks }: Simulation, tab: Tab): string | undefined {
  // a queued message waits for the user after a bad end
  const { queued } = tab.chat.getSnapshot();
  const unsettled = [...tab.pending.values()].find((name) => !queued.some(({ content }) => content === name));
  if (unsettled) return `"${unsettled}" is not settled`;
  if (tab.images.getSnapshot().status === "pending") return "images are pending for ever";
  const { status } = tab.chat.getSnapshot();
  if (!["ready", "error", "requires-action"].includes(status)) return `the chat is ${status} for ever`;
  if (hasPassedCall(tab)) return "a tool call waits in the middle of a thread, where no method reaches it";
  for (const { role, outcome, toolCalls = [] } of listReachable(tab).values()) {
    if (role === "assistant" && outcome === undefined) return "a response streams forever";
    const isRunning = toolCalls.some(({ state }) => state === "streaming" || state === "running");
    if (isRunning && locks.mode === "sound") return "a tool call runs for ever";
  }
  return undefined;
}

function hasPassedCall({ chat }: Tab): boolean {
  return chat
    .getSnapshot()
    .messages.slice(0, -1)
    .some(({ toolCalls = [] }) => toolCalls.some(({ state }) => state.startsWith("needs-")));
}

/** A message that was on the disk is in every tab, unless it was cleared, or its own record was made unreadable. */
function losesNothing({ tabs, finished, disk, cleared }: Simulation): string | undefined {
  for (const tab of tabs) {
    const messages = listReachable(tab);
    for (const [id, { content, isStored }] of finished)
      if (isStored && !disk.corrupted.has(id) && !cleared.has(id) && !messages.has(id))
        return `tab ${tab.page.id}: "${content}" was on the disk, and is lost`;
  }
  return undefined;
}

/** Checks that all that a tab shows is on the disk, however ill that was before, and that a new page shows it. */
function storesAll({ tabs, disk }: Simulation, fresh: Tab): string | undefined {
  const stored = disk.readTexts("chat/a");
  const again = listReachable(fresh);
  for (const tab of tabs) {
    const { persistence } = tab.chat.getSnapshot();
    if (persistence?.status === "unsaved")
      return `tab ${tab.page.id}: ${persistence.pending} messages are unsaved for ever`;
    for (const { id, content } of [...listReachable(tab).values()].filter(isFilled)) {
      if (!stored.has(id)) return `tab ${tab.page.id}: "${content}" is shown, and is not on the disk`;
      if (!again.has(id) && !disk.corrupted.has(id))
        return `tab ${tab.page.id}: "${content}" is shown, and is missing after a reload`;
    }
  }
  return undefined;
}

/** Tabs that can see each other show the same messages. */
function showsTheSame({ tabs, locks, disk }: Simulation): string | undefined {
  if (locks.mode !== "sound" || disk.corrupted.size > 0) return undefined;
  const [first, ...others] = tabs.map(
    (tab) => new Set([...listReachable(tab).values()].filter(isFilled).map(readContent)),
  );
  for (const other of others) {
    const differences = [...(first ?? []), ...other].filter((text) => !first?.has(text) || !other.has(text));
    if (differences.length > 0) return `tabs show different threads: ${differences.join(" ")}`;
  }
  return undefined;
}

/** Only the requesting tab may know about a reply that never began. */
function isFilled({ role, content, toolCalls = [] }: ChatMessage): boolean {
  return role === "user" || content !== "" || toolCalls.length > 0;
}

/** Returns what devices and tabs have to agree on in a message. */
function readContent({ id, role, content, outcome, toolCalls }: ChatMessage) {
  const calls = toolCalls?.map(({ id, state }) => `${id} ${state}`);
  return JSON.stringify({ id, role, content, outcome, calls });
}

/** Nothing that a tab got, and no line of the log, has the gateway's key. */
function keepsTheKey({ network, tabs, logs }: Simulation): string | undefined {
  const shown = tabs.flatMap((tab) => [...listReachable(tab).values()].map(({ content }) => content));
  const leaked = [...network.exchanges.map(({ received }) => received), ...shown].find((text) =>
    text.includes(KEY),
  );
  if (leaked !== undefined) return `a tab got the gateway's key: ${leaked.slice(0, 80)}`;
  return logs.some((line) => line.includes(KEY)) ? "the proxy's log has the gateway's key" : undefined;
}
