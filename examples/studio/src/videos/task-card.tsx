import { redact, type SucceededVideoTask, type VideoTask, type VideoTaskEntry } from "@sluice/core";
import type { VideoModel } from "@sluice/core/schemas";
import { useVideoTask } from "@sluice/react";
import { describeError, downloadMedia } from "@sluice/react/app";
import { CircleAlert, Download, Film, RotateCcw, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { videoOptions } from "../client.js";
import type { MediaDraft } from "../media/use-media-form.js";
import { modelName, shortTime } from "../media/words.js";
import { isAway } from "../server.js";
import { Badge, Button, IconButton, ProgressBar } from "../ui/button.js";
import { Dialog, toast } from "../ui/popups.js";
import { useNow, useValue } from "../value.js";
import { type Order, posterOf, useProgress } from "./orders.js";
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
  const [isGone, setGone] = useState(false);
  const { task, label = entry.model, state } = entry;
  const video = task?.state === "succeeded" ? task : undefined;
  const failed = task?.state === "failed" ? task : undefined;
  const isRunning = !video && !failed && !entry.error && state !== "unconfirmed";
  const isOver = isGone || (video?.expiresAt !== undefined && video.expiresAt <= now);
  const draft = order?.draft;
  return (
    <article aria-label={label} className="flex h-full flex-col overflow-hidden rounded-xl border bg-raised">
      <p role="status" className="sr-only">
        {video ? "Done" : isRunning ? "Making your video" : "Failed"}
      </p>
      <div className="relative aspect-video overflow-hidden bg-sunken">
        {isRunning && <Running entry={entry} order={order} usualMs={usualMs} />}
        {video && (
          <Player
            video={video}
            label={label}
            poster={posterOf(order)}
            isOver={isOver}
            onGone={() => setGone(true)}
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
          {video && !isOver && <LinkBadge expiresAt={video.expiresAt} now={now} />}
          <span className="ml-auto flex">
            {video && !isOver && (
              <IconButton label="Download" onClick={() => void download(video, label, () => setGone(true))}>
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
        <p className="tabular-nums">{isOffline ? "Offline. It goes on later." : text}</p>
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
    <Message title="The video failed" action={onEdit && <Button onClick={onEdit}>Edit and retry</Button>}>
      {task.reason ? redact(task.reason) : "Change the prompt, then try again."}
    </Message>
  );
}

/** A video that nobody knows about, or that is not checked any more. */
function Lost({ entry, onRetry }: { entry: VideoTaskEntry; onRetry: (() => void) | undefined }) {
  if (entry.handle) return <Unchecked id={entry.handle.id} error={entry.error} />;
  return (
    <Message
      title="We lost the connection"
      action={onRetry && <Button onClick={({ detail }) => detail < 2 && onRetry()}>Retry anyway</Button>}
    >
      You may have been charged. A retry may cost twice.
    </Message>
  );
}

function Unchecked({ id, error }: { readonly id: string; readonly error: unknown }) {
  const { refetch } = useVideoTask({ taskId: id, ...videoOptions });
  const { title, hint } = describeError(error);
  return (
    <Message title={title} action={<Button onClick={refetch}>Check again</Button>}>
      {hint}
    </Message>
  );
}

function LinkBadge({ expiresAt, now }: { readonly expiresAt: number | undefined; readonly now: number }) {
  if (expiresAt === undefined) return null;
  const left = expiresAt - now;
  return <Badge tone={left < 3_600_000 ? "warn" : "accent"}>{`Saved link · ${shortTime(left)}`}</Badge>;
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
            <p className="text-sm">It is still being made, and you still pay for it.</p>
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
  if ((await downloadMedia(url, label)) !== "expired") return;
  onGone();
  toast("No longer available");
}
