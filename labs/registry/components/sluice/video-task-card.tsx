"use client";

import { describeError, type ErrorDescription, type VideoTaskEntry } from "@sluice/react";
import { CircleAlert, Download, RotateCcw, Share } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Button, IconButton, ProgressBar } from "@/components/sluice/button";
import { downloadMedia, shareMedia } from "@/components/sluice/download";
import { formatModel } from "@/components/sluice/format";
import { MediaFrame } from "@/components/sluice/media-frame";
import { useMediaLink } from "@/components/sluice/media-link";
import { downloadWords, shareWords, videoWords } from "@/components/sluice/media-words";
import { DeleteVideo, LastFrame, LinkBadge } from "@/components/sluice/video-details";
import { VideoPlayer } from "@/components/sluice/video-player";
import { getVideoState, useProgress } from "@/components/sluice/video-progress";

interface VideoTaskCardProps {
  /** A task of `useVideoTasks`. */
  readonly entry: VideoTaskEntry;
  /** Picture that is shown until the film is there. */
  readonly poster?: string | undefined;
  /** Milliseconds that videos of the model took. */
  readonly usualMs?: number | undefined;
  /** True while there is no network. @default false */
  readonly isOffline?: boolean;
  /** Asks again how far it is, after an error: `refetch` of `useVideoTask`. */
  readonly onCheck: (taskId: string) => void;
  /** Fills its form again. @default no button for it */
  readonly onReuse?: (() => void) | undefined;
  /** Sends it again, where nobody knows if it was ordered. @default no button for it */
  readonly onRetry?: (() => void) | undefined;
  readonly onRemove: () => void;
  /** Takes a short message: that a download has failed, or what became of a shared file. */
  readonly onNotice?: (text: string) => void;
  /** Words of an error. @default `describeError` */
  readonly describe?: (error: unknown) => ErrorDescription;
}

/** A video, however far it is. */
export function VideoTaskCard(props: VideoTaskCardProps) {
  const { entry, poster, onReuse, onRemove, onNotice } = props;
  const { task, label = entry.model } = entry;
  const state = getVideoState(entry);
  const video = task?.state === "succeeded" ? task : undefined;
  const link = useMediaLink(video?.url ?? "", video?.expiresAt);
  const handOver = async (hand: typeof shareMedia, texts: typeof shareWords) => {
    const result = video && (await hand(video.url, label));
    if (result === "expired") link.onGone();
    const text = result && texts[result];
    if (text) onNotice?.(text);
  };
  const save = () => void handOver(downloadMedia, downloadWords);
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
          <span className="ml-auto flex">
            {video && link.isUsable && (
              <>
                <IconButton label={videoWords.download} onClick={save}>
                  <Download aria-hidden />
                </IconButton>
                <IconButton label={videoWords.share} onClick={() => void handOver(shareMedia, shareWords)}>
                  <Share aria-hidden />
                </IconButton>
              </>
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
  const { share, text } = useProgress(entry, usualMs, videoWords.progress);
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
        <ProgressBar label={videoWords.label} share={share} text={text} isOnPicture />
      </div>
    </>
  );
}

/** A video that failed, that is not checked any more, or that nobody knows about. */
function Problem({ entry, onCheck, onReuse, onRetry, describe = describeError }: VideoTaskCardProps) {
  const { task, handle, error } = entry;
  if (task?.state === "failed")
    return (
      <Message
        title={videoWords.failed}
        action={onReuse && <Button onClick={onReuse}>{videoWords.edit}</Button>}
      >
        {task.reason || videoWords.failedHint}
      </Message>
    );
  if (handle) {
    const { title, hint } = describe(error);
    return (
      <Message title={title} action={<Button onClick={() => onCheck(handle.id)}>{videoWords.check}</Button>}>
        {hint}
      </Message>
    );
  }
  const retry = onRetry && (
    <Button onClick={({ detail }) => detail < 2 && onRetry()}>{videoWords.retryLost}</Button>
  );
  return (
    <Message title={videoWords.lost} action={retry}>
      {videoWords.lostHint}
    </Message>
  );
}

interface MessageProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: ReactNode;
}

function Message({ title, children, action }: MessageProps) {
  return (
    <div className="absolute inset-0 flex flex-col items-center justify-center-safe gap-2 overflow-y-auto p-4 text-center text-sm">
      <CircleAlert className="size-5 shrink-0 text-destructive" aria-hidden />
      <p>
        <strong className="block font-medium">{title}</strong>
        <span className="line-clamp-3 text-muted-foreground">{children}</span>
      </p>
      {action}
    </div>
  );
}
