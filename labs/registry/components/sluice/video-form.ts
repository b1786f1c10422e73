import type { VideoModel, VideoRequest } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { type FieldLabels, fieldLabels } from "@/components/sluice/field-labels";
import {
  defaultOf,
  type FormField,
  type FormOptions,
  type FormValues,
  partsOf,
  setAt,
  valuesIn,
} from "@/components/sluice/form-fields";
import { isBeta, mediaFieldsOf, mediaItemsOf, modeOf, type VideoMode } from "@/components/sluice/video-media";

/** Form of a video request. */
export interface VideoForm {
  /** Id of the model. */
  readonly model: VideoModel;
  /** Starting point of the video: a text alone, frames of it, or references. It follows from the values. */
  readonly mode: VideoMode;
  /**
   * Fields of the request but `model`. Not described: `seed` and `camera_fixed` of `gamma-video-2.0` and
   * `gamma-video-fast`, which the spec does not list for them.
   */
  readonly fields: readonly FormField[];
}

const NO_VALUES: FormValues = {};

/**
 * Describes the request of a video model for a form. Plain data, made from the tables of the spec.
 *
 * @param values the form as it is filled in: its media decide the mode, and the mode decides which fields are shown
 * @example
 * ```tsx
 * const { mode, fields } = videoForm("beta3.0-video", { first_frame: ["https://example.com/reef.png"] });
 * // mode is "frames"; the field `reference_image` is not shown: no request has frames and references
 * ```
 */
export function videoForm(
  model: VideoModel,
  values: FormValues = NO_VALUES,
  { labels = fieldLabels }: FormOptions = {},
): VideoForm {
  const mode = modeOf(model, values);
  const maxLength = "promptMax" in models[model] ? models["beta3.0-video"].promptMax : undefined;
  return {
    model,
    mode,
    fields: [
      {
        ...partsOf(labels, "text", "prompt", { path: isBeta(model) ? "input.prompt" : "content" }),
        ...(maxLength !== undefined && { maxLength }),
      },
      ...mediaFieldsOf(model, values, labels),
      ...sizesOf(model, mode, labels),
      ...switchesOf(model, mode, labels),
      ...seedOf(model, labels),
    ],
  };
}

/**
 * Makes the request of a form's values, as `create` of `useVideoTask` takes it. `checkRequest` of
 * `@sluice/core/schemas` says what is wrong with it.
 *
 * @example
 * ```tsx
 * const { create } = useVideoTask({ storage });
 * await create(videoRequestOf("beta3.0-video", { prompt: "A reef at dawn", duration: 5 }));
 * ```
 */
export function videoRequestOf(model: VideoModel, values: FormValues): VideoRequest {
  const { fields } = videoForm(model, values);
  const request: Record<string, unknown> = { model };
  const given = valuesIn(fields, values);
  const text = given.get("prompt");
  const items = mediaItemsOf(model, fields, given);
  if (isBeta(model)) {
    request["input"] = {
      ...(text !== undefined && { prompt: text }),
      ...(items.length > 0 && { media: items }),
    };
  } else request["content"] = [...(text === undefined ? [] : [{ type: "text", text }]), ...items];
  for (const { kind, name, path } of fields) {
    const value = given.get(name);
    if (kind === "media" || name === "prompt" || value === undefined) continue;
    if (name !== "web_search") setAt(request, path, value);
    else if (value === true) setAt(request, path, [{ type: "web_search" }]);
  }
  return request as unknown as VideoRequest;
}

function pathOf(model: VideoModel, name: string): string {
  return isBeta(model) ? `parameters.${name}` : name;
}

function sizesOf(model: VideoModel, mode: VideoMode, labels: FieldLabels): FormField[] {
  const row = models[model];
  const isText = mode === "text";
  const ratios: readonly string[] = isText && "textRatios" in row ? row.textRatios : row.ratios;
  const ofImages = "ratioDefault" in row ? row.ratioDefault : undefined;
  const ofText = "textRatioDefault" in row ? row.textRatioDefault : ofImages;
  const { min, max } = row.duration;
  return [
    {
      ...partsOf(labels, "choice", "ratio", { path: pathOf(model, "ratio") }),
      ...defaultOf<string>(isText ? ofText : ofImages),
      choices: ratios.map((value) =>
        value === "adaptive"
          ? { value, label: labels.choices.adaptive }
          : { value, label: value, ratio: value },
      ),
    },
    {
      ...partsOf(labels, "choice", "resolution", { path: pathOf(model, "resolution") }),
      ...defaultOf<string>("resolutionDefault" in row ? row.resolutionDefault : undefined),
      choices: row.resolutions.map((value) => ({
        value,
        label: value.endsWith("k") ? value.toUpperCase() : value.toLowerCase(),
      })),
    },
    {
      ...partsOf(labels, "number", "duration", { path: pathOf(model, "duration") }),
      ...defaultOf<number>("durationDefault" in row ? row.durationDefault : undefined),
      min,
      max,
      step: 1,
      unit: "s",
      ...("auto" in row.duration && { auto: row.duration.auto }),
    },
  ];
}

function switchesOf(model: VideoModel, mode: VideoMode, labels: FieldLabels): FormField[] {
  const row = models[model];
  const isText = mode === "text";
  const on = (
    name: "audio" | "generate_audio" | "camera_fixed" | "return_last_frame" | "prompt_extend" | "watermark",
    value?: boolean,
    place: { isShown?: boolean; isAdvanced?: boolean } = {},
  ): FormField => ({
    ...partsOf(labels, "switch", name, { path: pathOf(model, name), ...place }),
    ...defaultOf(value),
  });
  const advanced = { isAdvanced: true };
  switch (row.family) {
    case "beta":
      return [
        on("audio", row.audioDefault),
        on("prompt_extend", row.promptExtendDefault),
        on("watermark", row.watermarkDefault, advanced),
      ];
    case "1-5-pro":
    case "1-0-pro-fast":
      return [
        ...(row.generateAudio ? [on("generate_audio", row.generateAudioDefault, { isShown: isText })] : []),
        on("camera_fixed", row.cameraFixedDefault, { isShown: isText }),
        on("watermark", row.watermarkDefault, advanced),
      ];
    case "2-0":
    case "fast":
      return [
        on("generate_audio"),
        {
          ...partsOf(labels, "switch", "web_search", { path: "tools", isShown: isText }),
          default: false,
        },
        ...(row.returnLastFrame ? [on("return_last_frame", undefined, advanced)] : []),
        on("watermark", undefined, advanced),
      ];
  }
}

function seedOf(model: VideoModel, labels: FieldLabels): FormField[] {
  const row = models[model];
  if (!("seed" in row)) return [];
  const place = { path: pathOf(model, "seed"), isAdvanced: true };
  return [{ ...partsOf(labels, "number", "seed", place), min: row.seed.min, max: row.seed.max, step: 1 }];
}
