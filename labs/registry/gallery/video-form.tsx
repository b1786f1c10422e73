"use client";

import { checkRequest } from "@sluice/core/schemas";
import { useState } from "react";
import { ResolutionChips, ShapeChips, type ShownForm, SwitchChips } from "@/components/sluice/form-chips";
import type { FormValues } from "@/components/sluice/form-fields";
import { problemsOf } from "@/components/sluice/form-problems";
import { LengthSlider, MoreSettings } from "@/components/sluice/form-settings";
import { videoForm, videoRequestOf } from "@/components/sluice/video-form";

const MODEL = "beta3.0-video";

/** The fields of a video, as its model has them, and what is missing. */
export function VideoForm() {
  const [values, setValues] = useState<FormValues>({});
  const fields = videoForm(MODEL, values).fields.filter(({ isShown }) => isShown);
  const { issues } = checkRequest(videoRequestOf(MODEL, values));
  const form: ShownForm = {
    values,
    fields,
    problems: problemsOf(issues, fields, [], 0),
    set: (name, value) => setValues({ ...values, [name]: value }),
  };
  return (
    <>
      <p>{form.problems.get("prompt")}</p>
      <ShapeChips form={form} />
      <ResolutionChips form={form} />
      <LengthSlider form={form} />
      <SwitchChips form={form} />
      <MoreSettings form={form} />
    </>
  );
}
