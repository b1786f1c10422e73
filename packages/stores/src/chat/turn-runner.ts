import type { ThreadTurn } from "./message.js";
import type { Thread } from "./message-tree.js";
import { elsewhere } from "./not-sent.js";
import { refresh } from "./shown.js";
import { firstAnswer, requestAnswer } from "./turn/answer.js";
import { endTurn, failTurn } from "./turn/end.js";
import { hasEnded, hasOpenCalls, REQUESTING, type Run, type TurnContext } from "./turn/state.js";
import { loadCalls, runTools } from "./turn/tools.js";

const MAX_STEPS = 8;

/** Creates a turn, which does nothing before {@link start}. */
export function createRun(context: TurnContext): Run {
  let resolve!: (turn: ThreadTurn) => void;
  const turn = new Promise<ThreadTurn>((resolveTurn) => {
    resolve = resolveTurn;
  });
  return { ...context, turn, resolve, phase: REQUESTING, added: [] };
}

/**
 * Runs a turn. It requests an answer, runs the tools that the answer calls, and repeats this. It ends with an answer
 * without calls, a call that waits for the user or the app, or after `maxSteps` answers.
 */
export function start(turn: Run): void {
  takeSteps(turn).then(
    () => endTurn(turn),
    (cause) => failTurn(turn, cause),
  );
}

/** Takes the steps of a turn: each runs the calls of the last answer, and requests another one. */
async function takeSteps(turn: Run): Promise<void> {
  const place = turn.place instanceof Promise ? await turn.place : turn.place;
  turn.added.push(...place.added);
  let last = place.below;
  for (let step = 1; ; step += 1) {
    // without a call the request is sent in the same task
    if (last !== undefined && hasOpenCalls(turn, last)) {
      const taken = isTaken(turn, last);
      if (taken && (await taken)) return endTaken(turn);
      await runTools(turn, last);
    }
    if (hasEnded(turn) || hasOpenCalls(turn, last) || isPassed(turn.thread, last)) return;
    const taken = isTaken(turn, last);
    if (taken && (await taken)) return endTaken(turn);
    if (hasEnded(turn)) return;
    last = await (step === 1 ? firstAnswer(turn, place) : requestAnswer(turn, last));
    const answer = turn.thread.node(last)?.message;
    if (hasEnded(turn) || answer?.outcome !== "tool-calls" || !answer.toolCalls?.length) return;
    refresh(turn);
    if (step >= (turn.options().maxSteps ?? MAX_STEPS))
      return (await loadCalls(turn)).endAtLimit(answer.id, step);
  }
}

/** Asks if another device went on with an answer, as this page was cut off. Undefined where that can't be. */
function isTaken({ storage, owner }: Run, id: string | undefined): Promise<boolean> | undefined {
  return id === undefined ? undefined : storage.keeper?.isTaken(id, owner.signal);
}

function endTaken(turn: Run): void {
  endTurn(turn, { outcome: "interrupted", error: elsewhere() });
}

/** True if another tab sent a message below an answer with calls: no answer of this turn would follow it. */
function isPassed(thread: Thread, id: string | undefined): boolean {
  if (!thread.node(id)?.message.toolCalls?.length) return false;
  return thread
    .ids()
    .some((below) => thread.parentOf(below) === id && thread.node(below)?.message.role === "user");
}
