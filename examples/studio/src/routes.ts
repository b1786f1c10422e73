import { createContext, use } from "react";

/** The rooms, as the address names them. */
export const roomNames = ["chat", "images", "videos", "assets"] as const;
export type RoomName = (typeof roomNames)[number];

/** A place in the studio. */
export interface Route {
  readonly room: RoomName;
  /** Id of the open conversation; absent from a new chat and from the other rooms. */
  readonly id?: string | undefined;
}

/** Reads a route from the hash of an address, `#/chat/abc`. Anything unknown is a new chat. */
export function routeOf(hash: string): Route {
  const [name, id] = hash.replace(/^#\/?/, "").split("/");
  const room = roomNames.find((known) => known === name) ?? "chat";
  return { room, id: room === "chat" && id ? decodeURIComponent(id) : undefined };
}

/** Writes the hash of a route, for a link. */
export function hrefOf({ room, id }: Route): string {
  return `#/${room}${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
}

/** Opens a route. With `isReplaced`, "Back" does not lead to the present one. */
export function openRoute(route: Route, { isReplaced = false } = {}): void {
  if (isReplaced) location.replace(hrefOf(route));
  else location.hash = hrefOf(route);
}

export const RouteContext = createContext<Route>({ room: "chat" });

/** The route that is shown. It changes with the page, not before the new room is there. */
export function useRoute(): Route {
  return use(RouteContext);
}
