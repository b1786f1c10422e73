import type { Asset, AssetHandle } from "../asset.js";
import type { Client } from "../http.js";
import { pagePresence } from "../presence.js";
import { createWatch, type Watch } from "../watch.js";
import { newerAsset, watchAsset } from "./assets.js";
import type { AssetStoreOptions } from "./options.js";

const watches = new WeakMap<Client, Map<string, Watch<Asset>>>();

/** The one watch of an asset, whoever asks for it; the first one's settings count. */
export function watchOf(client: Client, { id }: AssetHandle, read: () => AssetStoreOptions): Watch<Asset> {
  const ofClient = watches.get(client) ?? new Map<string, Watch<Asset>>();
  watches.set(client, ofClient);
  const known = ofClient.get(id);
  if (known) return known;
  const created = createWatch<Asset>({
    name: `sluice/asset/${client.baseURL}/${id}`,
    client,
    presence: read().presence ?? pagePresence,
    initial: undefined,
    inBackground: () => read().refetchIntervalInBackground ?? false,
    follow: (onPoll, signal) =>
      watchAsset(client, id, { onPoll, signal, intervalMs: read().refetchInterval }),
    merge: newerAsset,
    isFinal: ({ state }) => state !== "pending",
  });
  ofClient.set(id, created);
  return created;
}
