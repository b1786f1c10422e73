import type { AdminOperation, BoundHost, GatewayProxy } from "@sluice/worker-proxy";
import { ensure, findServer } from "@sluice/worker-proxy/plugin";
import { readCursor, readText } from "../admin/body.js";
import {
  DEAD_LETTERS_KEY,
  type DeadLetterPage,
  deadLetterStorage,
  findDeadLetter,
  readDeadLetters,
  removeDeadLetter,
} from "./dead-letter-rows.js";
import { resendDelivery } from "./deliveries.js";

/**
 * Lists the ends of tasks that could not be delivered to a handler of `videoWatch({ onEnd })`. A dead letter is stored
 * for 7 days. The list holds at most 10,000 dead letters: a new dead letter replaces the oldest, and an event reports
 * the removal.
 *
 * @param options.cursor cursor of the previous page @default the first page
 * @throws {TypeError} if the proxy does not use `videoWatch({ onEnd })`
 * @example
 * ```ts
 * const { deadLetters, cursor } = await listDeadLetters(proxy, env);
 * for (const { id } of deadLetters) await resendDeadLetter(proxy, env, id);
 * ```
 */
export async function listDeadLetters<Env>(
  proxy: GatewayProxy<Env>,
  env: Env,
  { cursor }: { readonly cursor?: string | undefined } = {},
): Promise<DeadLetterPage> {
  return await list(openHost(proxy, env), cursor);
}

/**
 * Delivers a dead letter again, with the full number of attempts and the same id. The dead letter leaves the list, and
 * returns if the last attempt fails again.
 *
 * @returns false if the dead letter does not exist, or its task was deleted in the meantime
 * @throws {TypeError} if the proxy does not use `videoWatch({ onEnd })`
 * @example
 * ```ts
 * const isSent = await resendDeadLetter(proxy, env, "0123456789abcdef0123456789abcdef");
 * ```
 */
export async function resendDeadLetter<Env>(
  proxy: GatewayProxy<Env>,
  env: Env,
  id: string,
): Promise<boolean> {
  return await resend(openHost(proxy, env), id);
}

/** Creates the operator operations on dead letters: `dead-letters/list`, and `dead-letters/resend` with an `id`. */
export function createDeadLetterOperations<Env>(
  open: (env: Env) => BoundHost,
): readonly AdminOperation<Env>[] {
  return [
    {
      name: "dead-letters/list",
      run: async (env, body) => list(open(env), readCursor(body)),
    },
    {
      name: "dead-letters/resend",
      run: async (env, body) => ({ resent: await resend(open(env), readText(body, "id")) }),
    },
  ];
}

function openHost<Env>(proxy: GatewayProxy<Env>, env: Env): BoundHost {
  const server = findServer<Env>(proxy);
  const hasDeadLetters = server.plugins.some(({ storage }) =>
    storage?.operations.includes(deadLetterStorage.operations[0] as never),
  );
  ensure(hasDeadLetters, "dead letters: add videoWatch({ onEnd }) to the plugins of the proxy");
  return server.host(env);
}

async function list(host: BoundHost, cursor: string | undefined): Promise<DeadLetterPage> {
  const [, time = "0", id = ""] = /^(\d{1,15}):(.*)$/s.exec(cursor ?? "0:") ?? [];
  ensure(!id.includes("\0"), "cursor: give the cursor of a list");
  return await host.run(DEAD_LETTERS_KEY, readDeadLetters, { failedAt: Number(time), id });
}

/** Removes the dead letter last: if the process ends before that, the dead letter stays listed. */
async function resend(host: BoundHost, id: string): Promise<boolean> {
  if (id.includes("\0")) return false;
  const found = await host.run(DEAD_LETTERS_KEY, findDeadLetter, { id });
  if (!found) return false;
  const isResent = await host.run(found.userKey, resendDelivery, { id });
  await host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id, failedAt: found.letter.failedAt });
  return isResent;
}
