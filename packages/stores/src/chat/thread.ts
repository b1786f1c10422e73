import { type ChatMessage, type ChatNode, isEmptyResponse } from "./message.js";

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
  /**
   * Id of the turn of a `TurnRunner` that writes the message. No page ends or continues it, regardless of locks.
   */
  readonly turn?: string | undefined;
}

/**
 * The tree of a chat's messages. The shown messages are one path through it. At each fork the path takes the branch that
 * was chosen last, by default the newest.
 */
export interface Thread {
  /** Parent of messages added without one. An unknown id makes them follow all older messages, also later merged ones. */
  defaultParent: string | undefined;
  /** The shown messages in order; the same array until one of them changes. */
  readonly path: readonly ChatMessage[];
  /** Returns the messages from the root to `id`, shown or not. */
  getPath(id: string | undefined): readonly ChatMessage[];
  /** Finds a message; returns undefined for the id `undefined`. */
  get(id: string | undefined): MessageNode | undefined;
  has(id: string): boolean;
  /** Returns the id of the message before `id`. */
  getParent(id: string): string | undefined;
  /** Returns the ids of the versions that can follow a message, oldest first; of root messages for `undefined`. */
  listVersions(id: string | undefined): readonly string[];
  listIds(): string[];
  /**
   * Adds a message below `parent` and shows it. `key` is the idempotency key of its request, `turn` the turn of the
   * runner that writes it.
   */
  add(message: ChatMessage, parent: string | undefined, key?: string, turn?: string): void;
  /** Replaces the message with the same id; does nothing if it was removed. */
  put(message: ChatMessage): void;
  /**
   * Merges copies of messages. Adds unknown messages; `mergeCopies` merges known ones. A copy does not change the chosen
   * branch.
   */
  merge(copies: Iterable<MessageNode>, mergeCopies: MergeCopies): void;
  remove(id: string): void;
  /** Shows the branch of the message. */
  choose(id: string | undefined): void;
}

/** Merges a message with a copy of it. `isAhead` is true if the copy lacks something of the merged message. */
export type MergeCopies = (
  local: MessageNode,
  copy: MessageNode,
) => { readonly merged: MessageNode; readonly isAhead: boolean };

/**
 * Creates a thread.
 *
 * @param onChange called with the id of each message that is added, replaced or removed, and of each merged message that
 * is newer here than in the copy. Also gets the message, unless it is new
 */
export function createThread(onChange: (id: string, message?: ChatMessage) => void): Thread {
  const nodes = new Map<string, MessageNode>();
  const chosen = new Map<string | undefined, string>();
  const thread: Thread = {
    defaultParent: undefined,
    get path() {
      path ??= buildPath();
      return path;
    },
    getPath: (id) =>
      listAncestors(id)
        .reverse()
        .map((ancestor) => (nodes.get(ancestor) as MessageNode).message),
    get(id) {
      buildTree();
      return nodes.get(id as string);
    },
    has: (id) => nodes.has(id),
    getParent: (id) => buildTree().parents.get(id),
    listVersions: (id) => buildTree().versions.get(id) ?? [],
    listIds: () => [...nodes.keys()],
    add(message, parent = thread.defaultParent, key?: string, turn?: string) {
      insert({ message, parent, revision: 0, ...(key && { key }), ...(turn && { turn }) });
      added.push(message.id);
      onChange(message.id);
    },
    put(message) {
      const known = nodes.get(message.id);
      if (!known) return;
      replace({ ...known, message, revision: known.revision + 1 });
      onChange(message.id, message);
    },
    merge(copies, mergeCopies) {
      for (const copy of copies) {
        const { id } = copy.message;
        const known = nodes.get(id);
        if (!known) {
          insert(copy);
          continue;
        }
        const { merged, isAhead } = mergeCopies(known, copy);
        if (merged !== known) replace({ ...merged, parent: known.parent });
        if (isAhead) onChange(id, merged.message);
      }
    },
    remove(id) {
      if (!nodes.delete(id)) return;
      tree = path = undefined;
      onChange(id);
    },
    choose(id) {
      for (const ancestor of listAncestors(id)) chosen.set(thread.getParent(ancestor), ancestor);
      path = undefined;
    },
  };
  // `tree` and `path` are computed when they are read, so that a thousand messages added at once cost one tree
  let tree: ThreadTree | undefined;
  let path: ChatMessage[] | undefined;
  let added: string[] = [];
  return thread;

  function insert(node: MessageNode): void {
    nodes.set(node.message.id, node);
    tree = path = undefined;
  }

  function replace(node: MessageNode): void {
    const { id } = node.message;
    const { message } = nodes.get(id) as MessageNode;
    nodes.set(id, { ...node, message: labelVersions(node.message, message.branches) });
    path = undefined;
    if (isEmptyResponse(message) !== isEmptyResponse(node.message)) tree = undefined;
  }

  /** Returns the tree of all messages. Each version of a message lists all versions. */
  function buildTree(): ThreadTree {
    if (tree) return tree;
    tree = createTree(nodes);
    for (const ids of tree.versions.values())
      for (const id of ids) {
        const node = nodes.get(id) as MessageNode;
        const message = labelVersions(node.message, ids.length > 1 ? ids : undefined);
        if (message !== node.message) nodes.set(id, { ...node, message });
      }
    for (const id of added) chosen.set(tree.parents.get(id), id);
    added = [];
    return tree;
  }

  /** Lists the ids from a message up to its root. */
  function listAncestors(id: string | undefined): string[] {
    const { parents } = buildTree();
    const ids: string[] = [];
    for (let next = id; next !== undefined && parents.has(next); next = parents.get(next)) ids.push(next);
    return ids;
  }

  function buildPath(): ChatMessage[] {
    const { versions } = buildTree();
    const shown: ChatMessage[] = [];
    let shownId: string | undefined;
    for (;;) {
      const ids: readonly string[] = versions.get(shownId) ?? [];
      const choice = chosen.get(shownId);
      shownId = choice !== undefined && ids.includes(choice) ? choice : ids.at(-1);
      if (shownId === undefined) return shown;
      shown.push((nodes.get(shownId) as MessageNode).message);
    }
  }
}

