import type { ThreadMessage } from "@sluice/core";
import { gatewayFaults } from "./gateway.js";
import { networkFaults } from "./network.js";
import { objectFaults } from "./objects.js";
import { type Action, components, described, diskModes, isOfTree, type Step } from "./plan.js";
import { nthOf } from "./random.js";
import type { Tab } from "./tab.js";
import type { Part } from "./tree.js";
import type { World } from "./world.js";

/** Steps after which a chat request may be sent once more, since an answer was lost or was asked for again. */
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
  "spoil answer",
  "change disk",
  "corrupt a record",
  "sign out",
  "break upstream",
  "restart proxy",
  "break an object's call",
  "crash an object",
]);

/** Components that the user's actions need; the others need the chat. */
const usedBy: Partial<Record<Action, Part>> = {
  create: "video",
  "create twice": "video",
  refetch: "video",
  "reset video": "video",
  "remove video": "list",
  generate: "images",
  "generate twice": "images",
  "stop images": "images",
  "reset images": "images",
  register: "asset",
  "register twice": "asset",
  "refetch asset": "asset",
  "reset asset": "asset",
};

/** Does one step. A step without a tab or a message to act on does nothing. */
export function act(world: World, step: Step, index: number): void {
  if (REASONS.has(step.do)) world.reasons += 1;
  // a retry that replaces its own tab's answer does not wait for the other tabs
  if (step.do === "retry in all tabs" && world.whenBusy === "replace") world.reasons += world.tabs.length - 1;
  const tab = nthOf(world.tabs, step.tab);
  world.log(`tab ${tab?.page.id ?? "–"}: ${described(step)}`);
  if (actOnWorld(world, step) || !tab) return;
  if (actOnPage(world, tab, step) || actOnTree(world, tab, step)) return;
  const awake = world.tabs.filter(({ page }) => page.state === "open");
  if (step.do.endsWith("in all tabs")) {
    for (const each of awake) if (isShown(each, "chat")) actInAll(each, step.do);
  } else if (tab.page.state === "open" && isShown(tab, usedBy[step.do] ?? "chat"))
    actAsUser(world, tab, step, index);
}

/** Changes the network, the gateway or the disk. */
function actOnWorld({ network, gateway, proxy, disk, open, tabs, log }: World, step: Step): boolean {
  const { nth } = step;
  switch (step.do) {
    case "wait":
      return true;
    case "open":
      if (tabs.length < 4) open();
      return true;
    case "break connection":
      network.arm(nthOf(networkFaults, nth) ?? "reset", nth % 5);
      return true;
    case "break all":
      network.breakAll();
      return true;
    case "spoil answer":
      gateway.arm(nthOf(gatewayFaults, nth) ?? "throttles");
      return true;
    case "restart":
      network.isDown = true;
      network.breakAll();
      return true;
    case "break upstream":
      proxy?.upstream.arm(nthOf(networkFaults, nth) ?? "reset", nth % 5);
      return true;
    case "restart proxy":
      proxy?.restart();
      if (proxy) network.breakAll();
      return true;
    case "break an object's call":
      proxy?.objects.network.arm(nthOf(objectFaults, nth) ?? "reset", 0);
      return true;
    case "crash an object":
      proxy?.objects.crash(nth);
      return true;
    case "come back":
      network.isDown = false;
      return true;
    case "forget":
      gateway.forget();
      return true;
    case "change disk":
      disk.change(nthOf(diskModes, nth) ?? "well");
      return true;
    case "repair disk":
      disk.change("well");
      return true;
    case "corrupt a record":
      log(`the record ${disk.corrupt("chat/a", nth)} is unreadable`);
      return true;
    default:
      return false;
  }
}

