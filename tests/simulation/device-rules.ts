import { isDeepStrictEqual } from "node:util";
import type { DeviceSimulation, DeviceTab } from "./device-simulation.js";
import {
  billsAnswersOnce,
  billsForAReason,
  isFilled,
  readContent,
  sendsSoundHistories,
} from "./invariants.js";
import { findBrokenServerRule, findBrokenServerRuleAtRest } from "./server-rules.js";
import type { Versioned } from "./shared-server.js";
import { listReachable } from "./simulation.js";
import { sendsNothingStopped } from "./withdrawals.js";

/* Rules of simulations of devices. Each returns the broken rule, if it is. */

const QUEUED = "/queued/";
const none: ReadonlyMap<string, Versioned> = new Map();

/** Returns the first rule that is broken now, whatever may still come. */
export function findBrokenDeviceRule(simulation: DeviceSimulation): string | undefined {
  note(simulation);
  return (
    (simulation.isOnServer ? findBrokenServerRule(simulation) : findBrokenTurnRule(simulation)) ??
    sendsSoundHistories(simulation) ??
    findFirst(simulation.tabs, (tab) => keepsWhole(simulation, tab))
  );
}

/** Returns the broken rule of turns that devices do. */
function findBrokenTurnRule(simulation: DeviceSimulation): string | undefined {
  const { gateway, keepsAnswers, reasons, asked, toolRuns } = simulation;
  const twice = reasons === 0 ? toolRuns.find((id, index) => toolRuns.indexOf(id) < index) : undefined;
  if (twice) return `the tool call ${twice} was run twice`;
  return (
    sendsNothingStopped(simulation) ??
    billsForAReason(gateway, reasons) ??
    (keepsAnswers ? billsAnswersOnce(gateway, asked) : undefined)
  );
}

/** Returns the first rule that is broken when nothing is in flight any more. */
export function findBrokenDeviceRuleAtRest(simulation: DeviceSimulation): string | undefined {
  return (
    findFirst(simulation.tabs, isSettled) ??
    losesNothing(simulation) ??
    losesNoQueued(simulation) ??
    keepsCleared(simulation) ??
    hasOneState(simulation) ??
    showsTheSame(simulation) ??
    (simulation.isOnServer ? findBrokenServerRuleAtRest(simulation) : undefined)
  );
}

/** Returns what a tab has left after its app was closed. */
export function findLeftByDevice(
  { network, locks, kept }: DeviceSimulation,
  tab: DeviceTab,
): string | undefined {
  const { page, pending, device } = tab;
  const left = {
    timers: page.timers.size,
    connections: network.countOf(page),
    locks: locks.flatMap((each) => each.namesOf(page)).length,
    leases: kept.leasesOf(page),
    watchers: device.watchersOf(page),
    promises: pending.size,
  };
  const [name, count] = Object.entries(left).find(([, each]) => each > 0) ?? [];
  return name && `tab ${page.id}: ${count} ${name} are left: ${[...pending.values()]}`;
}

function findFirst(
  tabs: readonly DeviceTab[],
  rule: (tab: DeviceTab) => string | undefined,
): string | undefined {
  for (const tab of tabs) {
    const broken = rule(tab);
    if (broken) return `tab ${tab.page.id}: ${broken}`;
  }
  return undefined;
}

/** Notes what devices and the server have. */
function note({ devices, kept, queued, cleared, gone }: DeviceSimulation): void {
  for (const { local } of devices)
    for (const [key, text] of local)
      if (key.startsWith(QUEUED)) queued.set(key.slice(QUEUED.length), JSON.parse(text).content);
  const { records } = cleared.size > 0 ? kept : { records: none };
  for (const id of cleared) {
    const record = records.get(id);
    if (record && record.text === undefined) gone.add(id);
  }
}

/** A complete message is complete, and never changes again. */
function keepsWhole(
  { finished, gateway, devices }: DeviceSimulation,
  { chat }: DeviceTab,
): string | undefined {
  for (const { id, role, outcome, content } of chat.getSnapshot().messages) {
    if (outcome !== "complete" && role !== "user") continue;
    if (outcome === "complete" && !gateway.texts.has(content))
      return `a part of an answer is complete: "${content}"`;
    const known = finished.get(id);
    if (known && known.content !== content) return `"${known.content}" became "${content}"`;
    const isStored = devices.some(({ local }) => {
      const text = local.get(id);
      return text !== undefined && (role === "user" || text.includes('"complete"'));
    });
    finished.set(id, { content, isStored: known?.isStored || isStored });
  }
  return undefined;
}

