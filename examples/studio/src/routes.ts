import {
  type ComponentType,
  createContext,
  startTransition,
  use,
  useCallback,
  useEffect,
  useState,
} from "react";
import { createValue } from "./value.js";

/** The rooms, as the address names them. */
const roomNames = ["chat", "images", "videos", "assets"] as const;
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

const scripts: Readonly<Record<RoomName, () => Promise<ComponentType>>> = {
  chat: async () => (await import("./chat/chat-room.js")).ChatRoom,
  images: async () => (await import("./images/images-room.js")).ImagesRoom,
  videos: async () => (await import("./videos/videos-room.js")).VideosRoom,
  assets: async () => (await import("./assets/assets-room.js")).AssetsRoom,
};

/** Time from the first paint until the page loads what no one has asked for yet, in milliseconds. */
const SETTLE_MS = 2500;

/** Says that the first screen is over: what it did not need may load now. */
export const isSettled = createValue(false);

const loaded = new Map<RoomName, ComponentType>();

/** Loads the script of a room, once. A failure is not kept: the next call tries again. */
export async function preloadRoom(room: RoomName): Promise<ComponentType | undefined> {
  try {
    const component = loaded.get(room) ?? (await scripts[room]());
    loaded.set(room, component);
    return component;
  } catch {
    return undefined;
  }
}

/** The page as it is shown. */
interface Shown {
  readonly route: Route;
  /** The rooms that were visited; each keeps its state while another is shown. */
  readonly visited: ReadonlyMap<RoomName, ComponentType>;
  /** The room that could not be loaded. */
  readonly missing?: RoomName | undefined;
}

/** Follows the address. A room appears when its script is there; until then the present one stays. */
export function useRooms(): Shown & { readonly tryAgain: () => void } {
  const [shown, setShown] = useState<Shown>(() => ({
    route: routeOf(location.hash),
    visited: new Map(loaded),
  }));

  const follow = useCallback(async () => {
    const route = routeOf(location.hash);
    const component = await preloadRoom(route.room);
    // another room was chosen while this one loaded
    if (routeOf(location.hash).room !== route.room) return;
    startTransition(() =>
      setShown(({ visited }) =>
        component
          ? { route, visited: new Map(visited).set(route.room, component) }
          : { route, visited, missing: route.room },
      ),
    );
  }, []);

  useEffect(() => {
    void follow();
    const idle = setTimeout(() => {
      isSettled.set(true);
      for (const room of roomNames) void preloadRoom(room);
    }, SETTLE_MS);
    addEventListener("hashchange", follow);
    addEventListener("online", follow);
    return () => {
      clearTimeout(idle);
      removeEventListener("hashchange", follow);
      removeEventListener("online", follow);
    };
  }, [follow]);

  return { ...shown, tryAgain: () => void follow() };
}