/** Changes the page of a tab, as the browser or its user does. */
function actOnPage({ open, close }: World, tab: Tab, { do: action, nth }: Step): boolean {
  const { page } = tab;
  switch (action) {
    case "reload":
      page.thaw();
      page.run(() => page.window.dispatchEvent(new Event("pagehide")));
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
  { timeline }: World,
  { page, tree, list, assetIds }: Tab,
  { do: action, nth }: Step,
): boolean {
  if (!isOfTree(action)) return false;
  const part = nthOf(components, nth) as Part;
  if (!tree || page.state !== "open") return true;
  const { mount } = tree.places[part];
  switch (action) {
    case "unmount":
      tree.place(part, { isMounted: false });
      return true;
    case "mount":
      tree.place(part, { isMounted: true });
      return true;
    case "remount":
      tree.place(part, { isMounted: true, mount: mount + 1 });
      return true;
    case "hide for a while":
      tree.place(part, { isHidden: true });
      timeline.after(500 * nth, () => page.deliver(() => tree.place(part, { isHidden: false })));
      return true;
    case "mount with another id":
      tree.place(part, { isMounted: true, id: otherId() });
      return true;
  }

  function otherId(): string | undefined {
    switch (part) {
      case "chat":
      case "title":
        return nthOf(["a", "b"], nth >> 3);
      case "images":
        return nthOf([undefined, "pictures"], nth >> 3);
      case "video":
        return nthOf(
          list.getSnapshot().flatMap(({ handle }) => handle?.id ?? []),
          nth >> 3,
        );
      case "asset":
        return nthOf([...assetIds], nth >> 3);
      case "list":
        return undefined;
    }
  }
}

/** Returns true if the user can use a component of a tab. */
function isShown({ tree }: Tab, part: Part): boolean {
  if (!tree) return true;
  const { isMounted, isHidden } = tree.places[part];
  return isMounted && !isHidden && tree.shown[part] !== undefined;
}

/** Returns true if the tab shows the chat that all tabs have. */
function isInCommonChat({ tree }: Tab): boolean {
  return !tree || tree.shown.chat?.id === "a";
}

function actInAll({ chat, call, run }: Tab, action: Action): void {
  if (action === "retry in all tabs") return call("retry", () => chat.retry());
  const { pendingActions } = run(() => chat.getSnapshot());
  for (const { kind, toolCallId } of pendingActions)
    if (kind === "result" && action === "answer in all tabs")
      call("addToolResult", () => chat.addToolResult(toolCallId, "yes"));
    else if (kind === "approval" && action === "approve in all tabs")
      call("approve", () => chat.approve(toolCallId));
}

function actAsUser(world: World, tab: Tab, { do: action, nth }: Step, index: number): void {
  const { chat, video, list, images, asset, call, run } = tab;
  const { messages, pendingActions } = chat.getSnapshot();
  const message = nthOf(messages, nth);
  const toolCallId = pendingActions[0]?.toolCallId ?? "none";
  const question = isInCommonChat(tab) ? `question ${index}` : `aside ${index}`;
  const film = `film ${index}`;
  const send = (text = question) => call(text, () => chat.send(text));
  const create = () =>
    call(film, () => video.create({ model: "beta3.0-video", input: { prompt: film } }, { label: film }));
  const picture = `picture ${index}`;
  const generate = () => call(picture, () => images.generate({ prompt: picture }));
  const register = () =>
    call(picture, () => asset.create(`https://example.com/${index}.png`, { name: picture }));
  switch (action) {
    case "send":
      return send();
    case "send twice":
      send();
      return send(`${question}, again`);
    case "send for a tool":
      return send(`${question} [${nthOf(["quick", "slow", "guarded", "asked"], nth)}]`);
    case "send a long one":
      return send(`${question} [long]`);
    case "open, send and stop": {
      const opened = world.tabs.length < 4 ? world.open() : tab;
      opened.call(question, () => opened.chat.send(question));
      return stop(world, opened);
    }
    case "send and stop":
      send();
      return stop(world, tab);
    case "stop":
      return stop(world, tab);
    case "retry":
      return call("retry", () => chat.retry());
    case "regenerate":
      return call("regenerate", () => chat.regenerate());
    case "edit":
      return call("edit", () => chat.edit(message?.id ?? "none", `${question}, edited`));
    case "switch branch":
      return run(() => chat.switchBranch(nthOf(message?.branches ?? [], nth) ?? "none"));
    case "approve":
    case "deny":
      return call(action, () => chat[action](toolCallId));
    case "create":
      return create();
    case "create twice":
      create();
      return create();
    case "generate":
      return generate();
    case "generate twice":
      generate();
      return generate();
    case "stop images":
      return run(() => images.stop());
    case "reset images":
      return run(() => images.reset());
    case "register":
      return register();
    case "register twice":
      register();
      return register();
    case "refetch asset":
      return run(() => asset.refetch());
    case "reset asset":
      return run(() => asset.reset());
    case "refetch":
      return run(() => video.refetch());
    case "reset video":
      return run(() => video.reset());
    case "remove video":
      world.hasRemoved = true;
      return run(() => list.remove(nthOf(list.getSnapshot(), nth)?.key ?? "none"));
    default:
      throw new Error(`no such step: ${action}`);
  }
}

/** Stops a chat. A question that it does not show by then may never be sent. */
function stop({ withdrawn }: World, tab: Tab): void {
  const { chat, pending, run } = tab;
  run(() => chat.stop());
  if (!isInCommonChat(tab)) return;
  const shown = new Set(chat.getSnapshot().messages.map(({ content }: ThreadMessage) => content));
  for (const name of pending.values())
    if (name.startsWith("question") && !shown.has(name)) withdrawn.add(name);
}
