import { createHash } from "node:crypto";
import { type Client, defineTool } from "@sluice/core";
import type { TurnRunner } from "@sluice/stores";
import type { RemoteStorage } from "@sluice/sync";
import { createServerRunner } from "../../src/client/server-runner.js";
import type { HistoryTurns } from "./server.js";

/** The conversation whose turns run on the server. */
export const SERVER_CHAT = "chat/errand";

/** A call that the model of this history has returned. */
interface ModelCall {
  readonly user: string;
  readonly name: string;
  /** Devices that have approved and denied it. */
  readonly approvers: Set<string>;
  readonly deniers: Set<string>;
  /** Numbers of the restores of the server after which the tool of this call ran. */
  readonly runs: number[];
}

/** A pending call, as a device shows it. */
export interface PendingCall {
  readonly question: string;
  readonly record: string;
  readonly turn: string;
  readonly call: string;
}

/** A device that starts, follows and decides turns. */
export interface TurnDevice {
  readonly user: string;
  readonly device: string;
  readonly client: Client;
  readonly storage: RemoteStorage;
  readonly signal: AbortSignal;
}

interface TurnRun {
  readonly turn: string;
  end?: Awaited<ReturnType<TurnRunner["run"]>> | string;
}

type Message = {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly id: string }[];
};
type StoredTurn = {
  readonly turn?: string;
  readonly parent?: string | null;
  readonly message: {
    readonly role: string;
    readonly content: string;
    readonly toolCalls?: readonly { readonly id: string; readonly state: string; readonly name: string }[];
  };
  readonly decisions?: readonly {
    readonly call: string;
    readonly decision: string;
    readonly by: { readonly account: string; readonly device: string };
  }[];
};

/** What the model does after a question: the last word of its text. */
export const PLANS = ["say", "mail", "mail", "mail", "two", "two", "cut", "broken"] as const;

/**
 * Plays the model and the tools of a history, and records their calls.
 *
 * @param pick picks an item by the seed
 */
export function createTurns(pick: <T>(items: readonly T[]) => T) {
  const calls = new Map<string, ModelCall>();
  const sends = new Map<string, number>();
  const runs: TurnRun[] = [];
  const found: string[] = [];
  const waiting: { readonly respond: () => void }[] = [];
  let epoch = 0;
  let restarts = 0;

  const tools = ["mail", "pay"].map((name) =>
    defineTool({
      name,
      description: `A tool that needs an approval: ${name}`,
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: (input) => runTool(name, input as { readonly id?: string }),
    }),
  );
  const server: HistoryTurns = {
    gateway,
    turns: {
      tools,
      prepareMessages(messages) {
        const last = messages.findLast(({ role }) => role === "user");
        if (String(last?.content).endsWith("broken")) throw new Error("the code of the operator is broken");
        return messages;
      },
    },
  };
  return { server, start, decide, stop, respond, noteRestart, findProblems, isRunning, readEnd };

  function isRunning(user: string): boolean {
    return runs.some(({ turn, end }) => !end && turn.startsWith(`${user}-`));
  }

  /** Returns the outcome of a turn, as the device that started it sees it; undefined before. */
  function readEnd(turn: string): string | undefined {
    const end = runs.find((run) => run.turn === turn)?.end;
    return typeof end === "object"
      ? `${end.outcome ?? "complete"}${end.error ? `: ${end.error.message}` : ""}`
      : end;
  }

  /** Lets the model respond to the oldest request that waits. */
  function respond(): boolean {
    const next = waiting.shift();
    next?.respond();
    return next !== undefined;
  }

  /** @param isRestore true if the database was restored from a backup, without the later changes */
  function noteRestart(isRestore: boolean): void {
    restarts += 1;
    if (isRestore) epoch += 1;
  }

  async function gateway(request: Request): Promise<Response> {
    const { messages } = (await request.json()) as { readonly messages: readonly Message[] };
    const at = messages.findLastIndex(({ role }) => role === "user");
    // a user may have deleted the question of a call
    const [key = "", plan = "say"] = messages[at]?.content.split(" ") ?? [messages[0]?.tool_calls?.[0]?.id];
    const send = `${epoch} ${key} ${messages.length - at}`;
    sends.set(send, (sends.get(send) ?? 0) + 1);
    if (sends.get(send) === 2) found.push(`the model got ${key} twice`);
    const user = key.split("-")[0] ?? "";
    await new Promise<void>((resolve) => {
      waiting.push({ respond: resolve });
    });
    const isFirst = messages.length - at === 1;
    if (isFirst && (plan === "mail" || plan === "two"))
      return createStream(
        Array.from({ length: plan === "two" ? 2 : 1 }, () => createCall(user)),
        `${key} calls`,
      );
    return createStream([], `${key} done`, plan === "cut");
  }

  function createCall(user: string) {
    const id = `${user}-call-${calls.size + 1}`;
    const name = pick(["mail", "pay"]);
    calls.set(id, { user, name, approvers: new Set(), deniers: new Set(), runs: [] });
    return { id, name };
  }

  async function runTool(name: string, { id = "" }: { readonly id?: string }): Promise<string> {
    const call = calls.get(id);
    if (call?.name !== name) found.push(`${name} ran for ${id}, which the model did not ask for`);
    if (call?.approvers.size === 0) found.push(`${name} ran for ${id}, which nobody approved`);
    if (call?.runs.includes(epoch)) found.push(`${name} ran twice for ${id}`);
    call?.runs.push(epoch);
    return "done";
  }

  /** Starts a turn, or subscribes to the running turn with this id. */
  function start(from: TurnDevice, turn: string, question: string): void {
    const run: TurnRun = { turn };
    runs.push(run);
    createRunner(from)
      .run(createTurn(from, turn, question), { signal: from.signal, put: () => {} })
      .then(
        (end) => {
          run.end = end;
          const { code } = (end.error ?? {}) as { readonly code?: unknown };
          if (code === "turn_lost" && restarts === 0) found.push(`${turn} was lost without a restart`);
        },
        (error) => {
          run.end = String(error);
        },
      );
  }

  function decide(from: TurnDevice, { record, turn, call }: PendingCall, type: "approve" | "deny"): void {
    const known = calls.get(call);
    known?.[type === "approve" ? "approvers" : "deniers"].add(from.device);
    const about = { messageId: record, toolCallId: call };
    createRunner(from)
      .decide?.(
        createTurn(from, turn, ""),
        type === "approve" ? { ...about, type } : { ...about, type, reason: "no" },
      )
      .catch(() => {});
  }

  function stop(from: TurnDevice, turn: string): void {
    Promise.resolve(createRunner(from).stop?.(createTurn(from, turn, ""))).catch(() => {});
  }

  /** Finds problems at the end, in the server's records of a user. */
  function findProblems(user: string, records: ReadonlyMap<string, unknown>): string[] {
    for (const [key, value] of records) {
      const { turn, message, decisions = [] } = value as StoredTurn;
      if (message.content !== "" && !message.content.startsWith(`${user}-`))
        found.push(`${user} has ${key}: ${message.content}`);
      if (turn === undefined) continue;
      for (const { id, name, state } of message.toolCalls ?? []) {
        const call = calls.get(id);
        if (call?.user !== user || call.name !== name) found.push(`${user} has a call ${id} of ${name}`);
        const given = decisions.find((each) => each.call === id);
        if (state === "done" && given?.decision !== "approve")
          found.push(`${id} ran after ${JSON.stringify(given)}`);
        if (!given) continue;
        const { account, device } = given.by;
        const givers = given.decision === "approve" ? call?.approvers : call?.deniers;
        if (account !== createAccount(user) || !givers?.has(device))
          found.push(`${id} was decided by ${JSON.stringify(given.by)}`);
      }
    }
    const open = runs.filter(({ end, turn }) => !end && turn.startsWith(`${user}-`));
    return [...found.splice(0), ...open.map(({ turn }) => `${turn} has not ended on a device`)];
  }
}

