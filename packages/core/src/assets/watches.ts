import type { Asset, AssetHandle } from "../asset.js";
import { sharedWatch, type Watch, type WatchesInUse, type WatchState } from "../polling/shared-poller.js";
import { pagePresence } from "../tabs/page-activity.js";
import type { Client } from "../transport/send.js";
import type { AssetStoreOptions } from "./options.js";
import { newerAsset, watchAsset } from "./watch.js";

const watches = new WeakMap<Client, WatchesInUse<Asset, AssetStoreOptions>>();

/** Gives the one watch of an asset in this tab; the settings of the store that asked last count. */
export function watchOf(
  client: Client,
  { id }: AssetHandle,
  read: () => AssetStoreOptions,
  known: WatchState<Asset>,
): Watch<Asset> {
  const inUse = watches.get(client) ?? new Map();
  watches.set(client, inUse);
  return sharedWatch(inUse, id, read, (settings) => ({
    name: `sluice/asset/${client.baseURL}/${id}`,
    client,
    presence: read().presence ?? pagePresence,
    known,
    inBackground: () => settings().refetchIntervalInBackground ?? false,
    follow: (onPoll, signal) =>
      watchAsset(client, id, { onPoll, signal, intervalMs: settings().refetchInterval }),
    merge: newerAsset,
    isFinal: ({ state }) => state !== "pending",
  }));
}
