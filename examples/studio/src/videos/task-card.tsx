import { redact, type SucceededVideoTask, type VideoTask, type VideoTaskEntry } from "@sluice/core";
import type { VideoModel } from "@sluice/core/schemas";
import { useVideoTask } from "@sluice/react";
import { downloadMedia } from "@sluice/react/app";
import { CircleAlert, Download, Film, RotateCcw, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { videoOptions } from "../client.js";
import { useDescription } from "../errors.js";
import { MediaFrame } from "../media/frame.js";
import { useMediaLink } from "../media/link.js";
import type { MediaDraft } from "../media/use-media-form.js";
import { modelName, shortTime } from "../media/words.js";
import { isAway } from "../server.js";
import { Badge, Button, IconButton, ProgressBar } from "../ui/button.js";
import { Dialog, toast } from "../ui/popups.js";
import { useNow, useValue } from "../value.js";
import {
  DELETE_RUNNING,
  downloadWords,
  LOST_VIDEO,
  linkTimeWords,
  offlineVideoWords,
  VIDEO_FAILED,
  videoWords,
} from "../words.js";
import { type Order, posterOf, useProgress, videoStateOf } from "./orders.js";
import { Player } from "./player.js";

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

/** A video, however far it is. */
export function TaskCard({ entry, order, usualMs, onReuse, onRetry, onRemove }: TaskCardProps) {
  const now = useNow(1000);
  const { task, label = entry.model } = entry;
  const video = task?.state === "succeeded" ? task : undefined;
  const failed = task?.state === "failed" ? task : undefined;
  const isRunning = videoStateOf(entry) === "running";
  const link = useMediaLink(video?.url ?? "", video?.expiresAt);
  const save = video && (() => void download(video, label, link.onGone));
  const draft = order?.draft;
  return (
    <article aria-label={label} className="flex h-full flex-col overflow-hidden rounded-xl border bg-raised">
      <p role="status" className="sr-only">
        {videoWords(videoStateOf(entry))}
      </p>
      <div className="relative aspect-video overflow-hidden bg-sunken">
        {isRunning && <Running entry={entry} order={order} usualMs={usualMs} />}
        {video && (
          <MediaFrame
            link={link}
            kind="video"
            element={<Player video={video} label={label} poster={posterOf(order)} link={link} />}
            {...(save && { onDownload: save })}
          />
        )}
        {failed && <Failed task={failed} onEdit={draft && (() => onReuse(draft))} />}
        {!failed && !isRunning && !video && <Lost entry={entry} onRetry={draft && (() => onRetry(draft))} />}
      </div>
      <div className="flex grow flex-col gap-2 p-3">
        <p dir="auto" className="line-clamp-2 text-sm">
          {label}
        </p>
        <div className="mt-auto flex flex-wrap items-center gap-1.5">
          <Badge>{modelName(entry.model)}</Badge>
          {video && link.isUsable && <LinkBadge expiresAt={video.expiresAt} now={now} />}
          <span className="ml-auto flex">
            {save && link.isUsable && (
              <IconButton label="Download" onClick={save}>
                <Download aria-hidden />
              </IconButton>
            )}
            {video && <LastFrame task={video} />}
            {draft && (
              <IconButton label="Reuse settings" onClick={() => onReuse(draft)}>
                <RotateCcw aria-hidden />
              </IconButton>
            )}
            <Delete isRunning={isRunning} onRemove={onRemove} />
          </span>
        </div>
      </div>
    </article>
  );
}

function Running({ entry, order, usualMs }: Pick<TaskCardProps, "entry" | "order" | "usualMs">) {
  const poster = posterOf(order);
  const { share, text } = useProgress(entry, usualMs);
  const isOffline = useValue(isAway);
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
          className="absolute inset-0 animate-pulse bg-linear-to-br from-accent-soft to-hover"
        />
      )}
      <div className="absolute inset-x-0 bottom-0 flex flex-col gap-2 bg-linear-to-t from-black/80 to-black/0 p-3 pt-10 text-sm text-white">
        <p className="tabular-nums">{isOffline ? offlineVideoWords(entry.state === "created") : text}</p>
        <ProgressBar label="Progress" share={share} text={text} isOnPicture />
      </div>
    </>
  );
}

