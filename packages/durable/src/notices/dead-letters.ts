import type { AdminOperation, OperatorPart } from "@sluice/worker-proxy";
import { ensure, readBinding } from "@sluice/worker-proxy/internal";
import type { ObjectNamespace } from "../objects/object.js";
import { cursorIn, type OperatorBody, textIn } from "../objects/operator-body.js";
import { askLetters, type LettersRequest } from "./dead-letter-object.js";
import type { DeadLetter } from "./dead-letter-rows.js";

/** A part of the list of dead letters, the oldest first. */
export interface DeadLetterList {
  readonly letters: readonly DeadLetter[];
  /** Gives the next part; absent at the end of the list. */
  readonly cursor?: string;
}

/**
 * Access to dead letters, for an operator. As a part of `admin(…)` it has the operations `letters/list`, `letters/resend`
 * with an `id`, and `letters/resend-all` with `since`.
 */
export interface DeadLetters<Env = unknown> extends OperatorPart<Env> {
  /** Lists up to 100 of them. @param options.cursor of the part before. @default from the oldest on */
  listDeadLetters(env: Env, options?: { readonly cursor?: string | undefined }): Promise<DeadLetterList>;
  /**
   * Sends one again, with all its attempts and with the id that it has always had. It leaves the list, and comes back if
   * it is given up again.
   *
   * @returns false where there is no such letter, or its task is forgotten
   */
  resend(env: Env, id: string): Promise<boolean>;
  /**
   * Sends those again that were given up since a time: 50 in a second, by an alarm. One whose object fails stays listed.
   *
   * @param options.since Unix milliseconds
   */
  resendAll(env: Env, options: { readonly since: number }): Promise<void>;
}

/**
 * Opens the notices that were given up. They are kept for 7 days, at most 10,000 of a namespace: the
 * oldest one makes room, with an event. A letter names its task and its user, and has no body and no address.
 *
 * @param namespace the binding of `videoWatch`, with its option `namespace`
 * @example
 * ```ts
 * const letters = deadLetters<Env>((env) => env.VIDEO_WATCH);
 * await letters.resendAll(env, { since: Date.now() - 86_400_000 });
 * ```
 */
export function deadLetters<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
): DeadLetters<Env> {
  const bound = (env: Env) => readBinding("deadLetters", namespace, env);
  const ask = async (env: Env, request: LettersRequest) => askLetters(await bound(env), request);
  const letters: DeadLetters<Env> = {
    checks: [bound],
    async listDeadLetters(env, { cursor } = {}) {
      return (await ask(env, { do: "list", after: Number(cursor) || 0 })) as DeadLetterList;
    },
    async resend(env, id) {
      return (await ask(env, { do: "resend", id })) === true;
    },
    async resendAll(env, { since }) {
      await ask(env, { do: "resendAll", since });
    },
  };
  return { ...letters, operations: operationsOf(letters) };
}

function operationsOf<Env>({
  listDeadLetters,
  resend,
  resendAll,
}: DeadLetters<Env>): readonly AdminOperation<Env>[] {
  return [
    { name: "letters/list", run: (env, asked) => listDeadLetters(env, { cursor: cursorIn(asked) }) },
    {
      name: "letters/resend",
      run: async (env, asked) => ({ resent: await resend(env, textIn(asked, "id")) }),
    },
    {
      name: "letters/resend-all",
      run: (env, asked) => resendAll(env, { since: timeIn(asked, "since") }),
    },
  ];
}

function timeIn(body: OperatorBody, name: string): number {
  const value = body[name];
  const isTime = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  ensure(isTime, `${name}: give a time in milliseconds since 1970`);
  return value;
}
