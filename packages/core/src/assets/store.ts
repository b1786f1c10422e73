import type { ActiveAsset, Asset, AssetHandle } from "../asset.js";
import { openSpan } from "../clock.js";
import { asError } from "../errors.js";
import type { ClientEvent } from "../events.js";
import type { Client } from "../http.js";
import { type Presence, pagePresence } from "../presence.js";
import { createStore, forTheSame, type Store } from "../store.js";
import { assertAccepted } from "../validate.js";
import { createFollower, createWatch, type Watch, type WatchState } from "../watch.js";
import { assetFailure, assetHandleOf, isActive, newerAsset, watchAsset } from "./assets.js";
import { type CreateAssetOptions, createAsset } from "./create.js";
import { type AssetRequest, checkAssetRequest } from "./schema.js";

/** What an asset shows, in the words of TanStack Query. */
export interface AssetState
  extends Pick<WatchState<Asset>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failure"> {
  /** `idle`: none; `pending`: on the way; `success`: `uri` may be used; `error`: `error` says why not. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** `reading` the file, `sending` it, or `preparing`: the gateway works on it. */
  readonly phase: "reading" | "sending" | "preparing" | undefined;
  /** From 0 to 1 while a file is read. Undefined elsewhere: no browser tells how far a request has been sent. */
  readonly progress: number | undefined;
  readonly handle: AssetHandle | undefined;
  /** `asset://…`, for a video request: once the asset may be used. */
  readonly uri: AssetHandle["uri"] | undefined;
  /** As last seen. */
  readonly asset: Asset | undefined;
  readonly data: ActiveAsset | undefined;
  readonly error: Error | undefined;
}

/** What an asset store takes; all but `presence` is read when it is used. */
export interface AssetStoreOptions {
  /** The asset group, as the gateway calls it. */
  readonly groupId?: string | undefined;
  /** What becomes of a file before it is sent: `async (file) => (await fitImage(file, "first_frame")).blob`. */
  readonly prepare?: ((file: Blob, signal: AbortSignal) => Blob | Promise<Blob>) | undefined;
  /** Headers, timeouts, retry and the way of upload of the create request. */
  readonly request?: CreateAssetOptions | undefined;
  /** Milliseconds from an answer to the next question. @default 3_000 */
  readonly refetchInterval?: number | undefined;
  /** Whether to go on asking while nobody sees the page. @default false */
  readonly refetchIntervalInBackground?: boolean | undefined;
  readonly presence?: Presence | undefined;
  /**
   * Called with an asset's handle as soon as the gateway has given it, also if the store was reset meanwhile: the asset
   * is registered, and may be billed, whoever still wants it.
   */
  readonly onRegister?: ((handle: AssetHandle) => void) | undefined;
  /** Called when an asset may be used, once, for one of the stores that watch it and have this. */
  readonly onSuccess?: ((asset: ActiveAsset) => void) | undefined;
  /**
   * Called when it turns out that it can't, once as well, and for a `register` that failed; also, if the store was
   * reset meanwhile, for one that had been sent: its `outcome` says whether the asset may exist.
   */
  readonly onError?: ((error: Error) => void) | undefined;
}

/** What goes with an asset that is registered. */
export interface RegisterOptions {
  /** By default the file's own, or the last part of the URL. */
  readonly name?: string | undefined;
  /** Instead of the store's. */
  readonly groupId?: string | undefined;
}

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

