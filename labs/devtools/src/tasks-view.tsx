import { parseVideoTask } from "@sluice/core";
import { isCreatePath, parseJSON } from "@sluice/core/extend";
import type { CallRecord, RecordingSnapshot } from "./recording.js";
import { formatDuration, formatTime } from "./texts.js";

/** Video tasks and asset lookups, by the path of their polls. */
export function TasksView({ recorded }: { readonly recorded: RecordingSnapshot }) {
  const tasks = new Map<string, CallRecord[]>();
  for (const call of recorded.calls) {
    if (!["video", "asset"].includes(call.kind) || isCreatePath(call.path)) continue;
    const path = call.path.replace(/\/events$/, "");
    tasks.set(path, [...(tasks.get(path) ?? []), call]);
  }
  if (tasks.size === 0) return <p>No task has been polled yet.</p>;
  return (
    <table aria-label="Tasks">
      <thead>
        <tr>
          <th>Task</th>
          <th>State</th>
          <th>Polls</th>
          <th>Last poll</th>
        </tr>
      </thead>
      <tbody>
        {[...tasks].map(([path, [last, ...earlier]]) => (
          <tr key={path}>
            <td>{decodeURIComponent(path.split("/").at(-1) ?? path)}</td>
            <td>{last && readState(last)}</td>
            <td>{earlier.length + 1}</td>
            <td>
              {last && formatTime(last.startedAt)}
              {last?.end && `, ${formatDuration(last.end.durationMs)}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Reads the state from the response if the client has a tap, else from the outcome of the poll. */
function readState({ requests, end }: CallRecord): string {
  try {
    const task = parseVideoTask(parseJSON(requests.at(-1)?.frames.at(-1)?.text ?? ""));
    return task.progress === undefined ? task.state : `${task.state}, ${Math.round(task.progress * 100)} %`;
  } catch {
    return end?.outcome ?? "in flight";
  }
}
