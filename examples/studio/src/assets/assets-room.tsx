import { RoomHeader } from "../shell/room-header.js";

/** The room for assets. */
export function AssetsRoom() {
  return (
    <>
      <RoomHeader title="Assets" />
      <div className="grow overflow-y-auto p-6" />
    </>
  );
}
