"use client";

import { Button, Chip } from "@/components/sluice/button";
import { FieldControl } from "@/components/sluice/field-control";
import { Slider } from "@/components/sluice/fields";
import {
  type FormProps,
  findField,
  ResolutionChips,
  ShapeChips,
  SwitchChips,
} from "@/components/sluice/form-chips";
import type { FormField } from "@/components/sluice/form-fields";
import { formWords } from "@/components/sluice/form-words";
import { formatModel } from "@/components/sluice/format";
import { mediaFormWords } from "@/components/sluice/media-words";
import { Popover } from "@/components/sluice/popups";
import { Select } from "@/components/sluice/select";
import type { MediaForm } from "@/components/sluice/use-media-form";

interface MediaSettingsProps<Model extends string> {
  readonly form: MediaForm<Model>;
}

/** The model of an image or a video, and its settings behind a button that names them: `16:9 · 2K · 3 images`. */
export function MediaSettings<Model extends string>({ form }: MediaSettingsProps<Model>) {
  const summary = summarize(form);
  return (
    <>
      <Select
        label={mediaFormWords.model}
        value={form.model}
        options={form.choices.map((id) => ({ value: id, label: formatModel(id), note: id }))}
        onChange={form.setModel}
      />
      <Popover
        title={mediaFormWords.settings}
        trigger={
          <Button aria-label={`${mediaFormWords.settings}: ${summary || mediaFormWords.auto}`}>
            {summary || mediaFormWords.settings}
          </Button>
        }
      >
        <ShapeChips form={form} />
        <ResolutionChips form={form} />
        <LengthSlider form={form} />
        <SwitchChips form={form} />
        <CountField form={form} />
        <MoreSettings form={form} />
      </Popover>
    </>
  );
}

function summarize<Model extends string>({ fields, values }: MediaForm<Model>): string {
  const parts = fields.map((field) => {
    const value = values[field.name] ?? ("default" in field ? field.default : undefined);
    if (field.kind === "choice") {
      const choice = field.choices.find((other) => other.value === value);
      return choice && ([choice.ratio, choice.tier].filter(Boolean).join(" · ") || choice.label);
    }
    if (typeof value !== "number") return undefined;
    if (field.name === "duration" && value > 0) return formWords.seconds(value);
    return field.name === "max_images" && value > 1 ? mediaFormWords.images(value) : undefined;
  });
  return parts.filter((part) => part !== undefined).join(" · ");
}

/** The length of a video: a slider, and "Auto" where the model can choose. */
function LengthSlider({ form }: FormProps) {
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
function CountField({ form }: FormProps) {
  const field = findField(form, "number", "max_images");
  return field && <FormControl form={form} field={field} />;
}

/** The settings that few people need, closed at first. */
function MoreSettings({ form }: FormProps) {
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
