import {
  type ActiveAsset,
  type Asset,
  type AssetHandle,
  type AssetRequest,
  type Client,
  createAsset,
} from "@sluice/core";
import {
  assertAccepted,
  assertLookup,
  assets,
  type CreateAssetOptions,
  type Interval,
  noteOptions,
  readerOf,
} from "@sluice/core/internal";
import { checkAssetRequest } from "@sluice/core/schemas";
import { sendOnce } from "../tasks/send-once.js";
import type { Creating, TaskState, TaskStore, TaskStoreOptions } from "../tasks/task-state.js";
import { createTaskStore } from "../tasks/task-store.js";
import { sharedWatch } from "../tasks/task-watch.js";

/** State of one asset, in the terms of TanStack Query. */
export interface AssetState extends TaskState<ActiveAsset, AssetHandle> {
  /**
   * Step of the registration: `reading` the file, `sending` it, or `preparing`, while the gateway works on
   * it.
   */
  readonly phase: "reading" | "sending" | "preparing" | undefined;
  /**
   * Share of the file that was read, from 0 to 1. Undefined in other phases: browsers do not report how much
   * of a request was sent.
   */
  readonly progress: number | undefined;
  /** Address for video requests, `asset://…`; undefined until the asset is active. */
  readonly uri: AssetHandle["uri"] | undefined;
  /** Newest snapshot; undefined before the first poll. */
  readonly asset: Asset | undefined;
}

/** Options of an asset store; all but `presence` are read at each use. */
export interface AssetStoreOptions extends TaskStoreOptions<Asset, AssetHandle, ActiveAsset, AssetState> {
  /** Id of the asset group that images are registered in: `GroupId` of the request. */
  readonly groupId?: string | undefined;
  /** Changes a file before it is sent: `async (file) => (await fitImage(file, "first_frame")).blob`. */
  readonly prepare?: ((file: Blob, signal: AbortSignal) => Blob | Promise<Blob>) | undefined;
  /** Headers, timeouts, retry and form of upload of the create request. */
  readonly request?: CreateAssetOptions | undefined;
  /**
   * Milliseconds from an answer to the next poll, or a function of the asset. It grows where a page polls more than
   * 20 assets and tasks, so that all together are polled ten times in a second at most.
   *
   * @default 3_000
   */
  readonly intervalMs?: Interval<Asset> | undefined;
}

/** Options of `create`. */
export interface AssetCreateOptions {
  /** Name of the asset. @default the name of the file, or the last part of the URL */
  readonly name?: string | undefined;
  /** Id of the asset group. @default `groupId` of the store */
  readonly groupId?: string | undefined;
}

/** Store of one asset: none at first, then the one that was registered or attached. */
export interface AssetStore extends TaskStore<AssetState, AssetHandle> {
  /**
   * Checks a file or URL, registers it, and watches the asset. Never rejects: resolves to the state as soon
   * as the gateway has answered. While a registration is in flight, a second call sends nothing; `whenBusy` decides
   * about its result.
   */
  create(source: Blob | URL | string, options?: AssetCreateOptions): Promise<AssetState>;
}

/** Progress of a registration. */
interface Sending {
  readonly phase: "reading" | "sending";
  readonly progress?: number;
}

/** A `create` with the group of its store. */
interface Asked extends AssetCreateOptions {
  readonly source: Blob | string;
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
  noteOptions("createAssetStore or useAsset", options, client);
  const read = readerOf(options);
  const { submit, ...store } = createTaskStore(assets, client, read, {
    watchOf: (handle, known) =>
      sharedWatch(assets, client, {
        handleOf: () => handle,
        settings: read,
        presence: read().presence,
        known,
      }),
    stateOf: (state, asset, sending?: Sending): AssetState => ({
      ...state,
      phase: sending?.phase ?? (state.status === "pending" ? "preparing" : undefined),
      progress: sending?.progress,
      uri: state.data?.uri,
      asset,
    }),
  });
  const register = sendOnce(client, {
    requestOf: (asked: Asked, creating: Creating<Sending>) => requestOf(client, asked, read(), creating),
    sending: { phase: "sending" },
    send: createAsset,
  });
  return {
    ...store,
    create(given, { name, groupId } = {}) {
      const source = given instanceof URL ? given.href : given;
      return submit({ phase: "reading" }, (creating) => {
        const { groupId: ofStore, request } = read();
        return register({ source, name, groupId: groupId ?? ofStore }, request, creating);
      });
    },
  };
}

/** Makes the request that registers a source. Checks it first, and reads a file that is sent as text. */
async function requestOf(
  client: Client,
  { source, name = nameOf(source), groupId = "" }: Asked,
  { prepare, request }: AssetStoreOptions,
  { signal, advance }: Creating<Sending>,
): Promise<AssetRequest> {
  assertLookup(client, "an asset");
  const rest = { model: "gamma-asset", GroupId: groupId, Name: name, AssetType: "Image" } as const;
  const given: AssetRequest = { ...rest, URL: source };
  assertAccepted(given, checkAssetRequest, client.warn, request);
  if (typeof source === "string") return given;
  const file = prepare ? await prepare(source, signal) : source;
  if (request?.upload === "multipart") return { ...rest, URL: file };
  const { toDataURI } = await import("../files/data-uri-later.js");
  const onProgress = ({ loadedBytes, totalBytes }: { loadedBytes: number; totalBytes: number }) =>
    advance({ phase: "reading", progress: loadedBytes / totalBytes });
  return { ...rest, URL: await toDataURI(file, { signal, onProgress }) };
}

function nameOf(source: Blob | string): string {
  if (typeof source !== "string") return (source as Partial<File> | undefined)?.name ?? UNNAMED;
  const isAddress = /^https?:/i.test(source) && URL.canParse(source);
  return (isAddress && new URL(source).pathname.split("/").at(-1)) || UNNAMED;
}

const UNNAMED = "image";
