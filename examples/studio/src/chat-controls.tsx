import { useStore } from "@nanostores/react";
import { calculateCost } from "@sluice/prices";
import { type ChatNode, useConversations } from "@sluice/react";
import { Plus, SlidersHorizontal } from "lucide-react";
import { useEffect } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { ConversationList } from "@/components/sluice/conversation-list";
import { Cost } from "@/components/sluice/cost";
import { ModelMenu } from "@/components/sluice/model-menu";
import { ModelSettings } from "@/components/sluice/model-settings";
import { Popover } from "@/components/sluice/popups";
import { createStoredList, isStoredItem, type StoredItem } from "@/components/sluice/stored-list";
import { toast } from "@/components/sluice/toasts";
import { changeSettings, chatSettings, models } from "./chat-options.js";
import { storage } from "./client.js";
import { prices } from "./prices.js";
import { formatRoute, openRoute } from "./rooms.js";

/** The model of the next response, and its settings. */
export function ChatControls() {
  const settings = useStore(chatSettings);
  const { model } = settings;
  return (
    <>
      <ModelMenu models={models} model={model} onChange={(next) => changeSettings({ model: next })} />
      <Popover
        title="Settings"
        trigger={
          <IconButton label="Settings">
            <SlidersHorizontal aria-hidden />
          </IconButton>
        }
      >
        <ModelSettings model={model} settings={settings} onChange={changeSettings} />
      </Popover>
    </>
  );
}

/** The cost of the responses of a chat, with the versions that are not shown. */
export function ChatCost({ ended }: { readonly ended: readonly ChatNode[] }) {
  return <Cost cost={calculateCost(ended, prices)} title="Play money" />;
}

/** Small images of the chats that have one: data URIs. */
interface Thumbnail extends StoredItem {
  readonly image: string;
}

const thumbnails = createStoredList<Thumbnail>({
  storage,
  name: "thumbnails",
  isItem: (record): record is Thumbnail => isStoredItem(record, "image"),
});

/** Width and height of a thumbnail, in pixels: twice its size in the list, for sharp screens. */
const THUMBNAIL_SIZE = 48;

/** Stores the middle of the first image of a message as the thumbnail of its chat. */
export async function storeThumbnail(id: string, [file]: readonly unknown[] = []): Promise<void> {
  if (!(file instanceof Blob)) return;
  // a chat works without a thumbnail
  const image = await createImageBitmap(file).catch(() => undefined);
  if (!image) return;
  const { width, height } = image;
  const side = Math.min(width, height);
  const canvas = document.createElement("canvas");
  canvas.width = THUMBNAIL_SIZE;
  canvas.height = THUMBNAIL_SIZE;
  const area = [(width - side) / 2, (height - side) / 2, side, side] as const;
  canvas.getContext("2d")?.drawImage(image, ...area, 0, 0, THUMBNAIL_SIZE, THUMBNAIL_SIZE);
  thumbnails.put({ id, at: Date.now(), image: canvas.toDataURL("image/webp", 0.8) });
}

interface ChatListProps {
  readonly activeId: string | undefined;
  readonly onOpen: () => void;
}

/** The conversations of this browser. */
export function ChatList({ activeId, onOpen }: ChatListProps) {
  const { conversations, removed, isRestoring, hasMore, ...list } = useConversations({ storage });
  const images = thumbnails.useItems();
  const isGone = removed.some(({ id }) => id === activeId);
  useEffect(() => {
    if (isGone) openRoute("chat", undefined, { replace: true });
  }, [isGone]);
  return (
    <nav aria-label="Chats" className="flex min-h-0 grow flex-col gap-2 overflow-y-auto p-2">
      <a
        href={formatRoute("chat")}
        onClick={onOpen}
        className="control inline-flex items-center justify-center gap-2 rounded-lg border border-input bg-card px-3 text-sm font-medium hover:bg-secondary"
      >
        <Plus aria-hidden className="size-4" />
        New chat
      </a>
      {conversations.length === 0 && !isRestoring && (
        <p className="px-3 py-2 text-sm text-muted-foreground">No chats yet</p>
      )}
      <ConversationList
        conversations={conversations}
        activeId={activeId}
        createHref={(id) => formatRoute("chat", id)}
        onOpen={onOpen}
        thumbnails={new Map(images.map(({ id, image }) => [id, image]))}
        onUpdate={list.update}
        onRemove={({ id }) => {
          const thumbnail = images.find((one) => one.id === id);
          list.remove(id);
          thumbnails.remove(id);
          toast("Chat deleted", {
            onUndo() {
              list.restore(id);
              if (thumbnail) thumbnails.put(thumbnail);
            },
          });
        }}
      />
      {hasMore && (
        <Button variant="quiet" className="shrink-0" onClick={list.showMore}>
          Show more
        </Button>
      )}
    </nav>
  );
}
