"use client";

import { defineTool } from "@sluice/core";
import { indexedDBStorage, useChatStream } from "@sluice/react";
import * as v from "valibot";
import { Chat } from "@/components/sluice/chat";
import { Markdown } from "@/components/sluice/markdown";

/** Storage of the messages and of the drafts of this page. */
export const storage = indexedDBStorage();

const notes: string[] = [];

const saveNote = defineTool({
  name: "save_note",
  description: "Keeps a note for the user, on this page",
  inputSchema: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute: ({ text }) => ({ saved: true, notes: notes.push(text) }),
});

const tools = [saveNote];
const toolTitles = { save_note: "Save a note" };

function renderText(text: string, isLive: boolean, isCut: boolean) {
  return <Markdown text={text} isLive={isLive} isCut={isCut} />;
}

/** A chat with a tool that the user approves. */
export function GalleryChat() {
  const model = "alpha-v4.1-flash";
  const chat = useChatStream({ id: "gallery", model, storage, tools, whenBusy: "queue" });
  return (
    <div className="h-[36rem] rounded-xl border">
      <Chat
        chat={chat}
        id="gallery"
        model={model}
        renderText={renderText}
        toolTitles={toolTitles}
        empty={<p className="m-auto p-4 text-muted-foreground">Ask anything</p>}
      />
    </div>
  );
}
