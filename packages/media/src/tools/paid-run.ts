import { type Client, isGatewayError, type ToolContext } from "@sluice/core";
import { canReplay, createRandomId, isRecord } from "@sluice/core/extend";

/** The state of a billed tool run, saved with its call. */
export interface PaidRun {
  /** The `idempotency-key` of its request. */
  readonly key: string;
  /** Time at which the key was created, in Unix milliseconds. */
  readonly at: number;
  /** True if the proxy replays the response to a repeated key. */
  readonly isOnce: boolean;
  /** Handle of the task, once the gateway has accepted it. */
  readonly handle?: { readonly id: string };
}

const BILLED = "It may have been made and billed: ask the user before you call the tool again.";

/**
 * Begins a run, or continues the saved run of the call. Saves the key before it sends anything.
 *
 * @throws if the page was closed during a request whose repetition could be billed twice
 */
export async function startRun(client: Client, { savedState, saveState }: ToolContext): Promise<PaidRun> {
  const saved = readRun(savedState);
  if (saved?.handle || (saved?.isOnce && (await isReplayed(client, saved.at)))) return saved;
  if (savedState !== undefined) throw new Error(`the page was closed before the response came. ${BILLED}`);
  const run = {
    key: createRandomId(),
    at: Date.now(),
    isOnce: await isReplayed(client),
  };
  await saveState(run);
  return run;
}

/** Returns true if the proxy certainly replays the response to a key. An unavailable proxy may not. */
function isReplayed(client: Client, sentAt?: number): Promise<boolean> {
  return canReplay(client, "idempotency", sentAt).catch(() => false);
}

/** Validates a saved run, since any script of the page may write to a storage. */
function readRun(saved: unknown): PaidRun | undefined {
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

/** Adds a warning for the model to an error with unknown billing: such a request is never repeated automatically. */
export function addBillingWarning(error: unknown): unknown {
  if (!isGatewayError(error) || error.billing !== "maybe") return error;
  return new Error(`${error.message}. ${BILLED}`, { cause: error });
}
