import type { ToolCalls } from "../tool-calls.js";
import { hasEnded, REQUESTING, type TurnState } from "./state.js";

/** Runs the calls of an answer, until none is left that may run. */
export async function runTools(turn: TurnState, id: string): Promise<void> {
  turn.phase = { name: "running-tools" };
  const calls = await loadCalls(turn);
  if (hasEnded(turn)) return;
  turn.phase = { name: "running-tools", calls };
  await calls.settle(id);
  turn.phase = REQUESTING;
}

/** Loads the code that decides about calls and runs them. */
export function loadCalls(turn: TurnState): Promise<ToolCalls> {
  const { client, thread, options, owner, onChange } = turn;
  turn.loading ??= import("../tool-calls.js").then(({ createToolCalls }) =>
    createToolCalls({ client, thread, tools: () => options().tools, signal: owner.signal, onChange }),
  );
  // the caller that needs it gets the error
  turn.loading.catch(() => {});
  return turn.loading;
}
