import { RoomHeader } from "../shell/room-header.js";

/** The room for videos. */
export function VideosRoom() {
  return (
    <>
      <RoomHeader title="Videos" />
      <div className="grow overflow-y-auto p-6" />
    </>
  );
}
