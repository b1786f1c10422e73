import type { Client } from "@sluice/core";
import { asError, type ToolOutcome, type ToolRun } from "@sluice/core/internal";

/** The events of one run of a tool. */
export interface ToolReport {
  /** Emits `tool-start`. */
  start(): void;
  /** Emits `tool-end`, after a `tool-start` where there was none. */
  end(outcome: ToolOutcome, cause?: unknown): void;
  /** Emits the end of a run that was stopped; nothing where it had not begun. */
  cancel(): void;
}

/** Creates the report of one run. It has neither the arguments nor the output. */
export function createToolReport({ clock, emit }: Pick<Client, "clock" | "emit">, run: ToolRun): ToolReport {
  let startedAt: number | undefined;
  return {
    start,
    end,
    cancel() {
      if (startedAt !== undefined) end("cancelled");
    },
  };

  function start(): void {
    startedAt = clock.now();
    emit({ type: "tool-start", ...run });
  }

  function end(outcome: ToolOutcome, cause?: unknown): void {
    if (startedAt === undefined) start();
    const ms = clock.now() - (startedAt ?? 0);
    const error = cause === undefined ? undefined : asError(cause);
    emit({ type: "tool-end", ...run, ms, outcome, ...(error && { error }) });
  }
}
