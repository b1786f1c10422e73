import { atom } from "nanostores";
import {
  type ComponentType,
  createContext,
  startTransition,
  use,
  useCallback,
  useEffect,
  useState,
} from "react";
import { navigate, useHashLocation } from "wouter/use-hash-location";
import { isAnswering } from "./inspector/feed.js";

export type RoomName = "chat" | "images" | "videos" | "assets";

/** The rooms, as the address names them. */
const roomNames: readonly RoomName[] = ["chat", "images", "videos", "assets"];

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

const scripts: Readonly<Record<RoomName, () => Promise<ComponentType>>> = {
  chat: async () => (await import("./chat/chat-room.js")).ChatRoom,
  images: async () => (await import("./images/images-room.js")).ImagesRoom,
  videos: async () => (await import("./videos/videos-room.js")).VideosRoom,
  assets: async () => (await import("./assets/assets-room.js")).AssetsRoom,
};

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

/** Time from the first paint until the page loads what no one has asked for yet, in milliseconds. */
const SETTLE_MS = 2500;

/** Says that the first screen is over: what it did not need may load now. */
export const isSettled = atom(false);

/** Number of questions on their way. */
let questions = 0;

/** Runs `ask`, which asks a question. Until it ends, nothing is loaded that no one has asked for. */
export async function whileAsking<Result>(ask: () => Promise<Result>): Promise<Result> {
  questions += 1;
  try {
    return await ask();
  } finally {
    questions -= 1;
  }
}

/**
 * Loads what no one has asked for yet, one room after the other. It gives way to every question: on a slow line, the
 * answer and the scripts that show it come first. Returns a function that ends it.
 */
function loadWhenCalm(): () => void {
  const rest = [...roomNames];
  let timer = setTimeout(next, SETTLE_MS);
  async function next(): Promise<void> {
    if (questions === 0 && !isAnswering()) {
      isSettled.set(true);
      const room = rest.shift();
      if (room === undefined) return;
      await preloadRoom(room);
      timer = setTimeout(next);
    } else timer = setTimeout(next, SETTLE_MS);
  }
  return () => clearTimeout(timer);
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
  const [address] = useHashLocation();
  const [shown, setShown] = useState<Shown>(() => ({ route: routeOf(address), visited: new Map(loaded) }));

  const follow = useCallback(async () => {
    const route = routeOf(address);
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
  }, [address]);

  useEffect(() => {
    void follow();
    addEventListener("online", follow);
    return () => removeEventListener("online", follow);
  }, [follow]);
  useEffect(loadWhenCalm, []);

  return { ...shown, tryAgain: () => void follow() };
}
