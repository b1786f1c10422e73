import { useStore } from "@nanostores/react";
import { useAttachments, useConversations } from "@sluice/react";
import { X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/sluice/button";
import { chatModelInfo } from "@/components/sluice/chat-form";
import { modelName } from "@/components/sluice/format";
import { ModelMenu } from "@/components/sluice/model-menu";
import { chatListOptions, storage } from "../client.js";
import { useInspected } from "../inspector/feed.js";
import { createId } from "../rooms.js";
import { RoomHeader } from "../shell/bars.js";
import { useRoomCommands } from "../shell/commands.js";
import { MOST_FILES } from "../words.js";
import { type Chat, lastQuestion, useChat } from "./chat.js";
import { Composer, SettingsMenu } from "./composer.js";
import { Log } from "./log.js";
import { type ChatSettings, chatSettings, modelChoices, models, targetOf, toolNamesOf } from "./settings.js";

/** Two models side by side. Each question goes to both. Each side is a chat of the list, so that a reload loses nothing. */
export function Compare({ onClose }: { readonly onClose: () => void }) {
  const settings = useStore(chatSettings);
  const [ids] = useState(() => ({ left: createId(), right: createId() }));
  const field = useRef<HTMLTextAreaElement>(null);
  const [left, setLeft] = useState(settings.model);
  const [right, setRight] = useState(models.findLast((model) => model !== settings.model) ?? settings.model);
  const sides = [
    { ...useSide(ids.left, settings, left), choose: setLeft, label: "Left model" },
    { ...useSide(ids.right, settings, right), choose: setRight, label: "Right model" },
  ];
  const chats = sides.map(({ chat }) => chat);
  // both get the same question: the model that is blind decides
  const blind = [left, right].find((model) => !chatModelInfo(model).seesImages) ?? left;
  const attachments = useAttachments(blind, { max: MOST_FILES });
  useInspected(
    {
      room: "chat",
      target: targetOf({ ...settings, model: left }),
      compared: targetOf({ ...settings, model: right }),
      question: lastQuestion(chats[0]?.messages ?? []),
      tools: toolNamesOf({ ...settings, model: left }) ?? toolNamesOf({ ...settings, model: right }),
    },
    Object.fromEntries(
      sides.map(({ model, chat }) => [model, { messages: chat.messages, status: chat.status }]),
    ),
  );
  const stopBoth = () => {
    for (const { stop } of chats) stop();
  };
  useRoomCommands([
    chats.some(({ isBusy }) => isBusy) && { label: "Stop both answers", run: stopBoth },
    { label: "Close the comparison", run: onClose },
  ]);
  // after an error, one chat may wait with more messages than the other
  const queued = chats
    .map((chat) => chat.queued)
    .reduce((one, other) => (other.length > one.length ? other : one));
  const send = async (text: string, images: readonly Blob[]) => {
    const turns = await Promise.all(chats.map(({ verbs }) => verbs.send(text, { images })));
    return turns.some(({ outcome, messages }) => outcome !== "not-sent" || messages.length > 0);
  };
  return (
    <>
      <RoomHeader title="Compare models">
        <Button look="quiet" onClick={onClose}>
          <X aria-hidden />
          Close
        </Button>
      </RoomHeader>
      <div className="compare grid min-h-0 grow grid-cols-1 grid-rows-2 divide-y md:grid-cols-2 md:grid-rows-1 md:divide-x md:divide-y-0">
        {sides.map(({ chat, model, choose, label }) => (
          <div key={label} className="flex min-h-0 min-w-0 flex-col">
            <div className="flex shrink-0 border-b px-2 py-1">
              <ModelMenu models={modelChoices} label={label} model={model} onChange={choose} />
            </div>
            <Log
              chat={chat}
              label={`Messages: ${label.toLowerCase()}`}
              empty={<p className="m-auto p-4 text-sm text-muted">Ask both models one question</p>}
            />
          </div>
        ))}
      </div>
      <Composer
        draftKey="compare"
        field={field}
        settings={{ ...settings, model: blind }}
        attachments={{ ...attachments, switchTo: [] }}
        isBusy={chats.some(({ isBusy }) => isBusy)}
        queued={queued}
        onSend={send}
        onStop={stopBoth}
        onCancelQueued={(id) => {
          // counted from the end: one chat may wait with more messages
          const index = queued.findIndex((each) => each.id === id) - queued.length;
          for (const chat of chats) chat.cancelQueued(chat.queued.at(index)?.id ?? "");
        }}
        onRetry={() => {
          for (const chat of chats) if (chat.queued.length > 0) void chat.verbs.retry();
        }}
      >
        <SettingsMenu />
      </Composer>
    </>
  );
}

function useSide(id: string, settings: ChatSettings, model: ChatSettings["model"]) {
  const chat: Chat = useChat(id, { ...settings, model }, storage);
  const { active, update } = useConversations({ ...chatListOptions, activeId: id });
  const isNamed = useRef(false);
  // both sides have the same question
  useEffect(() => {
    if (!active || isNamed.current) return;
    isNamed.current = true;
    update(id, { title: `${active.title} · ${modelName(model)}` });
  }, [active, update, id, model]);
  return { chat, model };
}
