import type { Chat } from "./chat.js";
import type { ThreadMessage } from "./message.js";
import { isServing } from "./server-work.js";
import { type ChatState, type ChatStatus, pendingActionsOf } from "./state.js";
import { isRestoring } from "./storage-session.js";

/** Computes the state of a chat as it is shown. An answer in flight that has grown is put into the thread first. */
export function snapshotOf(chat: Omit<Chat, "store">): ChatState {
  const { thread, queue, storage, run, error } = chat;
  if (run?.phase.name === "answering") {
    const { answer, shown } = run.phase;
    run.phase.shown = answer.message;
    if (answer.message !== shown) thread.put(answer.message);
  }
  const messages = thread.path;
  const last = messages.findLast(({ role }) => role === "assistant");
  const pendingActions = pendingActionsOf(messages.at(-1));
  const { keeper, phase } = storage;
  const sync = keeper?.sync();
  const isGivenUp = phase === "open" || phase === "closed";
  return {
    messages,
    status: statusOf(chat, pendingActions.length > 0),
    error,
    usage: last?.usage,
    timing: last?.timing,
    object: last?.object as ChatState["object"],
    pendingActions,
    queued: queue.texts,
    unsaved: keeper ? keeper.unsaved() : isGivenUp ? thread.ids().length : 0,
    isRestoring: isRestoring(phase),
    isRunningElsewhere: !run && keeper !== undefined && isAtWork(messages.at(-1)),
    isSyncing: sync?.isSyncing ?? false,
    syncError: sync?.error,
  };
}

/** True for an answer without an end, or with calls that run. */
function isAtWork({ role, outcome, toolCalls }: Partial<ThreadMessage> = {}): boolean {
  const isRunning = toolCalls?.some(({ state }) => state === "streaming" || state === "running");
  return role === "assistant" && (outcome === undefined || isRunning === true);
}

function statusOf(chat: Omit<Chat, "store">, isWaiting: boolean): ChatStatus {
  const { run, error, thread } = chat;
  if (!run && !isWaiting && isServing(chat)) {
    const { role, content } = thread.path.at(-1) ?? {};
    return role === "assistant" && content ? "streaming" : "submitted";
  }
  if (run?.phase.name === "requesting") return "submitted";
  if (run?.phase.name === "answering") return run.phase.answer.isWaiting ? "submitted" : "streaming";
  if (run) return "streaming";
  if (isWaiting) return "requires-action";
  return error ? "error" : "ready";
}
