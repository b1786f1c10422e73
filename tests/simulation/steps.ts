import type { ChatMessage } from "@sluice/stores";
import { breakConnections } from "./faults.js";
import { gatewayFaults } from "./gateway.js";
import { type Order, type OrderKind, order, orderAgain } from "./orders.js";
import {
  type Action,
  components,
  describeStep,
  diskModes,
  isOfStranger,
  isOfTree,
  type Step,
} from "./plan.js";
import { pickNth } from "./random.js";
import { listReachable, SECRET, type Simulation } from "./simulation.js";
import { findLostOnLeaving } from "./storage-rules.js";
import type { Tab } from "./tab.js";
import type { Part } from "./tree.js";

/** Steps after which a chat request may be sent once more, since a response was lost or requested again. */
const REASONS: ReadonlySet<Action> = new Set<Action>([
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
  "restart",
  "spoil response",
  "change disk",
  "corrupt a record",
  "sign out",
  "break upstream",
  "restart proxy",
  "break an object's call",
  "crash an object",
]);

/**
 * Steps after which a response may be billed once more, even if the proxy stores responses. Either the user asks for
 * another response, or the gateway worked for a request that the proxy counted as never sent. A fault between a page and
 * the proxy is not such a step.
 */
const BILLS_AGAIN: ReadonlySet<Action> = new Set<Action>(["regenerate", "edit", "break upstream"]);

/** Components that the user's actions need; the others need the chat. */
const usedBy: Partial<Record<Action, Part>> = {
  create: "video",
  "create twice": "video",
  "create again": "video",
  refetch: "video",
  "reset video": "video",
  "remove video": "list",
  generate: "images",
  "generate twice": "images",
  "generate again": "images",
  "stop images": "images",
  "reset images": "images",
  register: "asset",
  "register twice": "asset",
  "register again": "asset",
  "refetch asset": "asset",
  "reset asset": "asset",
};

/** Does one step. A step without a tab or a message to act on does nothing. */
export function act(simulation: Simulation, step: Step, index: number): void {
  if (REASONS.has(step.do)) simulation.reasons += 1;
  // a retry that replaces its own tab's reply does not wait for the other tabs
  if (step.do === "retry in all tabs" && simulation.whenBusy === "replace")
    simulation.reasons += simulation.tabs.length - 1;
  const tab = pickNth(simulation.tabs, step.tab);
  if (BILLS_AGAIN.has(step.do) || isOtherResponse(simulation, tab, step.do)) simulation.chatCount += 1;
  simulation.log(`tab ${tab?.page.id ?? "–"}: ${describeStep(step)}`);
  if (isOfStranger(step.do)) return actAsStranger(simulation, step, index);
  if (actOnSimulation(simulation, step) || !tab) return;
  if (actOnPage(simulation, tab, step) || actOnTree(simulation, tab, step)) return;
  const awake = simulation.tabs.filter(({ page }) => page.state === "open");
  if (step.do.endsWith("in all tabs")) {
    for (const each of awake) if (isShown(each, "chat")) actInAll(each, step.do);
  } else if (tab.page.state === "open" && isShown(tab, usedBy[step.do] ?? "chat"))
    actAsUser(simulation, tab, step, index);
}

/** Checks for a retry of a reply with a known outcome: without a key, or stopped by a click. */
function isOtherResponse({ tabs, whenBusy }: Simulation, tab: Tab | undefined, action: Action): boolean {
  if (!action.startsWith("retry")) return false;
  if (whenBusy === "replace" && tabs.some(isStreaming)) return true;
  const retried = action === "retry" ? [tab] : tabs;
  return retried.some((each) => each && !each.chat.getSnapshot().messages.at(-1)?.idempotencyKey);
}

function isStreaming({ chat }: Tab): boolean {
  return ["submitted", "streaming"].includes(chat.getSnapshot().status);
}

/** Changes the network, the gateway or the disk. */
function actOnSimulation(simulation: Simulation, step: Step): boolean {
  const { network, gateway, proxy, disk, open, tabs, log } = simulation;
  const { nth } = step;
  switch (step.do) {
    case "wait":
      return true;
    case "open":
      if (tabs.length < 4) open();
      return true;
    case "spoil response":
      gateway.arm(pickNth(gatewayFaults, nth) ?? "throttles");
      return true;
    case "restart":
      network.isDown = true;
      network.breakAll();
      return true;
    case "restart proxy":
      proxy?.restart();
      if (proxy) network.breakAll();
      return true;
    case "end session":
      proxy?.endSession(1 + (nth % 3));
      return true;
    case "come back":
      network.isDown = false;
      return true;
    case "forget":
      gateway.forget();
      return true;
    case "change disk":
      disk.change(pickNth(diskModes, nth) ?? "well");
      return true;
    case "repair disk":
      disk.change("well");
      return true;
    case "corrupt a record":
      log(`the record ${disk.corrupt("chat/a", nth)} is unreadable`);
      return true;
    default:
      return breakConnections(simulation, step);
  }
}

