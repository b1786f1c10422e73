import type { ThreadMessage, ThreadNode } from "./message.js";
import type { Thread } from "./message-tree.js";

/**
 * Creates the function that lists the messages of all branches, as `getThread` of a chat says. A list equal to the last
 * one is that list.
 */
export function createThreadList(thread: Thread): () => readonly ThreadNode[] {
  let listed: readonly ThreadNode[] = [];
  return () => {
    const known = new Map(listed.map((node) => [node.id, node]));
    const nodes = idsOf(thread).map((id): ThreadNode => {
      const message = thread.node(id)?.message as ThreadMessage;
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
