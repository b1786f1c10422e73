import { type ChatMessage, type ChatNode, isHollow } from "./message.js";
import { createTree, type PlacedMessage, type ThreadTree } from "./tree.js";

/**
 * The tree of a chat's messages. The shown messages are one path through it. At each fork it takes the branch that was
 * chosen last, otherwise the newest.
 */
export interface Thread {
  /**
   * Parent of messages that are added without one. With an unknown id they follow all older messages, also those that
   * are merged later.
   */
  origin: string | undefined;
  /** The shown messages in order; the same array until one of them changes. */
  readonly path: readonly ChatMessage[];
  /** The messages from the first one to `id`, shown or not. */
  pathTo(id: string | undefined): readonly ChatMessage[];
  /** Finds a message; no message has the id `undefined`. */
  node(id: string | undefined): PlacedMessage | undefined;
  has(id: string): boolean;
  /** Id of the message before `id`. */
  parentOf(id: string): string | undefined;
  /** Ids of the versions that can be shown behind a message, oldest first; of first messages for `undefined`. */
  versionsBelow(id: string | undefined): readonly string[];
  ids(): string[];
  /** Adds a message below `parent`, and shows it. `key` is that of its request. */
  add(message: ChatMessage, parent: string | undefined, key?: string): void;
  /** Replaces the message with the same id; does nothing if it was removed. `isStopped` marks it for other devices. */
  put(message: ChatMessage, isStopped?: true): void;
  /**
   * Merges copies of messages. Unknown copies are added, and `join` decides about all others. A copy does not change
   * the branch that the user chose.
   */
  merge(copies: Iterable<PlacedMessage>, join: JoinCopies): void;
  remove(id: string): void;
  /** Shows the branch that the message is on. */
  choose(id: string | undefined): void;
}

/** Joins a message with a copy of it. `isAhead` is true where the copy lacks something that the joined one has. */
export type JoinCopies = (
  local: PlacedMessage,
  copy: PlacedMessage,
) => { readonly joined: PlacedMessage; readonly isAhead: boolean };

/**
 * Creates a thread. `onChange` gets the id of each message added, replaced or removed, and of each merged message that
 * is newer here than in the copy. It also gets the message, unless that is new.
 */
export function createThread(onChange: (id: string, message?: ChatMessage) => void): Thread {
  const nodes = new Map<string, PlacedMessage>();
  const chosen = new Map<string | undefined, string>();
  const thread: Thread = {
    origin: undefined,
    get path() {
      path ??= walk();
      return path;
    },
    pathTo: (id) =>
      climb(id)
        .reverse()
        .map((at) => (nodes.get(at) as PlacedMessage).message),
    node(id) {
      grow();
      return nodes.get(id as string);
    },
    has: (id) => nodes.has(id),
    parentOf: (id) => grow().parents.get(id),
    versionsBelow: (id) => grow().versions.get(id) ?? [],
    ids: () => [...nodes.keys()],
    add(message, parent = thread.origin, key?: string) {
      insert({ message, parent, revision: 0, ...(key && { key }) });
      added.push(message.id);
      onChange(message.id);
    },
    put(message, isStopped) {
      const known = nodes.get(message.id);
      if (!known) return;
      replace({ ...known, message, revision: known.revision + 1, ...(isStopped && { isStopped }) });
      onChange(message.id, message);
    },
    merge(copies, join) {
      for (const copy of copies) {
        const { id } = copy.message;
        const known = nodes.get(id);
        if (!known) {
          insert(copy);
          continue;
        }
        const { joined, isAhead } = join(known, copy);
        if (joined !== known) replace({ ...joined, parent: known.parent });
        if (isAhead) onChange(id, joined.message);
      }
    },
    remove(id) {
      if (!nodes.delete(id)) return;
      tree = path = undefined;
      onChange(id);
    },
    choose(id) {
      for (const at of climb(id)) chosen.set(thread.parentOf(at), at);
      path = undefined;
    },
  };
  // both are made when they are read, so that a thousand messages added at once cost one tree
  let tree: ThreadTree | undefined;
  let path: ChatMessage[] | undefined;
  let added: string[] = [];
  return thread;

  function insert(node: PlacedMessage): void {
    nodes.set(node.message.id, node);
    tree = path = undefined;
  }

  function replace(node: PlacedMessage): void {
    const { id } = node.message;
    const { message } = nodes.get(id) as PlacedMessage;
    nodes.set(id, { ...node, message: labelled(node.message, message.branches) });
    path = undefined;
    if (isHollow(message) !== isHollow(node.message)) tree = undefined;
  }

  /** The tree of all messages. Each version of a message lists all its versions. */
  function grow(): ThreadTree {
    if (tree) return tree;
    tree = createTree(nodes);
    for (const ids of tree.versions.values())
      for (const id of ids) {
        const node = nodes.get(id) as PlacedMessage;
        const message = labelled(node.message, ids.length > 1 ? ids : undefined);
        if (message !== node.message) nodes.set(id, { ...node, message });
      }
    for (const id of added) chosen.set(tree.parents.get(id), id);
    added = [];
    return tree;
  }

  /** Lists the messages from one up to the first. */
  function climb(id: string | undefined): string[] {
    const { parents } = grow();
    const passed: string[] = [];
    for (let at = id; at !== undefined && parents.has(at); at = parents.get(at)) passed.push(at);
    return passed;
  }

  function walk(): ChatMessage[] {
    const { versions } = grow();
    const shown: ChatMessage[] = [];
    let at: string | undefined;
    for (;;) {
      const ids: readonly string[] = versions.get(at) ?? [];
      const choice = chosen.get(at);
      at = choice !== undefined && ids.includes(choice) ? choice : ids.at(-1);
      if (at === undefined) return shown;
      shown.push((nodes.get(at) as PlacedMessage).message);
    }
  }
}

function labelled(message: ChatMessage, branches: readonly string[] | undefined): ChatMessage {
  if (message.branches === branches || String(message.branches) === String(branches)) return message;
  const { branches: _, ...rest } = message;
  return branches ? { ...rest, branches } : rest;
}

/**
 * Creates the function that lists the messages of all branches, as `getThread` of a chat says. A list equal to the last
 * one is that list.
 */
export function createThreadList(thread: Thread): () => readonly ChatNode[] {
  let listed: readonly ChatNode[] = [];
  return () => {
    const known = new Map(listed.map((node) => [node.id, node]));
    const nodes = idsOf(thread).map((id): ChatNode => {
      const message = thread.node(id)?.message as ChatMessage;
      const parentId = thread.parentOf(id);
      const same = known.get(id);
      return same?.message === message && same.parentId === parentId ? same : { id, parentId, message };
    });
    const isSame = nodes.length === listed.length && nodes.every((node, nth) => node === listed[nth]);
    if (!isSame) listed = nodes;
    return listed;
  };
}

/** Lists all that can be shown, each message with all that follows it before its next version. */
function idsOf(thread: Thread): string[] {
  const ids: string[] = [];
  const left = [...thread.versionsBelow(undefined)].reverse();
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    ids.push(id);
    for (const below of [...thread.versionsBelow(id)].reverse()) left.push(below);
  }
  return ids;
}
