import { useStore } from "@nanostores/react";
import { type ChatMessage, type ChatStatus, useAttachments, useConversations } from "@sluice/react";
import { Columns2, StickyNote } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { DropHint } from "@/components/sluice/attachments";
import { IconButton } from "@/components/sluice/button";
import { SyncNote } from "@/components/sluice/devices";
import { ModelMenu } from "@/components/sluice/model-menu";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { chatListOptions, keeping, storage } from "../client.js";
import { useInspected } from "../inspector/feed.js";
import { openRoute, whileAsking } from "../rooms.js";
import { RoomHeader } from "../shell/bars.js";
import { useRoomCommands } from "../shell/commands.js";
import { later } from "../ui/later.js";
import { Popover, toast } from "../ui/popups.js";
import { type Ask, ask as askInNewChat, useAsks } from "../welcome/asks.js";
import { ALL_SAVED, chatWords, MOST_FILES, missingChatWords, unsavedWords } from "../words.js";
import { type ChatVerbs, lastQuestion, useChat, verbsAfter } from "./chat.js";
import { Composer, SettingsMenu } from "./composer.js";
import { DocumentButton, dropPropsOf } from "./documents.js";
import {
  changeSettings,
  chatSettings,
  modelChoices,
  notes,
  targetOf,
  toolNamesOf,
  withTools,
} from "./settings.js";

const Log = later(async () => (await import("./log.js")).Log);
const ChatCost = later(async () => (await import("../costs.js")).ChatCost, "none");
const NextCost = later(async () => (await import("../costs.js")).NextCost, "none");
const gap = <div className="grow" />;

interface ConversationProps {
  readonly id: string;
  /** Says if nothing was sent yet. */
  readonly isNew: boolean;
  /** Content of an empty chat. */
  readonly welcome: ReactNode;
  readonly onCompare: () => void;
}

/** One conversation: its messages, and the place to write more. */
export function Conversation({ id, isNew, welcome, onCompare }: ConversationProps) {
  const chosen = useStore(chatSettings);
  const [needsTools, setNeedsTools] = useState(false);
  const settings = needsTools ? withTools(chosen) : chosen;
  const chat = useChat(id, settings, storage);
  const { messages, status, isBusy, queued, stop, cancelQueued, verbs } = chat;
  const { active } = useConversations({ ...chatListOptions, activeId: id });
  const attachments = useAttachments(settings.model, { max: MOST_FILES });
  const field = useRef<HTMLTextAreaElement>(null);
  const title = active?.title || "Chat";
  const [isBegunHere] = useState(isNew);
  const isEmpty = messages.length === 0 && queued.length === 0;
  const isMissing = !isBegunHere && isEmpty && !chat.isRestoring;
  const draftKey = isNew || isMissing ? "new" : id;
  usePageTitle(isBusy ? `Answering… ${title}` : title);
  useInspected(
    {
      room: "chat",
      target: targetOf(settings),
      question: lastQuestion(messages),
      instructions: settings.instructions.trim() || undefined,
      tools: toolNamesOf(settings),
    },
    { messages, status, queued, error: chat.error, usage: chat.usage, timing: chat.timing },
  );

  const isStopped = useRef(false);
  const stopAll = () => {
    isStopped.current = true;
    stop();
    focus(field.current);
  };
  const send = useCallback(
    (text: string, images: readonly Blob[] = []) =>
      whileAsking(async () => {
        if (isNew) openRoute({ room: "chat", id }, { isReplaced: true });
        isStopped.current = false;
        const { outcome, messages, error } = await verbs.send(text, { images });
        if (outcome !== "not-sent" || messages.length > 0) return true;
        // removed from the queue by hand; what waited for an answer that was stopped comes back
        return error?.name === "AbortError" && !isStopped.current;
      }),
    [isNew, id, verbs],
  );
  const ask = useCallback(
    ({ prompt, needsTools = false, images }: Ask) =>
      whileAsking(async () => {
        // the button that was pressed goes away
        focus(field.current);
        setNeedsTools(needsTools);
        // the tools are offered from the next render on
        await new Promise((resolve) => setTimeout(resolve));
        return send(prompt, images);
      }),
    [send],
  );
  // a call that waits since before a reload was made with the tools
  const [isRestored, setIsRestored] = useState(false);
  if (!isRestored && !chat.isRestoring) {
    setIsRestored(true);
    if (status === "requires-action") setNeedsTools(true);
  }
  useAsks(ask, isMissing);
  const last = messages.at(-1);
  useRoomCommands([
    isBusy && { label: "Stop the answer", run: stopAll },
    status === "error" && { label: "Try again", run: () => void verbs.retry() },
    !isBusy &&
      last?.role === "assistant" && { label: "Regenerate the answer", run: () => void verbs.regenerate() },
    last?.role === "assistant" && {
      label: "Copy the last answer",
      run: () => void navigator.clipboard.writeText(last.content),
    },
    { label: "Compare two models", run: onCompare },
  ]);
  // what was offered for one question is not for the next; an answer in flight keeps it
  const isOver = needsTools && !isBusy;
  const onSend = (prompt: string, images: readonly Blob[]) =>
    isOver ? ask({ prompt, images }) : send(prompt, images);
  // the button that was pressed goes away
  const acts = useVerbsWithFocus(verbs, field);
  return (
    <>
      <RoomHeader title={title}>
        <ChatCost thread={chat.getThread()} />
        <Notes />
        <IconButton label="Compare models" onClick={onCompare}>
          <Columns2 aria-hidden />
        </IconButton>
      </RoomHeader>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it takes drops, and Escape from what is inside */}
      <div
        className="relative flex min-h-0 grow flex-col"
        onKeyDown={(event) => handleKey(event, field.current, isBusy ? stopAll : undefined)}
        // whoever writes sends soon
        onFocus={() => void Log.preload()}
        {...dropPropsOf(attachments, draftKey)}
      >
        {isMissing && <Missing />}
        {messages.length === 0 && (isNew || !chat.isRestoring) ? (
          welcome
        ) : (
          <Log chat={{ ...chat, verbs: acts }} placeId={id} fallback={isNew ? welcome : gap} />
        )}
        <Status status={status} last={last} />
        <Unsaved unsaved={chat.unsaved} />
        <Composer
          draftKey={draftKey}
          field={field}
          settings={settings}
          attachments={attachments}
          isBusy={isBusy}
          queued={queued}
          onSend={isMissing ? (prompt, images) => askInNewChat({ prompt, images }) : onSend}
          onStop={stopAll}
          below={(text, images) => <NextCost {...{ text, images, messages, settings }} />}
          onCancelQueued={(id) => {
            focus(field.current);
            cancelQueued(id);
          }}
          onRetry={() => {
            focus(field.current);
            void verbs.retry();
          }}
        >
          <ModelMenu
            models={modelChoices}
            model={settings.model}
            onChange={(model) => changeSettings({ model })}
          />
          <SettingsMenu />
          <DocumentButton draftKey={draftKey} />
        </Composer>
        {attachments.isDragging && <DropHint>Drop images, text files or PDFs here</DropHint>}
      </div>
    </>
  );
}

