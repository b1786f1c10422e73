import { type ConversationMatch, useConversations } from "@sluice/react";
import { useEffect, useState } from "react";
import { chatListOptions } from "../client.js";

const none: readonly ConversationMatch[] = [];
/** Time without another key press before the search begins, in milliseconds. */
const PAUSE_MS = 150;

/** Searches the titles and messages of all chats while the user types. */
export function useChatSearch(text: string) {
  const { search } = useConversations(chatListOptions);
  const [found, setFound] = useState({ text: "", matches: none });
  useEffect(() => {
    const left = new AbortController();
    const find = async () => setFound({ text, matches: await search(text, { signal: left.signal }) });
    // it rejects only after the abort
    const timer = setTimeout(() => find().catch(() => {}), text === "" ? 0 : PAUSE_MS);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [search, text]);
  if (text.trim() === "") return { matches: none, isSearching: false };
  return { matches: found.matches, isSearching: found.text !== text };
}
