import type { Asset, AssetHandle } from "../asset.js";
import { asError } from "../errors.js";
import { createFollower, tellEnd } from "../follower.js";
import type { Client } from "../http.js";
import { createStore, forTheSame, readerOf, type Store } from "../store.js";
import { assetFailure, assetHandleOf } from "./assets.js";
import { createAsset } from "./create.js";
import type { AssetStoreOptions, RegisterOptions } from "./options.js";
import { assetRequestOf } from "./request.js";
import { endsUnlessSent } from "./run.js";
import { type AssetState, assetStateOf } from "./state.js";
import { watchOf } from "./watches.js";

/** One asset: none at first, then one that was registered or attached. */
export interface AssetStore extends Store<AssetState> {
  /**
   * Checks a file or URL, registers it, and waits until it may be used. Never rejects: resolves to the state as soon as
   * the gateway has answered. While one is on the way nothing else is sent.
   */
  register(source: Blob | URL | string, options?: RegisterOptions): Promise<AssetState>;
  /** Watches an asset that is there already, by its handle or id. */
  attach(asset: AssetHandle | string): void;
  /** Asks now, also after an error. */
  refetch(): void;
  /**
   * Forgets the asset, here. What the gateway has not got, or has refused, is not sent any more; what it may have goes on
   * to its end, which `onRegister` or `onError` tells.
   */
  reset(): void;
}

/**
 * Makes the store of one asset. Watching needs the client's `assetLookup`.
 *
 * @param options a function is asked whenever one of them is needed, so that none is ever stale
 * @example
 * ```ts
 * const hero = createAssetStore(client, { groupId: "group-1" });
 * hero.subscribe(() => show(hero.getSnapshot().phase));
 * await hero.register(input.files[0]);
 * ```
 */
export function createAssetStore(
  client: Client,
  options: AssetStoreOptions | (() => AssetStoreOptions) = {},
): AssetStore {
  const read = readerOf(options);
  let own = new AbortController();
  let sending: { promise: Promise<AssetState>; phase: "reading" | "sending"; progress?: number } | undefined;
  let handle: AssetHandle | undefined;
  let submitError: Error | undefined;
  const failureOf = forTheSame((asset: Asset | undefined) =>
    asset?.state === "failed" ? assetFailure(asset) : undefined,
  );
  const follower = createFollower<Asset>(hear);
  const store = createStore(compute, {
    throttleMs: 0,
    clock: client.clock,
    onFirst() {
      follower.look();
      store.flush();
    },
    onLast: follower.lookAway,
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    register(source, named = {}) {
      if (sending) return sending.promise;
      if (compute().status === "pending") return Promise.resolve(store.getSnapshot());
      forget();
      const { signal } = own;
      const promise = Promise.resolve().then(() => register(source, named, signal));
      sending = { promise, phase: "reading" };
      store.flush();
      return promise;
    },
    attach(asset) {
      const reference = assetHandleOf(typeof asset === "string" ? asset : asset.id);
      if (reference.id === handle?.id) return;
      forget();
      handle = reference;
      follower.follow(watchOf(client, reference, read));
      store.flush();
    },
    refetch() {
      if (handle) watchOf(client, handle, read).refetch();
    },
    reset() {
      forget();
      store.flush();
    },
  };

  function compute(): AssetState {
    const { snapshot, error } = follower.state;
    return assetStateOf(follower.state, sending, {
      handle,
      error: submitError ?? error ?? failureOf(snapshot),
    });
  }

  async function register(
    source: Blob | URL | string,
    named: RegisterOptions,
    signal: AbortSignal,
  ): Promise<AssetState> {
    const options = read();
    const { request: sent } = options;
    const call = endsUnlessSent(client, signal, sent?.signal);
    const onProgress = (progress: number) => advance("reading", progress);
    const created = await assetRequestOf(client, { source, ...named }, options, { signal, onProgress })
      .then((request) => {
        signal.throwIfAborted();
        advance("sending");
        return createAsset(call.client, request, { ...sent, signal: call.signal });
      })
      .catch(asError);
    call.end();
    if (!call.isGivenUp()) tellOf(created);
    if (!signal.aborted) settle(created);
    return store.getSnapshot();
  }

  function settle(created: AssetHandle | Error): void {
    sending = undefined;
    if (created instanceof Error) submitError = created;
    else {
      handle = created;
      follower.follow(watchOf(client, created, read));
    }
    store.flush();
  }

  function tellOf(created: AssetHandle | Error): void {
    queueMicrotask(() => {
      if (created instanceof Error) read().onError?.(created);
      else read().onRegister?.(created);
    });
  }

  function advance(phase: "reading" | "sending", progress?: number): void {
    if (!sending) return;
    const { promise } = sending;
    sending = { promise, phase, ...(progress !== undefined && { progress }) };
    store.flush();
  }

  function hear(take: () => void): void {
    const before = compute().status;
    take();
    if (before === "pending") tellEnd(follower.state, compute(), read);
    store.flush();
  }

  function forget(): void {
    follower.forget();
    own.abort(new DOMException("The registration was given up", "AbortError"));
    own = new AbortController();
    sending = undefined;
    submitError = undefined;
    handle = undefined;
  }
}