/** Edits the last question with the arrow up in an empty field, and stops the answer with Escape. */
function handleKey(
  event: KeyboardEvent<HTMLElement>,
  field: HTMLTextAreaElement | null,
  stop: (() => void) | undefined,
): void {
  if (event.key === "ArrowUp" && event.target === field && field?.value === "") {
    const edits = event.currentTarget.querySelectorAll<HTMLButtonElement>("[data-edit]");
    if (edits.length > 0) event.preventDefault();
    edits[edits.length - 1]?.click();
  }
  // events of popups come through here, too
  else if (event.key === "Escape" && event.currentTarget.contains(event.target as Node)) stop?.();
}

/** Says that the address is of a chat that is not here. What is written begins a new one. */
function Missing() {
  return (
    <p role="status" className="mx-auto mt-4 rounded-xl border px-3 py-2 text-sm">
      {missingChatWords(useStore(keeping))}
    </p>
  );
}

/** Moves the focus to the text field, but not on touch: that would open the keyboard. */
function focus(field: HTMLElement | null): void {
  if (!matchMedia("(pointer: coarse)").matches) field?.focus();
}

/** Makes verbs that move the focus to the field when their button goes away. */
function useVerbsWithFocus(verbs: ChatVerbs, field: RefObject<HTMLTextAreaElement | null>): ChatVerbs {
  const moveFocus = useCallback(() => focus(field.current), [field]);
  return useMemo(() => verbsAfter(moveFocus, verbs), [verbs, moveFocus]);
}

/** Sets the title of the tab while the room is shown. */
function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Sluice`;
    return () => {
      document.title = "Sluice Studio";
    };
  }, [title]);
}

interface StatusProps {
  readonly status: ChatStatus;
  readonly last: ChatMessage | undefined;
}

/** The status for screen readers, which are not told every word. */
function Status({ status, last }: StatusProps) {
  return (
    <p role="status" className="sr-only">
      {chatWords(status, last?.role === "assistant" && last.outcome === "complete")}
    </p>
  );
}

/** Says how many messages are not in the storage. It goes by itself when all are, and says that, too. */
function Unsaved({ unsaved }: { readonly unsaved: number }) {
  const state = useStore(keeping);
  const words = unsavedWords({ unsaved, keeping: state });
  const isFailing = unsaved > 0 && state !== "refused";
  useLeaveWarning(isFailing);
  const wasFailing = useRef(false);
  useEffect(() => {
    if (wasFailing.current && !isFailing && state === "well") toast(ALL_SAVED);
    wasFailing.current = isFailing;
  }, [isFailing, state]);
  return <SyncNote {...words} />;
}

/** The notes that `save_note` kept. */
function Notes() {
  const kept = useStore(notes);
  if (kept.length === 0) return null;
  return (
    <Popover
      title="Notes"
      align="end"
      trigger={
        <IconButton label={`Notes: ${kept.length}`}>
          <StickyNote aria-hidden />
        </IconButton>
      }
    >
      <ul aria-label="Notes" className="flex flex-col gap-2 text-sm">
        {kept.map((text, index) => (
          <li key={index} dir="auto" className="rounded-lg bg-warn-soft px-3 py-2 wrap-anywhere">
            {text}
          </li>
        ))}
      </ul>
    </Popover>
  );
}
