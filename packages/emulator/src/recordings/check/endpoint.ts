import type { Recording } from "../recording.js";

const TASK = /^(\/v1\/video\/generations|\/epsilon\/v1\/videos)\/([^/?]+)$/;
const creations = ["text2video", "image2video", "multi-image2video"];

/** Returns the endpoint of a recording, with `{id}` in place of a task's id, and the model that it concerns. */
export function endpointOf({ request }: Recording, models: ReadonlyMap<string, string>) {
  const path = request.path.replace(/\?.*/, "");
  const [, start, id = ""] = TASK.exec(path) ?? [];
  if (start === undefined || creations.includes(id))
    return { endpoint: `${request.method} ${path}`, model: stringAt(request.body, "model") };
  return { endpoint: `${request.method} ${start}/{id}`, model: models.get(id) ?? "" };
}

/** Finds the model of each video task in the recordings of their creations. */
export function modelsByTask(recordings: readonly Recording[]): ReadonlyMap<string, string> {
  return new Map(
    recordings.map(({ request, response }) => [
      stringAt(response.body, "id"),
      stringAt(request.body, "model"),
    ]),
  );
}

function stringAt(value: unknown, field: string): string {
  const found = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const [, text] = found.find(([name]) => name === field) ?? [];
  return typeof text === "string" ? text : "";
}
