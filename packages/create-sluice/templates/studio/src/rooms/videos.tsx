import {
  describeError,
  indexedDBStorage,
  useVideoTask,
  useVideoTasks,
  type VideoTaskEntry,
} from "@sluice/react";
import type { SubmitEvent } from "react";

const model = "beta3.0-video";
const parameters = { duration: 5, resolution: "720P" } as const;
const options = { storage: indexedDBStorage() };

/** The room for videos. A video is a task that continues at the gateway while the page is closed. */
export function Videos() {
  const { create, reset, phase, error } = useVideoTask(options);
  const { tasks, remove } = useVideoTasks(options);
  const isBusy = phase === "creating" || phase === "uploading";

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (isBusy) return;
    const prompt = String(new FormData(event.currentTarget).get("prompt"));
    const { handle } = await create({ model, input: { prompt }, parameters }, { label: prompt });
    // the list shows the task from here on
    if (handle) reset();
  }

  return (
    <main>
      <form onSubmit={submit}>
        <input name="prompt" aria-label="Describe a video" placeholder="Describe a video" required />
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Sending …" : "Generate"}
        </button>
      </form>
      {error && (
        <p role="alert">
          <strong>{describeError(error).title}</strong> {describeError(error).hint}
        </p>
      )}
      <ol aria-label="Videos">
        {tasks.map((entry) => (
          <li key={entry.key}>
            <Video entry={entry} />
            <p dir="auto">{entry.label}</p>
            <button type="button" onClick={() => remove(entry.key)}>
              Delete
            </button>
          </li>
        ))}
      </ol>
    </main>
  );
}

function Video({ entry: { task, state, error } }: { entry: VideoTaskEntry }) {
  if (task?.state === "succeeded") return <video src={task.url} controls muted aria-label="The video" />;
  if (task?.state === "failed") return <p>The video failed. {task.reason}</p>;
  if (state === "unconfirmed") return <p>No response came back. You may have been charged.</p>;
  if (error) return <p>{describeError(error).title}</p>;
  return <p role="status">Making your video … {Math.round((task?.progress ?? 0) * 100)} %</p>;
}
