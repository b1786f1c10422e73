import { Box, Clapperboard, Image, MessageSquare } from "lucide-react";
import { type ComponentType, lazy, useState, useSyncExternalStore } from "react";
import { createItemId } from "@/components/sluice/stored-list";

/** Loads a part of the page with the client. The first screen needs no client. */
export function loadPart<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => {
    // after the render that shows the first screen
    await new Promise((resolve) => setTimeout(resolve));
    const [{ ClientProvider }, Part] = await Promise.all([import("./client.js"), load()]);
    const Provided = (props: Props) => (
      <ClientProvider>
        <Part {...props} />
      </ClientProvider>
    );
    return { default: Provided };
  });
}

/** The rooms. The navigation, the palette and the addresses read this list. */
export const rooms = [
  {
    name: "chat",
    label: "Chat",
    Icon: MessageSquare,
    Room: loadPart(async () => (await import("./chat-room.js")).ChatRoom),
  },
  {
    name: "images",
    label: "Images",
    Icon: Image,
    Room: loadPart(async () => (await import("./images-room.js")).ImagesRoom),
  },
  {
    name: "videos",
    label: "Videos",
    Icon: Clapperboard,
    Room: loadPart(async () => (await import("./videos-room.js")).VideosRoom),
  },
  {
    name: "assets",
    label: "Assets",
    Icon: Box,
    Room: loadPart(async () => (await import("./assets-room.js")).AssetsRoom),
  },
] as const;

export type Room = (typeof rooms)[number];

/** An address of the studio: `#/chat/abc`. */
export interface Route {
  readonly room: Room;
  /** Id of the open conversation. Undefined for a new chat and for other rooms. */
  readonly id: string | undefined;
}

/** Reads an address. Addresses come from anywhere: an unknown room is a new chat. */
function parseRoute(hash: string): Route {
  const [name, id] = hash.replace(/^#?\/?/, "").split("/");
  const room = rooms.find((known) => known.name === name) ?? rooms[0];
  return { room, id: room.name === "chat" && id ? parseId(id) : undefined };
}

/** Reads the id of a chat. An id that no chat can have opens a new chat. */
function parseId(text: string): string | undefined {
  const id = decode(text);
  return id.length <= 200 && !/[\0\p{Surrogate}]/u.test(id) ? id : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Writes an address, for a link. */
export function formatRoute(room: Room["name"], id?: string): string {
  return `#/${room}${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
}

/** Opens an address. With `replace`, the browser's "Back" skips the present address. */
export function openRoute(room: Room["name"], id?: string, { replace = false } = {}): void {
  const hash = formatRoute(room, id);
  if (hash === location.hash) return;
  if (!replace) location.hash = hash;
  else {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

function subscribe(onChange: () => void): () => void {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
}

/** Returns the address of the page. */
export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(subscribe, () => location.hash));
}

/** Returns the chat of the address. A new chat has an id before it has an address. */
export function useChatId(): { readonly id: string; readonly isNew: boolean } {
  const { id } = useRoute();
  const [fresh, setFresh] = useState(() => ({ id: createItemId(), isUsed: false }));
  if (id === fresh.id && !fresh.isUsed) setFresh({ ...fresh, isUsed: true });
  if (id === undefined && fresh.isUsed) setFresh({ id: createItemId(), isUsed: false });
  return { id: id ?? fresh.id, isNew: id === undefined };
}
