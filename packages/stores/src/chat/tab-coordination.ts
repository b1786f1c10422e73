import { type ChatMessage, isResumable, QUEUED } from "./message.js";
import { closeLostCalls, endInterrupted, isInFlight, isUnfinished } from "./records.js";
import { reportFailure, type StoredThread } from "./stored-thread.js";
import type { ThreadRecords } from "./thread-records.js";
import type { ThreadWriter } from "./thread-writer.js";
import { isOfRunner, type MessageNode } from "./tree.js";
import type { WorkLocks } from "./work-locks.js";

/** Coordinates the work on messages with other tabs: the page that holds the lock of a message works on it. */
export interface TabCoordination extends Pick<ThreadRecords, "holdLock" | "runLocked"> {
  /** Ends a message in flight whose tab was closed. A message whose lock is held does not change. */
  readonly endUnlessLocked: (node: MessageNode) => Promise<MessageNode>;
  /** Waits until other tabs have ended their work on these messages. Ends the work of closed tabs. */
  readonly watchEnds: (nodes: readonly MessageNode[], signal: AbortSignal) => void;
  /** Waits for the tabs of these queued messages. If a tab is closed, another tab sends its message. */
  readonly watchQueued: (ids: readonly string[], signal: AbortSignal) => void;
}

/**
 * Creates the coordination of a thread.
 *
 * @param refresh reads the records of other tabs, while the lock of a message is held
 */
export function createTabCoordination(
  stored: StoredThread,
  { mark, queue, drop, writeAll, waitUntilStored }: ThreadWriter,
  refresh: (id?: string) => Promise<void>,
  locks: WorkLocks,
): TabCoordination {
  const { thread, onMerge, resume } = stored;
  const { areVisible, withLock } = locks;
  /** Ids of messages that this tab works on or waits for. */
  const watched = new Set<string>();
  return {
    holdLock(id, turn) {
      watched.add(id);
      const done = turn
        .then(() => {
          // this tab may have written it after another tab removed it
          if (!thread.get(id) && !id.startsWith(QUEUED)) mark(id);
          return id.startsWith(QUEUED) ? waitUntilStored(id) : writeAll();
        })
        .finally(() => watched.delete(id));
      locks.share(id, done);
    },
    runLocked: (id, signal, act) =>
      new Promise((resolve, reject) => {
        withLock(id, signal, async () => {
          await refresh(id);
          signal.throwIfAborted();
          endAbandoned(id);
          const turn = act();
          resolve(turn);
          await turn;
          await writeAll();
        }).catch(reject);
      }),
    async endUnlessLocked(node) {
      const { message } = node;
      if (!isInFlight(message) || isOfRunner(node)) return node;
      const isOwned = canBeResumed(message) || (await locks.mayBeHeld(message.id));
      return isOwned ? node : { ...node, message: endInterrupted(message) };
    },
    watchEnds,
    watchQueued(ids, signal) {
      for (const id of ids)
        withLock(QUEUED + id, signal, () => takeOver(id)).catch((error) =>
          reportFailure(stored, error, signal),
        );
    },
  };

  function watchEnds(nodes: readonly MessageNode[], signal: AbortSignal): void {
    for (const { id } of nodes.map(({ message }) => message)) {
      // the record may be older than the message here, and may never be written again
      if (watched.has(id) || !isOpenHere(id)) continue;
      watched.add(id);
      withLock(id, signal, () => endOrResume(id, signal))
        .then(onMerge)
        .catch((error) => reportFailure(stored, error, signal))
        .finally(() => watched.delete(id));
    }
  }

  /** Ends the work of a closed tab. Continues a response that the proxy stores, and calls that can be resumed. */
  async function endOrResume(id: string, signal: AbortSignal): Promise<void> {
    await refresh(id);
    signal.throwIfAborted();
    const message = thread.get(id)?.message;
    // the locks no longer work: the message is shown again when its tab has ended it
    if (message && isInFlight(message) && !areVisible()) return drop(id);
    const turn = message && canBeResumed(message) && resumeWork(message);
    if (turn) await turn;
    else endAbandoned(id);
    // written before the lock is released, so that the next tab finds it ended
    await writeAll();
  }

  /** Continues the work of a closed tab. Ends calls that can't be resumed, so that they do not run twice. */
  function resumeWork(message: ChatMessage): ReturnType<typeof resume> {
    if (!isUnfinished(message)) thread.put(closeLostCalls(message));
    return resume(message);
  }

  /** Ends the work of a closed tab. The caller holds the lock of the message. */
  function endAbandoned(id: string): void {
    const message = thread.get(id)?.message;
    if (message && isOpenHere(id) && areVisible()) thread.put(endInterrupted(message));
  }

  function isOpenHere(id: string): boolean {
    const node = thread.get(id);
    return node !== undefined && isInFlight(node.message) && !isOfRunner(node);
  }

  async function takeOver(id: string): Promise<void> {
    await refresh();
    if (!areVisible()) return queue.hold(id);
    await queue.takeOver(id);
    // before that, the next tab would find the message and send it again
    await waitUntilStored(QUEUED + id);
  }

  /**
   * Returns true if another tab can resume the work: the proxy stores the response in flight, or a tool has saved its
   * state, and tabs can see each other's locks.
   */
  function canBeResumed(message: ChatMessage): boolean {
    const { streamId, toolCalls } = message;
    return areVisible() && (isUnfinished(message) ? streamId !== undefined : !!toolCalls?.some(isResumable));
  }
}
