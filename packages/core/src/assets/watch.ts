import { unlessAborted } from "../base/clock.js";
import type { Client } from "../client.js";
import { type PollEvent, poll } from "../tasks/poll.js";
import { excerpt, isRecord } from "../transport/error-response.js";
import { withRoute } from "../transport/failure.js";
import { type Answer, requestJSON } from "../transport/json-response.js";
import { assertClient, type RequestOptions } from "../transport/send.js";
import type { ActiveAsset, Asset, AssetHandle, AssetLookup } from "../vocabulary/asset.js";
import {
  AssetFailedError,
  ConfigurationError,
  jsonOf,
  ResponseError,
  ValidationError,
  withDetails,
} from "../vocabulary/errors.js";

const HEADERS_MS = 60_000;
export const INTERVAL_MS = 3000;

/** Options for waiting for an asset. Times are milliseconds. */
export interface AssetWatchOptions extends RequestOptions {
  /**
   * Milliseconds from an answer to the next poll, varied by up to 10 %. A function gets the last answer.
   *
   * @default 3_000
   */
  readonly intervalMs?: number | ((asset: Asset | undefined) => number) | undefined;
  /** Longest time of watching, in milliseconds. A request in flight counts, too. @default 300_000 (5 min) */
  readonly deadlineMs?: number | undefined;
  /** Called before each poll, and before each wait for the next one. */
  readonly onPoll?: ((event: PollEvent) => void) | undefined;
}

/**
 * Looks up an asset once, through the client's `assetLookup`; the spec shows no endpoint for it.
 *
 * @param asset the handle that `createAsset` returned, also from JSON, or the id alone
 * @throws {ConfigurationError} when the client has no `assetLookup`
 * @throws {ResponseError} when the lookup's answer has no `Status`
 * @throws the errors of the lookup. All errors of the library keep the `handle`.
 * @example
 * ```ts
 * const client = createClient({
 *   baseURL: "https://gateway.example.com",
 *   assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
 * });
 * const { state } = await getAsset(client, handle);
 * ```
 */
export async function getAsset(
  client: Client,
  asset: AssetHandle | string,
  options: RequestOptions = {},
): Promise<Asset> {
  assertClient(client);
  const handle = assetHandleOf(typeof asset === "string" ? asset : asset.id);
  try {
    const lookup = assertLookup(client, `the asset ${handle.id}`);
    const request = async (path: string, body?: unknown) => {
      const method = body === undefined ? "get" : "post";
      const read = ({ json }: Answer) => json;
      const call = {
        method,
        kind: "asset",
        path,
        body: body === undefined ? undefined : () => body,
        headersMs: HEADERS_MS,
        repeat: "any",
        read,
      } as const;
      return requestJSON(client, call, options);
    };
    return assetOf(handle, await unlessAborted(lookup(handle.id, request), options.signal));
  } catch (error) {
    throw withDetails(withRoute(error, ROUTE), { handle });
  }
}

const ROUTE =
  "add assets to its `routes`, and set its `assetLookup` to the path that the client's assetLookup uses";

/**
 * Watches an asset until it is active or has failed. Yields a snapshot after each change; the last one is
 * `active` or `failed`. Failed lookups (429, 5xx, the network) do not end it.
 *
 * @throws {TimeoutError} phase `deadline`; watch again with the same handle to continue
 * @throws the errors of {@link getAsset}, when another lookup would not help
 * @example
 * ```ts
 * for await (const asset of watchAsset(client, handle)) console.log(asset.rawStatus);
 * ```
 */
export async function* watchAsset(
  client: Client,
  asset: AssetHandle | string,
  options: AssetWatchOptions = {},
): AsyncGenerator<Asset, void, undefined> {
  assertClient(client);
  const handle = assetHandleOf(typeof asset === "string" ? asset : asset.id);
  const { clock, random } = client;
  const { signal, intervalMs = INTERVAL_MS, deadlineMs = 300_000, onPoll } = options;
  const snapshots = poll({
    clock,
    random,
    signal,
    intervalMs,
    deadlineMs,
    onPoll,
    late: `the asset was not ready after ${deadlineMs} ms (deadlineMs); wait again by its id`,
    query: (signal) => getAsset(client, handle, { ...options, signal, retry: { limit: 0 } }),
  });
  let last: Asset | undefined;
  try {
    for await (const snapshot of snapshots) {
      const next = newerAsset(last, snapshot);
      if (next !== last) yield next;
      last = next;
      if (next.state !== "pending") return;
    }
  } catch (error) {
    throw withDetails(error, { handle });
  }
}

/**
 * Waits until an asset can be used, as {@link watchAsset} does: usually 6 to 9 seconds, and up to 2 minutes under load
 * (spec, POST /gamma/asset/CreateAsset).
 *
 * @throws {AssetFailedError} when its preparation fails
 * @throws the errors of {@link watchAsset}
 * @example
 * ```ts
 * const { uri } = await waitForAsset(client, await createAsset(client, request));
 * ```
 */
export async function waitForAsset(
  client: Client,
  asset: AssetHandle | string,
  options: AssetWatchOptions = {},
): Promise<ActiveAsset> {
  let last: Asset | undefined;
  for await (const snapshot of watchAsset(client, asset, options)) last = snapshot;
  if (last && isActive(last)) return last;
  throw assetFailure(last as Asset);
}

/**
 * Returns the client's lookup of assets.
 *
 * @throws {ConfigurationError} when it has none
 */
export function assertLookup({ assetLookup }: Client, what: string): AssetLookup {
  if (assetLookup) return assetLookup;
  throw new ConfigurationError(`${what} can't be looked up: give createClient() the option assetLookup`);
}

/** Makes the error of a failed asset. */
export function assetFailure(asset: Asset): AssetFailedError {
  const { id, uri, rawStatus } = asset;
  const message = `the asset ${id} failed (${rawStatus}): register another image`;
  return withDetails(new AssetFailedError(message, asset), { handle: { id, uri } }) as AssetFailedError;
}

/** Merges an answer into the last snapshot. Returns the same object if nothing has changed. */
export function newerAsset(last: Asset | undefined, answer: Asset): Asset {
  const isSame =
    last?.rawStatus === answer.rawStatus &&
    last.temporaryURL?.forDisplayOnly === answer.temporaryURL?.forDisplayOnly;
  return last && isSame ? last : answer;
}

/**
 * Makes the handle of an asset from its id.
 *
 * @throws {ValidationError} for an id that cannot be one
 */
export function assetHandleOf(id: unknown): AssetHandle {
  if (typeof id === "string" && /^[^\s\p{C}]+$/u.test(id)) return { id, uri: `asset://${id}` };
  const message = "must be the id of an asset, as createAsset() gives it";
  throw new ValidationError([{ path: "id", message, rule: "asset.id" }]);
}

/** Returns true for an asset that requests may use. */
export function isActive(asset: Asset): asset is ActiveAsset {
  return asset.state === "active";
}

function assetOf(handle: AssetHandle, raw: unknown): Asset {
  const { Status: status, URL: url } = isRecord(raw) ? raw : {};
  const path = typeof status !== "string" ? "Status" : "URL";
  if (typeof status !== "string" || !(url == null || typeof url === "string"))
    throw new ResponseError(`the asset lookup's answer does not fit the spec at ${path}`, {
      path,
      body: excerpt(jsonOf(raw) ?? ""),
    });
  const word = status.toLowerCase();
  return {
    ...handle,
    state: word === "active" || word === "failed" ? word : "pending",
    rawStatus: status,
    ...(url && { temporaryURL: { forDisplayOnly: url } }),
    raw,
  };
}
