import { redact, type VideoTaskEntry } from "@sluice/core";
import { useVideoTask } from "@sluice/react";
import { GivenUp } from "../room/questions.js";
import { storage } from "../stored.js";
import { Awaited } from "./awaited.js";
import { Card } from "./card.js";
import { Elapsed } from "./elapsed.js";
import { Player } from "./player.js";
import { Unconfirmed } from "./unconfirmed.js";
import { wordOf } from "./words.js";

interface TaskCardProps {
  readonly entry: VideoTaskEntry;
  /** How long it usually takes, where somebody knows. */
  readonly usualTime: string | undefined;
  readonly onRemove: () => void;
}

/** A video that was asked for, however far it has come. */
export function TaskCard(props: TaskCardProps) {
  const { entry, onRemove } = props;
  if (entry.handle) return <CreatedCard {...props} taskId={entry.handle.id} />;
  const isCreating = entry.state === "submitting";
  return (
    <Card entry={entry} word={isCreating ? "Being sent" : "Unconfirmed"} isOver={false} onRemove={onRemove}>
      {!isCreating && <Unconfirmed error={entry.error} />}
    </Card>
  );
}

function CreatedCard({ entry, taskId, usualTime, onRemove }: TaskCardProps & { readonly taskId: string }) {
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
            <Elapsed since={entry.submittedAt} usual={usualTime} />
          </p>
          <Awaited video={video} until={entry.handle?.queryableUntil} />
        </>
      )}
      {data && <Player video={data} name={entry.label ?? entry.model} />}
      {task?.state === "failed" && (
        <p className="alarm">
          <strong>The gateway made no video.</strong> {redact(task.reason ?? "It does not say why.")} Change
          what is asked for, and generate again.
        </p>
      )}
      {error && task?.state !== "failed" && <GivenUp error={error} onAsk={refetch} />}
    </Card>
  );
}
