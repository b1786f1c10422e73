import type { ChatRequestMessage, Client, Tool } from "@sluice/core";
import type { User } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";
import { isWholeNumber } from "../checks.js";

/** The turn that gets tools and instructions. */
export interface TurnContext<Env = unknown> {
  /** Variables, secrets and bindings of the server. */
  readonly env: Env;
  /** The user who started the turn, as `authenticate` returned it. */
  readonly user: User;
  /** The collection of the conversation: `chat/trip`. */
  readonly collection: string;
  /** Sends requests on behalf of the user, for tools that create images or videos. */
  readonly client: Client;
}

/**
 * Turns that run on the server: the option `turns` of `sync`. Models, limits and budgets of the proxy apply to their requests as to
 * the user's own.
 */
export interface TurnOptions<Env = unknown> {
  /** System prompt of each request. @default none */
  readonly instructions?: string | ((context: TurnContext<Env>) => string | Promise<string>);
  /**
   * Tools of `defineTool`. A tool with `execute` runs on the server. A tool without it waits until a device sends its
   * output. A function is called once for each run of a turn. @default none
   */
  readonly tools?: readonly Tool[] | ((context: TurnContext<Env>) => readonly Tool[]);
  /** Maximum number of responses to one question, from 1 to 100. @default 8 */
  readonly maxSteps?: number;
  /** Changes the messages of each request, as `prepareMessages` of a chat. @default none */
  readonly prepareMessages?: (
    messages: readonly ChatRequestMessage[],
    context: { readonly signal: AbortSignal },
  ) => readonly ChatRequestMessage[] | Promise<readonly ChatRequestMessage[]>;
  /** Time limit of a turn in milliseconds, not counting waits for decisions, up to 840,000. @default 600_000 */
  readonly timeoutMs?: number;
}

/** The options with their defaults. */
export type TurnSetup<Env> = TurnOptions<Env> & Required<Pick<TurnOptions<Env>, "maxSteps" | "timeoutMs">>;

/** @throws {TypeError} for an invalid option */
export function checkTurnOptions<Env>(options: TurnOptions<Env>): TurnSetup<Env> {
  const { maxSteps = 8, timeoutMs = 600_000 } = options;
  ensure(isWholeNumber(maxSteps, 1, 100), "sync: turns.maxSteps: give a whole number from 1 to 100");
  // a host ends a job after 15 minutes
  ensure(
    isWholeNumber(timeoutMs, 1_000, 840_000),
    "sync: turns.timeoutMs: give a whole number from 1000 to 840000",
  );
  return { ...options, maxSteps, timeoutMs };
}
