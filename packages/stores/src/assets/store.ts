import {
  type ActiveAsset,
  type Asset,
  type AssetHandle,
  type AssetRequest,
  type Client,
  createAsset,
} from "@sluice/core";
import { assertAssetRequest, assets, createOptionsReader, noteOptions } from "@sluice/core/extend";
import { sendOnce } from "../tasks/send-once.js";
import type { CreationReporter, TaskState, TaskStore, TaskStoreOptions } from "../tasks/task-state.js";
import { createTaskStore } from "../tasks/task-store.js";
import type { Interval } from "../tasks/watch-plan.js";

/** State of one asset, in the terms of TanStack Query. */
export interface AssetState extends TaskState<ActiveAsset, AssetHandle> {
  /** Newest snapshot; undefined before the first poll. */
  readonly asset: Asset | undefined;
}

/** Options of an asset store; all but `presence` are read at each use. */
export interface AssetStoreOptions extends TaskStoreOptions<Asset, AssetHandle, ActiveAsset, AssetState> {
  /** Id of the asset group of the images: `GroupId` of the request. */
  readonly groupId?: string | undefined;
  /** Changes a file before it is sent: `async (file) => (await fitImage(file, "first_frame")).blob`. */
  readonly prepare?: ((file: Blob, signal: AbortSignal) => Blob | Promise<Blob>) | undefined;
  /**
   * Encoding of a file: a data URI in JSON, or `multipart/form-data`.
   *
   * @default "data-uri"
   */
  readonly encoding?: "data-uri" | "multipart" | undefined;
  /**
   * Milliseconds from a response to the next poll, or a function of the asset. The interval grows if a page polls more than
   * 20 assets and tasks, so that the page polls at most ten times per second.
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

/** Store of one asset: empty at first, then the registered or attached asset. */
export interface AssetStore extends TaskStore<AssetState, AssetHandle> {
  /**
   * Checks a file or URL, registers it, and watches the asset. Never rejects: resolves to the state as soon as the gateway
   * responds. While a registration is in flight, a second call sends nothing; `whenBusy` decides about its result.
   */
  create(source: Blob | URL | string, options?: AssetCreateOptions): Promise<AssetState>;
}

/** Input of `create`, with the group of the store. */
interface AssetInput extends AssetCreateOptions {
  readonly source: Blob | string;
}

/**
 * Creates the store of one asset. Watching needs the client's `assetLookup`.
 *
 * @param options the options, or a function that returns the current options at each use
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
  const readOptions = createOptionsReader(options);
  const { submit, ...store } = createTaskStore(assets, client, readOptions, {
    createState: (state, asset): AssetState => ({ ...state, asset }),
  });
  const register = sendOnce(
    client,
    readOptions,
    (tracked, request: AssetRequest, sent) =>
      createAsset(tracked, request, { ...sent, encoding: readOptions().encoding }),
    (input: AssetInput, reporter) => createRequest(client, input, readOptions(), reporter),
  );
  return {
    ...store,
    create(given, { name, groupId } = {}) {
      const source = given instanceof URL ? given.href : given;
      return submit("uploading", register({ source, name, groupId: groupId ?? readOptions().groupId }));
    },
  };
}

/** Creates the request that registers a source. Checks it first, and reads a file that is sent as a data URI. */
async function createRequest(
  client: Client,
  { source, name = findName(source), groupId = "" }: AssetInput,
  { prepare, encoding, checks }: AssetStoreOptions,
  { signal, show }: CreationReporter,
): Promise<AssetRequest> {
  assets.assertReady?.(client);
  const fields = { model: "gamma-asset", GroupId: groupId, Name: name, AssetType: "Image" } as const;
  const given: AssetRequest = { ...fields, URL: source };
  assertAssetRequest(client, given, { checks });
  if (typeof source === "string") return given;
  const file = prepare ? await prepare(source, signal) : source;
  if (encoding === "multipart") return { ...fields, URL: file };
  const { toDataURI } = await import("../files/data-uri-later.js");
  const onProgress = ({ loadedBytes, totalBytes }: { loadedBytes: number; totalBytes: number }) =>
    show({ phase: "uploading", progress: loadedBytes / totalBytes });
  return { ...fields, URL: await toDataURI(file, { signal, onProgress }) };
}

function findName(source: Blob | string): string {
  if (typeof source !== "string") return (source as Partial<File> | undefined)?.name ?? UNNAMED;
  const isAddress = /^https?:/i.test(source) && URL.canParse(source);
  return (isAddress && new URL(source).pathname.split("/").at(-1)) || UNNAMED;
}

const UNNAMED = "image";
