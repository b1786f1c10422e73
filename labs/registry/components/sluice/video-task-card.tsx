"use client";

import { describeError, type VideoTaskEntry } from "@sluice/react";
import { Download, RotateCcw } from "lucide-react";
import { Badge, Button, IconButton, onPressOnce } from "@/components/sluice/button";
import { formatModel } from "@/components/sluice/format";
import { download, MediaFrame, MediaNote } from "@/components/sluice/media-frame";
import { useMediaLink } from "@/components/sluice/media-link";
import { videoWords } from "@/components/sluice/media-words";
import { DeleteVideo, LastFrame, LinkBadge } from "@/components/sluice/video-details";
import { VideoPlayer } from "@/components/sluice/video-player";
import { getVideoState, type Progress, useProgress } from "@/components/sluice/video-progress";
import { cn } from "@/lib/utils";

interface VideoTaskCardProps {
  /** A task of `useVideoTasks`. */
  readonly entry: VideoTaskEntry;
  /** Image that is shown until the video is there. */
  readonly poster?: string | undefined;
  /** Milliseconds that videos of the model took. */
  readonly usualMs?: number | undefined;
  /** True while offline. @default false */
  readonly isOffline?: boolean;
  /** Polls again after an error: `refetch` of `useVideoTask`. */
  readonly onCheck: (taskId: string) => void;
  /** Fills its form again. @default no button for it */
  readonly onReuse?: (() => void) | undefined;
  /** Sends the request again if its result is unknown. @default no button */
  readonly onRetry?: (() => void) | undefined;
  readonly onRemove: () => void;
}

/** A video in any state: its progress, the video, or its problem. */
export function VideoTaskCard(props: VideoTaskCardProps) {
  const { entry, poster, onReuse, onRemove } = props;
  const { task, label = entry.model } = entry;
  const state = getVideoState(entry);
  const video = task?.state === "succeeded" ? task : undefined;
  const link = useMediaLink(video?.url ?? "", video?.expiresAt);
  const save = () => video && void download(video.url, label, link.onGone);
  return (
    <article aria-label={label} className="flex h-full flex-col overflow-hidden rounded-xl border bg-card">
      <p role="status" className="sr-only">
        {videoWords.states[state]}
      </p>
      <div className="relative aspect-video overflow-hidden bg-secondary">
        {state === "running" && <Running {...props} />}
        {video && (
          <MediaFrame
            link={link}
            kind="video"
            element={<VideoPlayer video={video} label={label} poster={poster} link={link} />}
            onDownload={save}
          />
        )}
        {(state === "failed" || state === "unknown") && <Problem {...props} />}
      </div>
      <div className="flex grow flex-col gap-2 p-3">
        <p dir="auto" className="line-clamp-2 text-sm">
          {label}
        </p>
        <div className="mt-auto flex flex-wrap items-center gap-1.5">
          <Badge>{formatModel(entry.model)}</Badge>
          {video && link.isUsable && <LinkBadge expiresAt={video.expiresAt} />}
          <span className="ms-auto flex">
            {video && link.isUsable && (
              <IconButton label={videoWords.download} onClick={save}>
                <Download aria-hidden />
              </IconButton>
            )}
            {video && <LastFrame task={video} label={videoWords.lastFrame} />}
            {onReuse && (
              <IconButton label={videoWords.reuse} onClick={onReuse}>
                <RotateCcw aria-hidden />
              </IconButton>
            )}
            <DeleteVideo isRunning={state === "running"} onRemove={onRemove} />
          </span>
        </div>
      </div>
    </article>
  );
}

function Running({ entry, poster, usualMs, isOffline = false }: VideoTaskCardProps) {
  const { share, text } = useProgress(entry, usualMs);
  return (
    <>
      {poster ? (
        <img
          src={poster}
          alt=""
          className="absolute inset-0 size-full object-cover"
          referrerPolicy="no-referrer"
        />
      ) : (
        <div
          aria-hidden
          className="absolute inset-0 animate-pulse bg-linear-to-br from-primary/10 to-secondary"
        />
      )}
      <div className="absolute inset-x-0 bottom-0 flex flex-col gap-2 bg-linear-to-t from-black/80 to-black/0 p-3 pt-10 text-sm text-white">
        <p className="tabular-nums">{isOffline ? videoWords.offline(entry.state === "created") : text}</p>
        <ProgressBar share={share} text={text} />
      </div>
    </>
  );
}

/** The bar of a running video. An unknown share pulses. */
function ProgressBar({ share, text }: Progress) {
  const isKnown = share !== undefined;
  return (
    <div
      role="progressbar"
      aria-label={videoWords.label}
      aria-valuenow={isKnown ? Math.round(share * 100) : undefined}
      aria-valuetext={text}
      className="h-1 grow overflow-hidden rounded-full bg-white/30"
    >
      <div
        className={cn(
          "h-full rounded-full bg-white",
          isKnown ? "transition-[width] duration-1000 ease-linear" : "w-1/3 animate-pulse",
        )}
        style={isKnown ? { width: `${share * 100}%` } : undefined}
      />
    </div>
  );
}

/** Shows a video task that failed, is unknown, or is not polled any more. */
function Problem({ entry, onCheck, onReuse, onRetry }: VideoTaskCardProps) {
  const { task, handle, error } = entry;
  if (task?.state === "failed")
    return (
      <MediaNote isError title={videoWords.failed} text={task.reason || videoWords.failedHint}>
        {onReuse && <Button onClick={onReuse}>{videoWords.edit}</Button>}
      </MediaNote>
    );
  if (handle) {
    const { title, hint } = describeError(error);
    return (
      <MediaNote isError title={title} text={hint}>
        <Button onClick={() => onCheck(handle.id)}>{videoWords.check}</Button>
      </MediaNote>
    );
  }
  return (
    <MediaNote isError title={videoWords.lost} text={videoWords.lostHint}>
      {onRetry && <Button {...onPressOnce(onRetry)}>{videoWords.retryLost}</Button>}
    </MediaNote>
  );
}
