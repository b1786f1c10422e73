import { refresh } from "../shown.js";
import type { ToolCalls } from "../tool-calls.js";
import { hasEnded, REQUESTING, type Run } from "./state.js";

/** Runs the calls of an answer, until none is left that may run. */
export async function runTools(turn: Run, id: string): Promise<void> {
  turn.phase = { name: "running-tools" };
  const calls = await loadCalls(turn);
  if (hasEnded(turn)) return;
  turn.phase = { name: "running-tools", calls };
  await calls.settle(id);
  turn.phase = REQUESTING;
}

/** Reports that a tool call was approved, denied or answered. */
export function callChanged({ phase }: Run): void {
  if (phase.name === "running-tools") phase.calls?.changed();
}

/** Loads the code that decides about calls and runs them. */
export function loadCalls(turn: Run): Promise<ToolCalls> {
  const { client, chatId, thread, options, owner } = turn;
  turn.loading ??= import("../tool-calls.js").then(({ createToolCalls }) =>
    createToolCalls({
      client,
      chatId,
      thread,
      tools: () => options().tools,
      signal: owner.signal,
      onChange: () => refresh(turn),
      written: () => turn.storage.keeper?.written(),
    }),
  );
  // the caller that needs it gets the error
  turn.loading.catch(() => {});
  return turn.loading;
}
