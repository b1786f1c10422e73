import { useSyncExternalStore } from "react";
import { noteStorageFailure } from "../client.js";
import { storage } from "../stored.js";
import { type Conversation, createConversationList } from "./list.js";

/** This browser's conversations. */
export const conversations = createConversationList(storage, noteStorageFailure);

export function useConversations(): readonly Conversation[] {
  return useSyncExternalStore(conversations.subscribe, conversations.getSnapshot);
}
