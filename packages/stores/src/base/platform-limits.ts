import type { Client, ClientEvent } from "@sluice/core";
import { toError } from "@sluice/core/extend";

/** Receiver of events: a client. */
export type Reporter = Pick<Client, "emit">;

/** A feature that a browser may block. */
type PlatformFeature = Extract<ClientEvent, { readonly type: "feature-unavailable" }>["feature"];

const reported = new WeakMap<Reporter, Set<PlatformFeature>>();
const refusals = new WeakMap<Error, PlatformFeature>();

/** Emits `feature-unavailable` once for each feature and client. */
export function reportLimit(client: Reporter, feature: PlatformFeature, cause: unknown): void {
  const features = reported.get(client) ?? new Set();
  reported.set(client, features);
  if (features.has(feature)) return;
  features.add(feature);
  client.emit({ type: "feature-unavailable", feature, error: toError(cause) });
}

/** Marks a storage error as caused by an unavailable browser feature. */
export function markRefusal(feature: PlatformFeature, cause: unknown): Error {
  const error = toError(cause);
  refusals.set(error, feature);
  return error;
}

/** Returns true for a storage error caused by an unavailable browser feature. */
export function isRefusal(error: unknown): boolean {
  return refusals.has(error as Error);
}

/**
 * Emits a storage failure: `feature-unavailable` if the browser blocks the storage, otherwise `storage-error`.
 *
 * @example
 * ```ts
 * const { read } = getClientStorage(client, storage);
 * await read("notes").catch((error) => reportStorageFailure(client, error));
 * ```
 */
export function reportStorageFailure(client: Reporter, error: unknown, messageId?: string): void {
  const feature = refusals.get(error as Error);
  if (feature) reportLimit(client, feature, error);
  else client.emit({ type: "storage-error", error, ...(messageId !== undefined && { messageId }) });
}
