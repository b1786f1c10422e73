import type { Issue } from "@sluice/core";
import type { FieldName, FormField } from "@sluice/react/app";

/** The first problem of each field, in words for people. */
export type Problems = ReadonlyMap<FieldName, string>;

/** Words for rules that are about several fields, or about none. */
const words: readonly (readonly [rule: RegExp, field: FieldName, text: string])[] = [
  [/prompt-required|content-empty/, "prompt", "Add a prompt or a picture."],
  [/prompt-empty|one-text|\.text$/, "prompt", "Add a prompt."],
  [/last-frame-needs-first/, "first_frame", "Add a first frame, too."],
  [/audio-needs-picture/, "reference_audio", "Add a picture or a video, too."],
  [/one-image|first-frame-count/, "first_frame", "Use one picture."],
  [/last-frame-count/, "last_frame", "Use one picture."],
  [/reference-video\.seconds-in-all/, "reference_video", "All videos: 15 s at most."],
  [/reference-audio\.seconds-in-all/, "reference_audio", "All sounds: 15 s at most."],
  [/input-and-output-seconds/, "duration", "Video and references: 30 s at most."],
];

/**
 * Finds the field of each issue and says what to do, in our own words.
 *
 * @param fields the form that made the request
 * @param media names of the media fields, one for each item of the request's list
 * @param textItems number of items of the list before the media
 */
export function problemsOf(
  issues: readonly Issue[],
  fields: readonly FormField[],
  media: readonly FieldName[],
  textItems: number,
): Problems {
  const problems = new Map<FieldName, string>();
  for (const issue of issues) {
    const [name, text] = problemOf(issue);
    if (!problems.has(name)) problems.set(name, text);
  }
  return problems;

  function problemOf({ path, rule }: Issue): readonly [FieldName, string] {
    const place = /^(?:input\.media|content)\.(\d+)/.exec(path)?.[1];
    const item = place === undefined ? undefined : media[Number(place) - textItems];
    if (item) return [item, fileProblem(rule)];
    const known = words.find(([pattern]) => pattern.test(rule));
    if (known) return [known[1], known[2]];
    const field = fields.find((one) => one.isShown && (path === one.path || path.startsWith(`${one.path}.`)));
    return field ? [field.name, fieldProblem(field)] : ["prompt", "This model does not take this."];
  }
}

/** Says what is wrong with a file. */
export function fileProblem(rule: string): string {
  if (/\.bytes$/.test(rule)) return "This file is too large.";
  if (/\.(side|aspect-ratio|alpha)$/.test(rule)) return "This picture has the wrong size.";
  if (/\.seconds$/.test(rule)) return "It must take 1 to 15 seconds.";
  if (/\.(format|unreadable)$/.test(rule)) return "This file can't be used.";
  return "Use a public link: https://…";
}

function fieldProblem(field: FormField): string {
  if (field.kind === "media") return "Use a link: https://…";
  if (field.kind === "text")
    return field.maxLength ? `At most ${field.maxLength} characters.` : "Add a text.";
  if (field.kind !== "number") return "Choose another value.";
  const { min, max, unit = "" } = field;
  if (min !== undefined && max !== undefined) return `From ${min} to ${max} ${unit}`.trim();
  return min === undefined ? "Use a whole number." : `At least ${min}.`;
}
