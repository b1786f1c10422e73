import type { VideoModel, VideoRequest } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { fieldLabels } from "@/components/sluice/field-labels";
import {
  type FormField,
  type FormValues,
  pickParts,
  readValues,
  setAt,
  setDefault,
} from "@/components/sluice/form-fields";
import {
  createMediaFields,
  createMediaItems,
  findMode,
  isBeta,
  type VideoMode,
} from "@/components/sluice/video-media";

/** Form of a video request. */
interface VideoForm {
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
 * @param values the current values of the form. Its media decide the mode, and the mode decides which fields are shown
 * @example
 * ```tsx
 * const { fields } = createVideoForm("beta3.0-video", { first_frame: ["https://example.com/reef.png"] });
 * // the field `reference_image` is not shown: no request has frames and references
 * ```
 */
export function createVideoForm(model: VideoModel, values: FormValues = NO_VALUES): VideoForm {
  const mode = findMode(model, values);
  const maxLength = "promptMax" in models[model] ? models["beta3.0-video"].promptMax : undefined;
  return {
    fields: [
      {
        ...pickParts("text", "prompt", { path: isBeta(model) ? "input.prompt" : "content" }),
        ...(maxLength !== undefined && { maxLength }),
      },
      ...createMediaFields(model, values),
      ...createSizes(model, mode),
      ...createSwitches(model, mode),
      ...createSeed(model),
    ],
  };
}

/**
 * Creates the request for `create` of `useVideoTask` from the values of a form. `checkRequest` of `@sluice/core/schemas`
 * lists its issues.
 *
 * @example
 * ```tsx
 * const { create } = useVideoTask({ storage });
 * await create(createVideoRequest("beta3.0-video", { prompt: "A reef at dawn", duration: 5 }));
 * ```
 */
export function createVideoRequest(model: VideoModel, values: FormValues): VideoRequest {
  const { fields } = createVideoForm(model, values);
  const request: Record<string, unknown> = { model };
  const formValues = readValues(fields, values);
  const text = formValues.get("prompt");
  const items = createMediaItems(model, fields, formValues);
  if (isBeta(model)) {
    request["input"] = {
      ...(text !== undefined && { prompt: text }),
      ...(items.length > 0 && { media: items }),
    };
  } else request["content"] = [...(text === undefined ? [] : [{ type: "text", text }]), ...items];
  for (const { kind, name, path } of fields) {
    const value = formValues.get(name);
    if (kind === "media" || name === "prompt" || value === undefined) continue;
    if (name !== "web_search") setAt(request, path, value);
    else if (value === true) setAt(request, path, [{ type: "web_search" }]);
  }
  return request as unknown as VideoRequest;
}

function formatPath(model: VideoModel, name: string): string {
  return isBeta(model) ? `parameters.${name}` : name;
}

function createSizes(model: VideoModel, mode: VideoMode): FormField[] {
  const row = models[model];
  const isText = mode === "text";
  const ratios: readonly string[] = isText && "textRatios" in row ? row.textRatios : row.ratios;
  const imageDefault = "ratioDefault" in row ? row.ratioDefault : undefined;
  const textDefault = "textRatioDefault" in row ? row.textRatioDefault : imageDefault;
  const { min, max } = row.duration;
  return [
    {
      ...pickParts("choice", "ratio", { path: formatPath(model, "ratio") }),
      ...setDefault<string>(isText ? textDefault : imageDefault),
      choices: ratios.map((value) =>
        value === "adaptive"
          ? { value, label: fieldLabels.choices.adaptive }
          : { value, label: value, ratio: value },
      ),
    },
    {
      ...pickParts("choice", "resolution", { path: formatPath(model, "resolution") }),
      ...setDefault<string>("resolutionDefault" in row ? row.resolutionDefault : undefined),
      choices: row.resolutions.map((value) => ({
        value,
        label: value.endsWith("k") ? value.toUpperCase() : value.toLowerCase(),
      })),
    },
    {
      ...pickParts("number", "duration", { path: formatPath(model, "duration") }),
      ...setDefault<number>("durationDefault" in row ? row.durationDefault : undefined),
      min,
      max,
      step: 1,
      unit: "s",
      ...("auto" in row.duration && { auto: row.duration.auto }),
    },
  ];
}

function createSwitches(model: VideoModel, mode: VideoMode): FormField[] {
  const row = models[model];
  const isText = mode === "text";
  const createSwitch = (
    name: "audio" | "generate_audio" | "camera_fixed" | "return_last_frame" | "prompt_extend" | "watermark",
    value?: boolean,
    flags: { isShown?: boolean; isAdvanced?: boolean } = {},
  ): FormField => ({
    ...pickParts("switch", name, { path: formatPath(model, name), ...flags }),
    ...setDefault(value),
  });
  const advanced = { isAdvanced: true };
  switch (row.family) {
    case "beta":
      return [
        createSwitch("audio", row.audioDefault),
        createSwitch("prompt_extend", row.promptExtendDefault),
        createSwitch("watermark", row.watermarkDefault, advanced),
      ];
    case "1-5-pro":
    case "1-0-pro-fast":
      return [
        ...(row.generateAudio
          ? [createSwitch("generate_audio", row.generateAudioDefault, { isShown: isText })]
          : []),
        createSwitch("camera_fixed", row.cameraFixedDefault, { isShown: isText }),
        createSwitch("watermark", row.watermarkDefault, advanced),
      ];
    case "2-0":
    case "fast":
      return [
        createSwitch("generate_audio"),
        {
          ...pickParts("switch", "web_search", { path: "tools", isShown: isText }),
          default: false,
        },
        ...(row.returnLastFrame ? [createSwitch("return_last_frame", undefined, advanced)] : []),
        createSwitch("watermark", undefined, advanced),
      ];
  }
}

function createSeed(model: VideoModel): FormField[] {
  const row = models[model];
  if (!("seed" in row)) return [];
  const position = { path: formatPath(model, "seed"), isAdvanced: true };
  return [{ ...pickParts("number", "seed", position), min: row.seed.min, max: row.seed.max, step: 1 }];
}
