import { redact, type VideoTaskEntry } from "@sluice/core";
import { useVideoTask } from "@sluice/react";
import { type ReactNode, useState } from "react";
import { reasonOf } from "../room/request-failure.js";
import { duration, moment, useNow } from "../room/use-now.js";
import { storage } from "../stored.js";
import { Player } from "./player.js";
import { Questions } from "./questions.js";
import { wordOf } from "./words.js";

interface TaskCardProps {
  readonly entry: VideoTaskEntry;
  readonly onRemove: () => void;
}

/** A video that was asked for, however far it has come. */
export function TaskCard({ entry, onRemove }: TaskCardProps) {
  if (entry.handle) return <CreatedCard entry={entry} taskId={entry.handle.id} onRemove={onRemove} />;
  const isSubmitting = entry.state === "submitting";
  return (
    <Card entry={entry} word={isSubmitting ? "Being sent" : "Unconfirmed"} isOver={false} onRemove={onRemove}>
      {!isSubmitting && (
        <p className="alarm">
          <strong>Nobody knows whether the gateway has it: it may be made, and billed.</strong> Look at your
          account before you ask for it again; then remove it here.
          {entry.error && <span className="hint"> {redact(entry.error.message)}</span>}
        </p>
      )}
    </Card>
  );
}

function CreatedCard({ entry, taskId, onRemove }: TaskCardProps & { readonly taskId: string }) {
  const video = useVideoTask({ taskId, storage });
  const { status, task, progress, data, error, refetch } = video;
  const isPending = status === "pending";
  return (
    <Card
      entry={entry}
      word={error && task?.state !== "failed" ? "Not known" : wordOf(task)}
      isOver={!isPending}
      onRemove={onRemove}
    >
      {isPending && (
        <>
          <progress aria-label="Progress" value={progress} />
          <p className="hint">
            {progress !== undefined && `${Math.round(progress * 100)} % · `}
            <Elapsed since={entry.submittedAt} />
          </p>
          <Questions video={video} until={entry.handle?.queryableUntil} />
        </>
      )}
      {data && <Player video={data} name={entry.label ?? entry.model} />}
      {task?.state === "failed" && (
        <p className="alarm">
          <strong>The gateway made no video.</strong> {redact(task.reason ?? "It does not say why.")} Change
          what is asked for, and generate again.
        </p>
      )}
      {error && task?.state !== "failed" && (
        <div className="alarm">
          <p>
            <strong>It is not asked about any more.</strong> {reasonOf(error)}
          </p>
          <button type="button" className="small" onClick={refetch}>
            Ask again
          </button>
        </div>
      )}
    </Card>
  );
}

interface CardProps extends TaskCardProps {
  readonly word: string;
  readonly isOver: boolean;
  readonly children: ReactNode;
}

function Card({ entry, word, isOver, onRemove, children }: CardProps) {
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

function Elapsed({ since }: { since: number }) {
  return `${duration(useNow() - since)} since it was asked for`;
}

/** What is not over goes on, unseen, when it is removed: that is asked once more. */
function Removal({ isOver, onRemove }: { isOver: boolean; onRemove: () => void }) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking)
    return (
      <button type="button" className="quiet small" onClick={() => (isOver ? onRemove() : setAsking(true))}>
        Remove
      </button>
    );
  return (
    <div className="removal">
      <span>It may go on at the gateway, and be billed.</span>
      <button type="button" className="small alarming" onClick={onRemove}>
        Remove
      </button>
      {/* biome-ignore lint/a11y/noAutofocus: somebody just asked for this, and the harmless answer is the nearest */}
      <button type="button" className="small" autoFocus onClick={() => setAsking(false)}>
        Keep
      </button>
    </div>
  );
}
