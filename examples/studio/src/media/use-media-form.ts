import type { ImageModel, VideoModel } from "@sluice/core";
import { checkRequest, models } from "@sluice/core/schemas";
import { useState } from "react";
import type { FieldName } from "@/components/sluice/field-labels";
import type { FormField, FormValue, FormValues, MediaField } from "@/components/sluice/form-fields";
import { type Problems, problemsOf } from "@/components/sluice/form-problems";
import { imageForm, imageRequestOf } from "@/components/sluice/image-form";
import { useDraft } from "@/components/sluice/use-draft";
import { videoForm, videoRequestOf } from "@/components/sluice/video-form";
import { storage } from "../client.js";
import { lostFilesOf, useFileIssues, withoutLostFiles } from "./files.js";

/** A form as it is filled in. Values stay when the model changes; those that it does not have are not sent. */
export interface MediaDraft<Model extends string> {
  readonly model: Model;
  readonly values: FormValues;
  /** Names of the files that have to be chosen again. */
  readonly lost?: readonly string[] | undefined;
}

/** The fields of a form, and how they are filled in. */
export interface FormControls {
  readonly values: FormValues;
  /** Fields that are shown. */
  readonly fields: readonly FormField[];
  /** Problems to show: all of them after a try, before that none about what is still empty. */
  readonly problems: Problems;
  /** Names of the files that have to be chosen again. */
  readonly lost: readonly string[];
  readonly set: (name: FieldName, value: FormValue) => void;
  /** Adds files and links to a field, as many as it takes. */
  readonly add: (field: MediaField, urls: readonly string[]) => void;
  readonly remove: (name: FieldName, url: string) => void;
}

/** A form with its model. */
export interface MediaForm<Model extends string> extends FormControls {
  readonly model: Model;
  readonly models: readonly Model[];
  readonly setModel: (model: Model) => void;
  readonly fill: (draft: MediaDraft<Model>) => void;
  /** Checks the form: true if it can be sent. Shows the problems otherwise. */
  readonly check: () => boolean;
}

const emptyImages: MediaDraft<ImageModel> = { model: "gamma-image-5-0-260128", values: {} };
const emptyVideos: MediaDraft<VideoModel> = { model: "beta3.0-video", values: {} };
const all = Object.values(models);
const imageModelNames = all.flatMap(({ kind, id }) => (kind === "image" ? [id] : [])) as ImageModel[];
const videoModelNames = all.flatMap(({ kind, id }) => (kind === "video" ? [id] : [])) as VideoModel[];

/** The form of the images room. The draft is the same wherever it is used, and survives a reload. */
export function useImageForm() {
  const draft = useMediaDraft("images", emptyImages, imageModelNames);
  const { model, values } = draft.draft;
  const request = imageRequestOf(model, values);
  const { issues, warnings } = checkRequest(request);
  // an empty prompt is a warning of the library: here it is always a mistake
  const blank = [...issues, ...warnings].filter((issue) => issue.rule.endsWith("prompt-empty"));
  return { ...useForm(draft, imageModelNames, imageForm, [...issues, ...blank]), request };
}

/** The form of the videos room. Its files are read where it `checksFiles`. */
export function useVideoForm({ checksFiles = false } = {}) {
  const draft = useMediaDraft("videos", emptyVideos, videoModelNames);
  const { model, values } = draft.draft;
  const request = videoRequestOf(model, values);
  const issues = [...checkRequest(request).issues, ...useFileIssues(checksFiles ? request : undefined)];
  return { ...useForm(draft, videoModelNames, videoForm, issues), request };
}

function useMediaDraft<Model extends string>(
  key: string,
  initial: MediaDraft<Model>,
  models: readonly Model[],
) {
  return useDraft<MediaDraft<Model>>(key, initial, {
    storage,
    parse(stored) {
      const { model, values, lost } = (stored ?? {}) as Partial<MediaDraft<Model>>;
      const known = models.find((one) => one === model);
      return known && typeof values === "object"
        ? withoutLost({ model: known, values, lost: Array.isArray(lost) ? lost.map(String) : [] })
        : undefined;
    },
  });
}

/** Takes the files that have to be chosen again out of a form, and notes their names. */
function withoutLost<Model extends string>({
  model,
  values,
  lost = [],
}: MediaDraft<Model>): MediaDraft<Model> {
  const names = [...new Set([...lost, ...lostFilesOf(values)])];
  return { model, values: withoutLostFiles(values), lost: names };
}

function useForm<Model extends string>(
  { draft, setDraft }: ReturnType<typeof useDraft<MediaDraft<Model>>>,
  models: readonly Model[],
  formOf: (model: Model, values: FormValues) => { readonly fields: readonly FormField[] },
  issues: Parameters<typeof problemsOf>[0],
): MediaForm<Model> {
  const [isTried, setTried] = useState(false);
  const { model, values, lost = [] } = draft;
  const fields = formOf(model, values).fields.filter(({ isShown }) => isShown);
  const media = fields
    .filter((field): field is MediaField => field.kind === "media")
    .flatMap(({ name }) => urlsOf(values, name).map(() => name));
  const hasText = typeof values.prompt === "string" && values.prompt.trim() !== "";
  const isList = fields.some(({ name, path }) => name === "prompt" && path === "content");
  const all = problemsOf(issues, fields, media, hasText && isList ? 1 : 0);
  return {
    model,
    values,
    models,
    fields,
    lost,
    problems: isTried ? all : new Map([...all].filter(([name]) => name !== "prompt" || hasText)),
    set: (name, value) => setDraft((known) => ({ ...known, values: { ...known.values, [name]: value } })),
    setModel: (next) =>
      setDraft((known) => ({
        ...known,
        model: next,
        values: within(formOf(next, known.values).fields, known.values),
      })),
    add: ({ name, max = Number.POSITIVE_INFINITY }, urls) =>
      change(name, (known) => [...known.filter((url) => !urls.includes(url)), ...urls].slice(-max)),
    remove: (name, url) => change(name, (known) => known.filter((one) => one !== url)),
    fill(next) {
      setTried(false);
      setDraft(withoutLost(next));
    },
    check() {
      setTried(all.size > 0);
      return all.size === 0;
    },
  };

  function change(name: FieldName, edit: (urls: readonly string[]) => readonly string[]): void {
    setDraft((known) => ({
      ...known,
      lost: [],
      values: { ...known.values, [name]: edit(urlsOf(known.values, name)) },
    }));
  }
}

/** Brings numbers into the bounds of another model. */
function within(fields: readonly FormField[], values: FormValues): FormValues {
  const changed: Record<string, FormValue> = { ...values };
  for (const field of fields) {
    const value = values[field.name];
    if (field.kind !== "number" || typeof value !== "number" || value === field.auto) continue;
    const { min = value, max = value } = field;
    changed[field.name] = Math.min(Math.max(value, min), max);
  }
  return changed;
}

/** The files and links of a field. */
export function urlsOf(values: FormValues, name: FieldName): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value : [];
}
