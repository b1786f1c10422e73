"use client";

import { Camera, Globe, Volume2, WandSparkles } from "lucide-react";
import { Chip } from "@/components/sluice/button";
import type { FieldName } from "@/components/sluice/field-labels";
import type {
  ChoiceField,
  FieldChoice,
  FormField,
  FormValue,
  FormValues,
  SwitchField,
} from "@/components/sluice/form-fields";
import { formWords } from "@/components/sluice/form-words";

/** The fields of `createImageForm` or `createVideoForm`, and how they are filled in. */
export interface ShownForm {
  readonly values: FormValues;
  /** Fields that are shown. */
  readonly fields: readonly FormField[];
  /** Problem of each field that has one: `collectProblems`. */
  readonly problems: ReadonlyMap<FieldName, string>;
  readonly set: (name: FieldName, value: FormValue) => void;
}

export interface FormProps {
  readonly form: ShownForm;
}

/** Finds a field of a form that is shown. */
export function findField<Kind extends FormField["kind"]>(
  { fields }: Pick<ShownForm, "fields">,
  kind: Kind,
  name: FieldName,
): Extract<FormField, { kind: Kind }> | undefined {
  return fields.find(
    (field): field is Extract<FormField, { kind: Kind }> => field.kind === kind && field.name === name,
  );
}

/** Chips of the shape of an image or video: each ratio with a glyph, "Auto" first. */
export function ShapeChips({ form }: FormProps) {
  const sizes = findField(form, "choice", "size");
  const field = sizes ?? findField(form, "choice", "ratio");
  if (!field) return null;
  const chosen = field.choices.find(({ value }) => value === form.values[field.name]);
  // by default, "Auto" does the same as "Fit to input"
  const ratios = field.choices.filter(
    (choice, index) =>
      choice.value !== field.default &&
      field.choices.findIndex(({ ratio }) => ratio === choice.ratio) === index,
  );
  const pick = (choice: FieldChoice) => {
    const same = field.choices.filter(({ ratio }) => ratio === choice.ratio);
    form.set(field.name, (same.find(({ tier }) => tier === chosen?.tier) ?? choice).value);
  };
  return (
    <fieldset aria-label={formWords.shape} className="flex flex-wrap gap-2">
      <Chip isPressed={!chosen} onClick={() => form.set(field.name, undefined)}>
        {formWords.auto}
      </Chip>
      {ratios.map((choice) => (
        <Chip
          key={choice.value}
          isPressed={chosen !== undefined && chosen.ratio === choice.ratio}
          onClick={() => pick(choice)}
        >
          {choice.ratio && <Glyph ratio={choice.ratio} />}
          {choice.ratio ?? choice.label}
        </Chip>
      ))}
    </fieldset>
  );
}

/** Draws a small frame with the ratio. */
function Glyph({ ratio }: { readonly ratio: string }) {
  const [width = 1, height = 1] = ratio.split(":").map(Number);
  const scale = 14 / Math.max(width, height);
  return (
    <span aria-hidden className="flex size-4 items-center justify-center">
      <span
        className="rounded-[2px] border-[1.5px] border-current"
        style={{ width: width * scale, height: height * scale }}
      />
    </span>
  );
}

/** Chips of the resolution: of the sizes of the chosen shape, or of the model. */
export function ResolutionChips({ form }: FormProps) {
  const sizes = findField(form, "choice", "size");
  const field = sizes ?? findField(form, "choice", "resolution");
  const chosen = field?.choices.find(({ value }) => value === form.values[field.name]);
  if (!field || (sizes && !chosen)) return null;
  const choices = sizes ? field.choices.filter(({ ratio }) => ratio === chosen?.ratio) : field.choices;
  return (
    <fieldset aria-label={formWords.resolution} className="flex flex-wrap gap-2">
      {choices.map((choice) => {
        const isChosen = choice === (chosen ?? findDefault(field));
        return (
          <Chip
            key={choice.value}
            isPressed={isChosen}
            data-tip={sizes ? `${choice.width} × ${choice.height}` : undefined}
            onClick={() => form.set(field.name, choice.value)}
          >
            {choice.tier ?? choice.label}
          </Chip>
        );
      })}
    </fieldset>
  );
}

function findDefault(field: ChoiceField): FieldChoice | undefined {
  return field.choices.find(({ value }) => value === field.default);
}

const switchIcons: Partial<Record<FieldName, typeof Globe>> = {
  audio: Volume2,
  generate_audio: Volume2,
  prompt_extend: WandSparkles,
  camera_fixed: Camera,
  web_search: Globe,
};

/** Chips of the settings that are on or off. */
export function SwitchChips({ form }: FormProps) {
  const fields = form.fields.filter(
    (field): field is SwitchField => field.kind === "switch" && !field.isAdvanced,
  );
  if (fields.length === 0) return null;
  return (
    <fieldset aria-label={formWords.options} className="flex flex-wrap gap-2">
      {fields.map((field) => {
        const Icon = switchIcons[field.name];
        const isOn = Boolean(form.values[field.name] ?? field.default);
        return (
          <Chip
            key={field.name}
            isPressed={isOn}
            data-tip={field.hint || undefined}
            onClick={() => form.set(field.name, !isOn)}
          >
            {Icon && <Icon aria-hidden />}
            {field.label}
          </Chip>
        );
      })}
    </fieldset>
  );
}
