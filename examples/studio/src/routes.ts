import { createContext, use } from "react";
import { navigate } from "wouter/use-hash-location";

/** The rooms, as the address names them. */
export const roomNames = ["chat", "images", "videos", "assets", "devices"] as const;
export type RoomName = (typeof roomNames)[number];

/** A place in the studio. */
export interface Route {
  readonly room: RoomName;
  /** Id of the open conversation; absent from a new chat and from the other rooms. */
  readonly id?: string | undefined;
}

/**
 * Reads a route from the hash of an address, `#/chat/abc`. An unknown room is a new chat. Addresses come from anywhere:
 * an id may be anything, and a chat that this browser does not have.
 */
export function routeOf(hash: string): Route {
  const [name, id] = hash.replace(/^#?\/?/, "").split("/");
  const room = roomNames.find((known) => known === name) ?? "chat";
  return { room, id: room === "chat" && id ? decoded(id) : undefined };
}

/** Decodes a part of an address; one that a mail program has cut stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Writes the hash of a route, for a link. */
export function hrefOf({ room, id }: Route): string {
  return `#/${room}${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
}

/** Opens a route. With `isReplaced`, "Back" does not lead to the present one. */
export function openRoute(route: Route, { isReplaced = false } = {}): void {
  const href = hrefOf(route);
  // as a link does: the address that is open is no new step
  if (href !== location.hash) navigate(href, { replace: isReplaced });
}

export const RouteContext = createContext<Route>({ room: "chat" });

/** The route that is shown. It changes with the page, not before the new room is there. */
export function useRoute(): Route {
  return use(RouteContext);
}

/** Makes the id of a new chat: 128 random bits; not `randomUUID`, which plain-http pages do not have. */
export function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");
}
