import type { ThreadMessage } from "./message.js";

/** A message and its place in the tree. `revision` counts its changes, so that an older copy never wins. */
export interface ThreadNode {
  readonly message: ThreadMessage;
  readonly parent: string | undefined;
  readonly revision: number;
}

/**
 * The tree of a chat's messages. What is shown is one path through it: at each fork the branch that was chosen
 * last, else the newest.
 */
export interface Thread {
  /** The messages shown, from the first to the last; the same array until something in it changes. */
  readonly path: readonly ThreadMessage[];
  /** The messages from the first one to `id`, shown or not. */
  pathTo(id: string | undefined): readonly ThreadMessage[];
  node(id: string): ThreadNode | undefined;
  ids(): string[];
  /** Adds a message below `parent`, and shows it. */
  add(message: ThreadMessage, parent: string | undefined): void;
  /** Replaces the message with the same id; nothing if there is none any more. */
  put(message: ThreadMessage): void;
  /** Takes a copy from elsewhere, unless ours is as new. It is shown only where nothing else was chosen. */
  merge(node: ThreadNode): void;
  remove(id: string): void;
  /** Shows the branch that the message is on. */
  choose(id: string): void;
}

/** Creates a thread; `onChange` hears the id of each message added, replaced or removed, but not of merged ones. */
export function createThread(onChange: (id: string) => void): Thread {
  const nodes = new Map<string, ThreadNode>();
  const children = new Map<string | undefined, string[]>();
  const chosen = new Map<string | undefined, string>();
  let path: ThreadMessage[] | undefined;

  return {
    get path() {
      path ??= walk();
      return path;
    },
    pathTo: (id) =>
      climb(id)
        .reverse()
        .map(({ message }) => message),
    node: (id) => nodes.get(id),
    ids: () => [...nodes.keys()],
    add(message, parent) {
      insert({ message, parent, revision: 0 });
      chosen.set(parent, message.id);
      onChange(message.id);
    },
    put(message) {
      const known = nodes.get(message.id);
      if (!known) return;
      const { branches } = known.message;
      replace({ ...known, message: labelled(message, branches), revision: known.revision + 1 });
      onChange(message.id);
    },
    merge(node) {
      const known = nodes.get(node.message.id);
      if (!known) insert(node);
      else if (node.revision > known.revision)
        replace({
          ...known,
          revision: node.revision,
          message: labelled(node.message, known.message.branches),
        });
    },
    remove(id) {
      const known = nodes.get(id);
      if (!known) return;
      nodes.delete(id);
      const siblings = childrenOf(known.parent).filter((other) => other !== id);
      children.set(known.parent, siblings);
      if (chosen.get(known.parent) === id) chosen.delete(known.parent);
      label(siblings);
      onChange(id);
    },
    choose(id) {
      for (const { message, parent } of climb(id)) chosen.set(parent, message.id);
      path = undefined;
    },
  };

  /** From a message up to the first one; a storage may hold a circle. */
  function climb(id: string | undefined): ThreadNode[] {
    const passed = new Set<ThreadNode>();
    let node = nodes.get(id ?? "");
    while (node && !passed.has(node)) {
      passed.add(node);
      node = nodes.get(node.parent ?? "");
    }
    return [...passed];
  }

  function childrenOf(parent: string | undefined): readonly string[] {
    return children.get(parent) ?? [];
  }

  function insert(node: ThreadNode): void {
    const { id } = node.message;
    nodes.set(id, { ...node, message: labelled(node.message, undefined) });
    const siblings = [...childrenOf(node.parent), id].sort((a, b) => age(a) - age(b));
    children.set(node.parent, siblings);
    label(siblings);
  }

  function replace(node: ThreadNode): void {
    nodes.set(node.message.id, node);
    path = undefined;
  }

  /** Each of several versions knows them all; a single one knows of none. */
  function label(siblings: readonly string[]): void {
    const branches = siblings.length > 1 ? siblings : undefined;
    for (const id of siblings) {
      const known = nodes.get(id) as ThreadNode;
      nodes.set(id, { ...known, message: labelled(known.message, branches) });
    }
    path = undefined;
  }

  function age(id: string): number {
    return nodes.get(id)?.message.createdAt ?? 0;
  }

  function walk(): ThreadMessage[] {
    const shown: ThreadMessage[] = [];
    let at: string | undefined;
    for (;;) {
      at = chosen.get(at) ?? childrenOf(at).at(-1);
      const node = at === undefined ? undefined : nodes.get(at);
      if (!node) return shown;
      shown.push(node.message);
    }
  }
}

function labelled(message: ThreadMessage, branches: readonly string[] | undefined): ThreadMessage {
  if (message.branches === branches) return message;
  const { branches: _, ...rest } = message;
  return branches ? { ...rest, branches } : rest;
}
