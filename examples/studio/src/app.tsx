import { AssetRoom } from "./asset-room/asset-room.js";
import { Chat } from "./chat/chat.js";
import { ImageRoom } from "./image-room/image-room.js";
import { useRoom } from "./rooms.js";
import { VideoRoom } from "./video-room/video-room.js";

/** The rooms of the studio; the chat is the first. */
export function App() {
  const room = useRoom();
  switch (room) {
    case "chat":
      return <Chat />;
    case "images":
      return <ImageRoom />;
    case "video":
      return <VideoRoom />;
    case "assets":
      return <AssetRoom />;
  }
}
