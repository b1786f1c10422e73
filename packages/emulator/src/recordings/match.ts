import type { NamedRecording } from "./folder.js";
import type { RecordedRequest } from "./recording.js";

const MAX_VALUE_CHARACTERS = 60;

/** Returns the same text for requests that differ only in the order of their fields. */
export function computeKey({ method, path, body }: RecordedRequest): string {
  return `${method} ${path} ${JSON.stringify(sortFields(body)) ?? ""}`;
}

/** Finds the recording most similar to a request, with the differences. Undefined if none has its method and path. */
export function findNearest(
  request: RecordedRequest,
  recordings: readonly NamedRecording[],
): string | undefined {
  const [nearest] = recordings
    .filter(
      ({ recording }) =>
        recording.request.method === request.method && recording.request.path === request.path,
    )
    .map(({ name, recording }) => ({ name, found: listDifferences(recording.request.body, request.body) }))
    .sort((a, b) => a.found.length - b.found.length);
  if (!nearest) return undefined;
  const shown = nearest.found.slice(0, 3).join("; ");
  const more = nearest.found.length > 3 ? `; and ${nearest.found.length - 3} more` : "";
  return `${nearest.name} differs: ${shown}${more}`;
}

function listDifferences(recorded: unknown, current: unknown, path = "body"): string[] {
  if (isObject(recorded) && isObject(current)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(current)]);
    return [...names].flatMap((name) => {
      const fieldPath = path === "body" ? name : `${path}.${name}`;
      return listDifferences(recorded[name], current[name], fieldPath);
    });
  }
  if (JSON.stringify(recorded) === JSON.stringify(current)) return [];
  return [`${path} was ${formatValue(recorded)}, is ${formatValue(current)}`];
}

function formatValue(value: unknown): string {
  const text = value === undefined ? "absent" : JSON.stringify(value);
  return text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : text;
}

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortFields(value[name])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
