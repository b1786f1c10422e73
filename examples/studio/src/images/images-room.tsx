import { RoomHeader } from "../shell/room-header.js";

/** The room for images. */
export function ImagesRoom() {
  return (
    <>
      <RoomHeader title="Images" />
      <div className="grow overflow-y-auto p-6" />
    </>
  );
}
