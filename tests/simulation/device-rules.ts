import { isDeepStrictEqual } from "node:util";
import type { DeviceTab, DeviceWorld } from "./device-world.js";
import { billsAnswersOnce, billsForAReason, contentOf, isFilled, sendsSoundHistories } from "./invariants.js";
import { brokenServerRule, brokenServerRuleAtRest } from "./server-rules.js";
import type { Versioned } from "./shared-server.js";
import { sendsNothingStopped } from "./withdrawals.js";
import { reachable } from "./world.js";

/* Rules of worlds of devices. Each returns the broken rule, if it is. */

const QUEUED = "/queued/";
const none: ReadonlyMap<string, Versioned> = new Map();

/** Returns the first rule that is broken now, whatever may still come. */
export function brokenDeviceRule(world: DeviceWorld): string | undefined {
  note(world);
  return (
    (world.isOnServer ? brokenServerRule(world) : brokenTurnRule(world)) ??
    sendsSoundHistories(world) ??
    first(world.tabs, (tab) => keepsWhole(world, tab))
  );
}

/** Returns the broken rule of turns that devices do. */
function brokenTurnRule(world: DeviceWorld): string | undefined {
  const { gateway, keepsAnswers, reasons, asked, toolRuns } = world;
  const twice = reasons === 0 ? toolRuns.find((id, index) => toolRuns.indexOf(id) < index) : undefined;
  if (twice) return `the tool call ${twice} was run twice`;
  return (
    sendsNothingStopped(world) ??
    billsForAReason(gateway, reasons) ??
    (keepsAnswers ? billsAnswersOnce(gateway, asked) : undefined)
  );
}

/** Returns the first rule that is broken when nothing is in flight any more. */
export function brokenDeviceRuleAtRest(world: DeviceWorld): string | undefined {
  return (
    first(world.tabs, isSettled) ??
    losesNothing(world) ??
    losesNoQueued(world) ??
    keepsCleared(world) ??
    hasOneState(world) ??
    showsTheSame(world) ??
    (world.isOnServer ? brokenServerRuleAtRest(world) : undefined)
  );
}

/** Returns what a tab has left after its app was closed. */
export function leftByDevice({ network, locks, kept }: DeviceWorld, tab: DeviceTab): string | undefined {
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

function first(tabs: readonly DeviceTab[], rule: (tab: DeviceTab) => string | undefined): string | undefined {
  for (const tab of tabs) {
    const broken = rule(tab);
    if (broken) return `tab ${tab.page.id}: ${broken}`;
  }
  return undefined;
}

/** Notes what devices and the server have. */
function note({ devices, kept, queued, cleared, gone }: DeviceWorld): void {
  for (const { local } of devices)
    for (const [key, text] of local)
      if (key.startsWith(QUEUED)) queued.set(key.slice(QUEUED.length), JSON.parse(text).content);
  const { records } = cleared.size > 0 ? kept : { records: none };
  for (const id of cleared) {
    const record = records.get(id);
    if (record && record.text === undefined) gone.add(id);
  }
}

/** A whole answer is whole, and never changes again. */
function keepsWhole({ finished, gateway, devices }: DeviceWorld, { chat }: DeviceTab): string | undefined {
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
  for (const { role, outcome, toolCalls = [] } of reachable(tab).values()) {
    if (role === "assistant" && outcome === undefined) return "an answer streams for ever";
    if (toolCalls.some(({ state }) => state === "streaming" || state === "running"))
      return "a tool call runs for ever";
  }
  return undefined;
}

function losesNothing({ tabs, finished, cleared }: DeviceWorld): string | undefined {
  return first(tabs, (tab) => {
    const messages = reachable(tab);
    for (const [id, { content, isStored }] of finished)
      if (isStored && !cleared.has(id) && !messages.has(id))
        return `"${content}" was kept on a device, and is lost`;
    return undefined;
  });
}

/** A queued message that a device had is sent, still queued, cleared, or was given back to its caller. */
function losesNoQueued({ tabs, queued, dropped, cleared, turns }: DeviceWorld): string | undefined {
  return first(tabs, (tab) => {
    for (const [id, content] of queued) {
      if (dropped.has(content) || cleared.has(id) || turns.some(({ question }) => question === content))
        continue;
      if (!reachable(tab).has(id) && !tab.chat.getSnapshot().queued.some((each) => each.id === id))
        return `"${content}" was queued on a device, and is lost`;
    }
    return undefined;
  });
}

function keepsCleared({ tabs, gone, kept }: DeviceWorld): string | undefined {
  const { records } = kept;
  for (const id of gone)
    if (records.get(id)?.text !== undefined) return "a message that was cleared is on the server again";
  return first(tabs, (tab) => {
    const messages = reachable(tab);
    return [...gone].some((id) => messages.has(id)) ? "a message that was cleared is shown again" : undefined;
  });
}

/** The server and all devices have the same records. */
function hasOneState({ devices, kept }: DeviceWorld): string | undefined {
  const { records } = kept;
  for (const { id, local, dirty } of devices) {
    if (dirty.size > 0) return `${id} has not sent ${[...dirty]}`;
    for (const key of new Set([...local.keys(), ...records.keys()]))
      if (!isDeepStrictEqual(parsed(local.get(key)), parsed(records.get(key)?.text)))
        return `${id} has another record of ${key}: ${local.get(key)} / ${records.get(key)?.text}`;
  }
  return undefined;
}

/** A record, whatever the order of its fields. */
function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

/** All tabs of all devices show the same messages. */
function showsTheSame({ tabs }: DeviceWorld): string | undefined {
  const [queue, ...queues] = tabs.map(({ chat }) =>
    chat
      .getSnapshot()
      .queued.map(({ content }) => content)
      .join(),
  );
  const another = queues.find((texts) => texts !== queue);
  if (another !== undefined) return `tabs show different queues: ${queue}; ${another}`;
  const [one, ...others] = tabs.map(
    (tab) => new Set([...reachable(tab).values()].filter(isFilled).map(contentOf)),
  );
  for (const other of others) {
    const differences = [...(one ?? []), ...other].filter((text) => !one?.has(text) || !other.has(text));
    if (differences.length > 0) return `devices show different threads: ${differences.join(" ")}`;
  }
  return undefined;
}
