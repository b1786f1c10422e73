import { type Client, isGatewayError, type ToolContext } from "@sluice/core";
import { createRandomId, hasOffer } from "@sluice/core/internal";
import { isRemembered } from "@sluice/core/internal/media";
import { isRecord } from "../checks/is-record.js";

/** A run of a tool that is billed, as it is saved with its call. */
export interface PaidRun {
  /** The `idempotency-key` of its request. */
  readonly key: string;
  /** Time at which the key was made, in Unix milliseconds. */
  readonly at: number;
  /** True if the proxy answers a repeated key from its memory. */
  readonly isOnce: boolean;
  /** Handle of the task, once the gateway has accepted it. */
  readonly handle?: { readonly id: string };
}

const BILLED = "It may have been made and billed: ask the user before you call the tool again.";

/**
 * Begins a run, or continues the one that the call has saved. Its key is saved before anything is sent.
 *
 * @throws for a request whose page was left, where a repetition could be billed twice
 */
export async function beginRun(client: Client, { savedState, saveState }: ToolContext): Promise<PaidRun> {
  const left = runIn(savedState);
  if (left?.handle || (left?.isOnce && isRemembered(left.at))) return left;
  if (savedState !== undefined) throw new Error(`the page was left before the answer came. ${BILLED}`);
  const run = {
    key: createRandomId(),
    at: Date.now(),
    isOnce: await hasOffer(client, "once"),
  };
  await saveState(run);
  return run;
}

/** Reads a run as it was saved: any script of the page may write to a storage. */
function runIn(saved: unknown): PaidRun | undefined {
  if (!isRecord(saved)) return undefined;
  const { key, at, isOnce, handle } = saved;
  if (typeof key !== "string" || !/^[\x21-\x7e]{1,255}$/.test(key)) return undefined;
  const id = isRecord(handle) ? handle["id"] : undefined;
  return {
    key,
    at: Number(at),
    isOnce: isOnce === true,
    ...(isRecord(handle) && typeof id === "string" && { handle: { ...handle, id } }),
  };
}

/** Adds to an error what the model must know: a request whose end is not known is not repeated by itself. */
export function withBilling(error: unknown): unknown {
  if (!isGatewayError(error) || error.billing !== "maybe") return error;
  return new Error(`${error.message}. ${BILLED}`, { cause: error });
}
