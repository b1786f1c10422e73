import type { Client, RequestOptions } from "@sluice/core";
import { canReuseKey, createRandomId } from "@sluice/core/extend";
import { cancelWith } from "../base/billing.js";
import { isEqual } from "../base/is-equal.js";
import { pickRequestOptions, type StoreRequestOptions } from "../base/request-options.js";
import type { CreationReporter } from "./task-state.js";

/**
 * Sends the creations of a store for its `submit`. If the store forgets a request, the request is aborted unless the
 * gateway may have received it. If the result of a request is unknown, the same input reuses its idempotency key and
 * body.
 *
 * @param createRequest creates the request from an input, e.g. reads a file
 */
export function sendOnce<Input, Request, Handle>(
  client: Client,
  read: () => StoreRequestOptions,
  send: (client: Client, request: Request, options: RequestOptions) => Promise<Handle>,
  createRequest: (input: Input, reporter: CreationReporter) => Promise<Request>,
): (input: Input) => (reporter: CreationReporter) => Promise<Handle> {
  /** The last request, if its result is unknown. */
  let lost: { readonly input: Input; readonly request: Request; readonly idempotencyKey: string } | undefined;
  return (input) => async (reporter) => {
    const call = cancelWith(client, reporter.signal);
    reporter.isReported = () => !call.isCancelled();
    const repeated = lost && isEqual(lost.input, input) ? lost : undefined;
    const idempotencyKey = repeated?.idempotencyKey ?? createRandomId();
    let request = repeated?.request;
    if (repeated) lost = undefined;
    try {
      request ??= await createRequest(input, reporter);
      reporter.signal.throwIfAborted();
      reporter.show({ phase: "creating" });
      const options = { ...pickRequestOptions(read()), signal: call.signal, idempotencyKey };
      return await send(call.client, request, options);
    } catch (error) {
      if (request && canReuseKey(error, call.billing())) lost = { input, request, idempotencyKey };
      throw error;
    } finally {
      call.end();
    }
  };
}
