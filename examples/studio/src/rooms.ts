import { useSyncExternalStore } from "react";

/** The rooms beside the chat: their names in the address, `#images`, and in the navigation. */
export const rooms = {
  images: "Images",
  video: "Video",
  assets: "Assets",
} as const;

/** Where one is. */
export type Room = "chat" | keyof typeof rooms;

/** The room that an address names; what names none is a conversation's. */
export function roomOf(hash: string): Room {
  const name = hash.slice(1);
  return Object.hasOwn(rooms, name) ? (name as Room) : "chat";
}

/** The room that the address names. */
export function useRoom(): Room {
  return useSyncExternalStore(watchAddress, () => roomOf(location.hash));
}

/** Calls `onChange` whenever another part of the page is named; returns how to stop. */
export function watchAddress(onChange: () => void): () => void {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
}
