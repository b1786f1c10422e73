import { Suspense } from "react";
import { lazyRoom } from "./lazy-room.js";
import { Masthead } from "./masthead.js";
import { type Room, useRoom } from "./rooms.js";

/** Each comes when it is first entered: who makes images never fetches what shows Markdown. */
const shown: Readonly<Record<Room, ReturnType<typeof lazyRoom>>> = {
  chat: lazyRoom(async () => (await import("./chat/chat.js")).Chat),
  images: lazyRoom(async () => (await import("./image-room/image-room.js")).ImageRoom),
  video: lazyRoom(async () => (await import("./video-room/video-room.js")).VideoRoom),
  assets: lazyRoom(async () => (await import("./asset-room/asset-room.js")).AssetRoom),
};

/** The rooms of the studio; the chat is the first. */
export function App() {
  const Shown = shown[useRoom()];
  return (
    <Suspense fallback={<Masthead />}>
      <Shown />
    </Suspense>
  );
}
