"use client";

import { Chip } from "@/components/sluice/button";
import { Field, NumberField, Slider, Switch } from "@/components/sluice/fields";
import { type FormProps, findField, isSwitchedOn } from "@/components/sluice/form-chips";
import type { NumberField as NumberParts } from "@/components/sluice/form-fields";
import { formWords } from "@/components/sluice/form-words";

/** The length of a video: a slider, and "Auto" where the model can choose. */
export function LengthSlider({ form }: FormProps) {
  const field = findField(form, "number", "duration");
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
          format={(shown) => (isAuto ? formWords.auto : formWords.seconds(shown))}
          onChange={(chosen) => form.set("duration", chosen)}
        />
        {problem && <p className="text-xs text-destructive">{problem}</p>}
      </div>
      {(auto !== undefined || field.default === undefined) && (
        <Chip aria-label={formWords.autoLength} isPressed={isAuto} onClick={() => form.set("duration", auto)}>
          {formWords.auto}
        </Chip>
      )}
    </div>
  );
}

/** The settings that few people need, closed at first. */
export function MoreSettings({ form }: FormProps) {
  const fields = form.fields.filter(({ isAdvanced }) => isAdvanced);
  if (fields.length === 0) return null;
  return (
    <details>
      <summary className="min-h-8 cursor-pointer text-sm text-muted-foreground pointer-coarse:min-h-11">
        {formWords.more}
      </summary>
      <div className="flex flex-col gap-4 pt-2">
        {fields.map((field) =>
          field.kind === "switch" ? (
            <Switch
              key={field.name}
              label={field.label}
              checked={isSwitchedOn(form, field)}
              onChange={(isOn) => form.set(field.name, isOn)}
            />
          ) : (
            field.kind === "number" && <NumberSetting key={field.name} field={field} form={form} />
          ),
        )}
      </div>
    </details>
  );
}

function NumberSetting({ field, form }: Required<FormProps> & { readonly field: NumberParts }) {
  const value = form.values[field.name];
  const problem = form.problems.get(field.name);
  return (
    <Field label={field.label} hint={field.hint} issues={problem ? [problem] : []}>
      <NumberField
        value={typeof value === "number" ? value : undefined}
        placeholder={field.name === "seed" ? formWords.random : formWords.auto}
        step={field.step}
        {...(field.min !== undefined && { min: field.min })}
        {...(field.max !== undefined && { max: field.max })}
        onChange={(number) => form.set(field.name, number)}
      />
    </Field>
  );
}
