import type { Tool } from "@sluice/core";
import { type ChatStore, type ChatStoreOptions, type ChatTurn, createChatStore } from "@sluice/stores";
import { endOf, endOfFull, endOfTurn, LOST_ANSWER, type TurnEnd } from "./end.js";
import { type Hide, hidingTool } from "./hiding.js";
import type { RunContext, RunnerSetup } from "./options.js";
import type { RunPlace } from "./place.js";
import {
  change,
  isPendingCall,
  LEAF,
  type MessageRecord,
  messageIn,
  pathTo,
  reactionKey,
  stepsIn,
} from "./records.js";
import type { OpenTurn } from "./rows.js";
import { openRunClient } from "./run-client.js";
import { isRead, isReadOnly, nextStep, settledRecord, withRerun } from "./settle.js";
import { openRunStorage, type RunStorage } from "./storage.js";

/** Work on one turn, from a start to its end or to a call that waits for a device. */
export interface Work {
  /** Unix milliseconds of the last sign of life. */
  readonly aliveAt: number;
  /** Resolves with the end of the turn; with undefined where it waits. Rejects where the work itself fails. */
  readonly done: Promise<TurnEnd | undefined>;
  /** Stops the turn. */
  stop(): void;
  /** Takes over what devices have said about calls. */
  react(): void;
  /** Ends the work at once, and writes nothing more. */
  drop(): void;
  /** Reports removed messages. */
  removed(ids: readonly string[]): void;
}

/** Options of a work. */
export interface WorkOptions<Env> {
  readonly place: RunPlace<Env>;
  readonly setup: RunnerSetup<Env>;
  readonly turn: OpenTurn;
  /** Called with each new message of the turn, in the turn of its write. */
  readonly onTip: (id: string) => void;
}

/** Parts of a work that has begun. */
interface Begun {
  readonly chat: ChatStore;
  readonly storage: RunStorage;
}

/** Makes the answer to a request that would buy an answer a second time: what the proxy says of one that it has lost. */
function lostAnswer(): Response {
  const { message, code } = LOST_ANSWER;
  return Response.json({ error: { message, code, type: "proxy_error" } }, { status: 404 });
}

/** Longest wait for the last write, in milliseconds. */
const WRITE_MS = 5_000;

/** Works on a turn: the core's own chat, over the records of this object, asks through the proxy as the user. */
export function startWork<Env>({ place, setup, turn, onTip }: WorkOptions<Env>): Work {
  const { env, conversation } = place;
  const known = new Set<string>();
  let aliveAt = Date.now();
  let tip = turn.tip;
  let begun: Begun | undefined;
  let isStopped = false;
  let stepsBefore = 0;
  /** Id of an answer that is read on, and must not be asked for again. */
  let left: string | undefined;
  const { client, way, hide } = openRunClient(place, setup, turn, ({ method }) => {
    // nothing is paid for that could not be kept
    if (begun?.storage.failure !== undefined) throw new TypeError("the conversation is full");
    aliveAt = Date.now();
    const isUnread = left !== undefined && !isRead(messageIn(place.read(left))?.message ?? {});
    return method === "POST" && isUnread ? lostAnswer() : undefined;
  });
  const run: RunContext<Env> = { env, user: turn.user, conversation, client };
  const done = work();
  return {
    get aliveAt() {
      return aliveAt;
    },
    done,
    stop() {
      isStopped = true;
      begun?.chat.stop();
    },
    drop() {
      isStopped = true;
      begun?.storage.close();
      begun?.chat.close();
    },
    react: () => void reactions(),
    removed: (ids) => begun?.storage.removed(ids),
  };

  async function work(): Promise<TurnEnd | undefined> {
    // `done` is there before anything happens
    await undefined;
    const path = settledPath();
    const next = nextStep(path, turn.below, setup.maxSteps);
    if (isStopped) return endOf("stopped");
    if (next.do === "end") return endOf(next.outcome);
    const calls = next.do === "rerun" ? next.calls : [];
    const hasReactions = next.do === "wait" && answered(path.at(-1)).length > 0;
    if (next.do === "wait" && !hasReactions) return undefined;
    stepsBefore = stepsIn(path);
    begun = begin(withRerun(path, calls));
    const { chat, storage } = begun;
    try {
      const first = calls.map((call) => chat.approve(call))[0] ?? reactions() ?? chat.retry();
      return await toItsEnd(chat, storage, first);
    } finally {
      storage.close();
      chat.close();
      begun = undefined;
    }
  }

  /** Reads the thread, and ends what a lost process has left in flight. */
  function settledPath(): readonly MessageRecord[] {
    const path = pathTo(place, tip, setup.mostMessages);
    const last = path.at(-1);
    const settled = last && settledRecord(last, way.keepsChats);
    if (settled && isReadOnly(settled)) left = settled.message.id;
    if (!settled || settled === last) return path;
    place.write(change(settled.message.id, settled));
    return [...path.slice(0, -1), settled];
  }

  function begin(path: readonly MessageRecord[]): Begun {
    const storage = openRunStorage({
      place,
      hide,
      path,
      onTip(id) {
        tip = id;
        onTip(id);
      },
      onProgress() {
        aliveAt = Date.now();
      },
    });
    return {
      storage,
      chat: createChatStore(
        client,
        chatOptionsOf(setup, run, { hide, storage, stepsBefore: () => stepsBefore }),
      ),
    };
  }

  /** Takes part in the turn until it has ended, or waits for devices that have said nothing yet. */
  async function toItsEnd(
    chat: ChatStore,
    storage: RunStorage,
    first: Promise<ChatTurn>,
  ): Promise<TurnEnd | undefined> {
    for (let turn = await first; ; ) {
      // the chat's code or its records did not come in time: the alarm tries again
      if (chat.getSnapshot().messages.length === 0 && !isStopped && messageIn(place.read(tip)))
        throw new Error("the thread could not be restored");
      await lastWrite(chat, storage, place, () => tip);
      if (storage.failure !== undefined) return endOfFull(storage.failure);
      if (isStopped) return endOf("stopped");
      if (turn.outcome !== "tool-calls") return withText(hide(endOfTurn(turn)));
      const next = reactions();
      if (!next) return undefined;
      turn = await next;
    }
  }

  /** Gives the end of an answer whose rest is lost to the message that has its text: the proxy had nothing but the error. */
  function withText(end: TurnEnd): TurnEnd {
    const [text, hollow] = [messageIn(place.read(turn.tip)), messageIn(place.read(tip))];
    const isHollow = tip !== turn.tip && hollow?.parent === text?.parent && !hollow?.message.content;
    if (end.code !== LOST_ANSWER.code || !isHollow) return end;
    place.write(
      new Map<string, unknown>([
        [tip, undefined],
        [LEAF, turn.tip],
      ]),
    );
    onTip(turn.tip);
    return { outcome: "lost", code: end.code, error: LOST_ANSWER };
  }

  /** Takes each reaction over once. Returns the turn that goes on with one; undefined where there is none. */
  function reactions(): Promise<ChatTurn> | undefined {
    if (!begun) return undefined;
    const { chat } = begun;
    let next: Promise<ChatTurn> | undefined;
    for (const { key, id, record } of answered(messageIn(place.read(tip)))) {
      known.add(key);
      const { approved, denied, output } = record;
      if (approved === true) next = chat.approve(id);
      else if (typeof denied === "string") next = chat.deny(id, ...(denied === "" ? [] : [denied]));
      else next = chat.addToolOutput(id, output ?? null);
    }
    return next;
  }

  /** Lists the reactions to calls that wait, and that this work has not taken over yet. */
  function answered(record: MessageRecord | undefined) {
    const { id: messageId, toolCalls = [] } = record?.message ?? { id: "" };
    return toolCalls.filter(isPendingCall).flatMap(({ id }) => {
      const key = reactionKey(messageId, id);
      const reaction = known.has(key) ? undefined : place.read(key);
      const isOne = typeof reaction === "object" && reaction !== null;
      return isOne ? [{ key, id, record: reaction as Reaction }] : [];
    });
  }
}

