import { useStore } from "@nanostores/react";
import { useImages, useVideoTasks, type VideoTaskEntry } from "@sluice/react";
import { LoaderCircle } from "lucide-react";
import { useEffect, useRef } from "react";
import { Button, ProgressBar } from "@/components/sluice/button";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { useProgress, usualTimeOf, videoStateOf } from "@/components/sluice/video-progress";
import { registrations } from "../assets/registered.js";
import { videoOptions } from "../client.js";
import { IMAGE_STORE } from "../images/gallery.js";
import { busyWords, videoNotice } from "../room-words.js";
import { hrefOf, useRoute } from "../rooms.js";
import { Popover, toast } from "../ui/popups.js";
import { deleted } from "../videos/orders.js";

/** The tasks that run at the gateway. */
export function Tray() {
  const { tasks } = useVideoTasks(videoOptions);
  const hidden = useStore(deleted);
  const running = tasks.filter((entry) => isRunning(entry) && !hidden.has(entry.key));
  const sending = useStore(registrations).filter(({ state }) => state === "sending");
  const images = useImageRequest();
  const count = running.length + sending.length + (images.status === "pending" ? 1 : 0);
  if (count === 0) return null;
  return (
    <Popover
      title="Running tasks"
      align="end"
      trigger={
        <Button look="quiet" className="-outline-offset-2">
          <LoaderCircle aria-hidden className="animate-spin text-accent" />
          {count} running
        </Button>
      }
    >
      <ul className="flex flex-col gap-3">
        {running.map((entry) => (
          <RunningVideo key={entry.key} entry={entry} usualMs={usualTimeOf(entry.model, tasks)} />
        ))}
        {images.status === "pending" && (
          <li className="truncate text-sm">
            {images.variables?.prompt || "Image"} · {busyWords.images}…
          </li>
        )}
        {sending.map(({ id, name }) => (
          <li key={id} className="truncate text-sm">
            {name} · {busyWords.asset}…
          </li>
        ))}
      </ul>
      <a
        className="control flex items-center text-sm text-accent underline-offset-4 hover:underline"
        href={hrefOf({ room: "videos" })}
      >
        Show all videos
      </a>
    </Popover>
  );
}

interface RunningVideoProps {
  readonly entry: VideoTaskEntry;
  readonly usualMs: number | undefined;
}

function RunningVideo({ entry, usualMs }: RunningVideoProps) {
  const { share, text } = useProgress(entry, usualMs);
  const name = entry.label ?? entry.model;
  return (
    <li className="flex flex-col gap-1 text-sm">
      <span className="truncate">{name}</span>
      <span className="text-xs text-muted tabular-nums">{text}</span>
      <ProgressBar label={`Progress of ${name}`} share={share} text={text} />
    </li>
  );
}

function isRunning({ state, task }: VideoTaskEntry): boolean {
  return (
    state === "submitting" || (state === "created" && task?.state !== "succeeded" && task?.state !== "failed")
  );
}

/**
 * Warns before the page is left while a request is in flight that would be billed and lost, in whatever room. A room
 * that is not on screen has no effects, so that it can't warn itself. Says when a task has ended.
 */
export function Tasks() {
  const { tasks } = useVideoTasks(videoOptions);
  const { status } = useImageRequest();
  const isSending = useStore(registrations).some(({ state }) => state === "sending");
  const isCreating = tasks.some(({ state }) => state === "submitting");
  useLeaveWarning(status === "pending" || isCreating || isSending);
  useTaskNotices(tasks);
  return null;
}

/** The request for images that was sent last. Any model will do: only the state is read. */
function useImageRequest() {
  return useImages({ id: IMAGE_STORE, model: "gamma-image-5-0-260128" });
}

/** Says when a task has ended, unless the videos are on screen. */
function useTaskNotices(tasks: readonly VideoTaskEntry[]): void {
  const { room } = useRoute();
  const running = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const ended = tasks.filter((entry) => running.current.has(entry.key) && !isRunning(entry));
    running.current = new Set(tasks.filter(isRunning).map(({ key }) => key));
    if (room === "videos") return;
    for (const entry of ended) {
      const state = videoStateOf(entry);
      if (state !== "running" && !deleted.get().has(entry.key))
        toast(videoNotice(state, entry.label ?? entry.model));
    }
  }, [tasks, room]);
}
