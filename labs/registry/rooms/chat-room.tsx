"use client";

import { calculateCost } from "@sluice/prices";
import { useChatStream, useConversations } from "@sluice/react";
import { Plus } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/sluice/button";
import { Chat } from "@/components/sluice/chat";
import { ConversationList } from "@/components/sluice/conversation-list";
import { Cost } from "@/components/sluice/cost";
import { Markdown } from "@/components/sluice/markdown";
import { prices } from "./prices";
import { storage } from "./storage";
import { tools, toolTitles } from "./tools";

/** The room for chat: the conversations of this browser, and the open conversation. */
export function ChatRoom() {
  const [id, setId] = useState(createId);
  const { conversations, removed, update, remove, restore } = useConversations({ storage, activeId: id });
  const last = removed.at(-1);
  return (
    <div className="flex min-h-0 grow max-md:flex-col">
      <nav
        aria-label="Chats"
        className="flex shrink-0 flex-col gap-2 overflow-y-auto border-r p-2 max-md:max-h-40 max-md:border-r-0 max-md:border-b md:w-64"
      >
        <Button onClick={() => setId(createId())}>
          <Plus aria-hidden />
          New chat
        </Button>
        {last && (
          <Button look="quiet" onClick={() => restore(last.id)}>
            <span dir="auto" className="truncate">
              Undo: delete {last.title}
            </span>
          </Button>
        )}
        <ConversationList
          conversations={conversations}
          activeId={id}
          onOpen={setId}
          onUpdate={update}
          onRemove={(one) => {
            remove(one.id);
            if (one.id === id) setId(createId());
          }}
        />
      </nav>
      <Conversation key={id} id={id} />
    </div>
  );
}

function createId(): string {
  return crypto.randomUUID();
}

function renderText(text: string, isLive: boolean, isCut: boolean) {
  return <Markdown text={text} isLive={isLive} isCut={isCut} />;
}

/** Shows one conversation with its cost, including hidden versions. */
function Conversation({ id }: { readonly id: string }) {
  const model = "alpha-v4.1-flash";
  const chat = useChatStream({ id, model, storage, tools, whenBusy: "queue" });
  const ended = chat.getThread().filter(({ message }) => message.outcome !== undefined);
  return (
    <div className="flex min-h-0 min-w-0 grow flex-col">
      <div className="flex h-8 shrink-0 items-center justify-end">
        {ended.length > 0 && <Cost cost={calculateCost(ended, prices)} />}
      </div>
      <Chat
        chat={chat}
        id={id}
        model={model}
        renderText={renderText}
        toolTitles={toolTitles}
        empty={<p className="m-auto p-4 text-muted-foreground">Ask anything</p>}
      />
    </div>
  );
}
