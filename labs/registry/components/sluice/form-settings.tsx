"use client";

import { Chip } from "@/components/sluice/button";
import { FieldControl } from "@/components/sluice/field-control";
import { Slider } from "@/components/sluice/fields";
import { type FormProps, findField } from "@/components/sluice/form-chips";
import type { FormField } from "@/components/sluice/form-fields";
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
    <div className="flex items-end gap-3">
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

/** The number of images. */
export function CountField({ form }: FormProps) {
  const field = findField(form, "number", "max_images");
  return field && <FormControl form={form} field={field} />;
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
        {fields.map((field) => (
          <FormControl key={field.name} form={form} field={field} />
        ))}
      </div>
    </details>
  );
}

function FormControl({ form, field }: FormProps & { readonly field: FormField }) {
  return (
    <FieldControl
      field={field}
      value={form.values[field.name]}
      problem={form.problems.get(field.name)}
      onChange={(value) => form.set(field.name, value)}
    />
  );
}