interface ChatParts {
  readonly hide: Hide;
  readonly storage: RunStorage;
  readonly stepsBefore: () => number;
}

/** Makes the options of the chat of a run. */
function chatOptionsOf<Env>(
  setup: RunnerSetup<Env>,
  run: RunContext<Env>,
  { hide, storage, stepsBefore }: ChatParts,
): () => ChatStoreOptions {
  const { model, params, checks, prepareMessages, instructions, tools = [], maxSteps } = setup;
  const own = typeof tools === "function" ? tools(run) : tools;
  const system = async () => (typeof instructions === "function" ? await instructions(run) : instructions);
  const options = {
    id: run.conversation,
    storage,
    model,
    tools: own.map((tool) => hidingTool(notedTool(tool, storage), hide)),
    ...(params !== undefined && { params }),
    ...(checks !== undefined && { checks }),
    ...(prepareMessages && { prepareMessages }),
    ...(instructions !== undefined && { instructions: system }),
  };
  // the options of one model, which the compiler can't follow through a union
  return () => ({ ...options, maxSteps: Math.max(1, maxSteps - stepsBefore()) }) as ChatStoreOptions;
}

/** Wraps a tool so that it begins once its call is kept as running: it does not run again for a process that is lost. */
function notedTool(tool: Tool, storage: RunStorage): Tool {
  const { execute } = tool;
  if (!execute) return tool;
  return {
    ...tool,
    async execute(input, context) {
      await storage.running(context.messages.at(-1)?.id, context.toolCallId);
      return await execute(input, context);
    },
  };
}

/** Waits until the records have the end that the chat shows. */
async function lastWrite(
  chat: ChatStore,
  storage: RunStorage,
  place: Pick<RunPlace, "read">,
  tip: () => string,
): Promise<void> {
  const shown = chat.getSnapshot().messages.at(-1);
  if (!shown) return;
  const statesOf = (calls: readonly { readonly state: string }[] = []) =>
    String(calls.map(({ state }) => state));
  const isThere = () => {
    const kept = messageIn(place.read(shown.id))?.message;
    const isSame = kept?.outcome === shown.outcome && statesOf(kept?.toolCalls) === statesOf(shown.toolCalls);
    return isSame && tip() === shown.id;
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, WRITE_MS);
  });
  await Promise.race([storage.until(isThere), late]);
  clearTimeout(timer);
}

interface Reaction {
  readonly approved?: unknown;
  readonly denied?: unknown;
  readonly output?: unknown;
}
