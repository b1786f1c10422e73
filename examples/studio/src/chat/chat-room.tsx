import { RoomHeader } from "../shell/room-header.js";
import { Welcome } from "../welcome/welcome.js";

/** The room for chat. */
export function ChatRoom() {
  return (
    <>
      <RoomHeader title="Chat" />
      <div className="flex grow flex-col overflow-y-auto">
        <Welcome />
      </div>
    </>
  );
}
