"use client";

import { indexedDBStorage } from "@sluice/core";
import { useChatStream } from "@sluice/react";
import { Chat } from "@/components/sluice/chat";
import { tools, toolTitles } from "./tools";

const storage = indexedDBStorage();

/** The room for chat. */
export function ChatRoom() {
  const id = "main";
  const model = "alpha-v4.1-flash";
  const chat = useChatStream({ id, model, storage, tools, whenBusy: "queue" });
  return (
    <Chat
      chat={chat}
      id={id}
      model={model}
      toolTitles={toolTitles}
      empty={<p className="m-auto p-4 text-muted-foreground">Ask anything</p>}
    />
  );
}
