import type { NamedRecording } from "./folder.js";
import type { RecordedRequest } from "./recording.js";

const LONGEST_VALUE = 60;

/** Returns a text that is equal for requests which are equal but for the order of their fields. */
export function keyOf({ method, path, body }: RecordedRequest): string {
  return `${method} ${path} ${JSON.stringify(sorted(body)) ?? ""}`;
}

/** Finds the recording that is most like a request, and says where it differs. Undefined if none has its method and path. */
export function nearestTo(
  request: RecordedRequest,
  recordings: readonly NamedRecording[],
): string | undefined {
  const [nearest] = recordings
    .filter(
      ({ recording }) =>
        recording.request.method === request.method && recording.request.path === request.path,
    )
    .map(({ name, recording }) => ({ name, found: differences(recording.request.body, request.body) }))
    .sort((a, b) => a.found.length - b.found.length);
  if (!nearest) return undefined;
  const shown = nearest.found.slice(0, 3).join("; ");
  const more = nearest.found.length > 3 ? `; and ${nearest.found.length - 3} more` : "";
  return `${nearest.name} differs: ${shown}${more}`;
}

function differences(recorded: unknown, asked: unknown, path = "body"): string[] {
  if (isObject(recorded) && isObject(asked)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(asked)]);
    return [...names].flatMap((name) => {
      const place = path === "body" ? name : `${path}.${name}`;
      return differences(recorded[name], asked[name], place);
    });
  }
  if (JSON.stringify(recorded) === JSON.stringify(asked)) return [];
  return [`${path} was ${shownAs(recorded)}, is ${shownAs(asked)}`];
}

function shownAs(value: unknown): string {
  const text = value === undefined ? "absent" : JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
