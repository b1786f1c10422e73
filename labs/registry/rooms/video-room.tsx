"use client";

import { estimateCost } from "@sluice/prices";
import { useVideoTask, useVideoTasks, type VideoTaskEntry } from "@sluice/react";
import { PromptForm } from "@/components/sluice/prompt-form";
import { useDraft } from "@/components/sluice/use-draft";
import { estimateTime, getVideoState } from "@/components/sluice/video-progress";
import { VideoTaskCard } from "@/components/sluice/video-task-card";
import { prices } from "./prices";
import { storage } from "./storage";

const options = { storage };
const parameters = { duration: 5, resolution: "720P" } as const;
const model = "beta3.0-video";

/** The room for videos. Each is a task that continues at the gateway without this page. */
export function VideoRoom() {
  const { draft: prompt, setDraft: setPrompt } = useDraft("video", "");
  const { create, reset, phase, error } = useVideoTask(options);
  const { tasks, remove } = useVideoTasks(options);
  const start = async () => {
    const { handle } = await create({ model, input: { prompt }, parameters }, { label: prompt });
    // the list has it from here on; the form is free for the next
    if (handle) reset();
  };
  return (
    <div className="flex grow flex-col gap-4 overflow-y-auto p-4">
      <PromptForm
        label="New video"
        placeholder="Describe a video"
        prompt={prompt}
        onPrompt={setPrompt}
        onSubmit={() => prompt.trim() !== "" && void start()}
        isBusy={phase === "uploading" || phase === "creating"}
        estimate={estimateCost({ model, parameters }, prices)}
        error={error}
        onDismiss={reset}
      />
      <ul
        aria-label="Videos"
        className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,20rem),1fr))] gap-4"
      >
        {tasks.map((entry) => (
          <li key={entry.key}>
            <Task
              entry={entry}
              usualMs={estimateTime(entry.model, tasks)}
              onReuse={() => setPrompt(entry.label ?? "")}
              onRemove={() => remove(entry.key)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface TaskProps {
  readonly entry: VideoTaskEntry;
  readonly usualMs: number | undefined;
  readonly onReuse: () => void;
  readonly onRemove: () => void;
}

function Task({ entry, ...rest }: TaskProps) {
  // only a task that is not checked any more is requested by its card
  const taskId = getVideoState(entry) === "unknown" ? entry.handle?.id : undefined;
  const { refetch } = useVideoTask({ taskId, ...options });
  return <VideoTaskCard entry={entry} onCheck={refetch} {...rest} />;
}
