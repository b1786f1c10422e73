import type {
  ChoiceField,
  FieldChoice,
  FieldName,
  FormField,
  NumberField as NumberParts,
  SwitchField,
} from "@sluice/react/app";
import { Camera, Globe, SlidersHorizontal, Volume2, WandSparkles } from "lucide-react";
import { Chip, IconButton } from "@/components/sluice/button";
import { Field, NumberField, Slider, Switch } from "@/components/sluice/fields";
import { modelName } from "@/components/sluice/format";
import { Popover, Select } from "../ui/popups.js";
import type { FormControls, MediaForm } from "./use-media-form.js";

interface FormProps {
  readonly form: FormControls;
}

/** Finds a field of a form that is shown. */
export function fieldOf<Kind extends FormField["kind"]>(
  { fields }: Pick<FormControls, "fields">,
  kind: Kind,
  name: FieldName,
): Extract<FormField, { kind: Kind }> | undefined {
  return fields.find(
    (field): field is Extract<FormField, { kind: Kind }> => field.kind === kind && field.name === name,
  );
}

/** The model of the request. */
export function ModelSelect<Model extends string>({ form }: { readonly form: MediaForm<Model> }) {
  return (
    <Select
      label="Model"
      value={form.model}
      options={form.models.map((id) => ({ value: id, label: modelName(id), note: id }))}
      onChange={form.setModel}
      className="max-w-full min-w-0"
    />
  );
}

/** Chips of the shape of a picture or video: each ratio with a glyph, "Auto" first. */
export function ShapeChips({ form }: FormProps) {
  const sizes = fieldOf(form, "choice", "size");
  const field = sizes ?? fieldOf(form, "choice", "ratio");
  if (!field) return null;
  const chosen = field.choices.find(({ value }) => value === form.values[field.name]);
  // "Fit to input" is what "Auto" does where it is the default
  const ratios = field.choices.filter(
    (choice, at) =>
      choice.value !== field.default && field.choices.findIndex(({ ratio }) => ratio === choice.ratio) === at,
  );
  const pick = (choice: FieldChoice) => {
    const same = field.choices.filter(({ ratio }) => ratio === choice.ratio);
    form.set(field.name, (same.find(({ tier }) => tier === chosen?.tier) ?? choice).value);
  };
  return (
    <fieldset
      aria-label="Shape"
      className="-mx-4 flex min-w-0 gap-2 overflow-x-auto mask-x-from-[calc(100%-1rem)] px-4 py-1"
    >
      <Chip isPressed={!chosen} onClick={() => form.set(field.name, undefined)}>
        Auto
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

/** A small frame of the ratio. */
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
  const sizes = fieldOf(form, "choice", "size");
  const field = sizes ?? fieldOf(form, "choice", "resolution");
  const chosen = field?.choices.find(({ value }) => value === form.values[field.name]);
  if (!field || (sizes && !chosen)) return null;
  const choices = sizes ? field.choices.filter(({ ratio }) => ratio === chosen?.ratio) : field.choices;
  return (
    <fieldset aria-label="Resolution" className="flex flex-wrap gap-2">
      {choices.map((choice) => {
        const isChosen = choice === (chosen ?? defaultOf(field));
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

function defaultOf(field: ChoiceField): FieldChoice | undefined {
  return field.choices.find(({ value }) => value === field.default);
}

/** The length of a video: a slider, and "Auto" where the model can choose. */
export function LengthSlider({ form }: FormProps) {
  const field = fieldOf(form, "number", "duration");
  if (field?.min === undefined || field.max === undefined) return null;
  const { min, max, auto } = field;
  const value = form.values.duration;
  const isAuto = auto === undefined ? value === undefined && field.default === undefined : value === auto;
  const seconds = typeof value === "number" && value !== auto ? value : (field.default ?? min);
  const problem = form.problems.get("duration");
  return (
    <div className="flex grow basis-64 items-end gap-3">
      <div className="grow">
        <Slider
          label={field.label}
          value={seconds}
          min={min}
          max={max}
          format={(shown) => (isAuto ? "Auto" : `${shown} s`)}
          onChange={(chosen) => form.set("duration", chosen)}
        />
        {problem && <p className="text-xs text-danger">{problem}</p>}
      </div>
      {(auto !== undefined || field.default === undefined) && (
        <Chip aria-label="Auto length" isPressed={isAuto} onClick={() => form.set("duration", auto)}>
          Auto
        </Chip>
      )}
    </div>
  );
}

const switchIcons: Partial<Record<FieldName, typeof Globe>> = {
  audio: Volume2,
  generate_audio: Volume2,
  prompt_extend: WandSparkles,
  camera_fixed: Camera,
  web_search: Globe,
};

/** Chips of what can be on or off. */
export function SwitchChips({ form }: FormProps) {
  const fields = form.fields.filter(
    (field): field is SwitchField =>
      field.kind === "switch" && !field.isAdvanced && field.name !== "sequential_image_generation",
  );
  if (fields.length === 0) return null;
  return (
    <fieldset aria-label="Options" className="flex flex-wrap gap-2">
      {fields.map((field) => {
        const Icon = switchIcons[field.name];
        const isOn = isOnIn(form, field);
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

function isOnIn({ values }: FormControls, { name, default: own }: SwitchField): boolean {
  const value = values[name];
  return typeof value === "boolean" ? value : (own ?? false);
}

/** A button with the settings that few people need. */
export function MoreSettings({ form }: FormProps) {
  const fields = form.fields.filter(({ isAdvanced }) => isAdvanced);
  if (fields.length === 0) return null;
  return (
    <Popover
      title="More settings"
      trigger={
        <IconButton label="More settings">
          <SlidersHorizontal aria-hidden />
        </IconButton>
      }
    >
      {fields.map((field) =>
        field.kind === "switch" ? (
          <Switch
            key={field.name}
            label={field.label}
            checked={isOnIn(form, field)}
            onChange={(isOn) => form.set(field.name, isOn)}
          />
        ) : (
          field.kind === "number" && <NumberSetting key={field.name} field={field} form={form} />
        ),
      )}
    </Popover>
  );
}

function NumberSetting({ field, form }: FormProps & { readonly field: NumberParts }) {
  const value = form.values[field.name];
  const problem = form.problems.get(field.name);
  return (
    <Field label={field.label} hint={field.hint} issues={problem ? [problem] : []}>
      <NumberField
        value={typeof value === "number" ? value : undefined}
        placeholder={field.name === "seed" ? "Random" : "Auto"}
        step={field.step}
        {...(field.min !== undefined && { min: field.min })}
        {...(field.max !== undefined && { max: field.max })}
        onChange={(number) => form.set(field.name, number)}
      />
    </Field>
  );
}
