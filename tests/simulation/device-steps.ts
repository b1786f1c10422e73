import type { ChatMessage } from "@sluice/stores";
import { type DeviceAction, type DeviceStep, describeStep } from "./device-plan.js";
import type { DeviceSimulation, DeviceTab } from "./device-simulation.js";
import { breakLines } from "./faults.js";
import { pickNth } from "./random.js";
import { isOfStorage } from "./remote-devices.js";
import { listReachable } from "./simulation.js";

/** Steps after which a request may be sent once more, since a response was lost or requested again. */
const REASONS: ReadonlySet<DeviceAction> = new Set<DeviceAction>([
  "retry",
  "retry in all tabs",
  "regenerate",
  "edit",
  "crash",
  "reload",
  "freeze",
  "break connection",
  "break all",
  "go offline",
  "kill device",
]);
/** Steps after which a stored reply may be billed once more: the user requests another reply. */
const ASKED: ReadonlySet<DeviceAction> = new Set<DeviceAction>(["regenerate", "edit"]);

/**
 * Steps after which the server may request a reply once more: the user asks, or the connection to the gateway breaks.
 */
const SERVER_REASONS: ReadonlySet<DeviceAction> = new Set<DeviceAction>([
  "retry",
  "retry in all tabs",
  "regenerate",
  "edit",
  "break upstream",
]);
/** Tools that a prompt names, if pages run them, and if the server does. */
const TOOLS = ["quick", "slow", "guarded", "asked"] as const;
const SERVER_TOOLS = [...TOOLS, "paged", "kept"] as const;

/** Does one step. A step without a tab or a message to act on does nothing. */
export function actOnDevices(simulation: DeviceSimulation, step: DeviceStep, index: number): void {
  const tab = pickNth(simulation.tabs, step.tab);
  if (simulation.isOnServer) countForServer(simulation, step);
  else countForDevices(simulation, step, tab);
  simulation.log(`${tab?.page.name ?? "no tab"}: ${describeStep(step)}`);
  if (actOnSimulation(simulation, step, tab) || !tab) return;
  const awake = simulation.tabs.filter(({ page }) => page.state === "open");
  if (step.do.endsWith("in all tabs"))
    for (const each of awake) actInAll(each, step.do, `question ${index} of tab ${each.page.id}`);
  else if (tab.page.state === "open") actAsUser(simulation, tab, step, `question ${index}`);
}

function countForDevices(simulation: DeviceSimulation, step: DeviceStep, tab: DeviceTab | undefined): void {
  if (REASONS.has(step.do)) simulation.reasons += 1;
  if (step.do === "retry in all tabs" && simulation.whenBusy === "replace")
    simulation.reasons += simulation.tabs.length - 1;
  if (ASKED.has(step.do)) simulation.asked += 1;
  if (step.do === "retry" && tab) simulation.asked += simulation.repeats.countNew([tab], simulation.whenBusy);
  if (step.do === "retry in all tabs")
    simulation.asked += simulation.repeats.countNew(simulation.tabs, simulation.whenBusy);
}

function countForServer(simulation: DeviceSimulation, step: DeviceStep): void {
  if (!SERVER_REASONS.has(step.do)) return;
  simulation.reasons += 1;
  simulation.asked += 1;
}

function actOnSimulation(
  simulation: DeviceSimulation,
  step: DeviceStep,
  tab: DeviceTab | undefined,
): boolean {
  const { do: action, tab: place, nth } = step;
  const { devices, tabs, network, proxy, open, close } = simulation;
  const at = place % devices.length;
  const device = tab?.device ?? devices[at];
  const onDevice = tabs.filter((each) => each.device === device);
  switch (action) {
    case "wait":
      return true;
    case "open":
      if (tabs.length < 5) open(at);
      return true;
    case "reload":
      if (!tab) return true;
      tab.page.thaw();
      tab.page.run(() => tab.page.window.dispatchEvent(new Event("pagehide")));
      close(tab);
      open(devices.indexOf(tab.device));
      return true;
    case "crash":
      if (tab) close(tab);
      return true;
    case "kill device":
      for (const each of onDevice) close(each);
      return true;
    case "freeze":
      if (tab) tab.page.state = "frozen";
      return true;
    case "thaw":
      tab?.page.thaw();
      if (device?.isOnline) device.goOnline();
      return true;
    case "go offline":
    case "go online":
      if (device) setOnline(simulation, device, action === "go online");
      return true;
    case "lose answers":
      if (device) device.answersLost += 1 + (nth % 4);
      return true;
    case "slow link":
    case "quick link":
      if (device) device.isSlow = action === "slow link";
      return true;
    case "crash all objects":
      proxy?.objects.crash("all");
      return true;
    case "deploy":
      proxy?.objects.crash("all");
      proxy?.restart();
      network.breakAll();
      return true;
    default:
      return breakLines(simulation, step);
  }
}

