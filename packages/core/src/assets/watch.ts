import { rejectOnAbort } from "../base/clock.js";
import type { Client } from "../client.js";
import { defineTask, getTask, type TaskWatch, type WatchOptions, watchTask } from "../tasks/define-task.js";
import { excerpt, findReason, isRecord } from "../transport/error-response.js";
import { requestJSON } from "../transport/json-response.js";
import type { RequestOptions } from "../transport/send.js";
import type { ActiveAsset, Asset, AssetHandle, AssetLookup } from "../types/asset.js";
import { addHandle, ConfigurationError, ResponseError, TaskError, ValidationError } from "../types/errors.js";
import { toJSONText } from "../types/json-text.js";

/**
 * The task definition of assets: their states, texts and lookup.
 *
 * @example
 * ```ts
 * import { assets } from "@sluice/core/extend";
 *
 * const { state } = (await assets.read(client, assets.toHandle("a-1"), {})).task;
 * ```
 */
export const assets = defineTask<Asset, ActiveAsset, AssetHandle>({
  name: "asset",
  success: "active",
  failure: "failed",
  intervalMs: 3000,
  deadlineMs: 300_000,
  deadlineText: (ms) => `the asset was not ready after ${ms} ms (deadlineMs); wait again by its id`,
  advice:
    "add assets to its `routes`, and set its `gateway.assetLookup` to the path that the client's assetLookup has",
  toHandle: (asset) => createAssetHandle(typeof asset === "string" ? asset : asset.id),
  assertReady: (client) => void assertLookup(client, "an asset"),
  async read(client, handle, options) {
    const lookup = assertLookup(client, `the asset ${handle.id}`);
    const request = (path: string, body?: unknown) =>
      requestJSON(
        client,
        {
          method: body === undefined ? "get" : "post",
          kind: "asset",
          path,
          body: body === undefined ? undefined : () => body,
          firstChunkMs: 60_000,
          read: ({ json }) => json,
        },
        options,
      );
    const response =
      typeof lookup === "string" ? request(lookup, { Id: handle.id }) : lookup(handle.id, request);
    return { task: parseAsset(handle, await rejectOnAbort(response, options.signal)) };
  },
  toFailure(asset, handle) {
    const why = asset.reason === undefined ? "" : `, ${asset.reason}`;
    const message = `the asset ${asset.id} failed (${asset.rawStatus}${why}): register another image`;
    return addHandle(new TaskError(message, { reason: "failed", task: asset }), handle);
  },
});

/**
 * Looks up an asset once, through the client's `assetLookup`. The spec shows no endpoint for a lookup.
 *
 * @param asset the handle that `createAsset` returned, also from JSON, or the id alone
 * @throws {ConfigurationError} when the client lacks an `assetLookup`
 * @throws {ResponseError} when the lookup's response lacks a `Status`
 * @throws the errors of the lookup. All errors of the library keep the `handle`.
 * @example
 * ```ts
 * const client = createClient({
 *   baseURL: "https://gateway.example.com",
 *   gateway: { assetLookup: "/gamma/asset/GetAsset" },
 * });
 * const { state } = await getAsset(client, handle);
 * ```
 */
export function getAsset(
  client: Client,
  asset: AssetHandle | string,
  options: RequestOptions = {},
): Promise<Asset> {
  return getTask(assets, client, asset, options);
}

/**
 * Watches an asset until it is active or has failed: usually 6 to 9 seconds, and up to 2 minutes under load
 * (spec, POST /gamma/asset/CreateAsset). Iterate it for a snapshot after each change; the last one is `active` or
 * `failed`. Or await `result()` for the active asset. Failed lookups (429, 5xx, the network) do not end the watch.
 *
 * @throws {TaskError} from `result()` when its preparation fails
 * @throws {TimeoutError} phase `deadline`; watch again with the same handle to continue
 * @throws the errors of {@link getAsset}, when another lookup would not help
 * @example
 * ```ts
 * const { uri } = await watchAsset(client, await createAsset(client, request)).result();
 * ```
 */
export function watchAsset(
  client: Client,
  asset: AssetHandle | string,
  options: WatchOptions<Asset> = {},
): TaskWatch<Asset, ActiveAsset> {
  return watchTask(assets, client, asset, options);
}

/**
 * Returns the client's asset lookup.
 *
 * @param subject first words of the error's message
 * @throws {ConfigurationError} when the client has none
 */
function assertLookup({ gateway: { assetLookup } }: Client, subject: string): AssetLookup {
  if (assetLookup) return assetLookup;
  throw new ConfigurationError(`${subject} can't be looked up: give createClient() gateway: { assetLookup }`);
}

/**
 * Creates the handle of an asset from its id.
 *
 * @throws {ValidationError} for an invalid id
 */
export function createAssetHandle(id: unknown): AssetHandle {
  if (typeof id === "string" && /^[^\s\p{C}]+$/u.test(id)) return { id, uri: `asset://${id}` };
  const message = "must be the id of an asset, as createAsset() gives it";
  throw new ValidationError([{ path: "id", message, rule: "asset.id" }]);
}

function parseAsset(handle: AssetHandle, raw: unknown): Asset {
  const { Status: status, URL: url } = isRecord(raw) ? raw : {};
  const path = typeof status !== "string" ? "Status" : "URL";
  if (typeof status !== "string" || !(url == null || typeof url === "string"))
    throw new ResponseError(`the asset lookup's response does not fit the spec at ${path}`, {
      path,
      body: excerpt(toJSONText(raw) ?? ""),
    });
  const state = status.toLowerCase();
  const reason = state === "failed" ? findAssetReason(raw as Record<string, unknown>) : undefined;
  return {
    ...handle,
    state: state === "active" || state === "failed" ? state : "pending",
    rawStatus: status,
    ...(reason !== undefined && { reason }),
    ...(url && { temporaryURL: { forDisplayOnly: url } }),
    raw,
  };
}

const REASON_FIELDS = ["failreason", "reason", "error", "statusmessage", "message"];

/** Finds the reason of a failure. The spec shows no field for it. */
function findAssetReason(raw: Record<string, unknown>): string | undefined {
  const fields = normalizeNames(raw);
  const values = REASON_FIELDS.map((name) => fields[name]);
  return findReason(values.map((value) => (isRecord(value) ? normalizeNames(value) : value)));
}

/** Normalizes field names: `FailReason` and `fail_reason` are the same field. */
function normalizeNames(fields: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([name, value]) => [name.replaceAll("_", "").toLowerCase(), value]));
}
