"use client";
import type { ChatState, ChatStatus, Store, ThreadMessage } from "@sluice/core";
import { useMemo } from "react";
import { watchChat } from "./chats.js";
import { useClient } from "./provider.js";
import { useIsHydrated, useStorePart } from "./use-store.js";

/**
 * One message of the chat that `useChatStream({ id })` shows: renders again only when this message changes.
 *
 * @returns undefined while there is no such message on the branch that is shown, and on a server
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const Row = memo(function Row({ messageId }: { messageId: string }) {
 *   const message = useChatMessage("support", messageId);
 *   return <p>{message?.content}</p>;
 * });
 * ```
 */
export function useChatMessage(id: string, messageId: string): ThreadMessage | undefined {
  const isHydrated = useIsHydrated();
  const find = (state: ChatState | undefined) => state && messagesById(state.messages).get(messageId);
  const message = useStorePart(useWatchedChat(id), find, (state) => find(state)?.outcome);
  return isHydrated ? message : undefined;
}

/**
 * Status of the chat that `useChatStream({ id })` shows. Renders again only when it changes.
 *
 * @returns `"ready"` as long as there is no such chat, and on a server
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const isBusy = ["submitted", "streaming"].includes(useChatStatus("support"));
 * ```
 */
export function useChatStatus(id: string): ChatStatus {
  const isHydrated = useIsHydrated();
  const statusOf = (state: ChatState | undefined) => state?.status ?? "ready";
  const status = useStorePart(useWatchedChat(id), statusOf, statusOf);
  return isHydrated ? status : "ready";
}

function useWatchedChat(id: string): Store<ChatState | undefined> {
  const client = useClient();
  return useMemo(() => watchChat(client, id), [client, id]);
}

const indexes = new WeakMap<readonly ThreadMessage[], ReadonlyMap<string, ThreadMessage>>();

/** One index for each state, however many rows ask for theirs. */
function messagesById(messages: readonly ThreadMessage[]): ReadonlyMap<string, ThreadMessage> {
  const known = indexes.get(messages);
  if (known) return known;
  const index = new Map(messages.map((message) => [message.id, message]));
  indexes.set(messages, index);
  return index;
}