/** Each call is settled, and nothing is shown as if it went on. */
function isSettled(tab: DeviceTab): string | undefined {
  const { queued, status, isRunningElsewhere, isSyncing, unsaved, messages } = tab.chat.getSnapshot();
  const unsettled = [...tab.pending.values()].find((name) => !queued.some(({ content }) => content === name));
  if (unsettled) return `"${unsettled}" is not settled`;
  if (!["ready", "error", "requires-action"].includes(status)) return `the chat is ${status} for ever`;
  if (isRunningElsewhere) return "the chat runs elsewhere for ever";
  if (isSyncing) return "the chat is synced for ever";
  if (unsaved > 0) return `${unsaved} messages are unsaved for ever`;
  if (
    messages
      .slice(0, -1)
      .some(({ toolCalls = [] }) => toolCalls.some(({ state }) => state.startsWith("needs-")))
  )
    return "a tool call waits in the middle of a thread, where no verb reaches it";
  for (const { role, outcome, toolCalls = [] } of listReachable(tab).values()) {
    if (role === "assistant" && outcome === undefined) return "an answer streams for ever";
    if (toolCalls.some(({ state }) => state === "streaming" || state === "running"))
      return "a tool call runs for ever";
  }
  return undefined;
}

function losesNothing({ tabs, finished, cleared }: DeviceSimulation): string | undefined {
  return findFirst(tabs, (tab) => {
    const messages = listReachable(tab);
    for (const [id, { content, isStored }] of finished)
      if (isStored && !cleared.has(id) && !messages.has(id))
        return `"${content}" was kept on a device, and is lost`;
    return undefined;
  });
}

/** A queued message that a device had is sent, still queued, cleared, or was given back to its caller. */
function losesNoQueued({ tabs, queued, dropped, cleared, turns }: DeviceSimulation): string | undefined {
  return findFirst(tabs, (tab) => {
    for (const [id, content] of queued) {
      if (dropped.has(content) || cleared.has(id) || turns.some(({ question }) => question === content))
        continue;
      if (!listReachable(tab).has(id) && !tab.chat.getSnapshot().queued.some((each) => each.id === id))
        return `"${content}" was queued on a device, and is lost`;
    }
    return undefined;
  });
}

function keepsCleared({ tabs, gone, kept }: DeviceSimulation): string | undefined {
  const { records } = kept;
  for (const id of gone)
    if (records.get(id)?.text !== undefined) return "a message that was cleared is on the server again";
  return findFirst(tabs, (tab) => {
    const messages = listReachable(tab);
    return [...gone].some((id) => messages.has(id)) ? "a message that was cleared is shown again" : undefined;
  });
}

/** The server and all devices have the same records. */
function hasOneState({ devices, kept }: DeviceSimulation): string | undefined {
  const { records } = kept;
  for (const { id, local, dirty } of devices) {
    if (dirty.size > 0) return `${id} has not sent ${[...dirty]}`;
    for (const key of new Set([...local.keys(), ...records.keys()]))
      if (!isDeepStrictEqual(parseText(local.get(key)), parseText(records.get(key)?.text)))
        return `${id} has another record of ${key}: ${local.get(key)} / ${records.get(key)?.text}`;
  }
  return undefined;
}

/** A record, whatever the order of its fields. */
function parseText(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

/** All tabs of all devices show the same messages. */
function showsTheSame({ tabs }: DeviceSimulation): string | undefined {
  const [queue, ...queues] = tabs.map(({ chat }) =>
    chat
      .getSnapshot()
      .queued.map(({ content }) => content)
      .join(),
  );
  const another = queues.find((texts) => texts !== queue);
  if (another !== undefined) return `tabs show different queues: ${queue}; ${another}`;
  const [one, ...others] = tabs.map(
    (tab) => new Set([...listReachable(tab).values()].filter(isFilled).map(readContent)),
  );
  for (const other of others) {
    const differences = [...(one ?? []), ...other].filter((text) => !one?.has(text) || !other.has(text));
    if (differences.length > 0) return `devices show different threads: ${differences.join(" ")}`;
  }
  return undefined;
}