function Message({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="absolute inset-0 flex flex-col items-center justify-center-safe gap-2 overflow-y-auto p-4 text-center text-sm">
      <CircleAlert className="size-5 shrink-0 text-danger" aria-hidden />
      <p>
        <strong className="block font-medium">{title}</strong>
        <span className="line-clamp-3 text-muted">{children}</span>
      </p>
      {action}
    </div>
  );
}

function Failed({
  task,
  onEdit,
}: {
  task: Extract<VideoTask, { state: "failed" }>;
  onEdit: (() => void) | undefined;
}) {
  return (
    <Message title={VIDEO_FAILED} action={onEdit && <Button onClick={onEdit}>Edit and retry</Button>}>
      {task.reason ? redact(task.reason) : "Change the prompt, then try again."}
    </Message>
  );
}

/** A video that nobody knows about, or that is not checked any more. */
function Lost({ entry, onRetry }: { entry: VideoTaskEntry; onRetry: (() => void) | undefined }) {
  if (entry.handle) return <Unchecked id={entry.handle.id} error={entry.error} />;
  return (
    <Message
      title={LOST_VIDEO.title}
      action={onRetry && <Button onClick={({ detail }) => detail < 2 && onRetry()}>Retry anyway</Button>}
    >
      {LOST_VIDEO.hint}
    </Message>
  );
}

function Unchecked({ id, error }: { readonly id: string; readonly error: unknown }) {
  const { refetch } = useVideoTask({ taskId: id, ...videoOptions });
  const { title, hint } = useDescription(error);
  return (
    <Message title={title} action={<Button onClick={refetch}>Check again</Button>}>
      {hint}
    </Message>
  );
}

function LinkBadge({ expiresAt, now }: { readonly expiresAt: number | undefined; readonly now: number }) {
  if (expiresAt === undefined) return null;
  const left = expiresAt - now;
  return <Badge tone={left < 3_600_000 ? "warn" : "accent"}>{linkTimeWords(shortTime(left))}</Badge>;
}

/** The link of the frame that the video ends with, where one was asked for. The spec shows no field for it. */
function LastFrame({ task: { raw } }: { readonly task: SucceededVideoTask }) {
  const url = [raw, within(raw, "data"), within(within(raw, "data"), "data")]
    .map((one) => within(within(one, "content"), "last_frame_url"))
    .find((one): one is string => typeof one === "string" && /^https?:/.test(one));
  if (!url) return null;
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      aria-label="Last frame"
      data-tip="Last frame"
      className="control-square inline-flex items-center justify-center rounded-lg text-muted hover:bg-hover hover:text-ink"
    >
      <Film className="size-4.5" aria-hidden />
    </a>
  );
}

function within(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Deletes a video; asks before where it is still being made. */
function Delete({ isRunning, onRemove }: { readonly isRunning: boolean; readonly onRemove: () => void }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <IconButton label="Delete" onClick={() => (isRunning ? setAsking(true) : onRemove())}>
        <Trash2 aria-hidden />
      </IconButton>
      {isAsking && (
        <Dialog title="Delete this video?" isOpen onOpenChange={setAsking}>
          <div className="flex flex-col gap-4">
            <p className="text-sm">{DELETE_RUNNING}</p>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setAsking(false)}>Keep</Button>
              <Button
                look="danger"
                onClick={() => {
                  setAsking(false);
                  onRemove();
                }}
              >
                Delete
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

async function download({ url }: SucceededVideoTask, label: string, onGone: () => void): Promise<void> {
  const result = await downloadMedia(url, label);
  if (result === "expired") onGone();
  const words = downloadWords(result);
  if (words) toast(words);
}
