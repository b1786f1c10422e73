import type { NamedRecording } from "./folder.js";
import type { RecordedRequest } from "./recording.js";

const MAX_VALUE_CHARACTERS = 60;
/** Maximum number of differences in a message. */
const MAX_SHOWN = 3;

/** Returns a key of a request. Requests that differ only in the order of their fields have the same key. */
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
    .map(({ name, recording }) => ({
      name,
      differences: listDifferences(recording.request.body, request.body),
    }))
    .sort((a, b) => a.differences.length - b.differences.length);
  if (!nearest) return undefined;
  const { name, differences } = nearest;
  const more = differences.length > MAX_SHOWN ? `; and ${differences.length - MAX_SHOWN} more` : "";
  return `${name} differs: ${differences.slice(0, MAX_SHOWN).join("; ")}${more}`;
}

function listDifferences(recorded: unknown, current: unknown, path = "body"): string[] {
  if (isObjectOrArray(recorded) && isObjectOrArray(current)) {
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
  if (!isObjectOrArray(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortFields(value[name])]));
}

function isObjectOrArray(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
