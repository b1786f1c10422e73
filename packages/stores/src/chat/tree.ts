import { type ChatMessage, isHollow } from "./message.js";

/** A message and its place in the tree. */
export interface PlacedMessage {
  readonly message: ChatMessage;
  /** Id of the message before it; `undefined` for a first message. It may be unknown: lost, or still to come. */
  readonly parent: string | undefined;
  /** Number of changes, so that an older copy never wins. */
  readonly revision: number;
  /** Id of the device that added it, where a server keeps the thread; undefined for one of this device. */
  readonly by?: string | undefined;
  /**
   * Key of the request of an answer, or one that `setMessages` gave, from which the keys of the requests below it follow;
   * absent without keys.
   */
  readonly key?: string | undefined;
  /** True once a device has stopped the answer: whoever works on it ends the turn. */
  readonly isStopped?: boolean | undefined;
}

/** True for an answer that a server works on: no page ends it or goes on with it, whatever locks there are. */
export function isServers({ by }: PlacedMessage): boolean {
  return by === "server";
}

/** Places of all messages. */
export interface ThreadTree {
  /** Id of the message before, for each message. */
  readonly parents: ReadonlyMap<string, string | undefined>;
  /** Ids of the versions that can be shown behind a message, oldest first. */
  readonly versions: ReadonlyMap<string | undefined, readonly string[]>;
}

/**
 * Gives every message a place from which it can be reached. Messages whose parent is unknown, or whose parents form a
 * circle, follow the newest older message. The same messages have the same places in every tab.
 */
export function createTree(nodes: ReadonlyMap<string, PlacedMessage>): ThreadTree {
  const children = new Map<string | undefined, string[]>();
  for (const [id, { parent }] of nodes) childrenOf(parent).push(id);
  const placed = new Set<string>();
  place(childrenOf(undefined));

  let before: string | undefined;
  const inOrder = placed.size < nodes.size ? [...new Set([...placed, ...nodes.keys()])].sort(byAge) : [];
  for (const id of inOrder) {
    if (!placed.has(id)) adopt(topOf(id), before);
    before = id;
  }

  const parents = new Map<string, string | undefined>();
  const versions = new Map<string | undefined, readonly string[]>();
  for (const [parent, ids] of children) {
    for (const id of ids) parents.set(id, parent);
    versions.set(parent, ids.sort(byAge).filter(isShown));
  }
  return { parents, versions };

  function childrenOf(parent: string | undefined): string[] {
    const known = children.get(parent);
    if (known) return known;
    const none: string[] = [];
    children.set(parent, none);
    return none;
  }

  function place(ids: readonly string[]): void {
    const below = [...ids];
    for (const id of below) {
      placed.add(id);
      for (const child of children.get(id) ?? []) below.push(child);
    }
  }

  /** Finds the first message on the way to `id`. A circle is cut there. */
  function topOf(id: string): string {
    const passed = new Set<string>();
    let top = id;
    for (let up: string | undefined = id; up !== undefined && nodes.has(up); up = nodes.get(up)?.parent) {
      top = up;
      if (passed.has(up)) break;
      passed.add(up);
    }
    return top;
  }

  /** Moves a message below another one. Its other versions move, too, where their parent is unknown. */
  function adopt(top: string, home: string | undefined): void {
    const parent = nodes.get(top)?.parent;
    const isCircle = nodes.has(parent as string);
    const moved = isCircle ? [top] : childrenOf(parent);
    children.set(parent, isCircle ? childrenOf(parent).filter((id) => id !== top) : []);
    for (const id of moved) childrenOf(home).push(id);
    place(moved);
  }

  function byAge(one: string, other: string): number {
    return age(one) - age(other);
  }

  function age(id: string): number {
    return nodes.get(id)?.message.createdAt ?? 0;
  }

  /** An answer that never began is not a version beside a newer one, unless something follows it. */
  function isShown(id: string, index: number, ids: readonly string[]): boolean {
    const message = nodes.get(id)?.message;
    return index === ids.length - 1 || !message || !isHollow(message) || !!children.get(id)?.length;
  }
}
