import { useStore } from "@nanostores/react";
import type { ChatModel } from "@sluice/core";
import { useChatStream } from "@sluice/react";
import { X } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/sluice/button";
import { ChatLog } from "@/components/sluice/chat";
import { Composer } from "@/components/sluice/composer";
import { formatModel } from "@/components/sluice/format";
import { ModelMenu } from "@/components/sluice/model-menu";
import { useDraft } from "@/components/sluice/use-draft";
import { renderText } from "./chat-room.js";
import { chatSettings, createChatOptions, models, useLabeledChat } from "./chat-settings.js";
import { storage } from "./client.js";
import { useTitle } from "./state.js";
import { renderTool, toolTitles } from "./tools.js";

/** Two models side by side. Each side is a chat of the list, so that a reload loses nothing. */
export function Compare({ onClose }: { readonly onClose: () => void }) {
  const { model } = useStore(chatSettings);
  const { draft, setDraft, clearDraft } = useDraft("chat/compare", "");
  const left = useSide("Left model", model);
  const right = useSide("Right model", models.find(({ id }) => id !== model)?.id ?? model);
  const sides = [left, right];
  const isBusy = sides.some(({ chat }) => chat.status === "submitted" || chat.status === "streaming");
  const send = async () => {
    clearDraft();
    await Promise.all(sides.map(({ chat }) => chat.send(draft)));
  };
  useTitle("Compare models");
  return (
    <>
      <header className="flex h-12 shrink-0 items-center gap-1 px-2 short:h-8">
        <h1 className="grow px-2 text-sm font-medium">Compare models</h1>
        <Button look="quiet" onClick={onClose}>
          <X aria-hidden />
          Close
        </Button>
      </header>
      <div className="grid min-h-0 grow grid-cols-1 grid-rows-2 divide-y border-y md:grid-cols-2 md:grid-rows-1 md:divide-x md:divide-y-0">
        {sides.map(({ id, chat, label, chosen, choose }) => (
          <div key={label} className="flex min-h-0 min-w-0 flex-col">
            <div className="flex border-b px-2 py-1">
              <ModelMenu models={models} label={label} model={chosen} onChange={choose} />
            </div>
            <ChatLog
              chat={chat}
              id={id}
              label={`Messages: ${label.toLowerCase()}`}
              empty={<p className="m-auto p-4 text-sm text-muted-foreground">Ask both models one question</p>}
              renderText={renderText}
              renderTool={renderTool}
              toolTitles={toolTitles}
            />
          </div>
        ))}
      </div>
      <div className="pt-2">
        <Composer
          text={draft}
          onText={setDraft}
          onSend={() => void send()}
          isBusy={isBusy}
          onStop={() => {
            for (const { chat } of sides) chat.stop();
          }}
        />
      </div>
    </>
  );
}

function useSide(label: string, first: ChatModel) {
  const [chosen, choose] = useState(first);
  const [id] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join("-"));
  const settings = useStore(chatSettings);
  const chat = useChatStream({
    id,
    storage,
    whenBusy: "queue",
    ...createChatOptions({ ...settings, model: chosen }),
  });
  // both sides have the same question as their title
  useLabeledChat(id, formatModel(chosen));
  return { id, chat, label, chosen, choose };
}
