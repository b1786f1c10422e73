import { toError } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { addUserPrefix } from "../base/user-prefix.js";
import { hasLocks, isLocked, shareLock, withLock } from "../tabs/locks.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isResumable } from "./message.js";
import { closeLostCalls, endInterrupted, isInFlight, isUnfinished } from "./records.js";
import type { ThreadContext } from "./session.js";
import type { MessageNode } from "./thread.js";
import type { createThreadWriter } from "./thread-writer.js";

/** A stored thread whose messages several tabs may work on. */
interface SharedThread extends ThreadContext {
  readonly writer: ReturnType<typeof createThreadWriter>;
  /** Reads what other tabs have written. The caller holds the lock of the message. */
  readonly refresh: (messageId: string) => Promise<void>;
}

/**
 * Creates the locks of a thread's messages. The tab that works on a message holds its Web Lock. A tab that gets the lock of
 * an unfinished message continues or ends the work of a closed tab.
 */
export function createMessageLocks(shared: SharedThread) {
  const { client, collection, thread, writer, refresh, onMerge, resume } = shared;
  /** Ids of messages that this tab works on or waits for. */
  const busyIds = new Set<string>();
  return { hold, run, endUnlessHeld, watchEnds };

  /** Holds the lock of a message, as documented at `holdLock` of `StorageSession`. */
  function hold(id: string, turn: Promise<unknown>): void {
    busyIds.add(id);
    const done = turn
      .then(() => {
        // another tab has removed it meanwhile: write the removal again
        if (!thread.has(id)) writer.noteChange(id);
        return writer.writeAll();
      })
      .finally(() => busyIds.delete(id));
    void shareLock(client, createLockName(id), done);
  }

  /** Runs `act` while no other tab works on the message, as documented at `runLocked` of `StorageSession`. */
  function run(id: string, signal: AbortSignal, act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn> {
    return new Promise<ChatTurn>((resolve, reject) => {
      withLock(client, createLockName(id), signal, async () => {
        await refresh(id);
        signal.throwIfAborted();
        endAbandoned(id);
        const turn = (async () => act())();
        resolve(turn);
        await turn;
        await writer.writeAll();
      }).catch(reject);
    }).catch((cause) => createUnsentTurn(toError(cause)));
  }

  /** Ends a message in flight whose tab was closed. A message whose lock is held does not change. */
  async function endUnlessHeld(node: MessageNode): Promise<MessageNode> {
    const { message } = node;
    if (!isInFlight(message) || node.turn !== undefined) return node;
    const staysInFlight = canBeResumed(message) || (await isLocked(client, createLockName(message.id)));
    return staysInFlight ? node : { ...node, message: endInterrupted(message) };
  }

  /** Waits until other tabs have ended their work on these messages. Ends the work of closed tabs. */
  function watchEnds(nodes: readonly MessageNode[], signal: AbortSignal): void {
    for (const { id } of nodes.map(({ message }) => message)) {
      if (busyIds.has(id) || !isInFlightElsewhere(id)) continue;
      busyIds.add(id);
      withLock(client, createLockName(id), signal, () => endOrResume(id, signal))
        .then(onMerge)
        .catch((error) => {
          if (!signal.aborted) reportStorageFailure(client, error);
        })
        .finally(() => busyIds.delete(id));
    }
  }

  /** Ends the work of a closed tab. Continues a response that the proxy stores, and calls that can be resumed. */
  async function endOrResume(id: string, signal: AbortSignal): Promise<void> {
    await refresh(id);
    signal.throwIfAborted();
    const message = thread.get(id)?.message;
    // without locks, nobody knows whether the tab of the message lives. Until that tab writes the message again, hide it here
    if (message && isInFlight(message) && !hasLocks()) return writer.drop(id);
    const turn = message && canBeResumed(message) && resumeWork(message);
    if (turn) await turn;
    else endAbandoned(id);
    // written before the lock is released, so that the next tab finds it ended
    await writer.writeAll();
  }

  /** Continues the work of a closed tab. Ends calls that can't be resumed, so that they do not run twice. */
  function resumeWork(message: ChatMessage): Promise<unknown> | undefined {
    if (!isUnfinished(message)) thread.put(closeLostCalls(message));
    return resume(message);
  }

  /** Ends the work of a closed tab. The caller holds the lock of the message. */
  function endAbandoned(id: string): void {
    const message = thread.get(id)?.message;
    if (message && isInFlightElsewhere(id) && hasLocks()) thread.put(endInterrupted(message));
  }

  /** Returns true for a message in flight on which this tab does not work. */
  function isInFlightElsewhere(id: string): boolean {
    const node = thread.get(id);
    return node !== undefined && isInFlight(node.message) && node.turn === undefined;
  }

  function createLockName(id: string): string {
    return addUserPrefix(client, `sluice/${collection}/${id}`);
  }
}

/**
 * Returns true if another tab can resume the work: the proxy stores the response in flight, or a tool has saved its
 * state, and tabs can see each other's locks.
 */
function canBeResumed(message: ChatMessage): boolean {
  const { streamId, toolCalls } = message;
  return hasLocks() && (isUnfinished(message) ? streamId !== undefined : !!toolCalls?.some(isResumable));
}
