import type { VideoTaskEntry } from "@sluice/core";
import type { ReactNode } from "react";
import { duration, moment } from "../room/use-now.js";
import { Removal } from "./removal.js";

interface CardProps {
  readonly entry: VideoTaskEntry;
  /** How far it has come. */
  readonly word: string;
  readonly isOver: boolean;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}

/** What every video that was asked for shows, and the rest. */
export function Card({ entry, word, isOver, onRemove, children }: CardProps) {
  const { label, model, submittedAt, task } = entry;
  const took =
    task?.finishedAt !== undefined && task.submittedAt !== undefined && task.finishedAt - task.submittedAt;
  return (
    <article className="task" aria-label={label ?? model}>
      <header>
        <p dir="auto">{label ?? model}</p>
        <p className="hint">
          <strong role="status">{word}</strong> · {model} · {moment(submittedAt)}
          {took !== false && isOver && ` · took ${duration(took)}`}
        </p>
        <Removal isOver={isOver} onRemove={onRemove} />
      </header>
      {children}
    </article>
  );
}
