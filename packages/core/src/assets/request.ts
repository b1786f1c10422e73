import { assertAccepted } from "../base/validate.js";
import type { Client } from "../client.js";
import type { AssetCreateOptions, AssetStoreOptions } from "./options.js";
import type { AssetRequest } from "./schema.js";
import { checkAssetRequest } from "./schema.js";

/** Makes the request that registers `source`. Checks it first, and reads a file that is sent as text. */
export async function assetRequestOf(
  client: Client,
  { source, name, groupId }: AssetCreateOptions & { readonly source: Blob | URL | string },
  { prepare, groupId: ofStore = "", request }: AssetStoreOptions,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (progress: number) => void },
): Promise<AssetRequest> {
  const isFile = typeof source === "object" && !(source instanceof URL);
  const rest = {
    model: "gamma-asset",
    GroupId: groupId ?? ofStore,
    Name: name ?? nameOf(source),
    AssetType: "Image",
  } as const;
  const given: AssetRequest = { ...rest, URL: isFile ? source : String(source) };
  assertAccepted(given, checkAssetRequest, client.warn, "createAsset(client, unchecked({ … }))");
  if (!isFile) return given;
  const file = prepare ? await prepare(source, signal) : source;
  if (request?.upload === "multipart") return { ...rest, URL: file };
  const { toDataURI } = await import("../media/data-uri.js");
  const read = await toDataURI(file, {
    signal,
    onProgress: ({ loadedBytes, totalBytes }) => onProgress(loadedBytes / totalBytes),
  });
  return { ...rest, URL: read };
}

function nameOf(source: Blob | URL | string): string {
  if (source instanceof Blob) return (source as Partial<File>).name ?? UNNAMED;
  const url = String(source);
  const isAddress = /^https?:/i.test(url) && URL.canParse(url);
  return (isAddress && new URL(url).pathname.split("/").at(-1)) || UNNAMED;
}

const UNNAMED = "image";
