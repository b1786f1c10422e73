import type { AssetHandle } from "@sluice/core";
import { type VideoModel, videoModels } from "@sluice/core/schemas";
import { createKeptList } from "../room/kept-list.js";
import { putDraft } from "../room/use-draft.js";
import { emptyOrder } from "../video-room/order.js";

/** An asset that was registered here. */
export interface RegisteredAsset extends AssetHandle {
  readonly name: string;
  readonly groupId: string;
  /** Unix milliseconds. */
  readonly registeredAt: number;
}

const MOST = 200;

/** The assets that were registered in this browser: the gateway has no list of them. */
export const registered = createKeptList("sluice-assets", {
  isItem: isRegistered,
  timeOf: ({ registeredAt }) => registeredAt,
  most: MOST,
});

/** Puts an asset on the list. */
export function note(handle: AssetHandle, name: string, groupId: string): void {
  registered.add({ ...handle, name, groupId, registeredAt: Date.now() });
}

/** Goes to the video room, with the asset among the reference images of a model that takes assets. */
export function takeToVideo({ name, uri }: RegisteredAsset): void {
  putDraft("video", emptyOrder, (order) => {
    const known = (order.media.reference_image ?? []).filter(({ url }) => url !== uri);
    return {
      ...order,
      model: takesAssets(order.model) ? order.model : "gamma-video-2.0",
      media: { ...order.media, reference_image: [...known, { name, url: uri }] },
    };
  });
  location.hash = "video";
}

function takesAssets(model: VideoModel): boolean {
  const { family } = videoModels[model];
  return family === "2-0" || family === "fast";
}

function isRegistered(kept: unknown): kept is RegisteredAsset {
  if (typeof kept !== "object" || kept === null) return false;
  const { id, uri, name, groupId, registeredAt } = kept as Record<string, unknown>;
  return (
    [id, uri, name, groupId].every((text) => typeof text === "string") && typeof registeredAt === "number"
  );
}
