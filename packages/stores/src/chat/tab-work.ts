import { reportStorageFailure } from "../base/platform-limits.js";
import { addUserPrefix } from "../base/user-prefix.js";
import { hasLocks, isLocked, shareLock, withLock } from "../tabs/locks.js";
import { type ChatMessage, isResumable } from "./message.js";
import { closeLostCalls, endInterrupted, isInFlight, isUnfinished } from "./records.js";
import type { StoredThread } from "./stored-thread.js";
import { isOfRunner, type MessageNode } from "./tree.js";
import { drop, writeAll } from "./write-thread.js";

/* Coordinates the work on messages with other tabs: the page that works on a message holds its Web Lock. */

/** Holds the lock of a message that this tab works on, until the turn has ended and is stored. */
export function holdLock(stored: StoredThread, id: string, turn: Promise<unknown>): void {
  const { client, thread, writer, watched } = stored;
  watched.add(id);
  const done = turn
    .then(() => {
      // this tab may have written it after another tab removed it
      if (!thread.has(id)) writer.mark(id);
      return writeAll(stored);
    })
    .finally(() => watched.delete(id));
  void shareLock(client, createLockName(stored, id), done);
}

/** Runs `act` while no other tab works on the message, as documented at `runLocked` of `ThreadRecords`. */
export function runLocked<Turn>(
  stored: StoredThread,
  id: string,
  signal: AbortSignal,
  act: () => Promise<Turn>,
): Promise<Turn> {
  return new Promise((resolve, reject) => {
    withLock(stored.client, createLockName(stored, id), signal, async () => {
      await stored.refresh(id);
      signal.throwIfAborted();
      endAbandoned(stored, id);
      const turn = act();
      resolve(turn);
      await turn;
      await writeAll(stored);
    }).catch(reject);
  });
}

/** Ends a message in flight whose tab was closed. A message whose lock is held does not change. */
export async function endUnlessLocked(stored: StoredThread, node: MessageNode): Promise<MessageNode> {
  const { message } = node;
  if (!isInFlight(message) || isOfRunner(node)) return node;
  const isOwned =
    canBeResumed(message) || (await isLocked(stored.client, createLockName(stored, message.id)));
  return isOwned ? node : { ...node, message: endInterrupted(message) };
}

/** Waits until other tabs have ended their work on these messages. Ends the work of closed tabs. */
export function watchEnds(stored: StoredThread, nodes: readonly MessageNode[]): void {
  const { client, watched, onMerge, open } = stored;
  const { signal } = open;
  for (const { id } of nodes.map(({ message }) => message)) {
    // the record may be older than the message here, and may never be written again
    if (watched.has(id) || !isOpenHere(stored, id)) continue;
    watched.add(id);
    withLock(client, createLockName(stored, id), signal, () => endOrResume(stored, id, signal))
      .then(onMerge)
      .catch((error) => {
        if (!signal.aborted) reportStorageFailure(client, error);
      })
      .finally(() => watched.delete(id));
  }
}

/** Ends the work of a closed tab. Continues a response that the proxy stores, and calls that can be resumed. */
async function endOrResume(stored: StoredThread, id: string, signal: AbortSignal): Promise<void> {
  await stored.refresh(id);
  signal.throwIfAborted();
  const message = stored.thread.get(id)?.message;
  // the locks no longer work: the message is shown again when its tab has ended it
  if (message && isInFlight(message) && !hasLocks()) return drop(stored, id);
  const turn = message && canBeResumed(message) && resumeWork(stored, message);
  if (turn) await turn;
  else endAbandoned(stored, id);
  // written before the lock is released, so that the next tab finds it ended
  await writeAll(stored);
}

/** Continues the work of a closed tab. Ends calls that can't be resumed, so that they do not run twice. */
function resumeWork({ thread, resume }: StoredThread, message: ChatMessage): Promise<unknown> | undefined {
  if (!isUnfinished(message)) thread.put(closeLostCalls(message));
  return resume(message);
}

/** Ends the work of a closed tab. The caller holds the lock of the message. */
function endAbandoned(stored: StoredThread, id: string): void {
  const { thread } = stored;
  const message = thread.get(id)?.message;
  if (message && isOpenHere(stored, id) && hasLocks()) thread.put(endInterrupted(message));
}

function isOpenHere({ thread }: StoredThread, id: string): boolean {
  const node = thread.get(id);
  return node !== undefined && isInFlight(node.message) && !isOfRunner(node);
}

/**
 * Returns true if another tab can resume the work: the proxy stores the response in flight, or a tool has saved its
 * state, and tabs can see each other's locks.
 */
function canBeResumed(message: ChatMessage): boolean {
  const { streamId, toolCalls } = message;
  return hasLocks() && (isUnfinished(message) ? streamId !== undefined : !!toolCalls?.some(isResumable));
}

function createLockName({ client, collection }: StoredThread, id: string): string {
  return addUserPrefix(client, `sluice/${collection}/${id}`);
}
