"use client";

import { Button } from "@/components/sluice/button";
import { ResolutionChips, ShapeChips, SwitchChips } from "@/components/sluice/form-chips";
import { CountField, LengthSlider, MoreSettings } from "@/components/sluice/form-settings";
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
      const choice = field.choices.find((one) => one.value === value);
      return choice && ([choice.ratio, choice.tier].filter(Boolean).join(" · ") || choice.label);
    }
    if (typeof value !== "number") return undefined;
    if (field.name === "duration" && value > 0) return formWords.seconds(value);
    return field.name === "max_images" && value > 1 ? mediaFormWords.images(value) : undefined;
  });
  return parts.filter((part) => part !== undefined).join(" · ");
}