/** Ends of assets: however many stores hear of one, it is the same object in all of them, and told once. */
const told = new WeakSet<object>();

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
  const read = typeof options === "function" ? options : () => options;
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
    const { snapshot: asset, fetchStatus, pauseReason, nextPollAt, failure } = follower.state;
    const data = asset && isActive(asset) ? asset : undefined;
    const error = submitError ?? follower.state.error ?? failureOf(asset);
    const isOnTheWay = sending !== undefined || handle !== undefined;
    const status = data ? "success" : error ? "error" : isOnTheWay ? "pending" : "idle";
    return {
      status,
      phase: sending?.phase ?? (status === "pending" ? "preparing" : undefined),
      progress: sending?.progress,
      handle,
      uri: data?.uri,
      asset,
      data,
      error,
      fetchStatus,
      pauseReason,
      nextPollAt,
      failure,
    };
  }

  async function register(
    source: Blob | URL | string,
    named: RegisterOptions,
    signal: AbortSignal,
  ): Promise<AssetState> {
    const options = read().request;
    const call = endsUnlessSent(client, signal, options?.signal);
    const created = await requestOf(source, named, signal)
      .then((request) => {
        signal.throwIfAborted();
        advance("sending");
        return createAsset(call.client, request, { ...options, signal: call.signal });
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

  async function requestOf(
    source: Blob | URL | string,
    { name, groupId }: RegisterOptions,
    signal: AbortSignal,
  ): Promise<AssetRequest> {
    const { prepare, groupId: ofStore = "", request } = read();
    const isFile = typeof source === "object" && !(source instanceof URL);
    const rest = {
      model: "gamma-asset",
      GroupId: groupId ?? ofStore,
      Name: name ?? nameOf(source),
      AssetType: "Image",
    } as const;
    const given: AssetRequest = { ...rest, URL: isFile ? source : String(source) };
    assertAccepted(given, checkAssetRequest, client.warn);
    if (!isFile) return given;
    const file = prepare ? await prepare(source, signal) : source;
    if (request?.upload === "multipart") return { ...rest, URL: file };
    const { toDataURI } = await import("../media/data-uri.js");
    const onProgress = ({ loadedBytes, totalBytes }: { loadedBytes: number; totalBytes: number }) =>
      advance("reading", loadedBytes / totalBytes);
    return { ...rest, URL: await toDataURI(file, { signal, onProgress }) };
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
    if (before === "pending") tell(compute());
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

  function tell({ data, error }: AssetState): void {
    const end = follower.state.error ?? follower.state.snapshot;
    const { onSuccess, onError } = read();
    // who has nobody to tell leaves it to those who have
    if (!end || !(data ? onSuccess : onError) || told.has(end)) return;
    told.add(end);
    queueMicrotask(() => {
      if (data) read().onSuccess?.(data);
      else if (error) read().onError?.(error);
    });
  }
}

/** A client and a signal for one request, which `over` ends only as long as the gateway can't have it. */
function endsUnlessSent(client: Client, over: AbortSignal, caller: AbortSignal | undefined) {
  const { signal, abort, end } = openSpan(client.clock, caller, Number.POSITIVE_INFINITY, () => undefined);
  let mayBeBilled = false;
  let isGivenUp = false;
  over.addEventListener("abort", giveUp);
  giveUp();
  return { client: { ...client, emit }, signal, end, isGivenUp: () => isGivenUp };

  function giveUp(): void {
    if (!over.aborted || mayBeBilled) return;
    isGivenUp = true;
    abort(over.reason);
  }

  function emit(event: ClientEvent): void {
    if (event.type === "request") mayBeBilled = true;
    // what is sent again was refused
    if (event.type === "retry") mayBeBilled = false;
    client.emit(event);
    giveUp();
  }
}

const watches = new WeakMap<Client, Map<string, Watch<Asset>>>();

/** The one watch of an asset, whoever asks for it; the first one's settings count. */
function watchOf(client: Client, { id }: AssetHandle, read: () => AssetStoreOptions): Watch<Asset> {
  const ofClient = watches.get(client) ?? new Map<string, Watch<Asset>>();
  watches.set(client, ofClient);
  const known = ofClient.get(id);
  if (known) return known;
  const created = createWatch<Asset>({
    name: `sluice/asset/${client.baseURL}/${id}`,
    clock: client.clock,
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

function nameOf(source: Blob | URL | string): string {
  if (source instanceof Blob) return (source as Partial<File>).name ?? UNNAMED;
  const url = String(source);
  const isAddress = /^https?:/i.test(url) && URL.canParse(url);
  return (isAddress && new URL(url).pathname.split("/").at(-1)) || UNNAMED;
}

const UNNAMED = "image";