/** Disconnects a device from the server and the proxy, or connects it again. */
export function setOnline(
  { tabs, network }: DeviceSimulation,
  device: DeviceTab["device"],
  isOnline: boolean,
): void {
  if (isOnline) device.goOnline();
  else device.isOnline = false;
  for (const { page, device: home } of tabs) {
    if (home !== device) continue;
    page.isOnline = isOnline;
    if (!isOnline) network.breakAll((exchange) => exchange.page === page);
    page.deliver(() => page.window.dispatchEvent(new Event(isOnline ? "online" : "offline")));
  }
}

function actInAll({ page, chat, call }: DeviceTab, action: DeviceAction, question: string): void {
  if (action === "send in all tabs") return call(question, () => chat.send(question));
  if (action === "retry in all tabs") return call("retry", () => chat.retry());
  const { pendingActions } = page.run(() => chat.getSnapshot());
  for (const { type, toolCallId } of pendingActions)
    if (type === "output" && action === "answer in all tabs")
      call(`result of ${toolCallId}`, () => chat.addToolOutput(toolCallId, "yes"));
    else if (type === "approval" && action === "approve in all tabs")
      call(`approval of ${toolCallId}`, () => chat.approve(toolCallId));
}

function actAsUser(
  simulation: DeviceSimulation,
  tab: DeviceTab,
  { do: action, nth }: DeviceStep,
  question: string,
): void {
  const { page, chat, call } = tab;
  const { messages, pendingActions, isRunningElsewhere } = chat.getSnapshot();
  const message = pickNth(messages, nth);
  const toolCallId = pendingActions[0]?.toolCallId ?? "none";
  const send = (text: string) => call(text, () => chat.send(text));
  switch (action) {
    case "send":
      return send(question);
    case "send twice":
      send(question);
      return send(`${question}, again`);
    case "send for a tool":
      return send(
        `${question} [${nth > 19 ? "both" : pickNth(simulation.isOnServer ? SERVER_TOOLS : TOOLS, nth)}]`,
      );
    case "stop":
      return stop(simulation, tab);
    case "stop elsewhere":
      if (isRunningElsewhere) stop(simulation, tab);
      return;
    case "cancel queued": {
      const queued = pickNth(chat.getSnapshot().queued, nth);
      if (queued) simulation.dropped.add(queued.content);
      return tab.page.run(() => chat.cancelQueued(queued?.id ?? "none"));
    }
    case "retry":
      return call("retry", () => chat.retry());
    case "regenerate":
      return call("regenerate", () => chat.regenerate());
    case "edit":
      return call(`${question}, edited`, () => chat.edit(message?.id ?? "none", `${question}, edited`));
    case "switch branch":
      return page.run(() => chat.switchBranch(pickNth(message?.branches ?? [], nth) ?? "none"));
    case "approve":
    case "deny":
      return call(action, () => chat[action](toolCallId));
    case "reset chat":
      return reset(simulation, tab);
    default:
      throw new Error(`no such step: ${action}`);
  }
}

/** Removes all messages of the chat that a tab knows. */
function reset(simulation: DeviceSimulation, tab: DeviceTab): void {
  const { chat, page } = tab;
  if (chat.getSnapshot().isRestoring) return;
  for (const id of listReachable(tab).keys()) simulation.cleared.add(id);
  for (const { content } of chat.getSnapshot().queued) simulation.dropped.add(content);
  page.run(() => chat.reset());
}

/** Stops a chat. A question that it does not show by then may not be sent any more. */
function stop(
  { withdrawn, network, timeline, isOnServer }: DeviceSimulation,
  { page, device, chat, pending }: DeviceTab,
): void {
  page.run(() => chat.stop());
  const shown = new Set(chat.getSnapshot().messages.map(({ content }: ChatMessage) => content));
  const isSent = (name: string) =>
    network.exchanges.some(
      (each) =>
        each.page === page &&
        (isOnServer ? each.path.endsWith("/turns") : !isOfStorage(each)) &&
        each.body?.includes(`"${name}"`),
    );
  for (const name of pending.values())
    if (name.startsWith("question") && !shown.has(name) && !isSent(name))
      withdrawn.set(name, { page, device: device.id, at: timeline.now() });
}
