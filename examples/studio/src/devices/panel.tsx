import { describeError } from "@sluice/react/app";
import type { ReactNode } from "react";

interface PanelProps {
  readonly title: string;
  readonly error: Error | undefined;
  readonly children: ReactNode;
}

/** Controls above the chat of a device, with the error of the last press. */
export function Panel({ title, error, children }: PanelProps) {
  return (
    <section aria-label={title} className="flex shrink-0 flex-col gap-2 border-b bg-surface p-3 text-sm">
      {children}
      {error && <p role="alert">{describeError(error).title}</p>}
    </section>
  );
}

/** Parts of the device that a panel needs. */
export interface PanelParts {
  /** Id of the chat that is open. */
  readonly id: string;
  /** Number of messages of the chat: a schedule that starts adds one. */
  readonly count: number;
}