/** Lists the calls that wait for the user, in the records that a device shows. */
export function listPending(records: ReadonlyMap<string, unknown>): PendingCall[] {
  return [...records].flatMap(([record, value]) => {
    const { turn, message } = value as StoredTurn;
    const pending = message.toolCalls?.filter(({ state }) => state === "needs-approval") ?? [];
    const question = findQuestion(records, record);
    return turn === undefined ? [] : pending.map(({ id }) => ({ question, record, turn, call: id }));
  });
}

/** Finds the user's message above a response; the response itself if the message is deleted. */
export function findQuestion(records: ReadonlyMap<string, unknown>, response: string): string {
  for (let at: unknown = response; typeof at === "string"; ) {
    const value = records.get(at) as StoredTurn | undefined;
    if (value?.message.role === "user") return at;
    at = value?.parent;
  }
  return response;
}

function createRunner({ device }: TurnDevice): TurnRunner {
  return createServerRunner({ device });
}

function createTurn(
  { client, storage }: TurnDevice,
  id: string,
  question: string,
): Parameters<TurnRunner["run"]>[0] {
  const chatId = SERVER_CHAT.slice("chat/".length);
  return { id, client, chatId, storage, question, messages: [], model: "delta-5.3", params: {} };
}

function createAccount(user: string): string {
  return createHash("sha256").update(`sluice sync account\n${user}`).digest("hex").slice(0, 32);
}

function createStream(
  calls: readonly { readonly id: string; readonly name: string }[],
  content: string,
  isCut = false,
): Response {
  const toolCalls = calls.map(({ id, name }, index) => ({
    ...{ index, id, type: "function" },
    function: { name, arguments: JSON.stringify({ id }) },
  }));
  const delta = { content, ...(calls.length > 0 && { tool_calls: toolCalls }) };
  const end = { delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" };
  const frames = [{ delta }, end].map(
    (choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`,
  );
  const text = isCut ? frames[0] : `${frames.join("")}data: [DONE]\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}