/** Acts as another user of the same browser. */
function actAsStranger(simulation: Simulation, { do: action }: Step, index: number): void {
  const tab = simulation.stranger ?? simulation.openStranger();
  const text = `${SECRET} ${index}`;
  simulation.isForgotten = action === "stranger signs out";
  switch (action) {
    case "stranger sends":
      return tab.call(text, () => tab.chat.send(text));
    case "stranger creates":
      return tab.call(text, () =>
        tab.video.create({ model: "beta3.0-video", input: { prompt: text } }, { label: text }),
      );
    case "stranger signs out":
      return tab.call(action, async () => tab.forget?.());
    default:
      tab.page.run(() => tab.page.window.dispatchEvent(new Event("pagehide")));
      simulation.close(tab);
      simulation.openStranger();
  }
}

/** Changes the page of a tab, as the browser or its user does. */
function actOnPage(simulation: Simulation, tab: Tab, { do: action, nth }: Step): boolean {
  const { page } = tab;
  const { open, close } = simulation;
  switch (action) {
    case "reload":
      page.thaw();
      page.run(() => page.window.dispatchEvent(new Event("pagehide")));
      simulation.broken ??= findLostOnLeaving(simulation, tab);
      close(tab);
      open();
      return true;
    case "crash":
      close(tab);
      return true;
    case "freeze":
      page.state = "frozen";
      return true;
    case "thaw":
      page.thaw();
      return true;
    case "hide":
    case "show":
      page.isHidden = action === "hide";
      page.deliver(() => page.document.dispatchEvent(new Event("visibilitychange")));
      return true;
    case "go offline":
    case "go online":
      page.isOnline = action === "go online";
      page.deliver(() => page.window.dispatchEvent(new Event(page.isOnline ? "online" : "offline")));
      return true;
    case "jump clock":
      page.clockErrorMs = (nth - 12) * 600_000;
      return true;
    case "sign out":
    case "sign in":
      tab.isSignedOut = action === "sign out";
      return true;
    default:
      return false;
  }
}

/** Mounts, unmounts and hides components of a tab. */
function actOnTree(
  { timeline }: Simulation,
  { page, tree, list, assetIds }: Tab,
  { do: action, nth }: Step,
): boolean {
  if (!isOfTree(action)) return false;
  const part = pickNth(components, nth) as Part;
  if (!tree || page.state !== "open") return true;
  const { mount } = tree.mounts[part];
  switch (action) {
    case "unmount":
      tree.changeMount(part, { isMounted: false });
      return true;
    case "mount":
      tree.changeMount(part, { isMounted: true });
      return true;
    case "remount":
      tree.changeMount(part, { isMounted: true, mount: mount + 1 });
      return true;
    case "hide for a while":
      tree.changeMount(part, { isHidden: true });
      timeline.after(500 * nth, () => page.deliver(() => tree.changeMount(part, { isHidden: false })));
      return true;
    case "mount with another id":
      tree.changeMount(part, { isMounted: true, id: pickOtherId() });
      return true;
  }

  function pickOtherId(): string | undefined {
    switch (part) {
      case "chat":
      case "title":
        return pickNth(["a", "b"], nth >> 3);
      case "images":
        return pickNth([undefined, "pictures"], nth >> 3);
      case "video":
        return pickNth(
          list.getSnapshot().flatMap(({ handle }) => handle?.id ?? []),
          nth >> 3,
        );
      case "asset":
        return pickNth([...assetIds], nth >> 3);
      case "list":
        return undefined;
    }
  }
}

/** Returns true if the user can use a component of a tab. */
function isShown({ tree }: Tab, part: Part): boolean {
  if (!tree) return true;
  const { isMounted, isHidden } = tree.mounts[part];
  return isMounted && !isHidden && tree.shown[part] !== undefined;
}

/** Returns true if the tab shows the chat that all tabs have. */
function isInCommonChat({ tree }: Tab): boolean {
  return !tree || tree.shown.chat?.id === "a";
}

function actInAll({ chat, call, run }: Tab, action: Action): void {
  if (action === "retry in all tabs") return call("retry", () => chat.retry());
  const { pendingActions } = run(() => chat.getSnapshot());
  for (const { type, toolCallId } of pendingActions)
    if (type === "output" && action === "add output in all tabs")
      call(`result of ${toolCallId}`, () => chat.addToolOutput(toolCallId, "yes"));
    else if (type === "approval" && action === "approve in all tabs")
      call(`approval of ${toolCallId}`, () => chat.approve(toolCallId));
}

