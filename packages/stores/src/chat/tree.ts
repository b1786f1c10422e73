import { type ChatMessage, isEmptyResponse } from "./message.js";

/** A message with its parent in the tree. */
export interface MessageNode {
  readonly message: ChatMessage;
  /** Id of the message before it; `undefined` for a root message. The id may be unknown: lost, or not merged yet. */
  readonly parent: string | undefined;
  /** Number of changes, so that an older copy never wins. */
  readonly revision: number;
  /**
   * Idempotency key of the response's request, or a key from `setMessages`. Keys of the requests below are derived from
   * it. Absent without idempotency keys.
   */
  readonly key?: string | undefined;
  /** Id of the turn of a `TurnRunner` that writes the message. Pages neither end nor continue it. */
  readonly turn?: string | undefined;
}

/** Returns true for a message that a `TurnRunner` writes. No page ends or continues it, regardless of locks. */
export function isOfRunner({ turn }: MessageNode): boolean {
  return turn !== undefined;
}

/** Parents and versions of all messages. */
export interface ThreadTree {
  /** Id of the parent of each message. */
  readonly parents: ReadonlyMap<string, string | undefined>;
  /** Ids of the versions that can follow a message, oldest first. */
  readonly versions: ReadonlyMap<string | undefined, readonly string[]>;
}

/**
 * Gives every message a parent, so that it can be reached. A message whose parent is unknown, or whose parents form a
 * cycle, follows the newest older message. All tabs compute the same tree from the same messages.
 */
export function createTree(nodes: ReadonlyMap<string, MessageNode>): ThreadTree {
  const children = new Map<string | undefined, string[]>();
  for (const [id, { parent }] of nodes) getChildren(parent).push(id);
  const placed = new Set<string>();
  place(getChildren(undefined));

  let before: string | undefined;
  const inOrder = placed.size < nodes.size ? [...new Set([...placed, ...nodes.keys()])].sort(compareAge) : [];
  for (const id of inOrder) {
    if (!placed.has(id)) attach(findTop(id), before);
    before = id;
  }

  const parents = new Map<string, string | undefined>();
  const versions = new Map<string | undefined, readonly string[]>();
  for (const [parent, ids] of children) {
    for (const id of ids) parents.set(id, parent);
    versions.set(parent, ids.sort(compareAge).filter(isShown));
  }
  return { parents, versions };

  function getChildren(parent: string | undefined): string[] {
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

  /** Finds the topmost ancestor of `id`. A cycle is cut there. */
  function findTop(id: string): string {
    const visited = new Set<string>();
    let top = id;
    for (let up: string | undefined = id; up !== undefined && nodes.has(up); up = nodes.get(up)?.parent) {
      top = up;
      if (visited.has(up)) break;
      visited.add(up);
    }
    return top;
  }

  /** Moves a message below another one. If the parent is unknown, the other versions move too. */
  function attach(top: string, target: string | undefined): void {
    const parent = nodes.get(top)?.parent;
    const isCycle = nodes.has(parent as string);
    const moved = isCycle ? [top] : getChildren(parent);
    children.set(parent, isCycle ? getChildren(parent).filter((id) => id !== top) : []);
    for (const id of moved) getChildren(target).push(id);
    place(moved);
  }

  function compareAge(one: string, other: string): number {
    return getAge(one) - getAge(other);
  }

  function getAge(id: string): number {
    return nodes.get(id)?.message.createdAt ?? 0;
  }

  /** Returns false for an empty response with a newer version, unless a message follows it. */
  function isShown(id: string, index: number, ids: readonly string[]): boolean {
    const message = nodes.get(id)?.message;
    return index === ids.length - 1 || !message || !isEmptyResponse(message) || !!children.get(id)?.length;
  }
}
