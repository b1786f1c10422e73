import { chatModelInfo, type FormField, type FormValue, type FormValues } from "@sluice/react/app";
import { ChevronRight } from "lucide-react";
import { Field, NumberField, Slider, Switch, TextArea, TextInput } from "../ui/fields.js";
import { Select } from "../ui/popups.js";
import { TOOLS_UNLISTED } from "../words.js";
import type { ChatSettings } from "./settings.js";

interface ParametersProps {
  readonly settings: ChatSettings;
  readonly onChange: (changes: Partial<ChatSettings>) => void;
}

/** The settings that the model has, made from its table. */
export function Parameters({ settings, onChange }: ParametersProps) {
  const { model, values, offersTools, wantsJSON, instructions } = settings;
  const { fields, tools, hasJSONMode } = chatModelInfo(model, values);
  const shown = fields.filter(({ isShown }) => isShown);
  const controls = (isAdvanced: boolean) =>
    shown
      .filter((field) => field.isAdvanced === isAdvanced)
      .map((field) => (
        <Control
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value) => onChange({ values: { ...values, [field.name]: value } as FormValues })}
        />
      ));
  return (
    <>
      <Switch
        label="Tools"
        checked={offersTools && tools !== "no"}
        disabled={tools === "no"}
        onChange={(isOn) => onChange({ offersTools: isOn })}
      />
      {tools === "unlisted" && offersTools && <p className="-mt-3 text-xs text-muted">{TOOLS_UNLISTED}</p>}
      {controls(false)}
      {hasJSONMode && (
        <Switch label="JSON mode" checked={wantsJSON} onChange={(isOn) => onChange({ wantsJSON: isOn })} />
      )}
      <details className="group flex flex-col gap-4">
        <summary className="control flex list-none items-center gap-1 rounded-lg text-sm text-muted hover:text-ink">
          <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
          Advanced
        </summary>
        <div className="flex flex-col gap-4 pt-2">
          {controls(true)}
          <Field label="Instructions" hint="The model reads them first.">
            <TextArea
              value={instructions}
              placeholder="You are brief."
              onChange={({ target }) => onChange({ instructions: target.value })}
            />
          </Field>
        </div>
      </details>
    </>
  );
}

interface ControlProps {
  readonly field: FormField;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
}

function Control({ field, value, onChange }: ControlProps) {
  const { label, hint } = field;
  switch (field.kind) {
    case "switch":
      return <Switch label={label} checked={Boolean(value ?? field.default)} onChange={onChange} />;
    case "choice":
      return (
        <Field label={label}>
          <Select
            value={typeof value === "string" ? value : ""}
            options={[{ value: "", label: "Auto" }, ...field.choices]}
            onChange={(chosen) => onChange(chosen || undefined)}
          />
        </Field>
      );
    case "number":
      if (field.step === 1)
        return (
          <Field label={label} hint={hint}>
            <NumberField
              value={typeof value === "number" ? value : undefined}
              placeholder="Auto"
              onChange={onChange}
              {...(field.min !== undefined && { min: field.min })}
              {...(field.max !== undefined && { max: field.max })}
            />
          </Field>
        );
      return (
        <Slider
          label={label}
          value={typeof value === "number" ? value : 1}
          min={field.min ?? 0}
          max={field.max ?? 2}
          step={field.step}
          format={(number) => (value === undefined ? "Auto" : number.toFixed(2))}
          onChange={onChange}
        />
      );
    case "list":
      return (
        <Field label={label} hint={hint}>
          <TextInput
            value={Array.isArray(value) ? value.join(", ") : ""}
            placeholder="None"
            onChange={({ target }: { target: HTMLInputElement }) =>
              onChange(textsIn(target.value, field.max))
            }
          />
        </Field>
      );
    default:
      return null;
  }
}

function textsIn(text: string, most: number): readonly string[] | undefined {
  if (text.trim() === "") return undefined;
  return text.split(/,\s?/).slice(0, most);
}
