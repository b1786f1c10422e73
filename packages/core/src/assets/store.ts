import { noteOptions } from "../base/note-options.js";
import { randomId } from "../base/random-id.js";
import { isSame } from "../base/same.js";
import { scoped } from "../base/scope.js";
import { readerOf, type Store } from "../base/store.js";
import type { Client } from "../client.js";
import { spaced } from "../tasks/pace.js";
import { intervalAfter } from "../tasks/poll.js";
import { sharedWatch, type Watch, type WatchesInUse, type WatchState } from "../tasks/shared-poller.js";
import { createTaskStore } from "../tasks/task-store.js";
import { endsUnlessSent } from "../transport/billing-outcome.js";
import { keepsKey } from "../transport/failure.js";
import type { ActiveAsset, Asset, AssetHandle } from "../vocabulary/asset.js";
import { createAsset } from "./create.js";
import type { AssetCreateOptions, AssetStoreOptions } from "./options.js";
import { assetRequestOf } from "./request.js";
import type { AssetRequest } from "./schema.js";
import type { AssetSending, AssetState } from "./state.js";
import {
  assertLookup,
  assetFailure,
  assetHandleOf,
  INTERVAL_MS,
  isActive,
  newerAsset,
  watchAsset,
} from "./watch.js";

/** Store of one asset: none at first, then the one that was registered or attached. */
export interface AssetStore extends Store<AssetState> {
  /**
   * Checks a file or URL, registers it, and watches the asset. Never rejects: resolves to the state as soon
   * as the gateway has answered. While a registration is in flight, a second call sends nothing; `whenBusy` decides
   * about its result.
   */
  create(source: Blob | URL | string, options?: AssetCreateOptions): Promise<AssetState>;
  /** Watches an asset that exists already, by its handle or id. */
  attach(asset: AssetHandle | string): void;
  /** Polls now, also after an error. */
  refetch(): void;
  /** Stops watching and keeps the shown state. The gateway continues to prepare the asset. */
  detach(): void;
  /**
   * Forgets the asset in this store. A request that was not sent or was refused is dropped. A request that was sent
   * continues, and `onCreate` or `onError` reports its end.
   */
  reset(): void;
}

/**
 * Creates the store of one asset. Watching needs the client's `assetLookup`.
 *
 * @param options the options, or a function that returns them and is called at each use, so that none is stale
 * @example
 * ```ts
 * const hero = createAssetStore(client, { groupId: "group-1" });
 * hero.subscribe(() => show(hero.getSnapshot().phase));
 * await hero.create(input.files[0]);
 * ```
 */
export function createAssetStore(
  client: Client,
  options: AssetStoreOptions | (() => AssetStoreOptions) = {},
): AssetStore {
  const read = readerOf(options);
  noteOptions("createAssetStore or useAsset", options, client.warn);
  const task = createTaskStore<Asset, AssetHandle, ActiveAsset, AssetState, AssetSending>({
    client,
    watchOf: (handle, known) => watchOf(client, handle, read, known),
    dataOf: (asset) => (isActive(asset) ? asset : undefined),
    stateOf: (state, asset, sending) => ({
      ...state,
      phase: sending?.phase ?? (state.status === "pending" ? "preparing" : undefined),
      progress: sending?.progress,
      uri: state.data?.uri,
      asset,
    }),
    failureOf: (asset) => (asset.state === "failed" ? assetFailure(asset) : undefined),
    read,
  });

  /** The last registration, if nobody knows how it ended: the same one again has its key and its bytes. */
  let lost: { asked: unknown; request: AssetRequest; idempotencyKey: string } | undefined;

  return {
    getSnapshot: task.getSnapshot,
    subscribe: task.subscribe,
    create(source, named = {}) {
      let isCancelled = () => true;
      return task.submit({
        sending: { phase: "reading" },
        async create(signal, advance) {
          assertLookup(client, "an asset");
          const options = read();
          const { request: sent } = options;
          const call = endsUnlessSent(client, signal, sent?.signal);
          ({ isCancelled } = call);
          const onProgress = (progress: number) => advance({ phase: "reading", progress });
          const asked = {
            ...named,
            source: source instanceof URL ? source.href : source,
            of: options.groupId,
          };
          const repeated = lost && isSame(lost.asked, asked) ? lost : undefined;
          const idempotencyKey = repeated?.idempotencyKey ?? randomId();
          let request = repeated?.request;
          if (repeated) lost = undefined;
          try {
            request ??= await assetRequestOf(client, { source, ...named }, options, { signal, onProgress });
            signal.throwIfAborted();
            advance({ phase: "sending" });
            return await createAsset(call.client, request, {
              ...sent,
              signal: call.signal,
              idempotencyKey,
            });
          } catch (error) {
            if (request && keepsKey(error)) lost = { asked, request, idempotencyKey };
            throw error;
          } finally {
            call.end();
          }
        },
        onSettled(created, isForgotten, state) {
          if (isForgotten && isCancelled()) return;
          if (created instanceof Error) read().onError?.(created, state);
          else if (created) read().onCreate?.(created);
        },
      });
    },
    attach: (asset) => task.attach(assetHandleOf(typeof asset === "string" ? asset : asset.id)),
    refetch: task.refetch,
    detach: task.detach,
    reset: task.reset,
  };
}

const watches = new WeakMap<Client, WatchesInUse<Asset, AssetStoreOptions>>();

/** Returns the watch of an asset: one for each asset in this tab. It uses the settings of its newest store. */
function watchOf(
  client: Client,
  { id }: AssetHandle,
  read: () => AssetStoreOptions,
  known: WatchState<Asset>,
): Watch<Asset> {
  const inUse = watches.get(client) ?? new Map();
  watches.set(client, inUse);
  return sharedWatch(inUse, id, read, (settings) => ({
    name: scoped(client, `sluice/asset/${client.baseURL}/${id}`),
    client,
    presence: read().presence,
    known,
    inBackground: () => settings().pollInBackground ?? false,
    poll: (onPoll, signal) =>
      watchAsset(client, id, {
        onPoll,
        signal,
        intervalMs(asset) {
          const { intervalMs = INTERVAL_MS } = settings();
          return spaced(client.clock, intervalAfter(intervalMs, asset));
        },
      }),
    merge: newerAsset,
    isFinal: ({ state }) => state !== "pending",
  }));
}
