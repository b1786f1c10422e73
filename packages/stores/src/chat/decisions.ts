import { ConfigurationError } from "@sluice/core";
import type { Chat, ReadOptions } from "./chat.js";
import {
  type ChatMessage,
  type ChatToolCall,
  type ChatTurn,
  createUnsentTurn,
  isOpen,
  isPending,
} from "./message.js";
import type { CallChoice } from "./runner.js";
import { addOutput } from "./tool-run.js";

/** Functions that begin a turn. They are arguments, because an import from this lazy file would split the main bundle. */
type TurnStarters = Pick<typeof import("./turns.js"), "beginRunnerTurn" | "beginTurn">;

const NO_RUNNER = "runner: this call belongs to a runner, and the chat has none";

/**
 * Applies the decision of the user or the app to a pending call, and continues the turn when no call is pending. The first
 * decision of all tabs counts.
 */
export function decideCall(
  chat: Chat,
  readOptions: ReadOptions,
  toolCallId: string,
  decision: CallChoice,
  { beginRunnerTurn, beginTurn }: TurnStarters,
): ChatTurn | Promise<ChatTurn> {
  const { thread, storage, runner } = chat;
  const state = decision.type === "output" ? "needs-output" : "needs-approval";
  const findCall = (message: ChatMessage | undefined) =>
    message?.toolCalls?.find((call) => call.id === toolCallId && call.state === state);
  const message = thread.path.at(-1);
  if (!message || !findCall(message)) return decide();
  if (thread.get(message.id)?.turn !== undefined) {
    if (!runner) return createUnsentTurn(new ConfigurationError(NO_RUNNER));
    return runner.decide(readOptions, { ...decision, messageId: message.id, toolCallId }, (start) =>
      beginRunnerTurn(chat, runner, chat.readTurnOptions ?? readOptions, start),
    );
  }
  return chat.turn ? decide() : storage.runLocked(message.id, () => decide(message.id));

  /** @param lockedId id of the message whose call was pending before this tab waited for the lock */
  function decide(lockedId?: string): ChatTurn | Promise<ChatTurn> {
    const message = thread.path.at(-1);
    const call = findCall(message);
    if (message && call) return changeCall(chat, message, call, decision) ?? continueTurn(message.id);
    // another tab decided about the call, and was closed before it continued the turn
    if (message && message.id === lockedId && !chat.turn && !message.toolCalls?.some(isOpen))
      return continueTurn(lockedId);
    const unknown = `toolCallId: no call "${toolCallId}" waits for this`;
    return chat.turn?.result ?? createUnsentTurn(new ConfigurationError(unknown));
  }

  function continueTurn(messageId: string): Promise<ChatTurn> {
    return beginTurn(
      chat,
      () => ({ parentId: messageId, added: [messageId] }),
      chat.readTurnOptions ?? readOptions,
    );
  }
}

/** Changes a call and returns its turn. Returns undefined if the caller must continue the turn. */
function changeCall(
  chat: Chat,
  message: ChatMessage,
  call: ChatToolCall,
  decision: CallChoice,
): ChatTurn | Promise<ChatTurn> | undefined {
  const { turn } = chat;
  const toolCalls =
    message.toolCalls?.map((each) => (each === call ? applyDecision(call, decision) : each)) ?? [];
  const changed = { ...message, toolCalls };
  chat.thread.put(changed);
  chat.store.flush();
  if (turn) {
    turn.noteCallChange();
    return turn.result;
  }
  const isWaiting = toolCalls.some(isPending) && !toolCalls.some(({ state }) => state === "running");
  return isWaiting ? { messages: [changed], outcome: "tool-calls" } : undefined;
}

function applyDecision(call: ChatToolCall, decision: CallChoice): ChatToolCall {
  if (decision.type === "approve") return { ...call, state: "running" };
  if (decision.type === "deny") return { ...call, state: "denied", error: decision.reason };
  return addOutput(call, decision.output);
}
