"use client";

import { Field, NumberField, Slider, Switch, TextInput } from "@/components/sluice/fields";
import type { FormField, FormValue } from "@/components/sluice/form-fields";
import { settingsWords } from "@/components/sluice/form-words";
import { Select } from "@/components/sluice/select";

interface FieldControlProps {
  readonly field: FormField;
  readonly value: FormValue;
  /** Problem of the value. */
  readonly problem?: string | undefined;
  readonly onChange: (value: FormValue) => void;
}

/** The control of a field. Media have `MediaFields`. */
export function FieldControl({ field, value, problem, onChange }: FieldControlProps) {
  const { label, hint } = field;
  const issues = problem ? [problem] : [];
  switch (field.kind) {
    case "switch":
      return <Switch label={label} checked={Boolean(value ?? field.default)} onChange={onChange} />;
    case "choice":
      return (
        <Field label={label} issues={issues}>
          <Select
            value={typeof value === "string" ? value : ""}
            options={[{ value: "", label: settingsWords.auto }, ...field.choices]}
            onChange={(chosen) => onChange(chosen || undefined)}
          />
        </Field>
      );
    case "number":
      if (field.step === 1)
        return (
          <Field label={label} hint={hint} issues={issues}>
            <NumberField
              value={typeof value === "number" ? value : field.default}
              placeholder={settingsWords.auto}
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
          format={(number) => (value === undefined ? settingsWords.auto : number.toFixed(2))}
          onChange={onChange}
        />
      );
    case "list":
      return (
        <Field label={label} hint={hint} issues={issues}>
          <TextInput
            value={Array.isArray(value) ? value.join(", ") : ""}
            placeholder={settingsWords.none}
            onChange={({ target }: { target: HTMLInputElement }) =>
              onChange(parseTexts(target.value, field.max))
            }
          />
        </Field>
      );
    default:
      return null;
  }
}

function parseTexts(text: string, maxItems: number): readonly string[] | undefined {
  if (text.trim() === "") return undefined;
  return text.split(/,\s?/).slice(0, maxItems);
}
