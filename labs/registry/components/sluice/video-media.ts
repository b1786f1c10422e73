import type { VideoModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import type { FieldName } from "@/components/sluice/field-labels";
import {
  type FormField,
  type FormValue,
  type FormValues,
  type MediaField,
  pickParts,
} from "@/components/sluice/form-fields";

/** Starting point of a video: only a text, frames of the video, or references for its content and style. */
export type VideoMode = "text" | "frames" | "references";

type MediaRole = keyof (typeof models)["beta3.0-video"]["kinds"];

// gamma models accept some of these
const { kinds } = models["beta3.0-video"];
const frames: readonly FieldName[] = models["beta3.0-video"].frames;
const allRoles = Object.keys(kinds) as MediaRole[];

/** Returns true for a model whose requests have `input` and `parameters` instead of `content`. */
export function isBeta(model: VideoModel): model is "beta3.0-video" | "beta3.0-video-prime" {
  return models[model].family === "beta";
}

/** Returns the starting point of a form's values. Ignores media that the model does not accept. */
export function findMode(model: VideoModel, values: FormValues): VideoMode {
  const usedRoles = listRoles(model).filter((role) => isGiven(values[role]));
  if (usedRoles.some((role) => frames.includes(role))) return "frames";
  return usedRoles.length > 0 ? "references" : "text";
}

/** Describes the media that a model accepts. */
export function createMediaFields(model: VideoModel, values: FormValues): MediaField[] {
  const mode = findMode(model, values);
  return listRoles(model).map((role) => ({
    ...pickParts("media", role, {
      path: isBeta(model) ? "input.media" : "content",
      isShown: !isBeta(model) || isAllowed(role, mode, values),
    }),
    media: kinds[role],
    accept: listTypes(model, role),
    ...findMax(model, role),
  }));
}

/** Creates the media items of a request, in the order of the fields. */
export function createMediaItems(
  model: VideoModel,
  fields: readonly FormField[],
  values: ReadonlyMap<FieldName, NonNullable<FormValue>>,
): readonly object[] {
  return fields.flatMap(({ kind, name }) => {
    const urls = kind === "media" ? ((values.get(name) ?? []) as readonly string[]) : [];
    return urls.map((url) => (isBeta(model) ? { type: name, url } : createContent(name, url)));
  });
}

/** Only images have a role: the spec shows none for other items. */
function createContent(role: FieldName, url: string): object {
  if (role === "reference_video") return { type: "video_url", video_url: { url } };
  if (role === "reference_audio") return { type: "audio_url", audio_url: { url } };
  return { type: "image_url", image_url: { url }, role };
}

function listRoles(model: VideoModel): readonly MediaRole[] {
  const row = models[model];
  if (row.family === "beta") return allRoles;
  const isNew = row.family === "2-0" || row.family === "fast";
  return isNew ? [...row.roles, "reference_video", "reference_audio"] : row.roles;
}

/** No request of a `beta` model has frames and references, or a file and a link. */
function isAllowed(role: MediaRole, mode: VideoMode, values: FormValues): boolean {
  if (role === "link" && isGiven(values.file)) return false;
  if (role === "file" && isGiven(values.link) && !isGiven(values.file)) return false;
  return mode === "text" || frames.includes(role) === (mode === "frames");
}

function isGiven(value: FormValue): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Lists the types of files that a model accepts as data. Empty if it accepts only links. */
function listTypes(model: VideoModel, role: MediaRole): string {
  const row = models[model];
  if (kinds[role] !== "image") return "";
  if (row.family === "beta") return row.imageFormats.map((format) => `image/${format}`).join(",");
  return row.family === "2-0" || row.family === "fast" ? "image/png,image/jpeg,image/webp" : "";
}

function findMax(model: VideoModel, role: MediaRole): { readonly max?: number } {
  const row = models[model];
  if (row.family === "beta") return { max: row.maxItems[role] };
  return frames.includes(role) ? { max: 1 } : {};
}
