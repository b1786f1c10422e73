import { commonScenes, readScenes, type Scenes } from "../server/scenes.js";

/** Scenes of the `Name` of an asset, written `[[name]]`, with their effects. */
export const assetScenes = {
  ...commonScenes,
  slow: "takes about a minute until it is Active instead of some seconds, divided by the speed",
  fail: "the asset becomes Failed",
} as const;

/** Scenes of one name. */
export type AssetScenes = Scenes<keyof typeof assetScenes>;

/** Reads the scenes of a name. */
export function readAssetScenes(name: string, added?: string): AssetScenes {
  return readScenes(name, assetScenes, added);
}
