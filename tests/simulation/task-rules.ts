import type { Exchange } from "./network.js";
import type { Page } from "./page.js";
import { isIll, SECRET, type Simulation } from "./simulation.js";
import type { Tab } from "./tab.js";

/* Rules about videos and assets: their ids, their lists and their polls. Each returns the broken rule, if it is. */

/** A tab that received a whole receipt has the id. A task is unconfirmed only if the gateway may have it. */
export function knowsItsTasks(
  { gateway, network, hasRemoved }: Simulation,
  { page, list }: Tab,
): string | undefined {
  const entries = list.getSnapshot();
  for (const exchange of network.exchanges) {
    if (exchange.page !== page || !isCreate(exchange)) continue;
    const label = getPrompt(exchange);
    const task = gateway.calls.find(
      ({ taskId, body }) => taskId && body["input"] && readPrompt(body) === label,
    );
    const entry = entries.find((each) => each.label === label);
    const isKnown = exchange.received.includes(`"${entry?.handle?.id}"`);
    if (task && exchange.isWhole && exchange.status === 200 && !hasRemoved && !isKnown)
      return `the id of "${label}" came, and is lost`;
  }
  const uncertain = entries.find(({ label, state }) => {
    const tries = network.exchanges.filter((each) => isCreate(each) && getPrompt(each) === label);
    // an entry without a request belongs to a tab that crashed before sending it, and no other tab knows that
    const isOwn = tries.length > 0 && tries.every((each) => each.page === page);
    return state === "unconfirmed" && isOwn && tries.every(isRefusal) && page.state === "open";
  });
  return uncertain && `"${uncertain.label}" was refused, and is shown as if it may be billed`;
}

/** A tab that received the whole receipt of an asset has the id. */
export function knowsItsAssets({ network }: Simulation, { page, assetIds }: Tab): string | undefined {
  const lost = network.exchanges.find(
    ({ page: sender, path, status, isWhole, received }) =>
      sender === page &&
      path.endsWith("/CreateAsset") &&
      status === 200 &&
      isWhole &&
      /"Id":/.test(received) &&
      ![...assetIds].some((id) => received.includes(`"${id}"`)),
  );
  return lost && `the id of an asset came, and is lost: ${lost.received}`;
}

function isCreate({ method, path }: Exchange): boolean {
  return method === "POST" && path.startsWith("/v1/video");
}

function getPrompt({ body = "{}" }: Exchange): string {
  return readPrompt(JSON.parse(body));
}

export function readPrompt({ input }: Readonly<Record<string, unknown>>): string {
  return (input as { prompt: string }).prompt;
}

/** Returns true for a request that certainly did not start a task at the gateway, and whose page knows this. */
export function isRefusal({ status = 0, error }: Exchange): boolean {
  return (status >= 400 && status < 500 && status !== 408) || (error === "ECONNREFUSED" && status === 0);
}

/** A billed task is in the list after a reload. The entry was written before the request was sent. */
export function keepsTasks(
  { gateway, disk, hasRemoved, locks, timeline }: Simulation,
  { list }: Tab,
): string | undefined {
  if (isIll(disk.modes) || hasRemoved || timeline.now() > 12 * 3_600_000) return undefined;
  if (locks.mode !== "sound") return undefined;
  const labels = list.getSnapshot().map(({ label }) => label);
  const lost = gateway.calls.find(
    ({ taskId, body }) =>
      taskId && !readPrompt(body).startsWith(SECRET) && !labels.includes(readPrompt(body)),
  );
  return lost && `"${readPrompt(lost.body)}" was billed, and is in no list`;
}

/** Tabs that can see each other list the same videos. */
export function listsTheSame({ tabs, locks, disk, hasRemoved }: Simulation): string | undefined {
  // another tab may have written to the video before the failed removal is repeated
  if (locks.mode !== "sound" || (isIll(disk.modes) && hasRemoved)) return undefined;
  const [first, ...others] = tabs.map(({ list }) =>
    list
      .getSnapshot()
      .map(({ key, label, state, handle, task }) => [key, label, state, handle?.id, task?.state].join(" ")),
  );
  const other = others.find((entries) => entries.sort().join("\n") !== first?.sort().join("\n"));
  return other && `tabs list different videos: ${first?.join(", ")}; and ${other.join(", ")}`;
}

/** Maximum time between two polls of a tab, and until another tab takes over, in milliseconds. */
const LEASE_MS = 20_000;

/** Two tabs never poll one task for longer than one lease. */
export function pollsOnce({ network, locks }: Simulation): string | undefined {
  if (locks.mode !== "sound") return undefined;
  const spans = new Map<string, { readonly page: Page; readonly from: number; to: number }[]>();
  for (const { page, at, method, path, body } of network.exchanges) {
    const isPoll = method === "GET" && /^\/v1\/video\/generations\/[^/]+$/.test(path);
    if (!isPoll && !path.endsWith("/GetAsset")) continue;
    const known = spans.get(path + body) ?? [];
    spans.set(path + body, known);
    const last = known.findLast((span) => span.page === page);
    if (last && at - last.to <= LEASE_MS) last.to = at;
    else known.push({ page, from: at, to: at });
  }
  for (const [task, known] of spans)
    for (const one of known)
      for (const other of known)
        if (one.page !== other.page && Math.min(one.to, other.to) - Math.max(one.from, other.from) > LEASE_MS)
          return `${one.page.name} and ${other.page.name} both poll ${task}`;
  return undefined;
}
