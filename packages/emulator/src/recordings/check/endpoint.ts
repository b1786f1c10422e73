import type { Recording } from "../recording.js";

const TASK = /^(\/v1\/video\/generations|\/epsilon\/v1\/videos)\/([^/?]+)$/;
const creations = ["text2video", "image2video", "multi-image2video"];

/** Returns the model of a recording, and its endpoint with `{id}` in place of a task's id. */
export function findEndpoint({ request }: Recording, models: ReadonlyMap<string, string>) {
  const path = request.path.replace(/\?.*/, "");
  const [, start, id = ""] = TASK.exec(path) ?? [];
  if (start === undefined || creations.includes(id))
    return { endpoint: `${request.method} ${path}`, model: readString(request.body, "model") };
  return { endpoint: `${request.method} ${start}/{id}`, model: models.get(id) ?? "" };
}

/** Finds the model of each video task, from the recordings of their creation. */
export function findModelsByTask(recordings: readonly Recording[]): ReadonlyMap<string, string> {
  return new Map(
    recordings.map(({ request, response }) => [
      readString(response.body, "id"),
      readString(request.body, "model"),
    ]),
  );
}

function readString(value: unknown, field: string): string {
  const found = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const [, text] = found.find(([name]) => name === field) ?? [];
  return typeof text === "string" ? text : "";
}
