import { type Cues, commonScenes, readCues } from "../cues.js";

/** What the `Name` of an asset may ask for, written `[[name]]`, and what then happens. */
export const assetScenes = {
  ...commonScenes,
  slow: "takes about a minute until it is Active instead of some seconds, divided by the speed",
  fail: "the asset becomes Failed",
} as const;

/** The scenes of one name. */
export type AssetCues = Cues<keyof typeof assetScenes>;

/** Reads the cues of a name. */
export function readAssetCues(name: string): AssetCues {
  return readCues(name, assetScenes);
}
