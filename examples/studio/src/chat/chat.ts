import { useStore } from "@nanostores/react";
import { type ChatTool, defineTool, type RecordStorage, type ThreadMessage } from "@sluice/core";
import { type UseChatStreamResult, useChatStream } from "@sluice/react";
import { atom } from "nanostores";
import { createContext, use, useCallback, useEffect, useMemo } from "react";
import * as v from "valibot";
import { isAway, isOfOffline } from "../server.js";
import { type ChatSettings, hasTools, targetOf } from "./settings.js";

/** Notes that the model was allowed to keep. They are gone when the page is left. */
export const notes = atom<readonly string[]>([]);

/** Runs at once. */
const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls dice and returns what each shows",
  parameters: v.object({
    count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(20), v.description("Number of dice")),
    sides: v.pipe(v.number(), v.integer(), v.minValue(2), v.maxValue(100), v.description("Sides of each")),
  }),
  execute({ count, sides }) {
    const words = crypto.getRandomValues(new Uint32Array(count));
    const rolls = Array.from(words, (word) => 1 + (word % sides));
    return { rolls, total: rolls.reduce((sum, roll) => sum + roll, 0) };
  },
});

/** Runs after the user has approved it. */
const saveNote = defineTool({
  name: "save_note",
  description: "Keeps a note for the user, on this page",
  parameters: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute({ text }) {
    notes.set([...notes.get(), text]);
    return { saved: true, notes: notes.get().length };
  },
});

/** Waits for the user's answer, which its card asks for. */
const pickColor = defineTool({
  name: "pick_color",
  description: "Asks the user to pick a color; returns its name and hex code",
  parameters: v.object({ question: v.pipe(v.string(), v.description("What the color is for")) }),
});

/** The tools of the studio. */
const tools: readonly ChatTool[] = [rollDice, saveNote, pickColor];

/** Text of the message that asks for the rest of an answer. */
export const CONTINUE = "Continue";

/** Verbs of the chat around a component. They keep their identity, so that no row renders for them. */
export interface ChatVerbs
  extends Pick<
    UseChatStreamResult,
    "send" | "retry" | "regenerate" | "edit" | "switchBranch" | "approve" | "deny" | "addToolResult"
  > {
  /** Stops the answer of another tab. */
  readonly stopElsewhere: () => void;
}

/** Text of the last question; a message that asks for the rest of an answer is none. */
export function lastQuestion(messages: readonly ThreadMessage[]): string | undefined {
  return messages.findLast(({ role, content }) => role === "user" && content !== CONTINUE)?.content;
}

/** Shows a chat with the settings of the room. A message that is sent while an answer is in flight is queued. */
export function useChat(id: string, settings: ChatSettings, storage?: RecordStorage) {
  const instructions = settings.instructions.trim();
  const chat = useChatStream({
    id,
    whenBusy: "queue",
    ...(storage && { storage }),
    ...(instructions && { instructions }),
    ...(hasTools(settings) && { tools }),
    ...targetOf(settings),
  });
  const { send, stop, retry, regenerate, edit, switchBranch, approve, deny, addToolResult } = chat;
  const stopElsewhere = useCallback(() => askToStop(id), [id]);
  const verbs: ChatVerbs = useMemo(
    () => ({ send, retry, regenerate, edit, switchBranch, approve, deny, addToolResult, stopElsewhere }),
    [send, retry, regenerate, edit, switchBranch, approve, deny, addToolResult, stopElsewhere],
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
export function isWaitingForNetwork(question: ThreadMessage | undefined, error: unknown): boolean {
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
