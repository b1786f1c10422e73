import { RoomHeader } from "../shell/room-header.js";

/** The room for chat. */
export function ChatRoom() {
  return (
    <>
      <RoomHeader title="Chat" />
      <div className="grow overflow-y-auto p-6" />
    </>
  );
}
