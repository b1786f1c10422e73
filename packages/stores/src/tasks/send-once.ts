import type { Client, RequestOptions } from "@sluice/core";
import { cancelWith, canReuseKey, createRandomId, isEqual } from "@sluice/core/internal";
import type { StoreRequestOptions } from "../request-options.js";
import type { Creating } from "./task-state.js";

/** The two steps of a creation. */
export interface Steps<Asked, Request, Handle> {
  /** Makes the request, for example from a file. */
  readonly requestOf: (asked: Asked, creating: Creating) => Promise<Request>;
  readonly send: (client: Client, request: Request, options: RequestOptions) => Promise<Handle>;
}

/**
 * Makes the creation of a store that keeps no entries. A request that the store forgets ends, unless the gateway may
 * have it. If nobody knows how a request ended, the same one again has its key and its bytes.
 */
export function sendOnce<Asked, Request, Handle>(
  client: Client,
  { requestOf, send }: Steps<Asked, Request, Handle>,
): (asked: Asked, options: StoreRequestOptions, creating: Creating) => Promise<Handle> {
  let lost: { readonly asked: Asked; readonly request: Request; readonly idempotencyKey: string } | undefined;
  return async (asked, options, creating) => {
    const call = cancelWith(client, creating.signal);
    creating.isReported = () => !call.isCancelled();
    const repeated = lost && isEqual(lost.asked, asked) ? lost : undefined;
    const idempotencyKey = repeated?.idempotencyKey ?? createRandomId();
    let request = repeated?.request;
    if (repeated) lost = undefined;
    try {
      request ??= await requestOf(asked, creating);
      creating.signal.throwIfAborted();
      creating.advance({ phase: "creating" });
      return await send(call.client, request, { ...options, signal: call.signal, idempotencyKey });
    } catch (error) {
      if (request && canReuseKey(error, call.billing())) lost = { asked, request, idempotencyKey };
      throw error;
    } finally {
      call.end();
    }
  };
}
