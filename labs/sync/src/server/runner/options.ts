import type { ChatRequestMessage, Client, Tool } from "@sluice/core";
import type { FollowUp } from "@sluice/durable";
import type { ChatTarget } from "@sluice/stores";
import type { GatewayProxy, OnJobEvent, User } from "@sluice/worker-proxy";
import type { EndedTurn } from "./ended-turn.js";

/** Notices of the end of turns. */
export interface RunNotices<Env = unknown> {
  /** The ways in which each end is told: `webhook(…)`, or one of your own, each with a name of its own. */
  readonly send: readonly FollowUp<Env, EndedTurn>[];
  /** True if notices have the name that the conversation has in the user's list. @default false */
  readonly title?: boolean | undefined;
  /** Characters of the last message that notices have, from its beginning; at most 1,000. @default 0 */
  readonly textCharacters?: number | undefined;
}

/** The run that tools and instructions are made for. */
export interface RunContext<Env = unknown> {
  /** Variables, secrets and bindings of the Worker. */
  readonly env: Env;
  /** The user that sent the turn, as `authenticate` returned it. */
  readonly user: User;
  /** The app's id of the conversation. */
  readonly conversation: string;
  /** Sends requests in the name of the user who pays, for tools that make images or videos. */
  readonly client: Client;
}

interface RunnerBehaviour<Env> {
  /**
   * The proxy of this Worker, by which each request of a run goes: limits, caps, budgets, kept answers and `once` hold as
   * for the user's own requests. A function, because the proxy is made after the class.
   */
  readonly proxy: () => GatewayProxy<Env>;
  /** System prompt of each request, or a function that returns it, called for each request. @default none */
  readonly instructions?: string | ((run: RunContext<Env>) => string | Promise<string>) | undefined;
  /**
   * Tools of `defineTool`. One with `execute` runs in the object; one without it waits until an open page runs it. A
   * function is called once for each start of a run. @default none
   */
  readonly tools?: readonly Tool[] | ((run: RunContext<Env>) => readonly Tool[]) | undefined;
  /** Most answers to one question, with tool results between them. @default 8 */
  readonly maxSteps?: number | undefined;
  /** Changes the messages of each request, as `prepareMessages` of a chat. @default none */
  readonly prepareMessages?:
    | ((
        messages: readonly ChatRequestMessage[],
        context: { readonly signal: AbortSignal },
      ) => readonly ChatRequestMessage[] | Promise<readonly ChatRequestMessage[]>)
    | undefined;
  /**
   * Most messages before a question that a run reads and sends, newest first: a step costs the same beside 100 messages as
   * beside 10,000. From 1 to 1,000. @default 200
   */
  readonly mostMessages?: number | undefined;
  /** Longest time without progress, in milliseconds, from 1,000 up; then the run ends with `run_stalled`. @default 900_000 */
  readonly stallMs?: number | undefined;
  /**
   * Longest time, in milliseconds, for which a page that has begun a call of a page's tool is waited for; then the model is
   * told that there is no result. From 1,000 up. @default 120_000
   */
  readonly pageToolMs?: number | undefined;
  /**
   * Values that no record, no answer of a tool and no event may hold. They are replaced by `[hidden]`.
   * @default all texts of `env` of eight and more characters whose name has KEY, SECRET, TOKEN, PASSWORD or CREDENTIAL in it
   */
  readonly secrets?: ((env: Env) => readonly string[]) | undefined;
  /** Receives one event of kind `sync:run` at the end of each turn. After a crash it may come twice. @default none */
  readonly onEvent?: OnJobEvent<Env> | undefined;
  /**
   * Tells of the end of each turn that was not stopped, once for each receiver: an end is stored with its last record, and
   * sent by alarms until it is taken, for 32 hours. Failures are events of their kind. @default nobody is told
   */
  readonly notices?: RunNotices<Env> | undefined;
  /**
   * Called once at the end of each turn, after its records are written. What it throws is dropped; after a crash right at
   * the end it is not called again: `notices` are. @default nothing
   */
  readonly onEnd?: ((run: EndedRun, env: Env) => unknown) | undefined;
}

/** The end of a turn. */
export interface EndedRun {
  /** Id of the turn: that of its question, or the one that the page gave to a repetition. */
  readonly id: string;
  readonly conversation: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  /** Id of the last message. */
  readonly messageId: string;
  /** As in the event of the turn. */
  readonly outcome: "complete" | "refused" | "failed" | "cut" | "stopped" | "lost";
  readonly code?: string | undefined;
}

/** Options of {@link runner}: the model with its parameters, as `createChatStore` takes them, and the rest. */
export type RunnerOptions<Env = unknown> = ChatTarget & RunnerBehaviour<Env>;

/** The options with their defaults. */
export type RunnerSetup<Env> = RunnerOptions<Env> &
  Required<Record<"maxSteps" | "mostMessages" | "stallMs" | "pageToolMs", number>> & {
    readonly secrets: (env: Env) => readonly string[];
  };

type Ranges = Readonly<Record<string, readonly [least: number, most: number, usual: number]>>;

const RANGES = {
  maxSteps: [1, 1_000, 8],
  mostMessages: [1, 1_000, 200],
  stallMs: [1_000, 86_400_000, 900_000],
  pageToolMs: [1_000, 86_400_000, 120_000],
} as const;
const NOTICE_RANGES = { textCharacters: [0, 1_000, 0] } as const;

/** @throws {TypeError} for an option that is missing or can't work */
export function checkedRunner<Env>(options: RunnerOptions<Env>): RunnerSetup<Env> {
  if (typeof options?.proxy !== "function")
    throw new TypeError("proxy: give a function that returns the proxy, () => proxy");
  if (typeof options.model !== "string" || options.model === "")
    throw new TypeError('model: give the model that answers, "delta-5.3"');
  const { secrets = namedSecrets, notices } = options;
  if (notices && !Array.isArray(notices.send)) throw new TypeError("notices.send: give a list, [webhook(…)]");
  return {
    ...options,
    ...numbersIn(options, RANGES),
    secrets,
    notices: notices && { ...notices, ...numbersIn(notices, NOTICE_RANGES, "notices.") },
  } as RunnerSetup<Env>;
}

function numbersIn(options: object, ranges: Ranges, path = ""): Readonly<Record<string, number>> {
  const given = options as Readonly<Record<string, unknown>>;
  const all = Object.entries(ranges).map(([name, [least, most, usual]]): [string, number] => {
    const value = given[name] ?? usual;
    if (!Number.isSafeInteger(value) || Number(value) < least || Number(value) > most)
      throw new TypeError(`${path}${name}: give a whole number from ${least} to ${most}`);
    return [name, Number(value)];
  });
  return Object.fromEntries(all);
}

function namedSecrets(env: unknown): readonly string[] {
  return Object.entries(env ?? {}).flatMap(([name, value]) =>
    typeof value === "string" && /key|secret|token|password|credential/i.test(name) ? value : [],
  );
}
