import { type ChatMessage, isResumable, QUEUED } from "../message.js";
import { afterReload, isInFlight, isUnderWay, stoppedElsewhere, withResumableCalls } from "../records.js";
import { isServers, type PlacedMessage } from "../tree.js";
import type { ThreadKeeper } from "./keeper.js";
import { type KeptThread, report } from "./parts.js";
import type { WorkLocks } from "./work-locks.js";
import type { ThreadWriter } from "./writing.js";

/** Agrees with the other tabs and devices on who works on a message: the page that holds its lock. */
export interface OtherTabs extends Pick<ThreadKeeper, "hold" | "withLockOf"> {
  /** Ends a message in flight whose tab was closed; one that a tab holds stays as it is. */
  readonly settleUnlessHeld: (node: PlacedMessage) => Promise<PlacedMessage>;
  /** Waits until the other tabs have ended their work on these messages, and ends that of closed tabs. */
  readonly watchEnds: (nodes: readonly PlacedMessage[], signal: AbortSignal) => void;
  /** Waits for the tabs of these queued messages. A message whose tab was closed is sent by one of the others. */
  readonly watchQueued: (ids: readonly string[], signal: AbortSignal) => void;
}

/**
 * Creates the side of a thread that other tabs see.
 *
 * @param refresh reads what other tabs have written, while the lock of a message is held
 */
export function createOtherTabs(
  kept: KeptThread,
  { mark, queue, drop, written, taken }: ThreadWriter,
  refresh: (id?: string) => Promise<void>,
  locks: WorkLocks,
): OtherTabs {
  const { thread, onMerge, resume } = kept;
  const { areSeen, withLock } = locks;
  /** Ids of messages that this tab works on, or waits for. */
  const watched = new Set<string>();
  /** Ends the waits for other pages. */
  let watching: AbortSignal | undefined;
  return {
    hold(id, turn) {
      watched.add(id);
      const done = turn
        .then(() => {
          // a write of it may have come after its removal by another tab
          if (!thread.node(id) && !id.startsWith(QUEUED)) mark(id);
          return id.startsWith(QUEUED) ? taken(id) : written();
        })
        .finally(() => {
          watched.delete(id);
          // another device may have gone on with it
          const node = locks.isTaken && thread.node(id);
          if (node && watching) watchEnds([node], watching);
        });
      locks.share(id, done);
    },
    withLockOf: (id, signal, act) =>
      new Promise((resolve, reject) => {
        withLock(id, signal, async () => {
          await refresh(id);
          signal.throwIfAborted();
          endLeft(id);
          const turn = act();
          resolve(turn);
          await turn;
          await written();
        }).catch(reject);
      }),
    async settleUnlessHeld(node) {
      const { message } = node;
      if (!isInFlight(message) || isServers(node)) return node;
      const isHeld = isKept(message) || (await locks.mayBeHeld(message.id));
      return isHeld ? node : { ...node, message: afterReload(message) };
    },
    watchEnds,
    watchQueued(ids, signal) {
      for (const id of ids)
        withLock(
          QUEUED + id,
          signal,
          () => takeOver(id),
          () => !kept.queue.entries.has(id),
        ).catch((error) => report(kept, error, signal));
    },
  };

  function watchEnds(nodes: readonly PlacedMessage[], signal: AbortSignal): void {
    watching = signal;
    for (const { id } of nodes.map(({ message }) => message)) {
      // a record may be older than the message here, and never be written again
      if (watched.has(id) || !isOpenHere(id)) continue;
      watched.add(id);
      const close = () => closeOrResume(id, signal);
      withLock(id, signal, close, () => !isOpenHere(id))
        .then(onMerge)
        .catch((error) => report(kept, error, signal))
        .finally(() => watched.delete(id));
    }
  }

  /** Ends the work of a closed tab. This tab continues an answer that the proxy keeps, and calls that can go on. */
  async function closeOrResume(id: string, signal: AbortSignal): Promise<void> {
    await refresh(id);
    signal.throwIfAborted();
    const message = thread.node(id)?.message;
    // the locks were found broken meanwhile: the message is shown again when its tab has ended it
    if (message && isInFlight(message) && !areSeen()) return drop(id);
    const turn = message && isKept(message) && !thread.node(id)?.isStopped && goOn(message);
    if (turn) await turn;
    else endLeft(id);
    // written now, so that the next tab finds it ended
    await written();
  }

  /** Continues the work of a closed tab. Calls that can't go on are ended, so that they do not run twice. */
  function goOn(message: ChatMessage): ReturnType<typeof resume> {
    if (!isUnderWay(message)) thread.put(withResumableCalls(message));
    return resume(message);
  }

  /** Runs while the lock of the message is held: the tab that worked on it has left. */
  function endLeft(id: string): void {
    const { message, isStopped } = thread.node(id) ?? {};
    if (message && isOpenHere(id) && areSeen())
      thread.put(isStopped ? stoppedElsewhere(message) : afterReload(message));
  }

  function isOpenHere(id: string): boolean {
    const node = thread.node(id);
    return node !== undefined && isInFlight(node.message) && !isServers(node);
  }

  async function takeOver(id: string): Promise<void> {
    await refresh();
    if (!areSeen()) return queue.hold(id);
    await queue.takeOver(id);
    // until then the next tab would find the message, and send it once more
    await taken(QUEUED + id);
  }

  /**
   * True for work whose tab may be closed: the proxy keeps the answer in flight, or a tool keeps what it needs to go on,
   * and tabs can see each other's locks.
   */
  function isKept(message: ChatMessage): boolean {
    const { streamId, toolCalls } = message;
    return areSeen() && (isUnderWay(message) ? streamId !== undefined : !!toolCalls?.some(isResumable));
  }
}