/** Sets the `branches` of a message. Returns the same object if they do not change. */
function labelVersions(message: ChatMessage, branches: readonly string[] | undefined): ChatMessage {
  if (message.branches === branches || String(message.branches) === String(branches)) return message;
  const { branches: _, ...rest } = message;
  return branches ? { ...rest, branches } : rest;
}

/**
 * Creates the function that lists the messages of all branches, as documented at `getThread` of a chat. Returns the same
 * list until an entry changes.
 */
export function createThreadList(thread: Thread): () => readonly ChatNode[] {
  let listed: readonly ChatNode[] = [];
  return () => {
    const known = new Map(listed.map((node) => [node.id, node]));
    const nodes = listShownIds(thread).map((id): ChatNode => {
      const message = thread.get(id)?.message as ChatMessage;
      const parentId = thread.getParent(id);
      const entry = known.get(id);
      return entry?.message === message && entry.parentId === parentId ? entry : { id, parentId, message };
    });
    const isSame = nodes.length === listed.length && nodes.every((node, nth) => node === listed[nth]);
    if (!isSame) listed = nodes;
    return listed;
  };
}

/** Lists the ids of all messages that can be shown, depth first. */
function listShownIds(thread: Thread): string[] {
  const ids: string[] = [];
  const stack = [...thread.listVersions(undefined)].reverse();
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    ids.push(id);
    for (const child of [...thread.listVersions(id)].reverse()) stack.push(child);
  }
  return ids;
}

/** Parents and versions of all messages. */
interface ThreadTree {
  /** Id of the parent of each message. */
  readonly parents: ReadonlyMap<string, string | undefined>;
  /** Ids of the versions that can follow a message, oldest first. */
  readonly versions: ReadonlyMap<string | undefined, readonly string[]>;
}

/**
 * Gives every message a parent, so that it can be reached. A message whose parent is unknown, or whose parents form a
 * cycle, follows the newest older message. All tabs compute the same tree from the same messages.
 */
function createTree(nodes: ReadonlyMap<string, MessageNode>): ThreadTree {
  const children = new Map<string | undefined, string[]>();
  for (const [id, { parent }] of nodes) getChildren(parent).push(id);
  const reachable = new Set<string>();
  markReachable(getChildren(undefined));

  let previous: string | undefined;
  const hasLost = reachable.size < nodes.size;
  const byAge = hasLost ? [...new Set([...reachable, ...nodes.keys()])].sort(compareAge) : [];
  for (const id of byAge) {
    if (!reachable.has(id)) attach(findTopAncestor(id), previous);
    previous = id;
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
    const created: string[] = [];
    children.set(parent, created);
    return created;
  }

  function markReachable(ids: readonly string[]): void {
    const found = [...ids];
    for (const id of found) {
      reachable.add(id);
      for (const child of children.get(id) ?? []) found.push(child);
    }
  }

  /** Finds the topmost ancestor of `id`. A cycle is cut there. */
  function findTopAncestor(id: string): string {
    const visited = new Set<string>();
    let top = id;
    for (
      let next: string | undefined = id;
      next !== undefined && nodes.has(next);
      next = nodes.get(next)?.parent
    ) {
      top = next;
      if (visited.has(next)) break;
      visited.add(next);
    }
    return top;
  }

  /** Moves a message below `target`. If its parent is unknown, its other versions move too. */
  function attach(top: string, target: string | undefined): void {
    const parent = nodes.get(top)?.parent;
    const isCycle = nodes.has(parent as string);
    const moved = isCycle ? [top] : getChildren(parent);
    children.set(parent, isCycle ? getChildren(parent).filter((id) => id !== top) : []);
    for (const id of moved) getChildren(target).push(id);
    markReachable(moved);
  }

  function compareAge(a: string, b: string): number {
    return getAge(a) - getAge(b);
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