function actAsUser(simulation: Simulation, tab: Tab, { do: action, nth }: Step, index: number): void {
  const { chat, video, list, images, asset, call, run } = tab;
  const { messages, pendingActions } = chat.getSnapshot();
  const message = pickNth(messages, nth);
  const toolCallId = pendingActions[0]?.toolCallId ?? "none";
  const question = isInCommonChat(tab) ? `question ${index}` : `aside ${index}`;
  const edited = `${question}, edited`;
  const videoPrompt = `video ${index}`;
  const image = `picture ${index}`;
  const send = (text = question) => call(text, () => chat.send(text));
  const orders: Record<OrderKind, Pick<Order, "name" | "submit">> = {
    create: {
      name: videoPrompt,
      submit: ({ call, video }) =>
        call(videoPrompt, () =>
          video.create({ model: "beta3.0-video", input: { prompt: videoPrompt } }, { label: videoPrompt }),
        ),
    },
    generate: {
      name: image,
      submit: ({ call, images }) => call(image, () => images.generate({ prompt: image })),
    },
    register: {
      name: image,
      submit: ({ call, asset }) =>
        call(image, () => asset.create(`https://example.com/${index}.png`, { name: image })),
    },
  };
  switch (action) {
    case "send":
      return send();
    case "send twice":
      send();
      return send(`${question}, again`);
    case "send for a tool":
      return send(`${question} [${nth > 19 ? "both" : pickNth(["quick", "slow", "guarded", "asked"], nth)}]`);
    case "send a long one":
      return send(`${question} [long]`);
    case "open, send and stop": {
      const opened = simulation.tabs.length < 4 ? simulation.open() : tab;
      opened.call(question, () => opened.chat.send(question));
      return stop(simulation, opened);
    }
    case "send and stop":
      send();
      return stop(simulation, tab);
    case "reset chat":
      return reset(simulation, tab);
    case "cancel queued": {
      const queued = pickNth(chat.getSnapshot().queued, nth);
      return run(() => chat.cancelQueued(queued?.id ?? "none"));
    }
    case "stop":
      return stop(simulation, tab);
    case "retry":
      return call("retry", () => chat.retry());
    case "regenerate":
      return call("regenerate", () => chat.regenerate());
    case "edit":
      return call(edited, () => chat.edit(message?.id ?? "none", edited));
    case "switch branch":
      return run(() => chat.switchBranch(pickNth(message?.branches ?? [], nth) ?? "none"));
    case "approve":
    case "deny":
      return call(action, () => chat[action](toolCallId));
    case "create":
    case "generate":
    case "register":
      return order(simulation, tab, action, orders[action]);
    case "create again":
    case "generate again":
    case "register again":
      return orderAgain(simulation, tab, action);
    case "create twice":
      orders.create.submit(tab);
      return orders.create.submit(tab);
    case "generate twice":
      orders.generate.submit(tab);
      return orders.generate.submit(tab);
    case "stop images":
      return run(() => images.stop());
    case "reset images":
      return run(() => images.reset());
    case "register twice":
      orders.register.submit(tab);
      return orders.register.submit(tab);
    case "refetch asset":
      return run(() => asset.refetch());
    case "reset asset":
      return run(() => asset.reset());
    case "refetch":
      return run(() => video.refetch());
    case "reset video":
      return run(() => video.reset());
    case "remove video":
      simulation.hasRemoved = true;
      return run(() => list.remove(pickNth(list.getSnapshot(), nth)?.key ?? "none"));
    default:
      throw new Error(`no such step: ${action}`);
  }
}

/** Removes all messages of a chat that are loaded in a tab. */
function reset(simulation: Simulation, tab: Tab): void {
  const { chat, run } = tab;
  // a reset waits until the thread is read, and the user can't see what it will clear
  if (chat.getSnapshot().persistence?.status === "restoring") return;
  if (isInCommonChat(tab)) for (const id of listReachable(tab).keys()) simulation.cleared.add(id);
  run(() => chat.reset());
}

/** Stops a chat. A question that the chat does not show yet may never be sent. */
function stop({ withdrawn, network }: Simulation, tab: Tab): void {
  const { page, chat, pending, run } = tab;
  run(() => chat.stop());
  if (!isInCommonChat(tab)) return;
  const shown = new Set(chat.getSnapshot().messages.map(({ content }: ChatMessage) => content));
  for (const name of pending.values())
    if (name.startsWith("question") && !shown.has(name) && !wasSent(name)) withdrawn.add(name);

  /** A prompt may be on a branch that is not shown. */
  function wasSent(name: string): boolean {
    return network.exchanges.some((each) => each.page === page && each.body?.includes(`"${name}"`));
  }
}
