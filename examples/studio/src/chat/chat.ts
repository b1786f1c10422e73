import { useStore } from "@nanostores/react";
import { type ChatMessage, type ChatStorage, type UseChatStreamResult, useChatStream } from "@sluice/react";
import { createContext, use, useCallback, useEffect, useMemo } from "react";
import { isAway, isOfOffline } from "../server.js";
import { type ChatSettings, hasTools, targetOf, tools } from "./settings.js";

/** Text of the message that asks for the rest of an answer. */
export const CONTINUE = "Continue";

/** Verbs of the chat around a component. They keep their identity, so that no row renders for them. */
export interface ChatVerbs
  extends Pick<
    UseChatStreamResult,
    "send" | "retry" | "regenerate" | "edit" | "switchBranch" | "approve" | "deny" | "addToolOutput"
  > {
  /** Stops the answer of another tab. */
  readonly stopElsewhere: () => void;
}

/** Makes verbs that call `before` first. */
export function verbsAfter(before: () => void, verbs: ChatVerbs): ChatVerbs {
  const then =
    <Inputs extends readonly unknown[], Result>(act: (...inputs: Inputs) => Result) =>
    (...inputs: Inputs) => {
      before();
      return act(...inputs);
    };
  return {
    ...verbs,
    send: then(verbs.send),
    retry: then(verbs.retry),
    regenerate: then(verbs.regenerate),
    edit: then(verbs.edit),
    approve: then(verbs.approve),
    deny: then(verbs.deny),
    addToolOutput: then(verbs.addToolOutput),
    stopElsewhere: then(verbs.stopElsewhere),
  };
}

/** Text of the last question; a message that asks for the rest of an answer is none. */
export function lastQuestion(messages: readonly ChatMessage[]): string | undefined {
  return messages.findLast(({ role, content }) => role === "user" && content !== CONTINUE)?.content;
}

/** Shows a chat with the settings of the room. A message that is sent while an answer is in flight is queued. */
export function useChat(id: string, settings: ChatSettings, storage?: ChatStorage) {
  const instructions = settings.instructions.trim();
  const chat = useChatStream({
    id,
    whenBusy: "queue",
    ...(storage && { storage }),
    ...(instructions && { instructions }),
    ...(hasTools(settings) && { tools }),
    ...targetOf(settings),
  });
  const { send, stop, retry, regenerate, edit, switchBranch, approve, deny, addToolOutput } = chat;
  const stopElsewhere = useCallback(() => askToStop(id), [id]);
  const verbs: ChatVerbs = useMemo(
    () => ({ send, retry, regenerate, edit, switchBranch, approve, deny, addToolOutput, stopElsewhere }),
    [send, retry, regenerate, edit, switchBranch, approve, deny, addToolOutput, stopElsewhere],
  );
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  useEffect(() => {
    const end = letStop(id, stop);
    // an answer goes on where its chat is not shown any more
    return () => {
      if (!isBusy) end();
    };
  }, [id, stop, isBusy]);
  useSendWhenBack(chat);
  return { ...chat, verbs, isBusy };
}

/** Questions that went out by themselves: each does once. */
const sentAgain = new Set<string>();

/** Says if a question waits for the network: nothing of it was sent, and it has not gone out by itself before. */
export function isWaitingForNetwork(question: ChatMessage | undefined, error: unknown): boolean {
  return question?.role === "user" && isOfOffline(error) && !sentAgain.has(question.id);
}

/** Sends a question that waits for the network when that is back. */
function useSendWhenBack({ messages, error, retry }: UseChatStreamResult): void {
  const isOffline = useStore(isAway);
  const last = messages.at(-1);
  const waiting = isWaitingForNetwork(last, error) ? last?.id : undefined;
  useEffect(() => {
    if (isOffline || waiting === undefined) return;
    sentAgain.add(waiting);
    void retry();
  }, [isOffline, waiting, retry]);
}

/** A chat as `useChat` returns it. */
export type Chat = ReturnType<typeof useChat>;

export const ChatContext = createContext<ChatVerbs | undefined>(undefined);

/** The verbs of the chat around this component. */
export function useVerbs(): ChatVerbs {
  const verbs = use(ChatContext);
  if (!verbs) throw new Error("useVerbs needs a ChatContext around it");
  return verbs;
}

/** Functions that stop the answers of this tab, by the ids of their chats. */
const stops = new Map<string, () => void>();
const channel = openChannel();

/** Opens the channel on which a tab asks the others; undefined where the browser refuses it. */
function openChannel(): BroadcastChannel | undefined {
  try {
    const opened = new BroadcastChannel("sluice-studio/stop");
    opened.onmessage = ({ data }) => stops.get(data)?.();
    return opened;
  } catch {
    return undefined;
  }
}

/** Lets other tabs stop the answer of a chat. Returns a function that ends that. */
function letStop(chat: string, stop: () => void): () => void {
  stops.set(chat, stop);
  return () => void stops.delete(chat);
}

/** Asks the tab that answers in a chat to stop. */
function askToStop(chat: string): void {
  channel?.postMessage(chat);
}

/** A question and the answers to it: several where the model calls tools. */
export interface TurnMessages {
  readonly id: string;
  readonly question?: ChatMessage;
  readonly answers: readonly ChatMessage[];
  /** Text of the last answer, as Markdown that can be read without the answer that it continues. */
  readonly text: string;
}

/** Groups messages to turns: a question, and the answers to it. */
export function turnsOf(messages: readonly ChatMessage[]): TurnMessages[] {
  const turns: { id: string; question?: ChatMessage; answers: ChatMessage[]; text: string }[] = [];
  for (const message of messages) {
    if (message.role === "user") {
      turns.push({ id: message.id, question: message, answers: [], text: "" });
    } else if (message.role === "assistant") {
      if (turns.length === 0) turns.push({ id: message.id, answers: [], text: "" });
      turns.at(-1)?.answers.push(message);
    }
  }
  for (const [at, turn] of turns.entries()) {
    const text = turn.answers.at(-1)?.content ?? "";
    const isRest = turn.question?.content === CONTINUE;
    turn.text = isRest ? completed(turns[at - 1]?.text ?? "", text) : text;
  }
  return turns;
}

/** Puts before the rest of a cut text what it needs to be read: the fence of its code, the head of its table, … */
function completed(cut: string, rest: string): string {
  const fences = cut.match(/^ *(?:```|~~~).*$/gm) ?? [];
  if (isOdd(fences.length)) return `${fences.at(-1)}\n${rest}`;
  const prose = cut.replace(/^ *(```|~~~)[\s\S]*?^ *\1.*$/gm, "");
  // a model may also begin anew: the rest has to end what is open
  const isOpen = (text: string, sign: string) => isOdd(text.split(sign).length - 1) && rest.includes(sign);
  if (isOpen(prose, "$$")) return prose.slice(prose.lastIndexOf("$$")) + rest;
  const paragraph = prose.slice(prose.lastIndexOf("\n\n") + 1).trimStart();
  if (paragraph.startsWith("|") && /^.*\|/.test(rest)) {
    const lines = paragraph.split("\n");
    return (lines.length < 3 ? paragraph : [...lines.slice(0, 2), lines.at(-1)].join("\n")) + rest;
  }
  const sign = ["**", "`"].find((it) => isOpen(paragraph, it));
  return sign ? sign + rest.trimStart() : rest;
}

function isOdd(count: number): boolean {
  return count % 2 === 1;
}
