import type { Action } from "./plan.js";
import { isIll, type Simulation } from "./simulation.js";
import type { Tab } from "./tab.js";

/** A request of the user for a video, images or an asset. */
export interface Order {
  readonly name: string;
  /** Tab that requested it last. */
  tab: Tab;
  readonly at: number;
  readonly submit: (tab: Tab) => void;
  /** `lost`: an error that does not reveal the outcome. Only then does the user repeat the request. */
  end: "open" | "lost" | "known";
}

export type OrderKind = "create" | "generate" | "register";

/** Minimum time for which the proxy stores a response, in milliseconds. A clock may be wrong by two hours. */
const REMEMBERED_MS = 20 * 3_600_000;

/** Records a request of the user, and performs it. */
export function order(
  { orders, timeline }: Simulation,
  tab: Tab,
  kind: OrderKind,
  one: Pick<Order, "name" | "submit">,
) {
  orders.set(kind, { ...one, tab, at: timeline.now(), end: "open" });
  one.submit(tab);
}

/** Notes how a call for an order ended. */
export function settleOrder({ orders }: Simulation, name: string, settled: unknown): void {
  const { error } = (settled ?? {}) as { error?: { name?: string; billing?: string } };
  const isLost = error?.billing === "maybe" && /^(?:Connection|Timeout)Error$/.test(error.name ?? "");
  for (const each of orders.values()) if (each.name === name) each.end = isLost ? "lost" : "known";
}

/**
 * Asks for the last order of a kind again, as a user does whose order was lost: in its own tab, or a video also in
 * another tab, which has its entry from the storage. With a known end the user would want another one.
 */
export function orderAgain(simulation: Simulation, tab: Tab, action: Action): void {
  const kind = action.slice(0, -" again".length) as OrderKind;
  const last = simulation.orders.get(kind);
  if (!last || simulation.timeline.now() - last.at > REMEMBERED_MS) return;
  const isDead = last.end === "open" && last.tab.page.state === "gone";
  const sharesEntries =
    kind === "create" && !isIll(simulation.disk.modes) && simulation.locks.mode === "sound";
  if (simulation.hasRemoved || last.tab.tree || tab.tree) return;
  if (last.tab !== tab && !sharesEntries) return;
  if (last.end !== "lost" && !isDead) return;
  last.end = "open";
  last.tab = tab;
  last.submit(tab);
}
