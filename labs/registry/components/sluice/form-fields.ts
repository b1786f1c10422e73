import { type FieldName, fieldLabels } from "@/components/sluice/field-labels";

/** Parts that all kinds of fields have. */
interface FieldParts<Kind extends string, Value> {
  /** Kind of the field: it decides the control. */
  readonly kind: Kind;
  /** Key of the field's value in `FormValues`. */
  readonly name: FieldName;
  /** Path of the field in the request, as `Issue.path` has it. Media of a `content` list have the list's path. */
  readonly path: string;
  /** Label in words. */
  readonly label: string;
  /** Help in words; empty where the label says it all. */
  readonly hint: string;
  /** True for a field that few users need: show it below "Advanced". */
  readonly isAdvanced: boolean;
  /** False if the other values exclude the field. The request then omits its value. */
  readonly isShown: boolean;
  /** Value that the model uses for an absent field. Undefined if the spec shows no default: call it "Auto". */
  readonly default?: Value;
}

/** A text. */
export interface TextField extends FieldParts<"text", string> {
  /** Maximum number of characters. Absent if the spec shows no limit. */
  readonly maxLength?: number;
}

/** One choice of a {@link ChoiceField}. */
export interface FieldChoice {
  /** Value of the request. */
  readonly value: string;
  /** Label in words. */
  readonly label: string;
  /** Width in pixels, of a size. */
  readonly width?: number;
  /** Height in pixels, of a size. */
  readonly height?: number;
  /** Width to height in small numbers, of a size or ratio: `"16:9"`. Choices can be grouped by it. */
  readonly ratio?: string;
  /** Name of the amount of pixels, of a size: `"2K"`. Choices can be grouped by it. */
  readonly tier?: string;
}

/** One of a few values. */
export interface ChoiceField extends FieldParts<"choice", string> {
  /** The choices, in the order of the spec. Leaving the field out is one more: "Auto". */
  readonly choices: readonly FieldChoice[];
}

/** A number. */
export interface NumberField extends FieldParts<"number", number> {
  /** Minimum. Absent if the spec shows none. */
  readonly min?: number;
  /** Maximum. Absent if the spec shows none. */
  readonly max?: number;
  /** Distance between two numbers of a slider; 1 for whole numbers. */
  readonly step: number;
  /** Number that lets the model choose: -1. It is not between `min` and `max`. Undefined without such a number. */
  readonly auto?: number;
  /** Unit of the number: `"s"`. */
  readonly unit?: string;
}

/** A choice of on and off. Without a `default`, an absent value is a third state: the model decides. */
export interface SwitchField extends FieldParts<"switch", boolean> {}

/** A few texts. */
export interface ListField extends FieldParts<"list", readonly string[]> {
  /** Maximum number of texts. */
  readonly max: number;
}

/** Files of one role, as URLs. */
export interface MediaField extends FieldParts<"media", readonly string[]> {
  /** Kind of the files. */
  readonly media: "image" | "video" | "audio" | "file" | "link";
  /** Types for `accept` of a file input; empty where the model takes no files. */
  readonly accept: string;
  /** Maximum number of files. Absent if the spec shows no limit. */
  readonly max?: number;
}

/** Description of one field of a form. */
export type FormField = TextField | ChoiceField | NumberField | SwitchField | ListField | MediaField;

/** Value of a field; undefined leaves it to the model. */
export type FormValue = string | number | boolean | readonly string[] | undefined;

/**
 * Values of a form, by the names of the fields. Keep them when the model changes: the request omits the values that the
 * new model lacks.
 */
export type FormValues = Readonly<Partial<Record<FieldName, FormValue>>>;

/** Lists the URLs of a media field. */
export function listURLs(values: FormValues, name: FieldName): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value : [];
}

/** Path of a field in the request, and its unusual flags. */
interface FieldPosition {
  readonly path?: string;
  readonly isAdvanced?: boolean;
  readonly isShown?: boolean;
}

/** Creates the parts that all kinds of fields have. */
export function pickParts<Kind extends FormField["kind"]>(
  kind: Kind,
  name: FieldName,
  { path = name, isAdvanced = false, isShown = true }: FieldPosition = {},
) {
  return { kind, name, path, ...fieldLabels.fields[name], isAdvanced, isShown } as const;
}

/** Returns `{ default: value }`, or nothing for undefined. */
export function setDefault<Value>(value: Value | undefined): { readonly default?: Value } {
  return value === undefined ? {} : { default: value };
}

/** Returns the values for the request: of shown fields that are filled in. Omits choices that the model lacks. */
export function readValues(
  fields: readonly FormField[],
  values: FormValues,
): ReadonlyMap<FieldName, NonNullable<FormValue>> {
  const accepted = new Map<FieldName, NonNullable<FormValue>>();
  for (const field of fields) {
    const value = values[field.name];
    if (field.isShown && value !== undefined && fits(field, value)) accepted.set(field.name, value);
  }
  return accepted;
}

/** Checks a value by the kind of its field. */
function fits(field: FormField, value: NonNullable<FormValue>): boolean {
  switch (field.kind) {
    case "choice":
      return field.choices.some((choice) => choice.value === value);
    case "number":
      return typeof value === "number" && !Number.isNaN(value);
    case "switch":
      return typeof value === "boolean";
    case "text":
      return typeof value === "string" && value.trim() !== "";
    default:
      return Array.isArray(value) && value.length > 0;
  }
}

/** Sets a value of a request at its path. */
export function setAt(request: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.split(".");
  const last = names.pop() as string;
  let parent = request;
  for (const name of names) {
    parent[name] ??= {};
    parent = parent[name] as Record<string, unknown>;
  }
  parent[last] = value;
}
