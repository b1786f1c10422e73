import type { Source } from "../room/sources/source.js";

/** The form, as it was filled in. */
export interface AssetDraft {
  readonly sources: readonly Source[];
  /** Empty: that of the file, or of the link. */
  readonly name: string;
  readonly groupId: string;
}

export const emptyDraft: AssetDraft = { sources: [], name: "", groupId: "studio" };

/** The request. What is wrong with it, `checkAssetRequest` says. */
export function requestOf({ sources: [source], name, groupId }: AssetDraft) {
  return {
    model: "gamma-asset",
    GroupId: groupId.trim(),
    // a link without a last part is called by all of it
    Name:
      name.trim() ||
      (source?.file?.name ??
        source?.url
          .replace(/[?#].*/, "")
          .split("/")
          .at(-1)) ||
      "image",
    AssetType: "Image",
    URL: source?.url ?? "",
  } as const;
}
