import type { Issue, RecordStorage } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { useState } from "react";
import type { FieldName } from "@/components/sluice/field-labels";
import { type FormField, type FormValue, type FormValues, listURLs } from "@/components/sluice/form-fields";
import { collectProblems } from "@/components/sluice/form-problems";
import { useDraft } from "@/components/sluice/use-draft";

/** A form as the user filled it in. Values stay when the model changes. */
export interface MediaDraft<Model extends string> {
  readonly model: Model;
  readonly values: FormValues;
}

interface MediaFormOptions<Model extends string> {
  /** Kind of the models. It is also the name of the draft. */
  readonly kind: "image" | "video";
  /** Model of an empty form. */
  readonly initial: Model;
  /** `createImageForm` or `createVideoForm`. */
  readonly createForm: (model: Model, values: FormValues) => { readonly fields: readonly FormField[] };
  /** Checks the request: `checkRequest`. */
  readonly check: (draft: MediaDraft<Model>) => readonly Issue[];
  /** @default `localStorage` */
  readonly storage?: RecordStorage;
}

/** Form of an image or a video. Its draft survives reloads, and is the same in all components. */
export function useMediaForm<Model extends string>(options: MediaFormOptions<Model>) {
  const { kind, initial, createForm, check, storage } = options;
  const empty: MediaDraft<Model> = { model: initial, values: {} };
  const { draft, setDraft } = useDraft<MediaDraft<Model>>(kind, empty, { storage });
  const [wasSubmitted, setSubmitted] = useState(false);
  const choices = Object.values(models).flatMap((row) =>
    row.kind === kind ? [row.id as string as Model] : [],
  );
  const model = choices.includes(draft.model) ? draft.model : initial;
  const { values } = draft;
  const fields = createForm(model, values).fields.filter(({ isShown }) => isShown);
  const prompt = typeof values.prompt === "string" ? values.prompt : "";
  const media = fields.flatMap((field) =>
    field.kind === "media" ? listURLs(values, field.name).map(() => field.name) : [],
  );
  const hasTextItem = prompt.trim() !== "" && fields.some(({ path }) => path === "content");
  const problems = collectProblems(check({ model, values }), fields, media, hasTextItem ? 1 : 0);
  return {
    model,
    choices,
    values,
    fields,
    prompt,
    /** Problems to show. Omits an empty prompt before the first `submit`. */
    problems: wasSubmitted
      ? problems
      : new Map([...problems].filter(([name]) => name !== "prompt" || prompt !== "")),
    set: (name: FieldName, value: FormValue) =>
      setDraft((previous) => ({ ...previous, values: { ...previous.values, [name]: value } })),
    setModel: (next: Model) => setDraft((previous) => ({ ...previous, model: next })),
    fill: (next: MediaDraft<Model>) => setDraft(next),
    /** Returns true if the form can be sent. Shows its problems otherwise. */
    submit() {
      setSubmitted(problems.size > 0);
      return problems.size === 0;
    },
  };
}

/** Return value of `useMediaForm`. */
export type MediaForm<Model extends string> = ReturnType<typeof useMediaForm<Model>>;
