import type { VideoTaskEntry } from "@sluice/core";
import { useVideoTasks } from "@sluice/react";
import { LoaderCircle } from "lucide-react";
import { useEffect, useRef } from "react";
import { registrations } from "../assets/registered.js";
import { videoOptions } from "../client.js";
import { hrefOf, useRoute } from "../routes.js";
import { Button } from "../ui/button.js";
import { Popover } from "../ui/popups.js";
import { toast } from "../ui/toast.js";
import { useValue } from "../value.js";

/** The tasks that run at the gateway. */
export function Tray() {
  const { tasks } = useVideoTasks(videoOptions);
  const running = tasks.filter(isRunning);
  const sending = useValue(registrations).filter(({ state }) => state === "sending");
  const count = running.length + sending.length;
  if (count === 0) return null;
  return (
    <Popover
      title="Running tasks"
      align="end"
      trigger={
        <Button look="quiet">
          <LoaderCircle aria-hidden className="animate-spin text-accent" />
          {count} running
        </Button>
      }
    >
      <ul className="flex flex-col gap-3">
        {running.map(({ key, label, model, task }) => (
          <li key={key} className="flex flex-col gap-1 text-sm">
            <span className="truncate">{label ?? model}</span>
            <progress
              aria-label={`Progress of ${label ?? model}`}
              value={task?.progress}
              className="h-1.5 w-full accent-accent"
            />
          </li>
        ))}
        {sending.map(({ id, name }) => (
          <li key={id} className="truncate text-sm">
            {name} · Registering…
          </li>
        ))}
      </ul>
      <a className="text-sm text-accent underline-offset-4 hover:underline" href={hrefOf({ room: "videos" })}>
        Show all videos
      </a>
    </Popover>
  );
}

function isRunning({ state, task }: VideoTaskEntry): boolean {
  return (
    state === "submitting" || (state === "created" && task?.state !== "succeeded" && task?.state !== "failed")
  );
}

/** Says when a task has ended, unless the videos are on screen. */
export function TaskNotices() {
  const { tasks } = useVideoTasks(videoOptions);
  const { room } = useRoute();
  const running = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const ended = tasks.filter((entry) => running.current.has(entry.key) && !isRunning(entry));
    running.current = new Set(tasks.filter(isRunning).map(({ key }) => key));
    if (room === "videos") return;
    for (const { label, task } of ended)
      toast(task?.state === "succeeded" ? `Video ready: ${label ?? ""}` : "A video failed");
  }, [tasks, room]);
  return null;
}
