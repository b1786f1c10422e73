import { commonFaults, type Faults, readFaults } from "../server/faults.js";

/** Faults of the `Name` of an asset, written `[[name]]`, with their effects. */
export const assetFaults = {
  ...commonFaults,
  slow: "takes about a minute until it is Active instead of some seconds, divided by the speed",
  fail: "the asset becomes Failed",
} as const;

/** Faults of one name. */
export type AssetFaults = Faults<keyof typeof assetFaults>;

/** Reads the faults of a name. */
export function readAssetFaults(name: string, added?: string): AssetFaults {
  return readFaults(name, assetFaults, added);
}
