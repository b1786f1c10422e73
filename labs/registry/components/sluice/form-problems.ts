import type { Issue } from "@sluice/core";
import type { FieldName } from "@/components/sluice/field-labels";
import type { FormField } from "@/components/sluice/form-fields";
import { problemWords } from "@/components/sluice/form-words";

/** The first problem of each field, for its user. */
export type Problems = ReadonlyMap<FieldName, string>;

/** Fields and texts for rules about several fields, or about none. */
const rules: readonly (readonly [rule: RegExp, field: FieldName, text: string])[] = [
  [/prompt-required|content-empty/, "prompt", problemWords.promptOrImage],
  [/prompt-empty|one-text|\.text$/, "prompt", problemWords.prompt],
  [/last-frame-needs-first/, "first_frame", problemWords.firstFrame],
  [/audio-needs-image/, "reference_audio", problemWords.imageForSound],
  [/one-image|first-frame-count/, "first_frame", problemWords.oneImage],
  [/last-frame-count/, "last_frame", problemWords.oneImage],
  [/reference-video\.seconds-in-all/, "reference_video", problemWords.videoSeconds],
  [/reference-audio\.seconds-in-all/, "reference_audio", problemWords.soundSeconds],
  [/input-and-output-seconds/, "duration", problemWords.allSeconds],
];

/**
 * Finds the field of each issue and says what to do.
 *
 * @param fields the form that made the request
 * @param media names of the media fields, one for each item of the request's list
 * @param textItems number of items of the list before the media
 */
export function collectProblems(
  issues: readonly Issue[],
  fields: readonly FormField[],
  media: readonly FieldName[],
  textItems: number,
): Problems {
  const problems = new Map<FieldName, string>();
  for (const issue of issues) {
    const [name, text] = describeProblem(issue);
    if (!problems.has(name)) problems.set(name, text);
  }
  return problems;

  function describeProblem({ path, rule }: Issue): readonly [FieldName, string] {
    const index = /^(?:input\.media|content)\.(\d+)/.exec(path)?.[1];
    const item = index === undefined ? undefined : media[Number(index) - textItems];
    if (item) return [item, describeFileProblem(rule)];
    const [, ruleField, ruleText] = rules.find(([pattern]) => pattern.test(rule)) ?? [];
    if (ruleField && ruleText) return [ruleField, ruleText];
    const field = fields.find(
      (shown) => shown.isShown && (path === shown.path || path.startsWith(`${shown.path}.`)),
    );
    return field ? [field.name, describeField(field)] : ["prompt", problemWords.notTaken];
  }
}

/** Describes the problem of a file. */
export function describeFileProblem(rule: string): string {
  if (/\.bytes$/.test(rule)) return problemWords.tooLarge;
  if (/\.(side|aspect-ratio|alpha)$/.test(rule)) return problemWords.wrongSize;
  if (/\.seconds$/.test(rule)) return problemWords.fileSeconds;
  if (/\.(format|unreadable)$/.test(rule)) return problemWords.unusable;
  return problemWords.publicLink;
}

function describeField(field: FormField): string {
  if (field.kind === "media") return problemWords.link;
  if (field.kind === "text")
    return field.maxLength ? problemWords.characters(field.maxLength) : problemWords.text;
  if (field.kind !== "number") return problemWords.otherValue;
  const { min, max, unit = "" } = field;
  if (min !== undefined && max !== undefined) return problemWords.between(min, max, unit);
  return min === undefined ? problemWords.wholeNumber : problemWords.atLeast(min);
}
