import type { Exchange } from "./network.js";
import type { Simulation } from "./simulation.js";
import type { Tab } from "./tab.js";
import type { Part } from "./tree.js";

/* Rules about components with hooks. Each returns the broken rule, if it is. */

/** React has nothing to say against the hooks, and no component throws. */
export function rendersInPeace({ tree }: Tab): string | undefined {
  const [complaint] = tree?.complaints ?? [];
  return complaint && `a component complains: ${complaint.slice(0, 300)}`;
}

/** A component shows the state of its store, and all stores of one task show the same. */
export function showsItsStores({ tree }: Tab): string | undefined {
  if (!tree) return undefined;
  const { shown, probed, createdId } = tree;
  for (const part of ["chat", "title", "images"] as const) {
    const { id, result } = shown[part] ?? {};
    if (id === undefined || !result) continue;
    const store = tree.findStore(part);
    if (!store) return `the component ${part} shows a store that was given up`;
    const wrong = findDifference(store.getSnapshot(), result);
    if (wrong) return `the component ${part} does not show what its store has: ${wrong}`;
  }
  for (const [part, read] of probed) {
    const { status } = shown[part]?.result ?? {};
    if (status !== read().status) return `the component ${part} shows ${status} in place of ${read().status}`;
  }
  const { handle } = shown.video?.result ?? {};
  return createdId === undefined || createdId === handle?.id
    ? undefined
    : `the component video shows ${handle?.id} in place of ${createdId}, which it has created`;
}

function findDifference(state: object, shown: object): string | undefined {
  return Object.keys(state).find((key) => Reflect.get(state, key) !== Reflect.get(shown, key));
}

/** Components that poll a task, by the URL of the polls. */
const pollers: readonly (readonly [RegExp, readonly Part[]])[] = [
  [/^\/v1\/video\/generations\/[^/]+$/, ["video", "list"]],
  [/\/GetAsset$/, ["asset"]],
];
/** Milliseconds until a removed component is unmounted. */
const LEAVING_MS = 1000;

/** Checks that a task is polled only for a mounted component, and by one poll at a time. */
export function pollsForWhatIsShown({ network }: Simulation, { page, tree }: Tab): string | undefined {
  if (!tree) return undefined;
  const open = new Map<string, Exchange>();
  for (const exchange of network.exchanges) {
    const { at, path, body } = exchange;
    if (exchange.page !== page) continue;
    const [, parts] = pollers.find(([address]) => address.test(path)) ?? [];
    if (!parts) continue;
    const isActive = parts.some((part) =>
      tree.turns.some((turn, index) => {
        const end = tree.turns.find((next, after) => after > index && next.part === part);
        return turn.part === part && turn.isActive && turn.at <= at && at <= (end?.at ?? at) + LEAVING_MS;
      }),
    );
    if (!isActive) return `${path} is polled at ${at} ms for no component`;
    const other = open.get(path + body);
    if (other && (other.endedAt ?? at + 1) > at) return `${path} is polled twice at once, at ${at} ms`;
    open.set(path + body, exchange);
  }
  return undefined;
}
