import { useStore } from "@nanostores/react";
import type { VideoModel } from "@sluice/core";
import { useVideoTask, type VideoTaskEntry } from "@sluice/react";
import { videoStateOf } from "@/components/sluice/video-progress";
import { VideoTaskCard } from "@/components/sluice/video-task-card";
import { videoOptions } from "../client.js";
import { useDescribe } from "../errors.js";
import type { MediaDraft } from "../media/use-media-form.js";
import { isAway } from "../server.js";
import { toast } from "../ui/popups.js";
import { type Order, posterOf } from "./orders.js";

interface TaskCardProps {
  readonly entry: VideoTaskEntry;
  /** The form that was sent. */
  readonly order: Order | undefined;
  /** Milliseconds that videos of the model took. */
  readonly usualMs: number | undefined;
  readonly onReuse: (draft: MediaDraft<VideoModel>) => void;
  /** Sends the same form again. */
  readonly onRetry: (draft: MediaDraft<VideoModel>) => void;
  readonly onRemove: () => void;
}

/** A video, however far it is, with the form that was sent. */
export function TaskCard({ entry, order, usualMs, onReuse, onRetry, onRemove }: TaskCardProps) {
  const { refetch } = useVideoTask({
    // only a task that is not checked any more is asked for by its card
    taskId: videoStateOf(entry) === "unknown" ? entry.handle?.id : undefined,
    ...videoOptions,
  });
  const isOffline = useStore(isAway);
  const describe = useDescribe();
  const draft = order?.draft;
  return (
    <VideoTaskCard
      entry={entry}
      poster={posterOf(order)}
      usualMs={usualMs}
      isOffline={isOffline}
      onCheck={refetch}
      onReuse={draft && (() => onReuse(draft))}
      onRetry={draft && (() => onRetry(draft))}
      onRemove={onRemove}
      onNotice={toast}
      describe={describe}
    />
  );
}
