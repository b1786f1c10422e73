import type { Action } from "./plan.js";
import type { Tab } from "./tab.js";
import { isIll, type World } from "./world.js";

/** A thing that the user asked for: a film, images or an asset. */
export interface Order {
  readonly name: string;
  /** Tab in which the user has asked for it last. */
  tab: Tab;
  readonly at: number;
  readonly ask: (tab: Tab) => void;
  /** `lost`: an error that says nothing of the end. Only then the user asks for the same again. */
  end: "open" | "lost" | "known";
}

export type OrderKind = "create" | "generate" | "register";

/** Time for which the proxy remembers an answer at least, in milliseconds. A clock may be wrong by two hours. */
const REMEMBERED_MS = 20 * 3_600_000;

/** Notes what the user asks for, and does it. */
export function order(
  { orders, timeline }: World,
  tab: Tab,
  kind: OrderKind,
  one: Pick<Order, "name" | "ask">,
) {
  orders.set(kind, { ...one, tab, at: timeline.now(), end: "open" });
  one.ask(tab);
}

/** Notes how a call for an order ended. */
export function settleOrder({ orders }: World, name: string, settled: unknown): void {
  const { error } = (settled ?? {}) as { error?: { name?: string; billing?: string } };
  const isLost = error?.billing === "maybe" && /^(?:Connection|Timeout)Error$/.test(error.name ?? "");
  for (const each of orders.values()) if (each.name === name) each.end = isLost ? "lost" : "known";
}

/**
 * Asks for the last order of a kind again, as a user does whose order was lost: in its own tab, or a film also in
 * another tab, which has its entry from the storage. With a known end the user would want another one.
 */
export function orderAgain(world: World, tab: Tab, action: Action): void {
  const kind = action.slice(0, -" again".length) as OrderKind;
  const last = world.orders.get(kind);
  if (!last || world.timeline.now() - last.at > REMEMBERED_MS) return;
  const isDead = last.end === "open" && last.tab.page.state === "gone";
  const sharesEntries = kind === "create" && !isIll(world.disk.modes) && world.locks.mode === "sound";
  if (world.hasRemoved || last.tab.tree || tab.tree) return;
  if (last.tab !== tab && !sharesEntries) return;
  if (last.end !== "lost" && !isDead) return;
  last.end = "open";
  last.tab = tab;
  last.ask(tab);
}
