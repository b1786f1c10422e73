import type { ChatModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import type { ChatStoreOptions } from "@sluice/react";
import { fieldLabels } from "@/components/sluice/field-labels";
import {
  type FormField,
  type FormValues,
  pickParts,
  readValues,
  setAt,
  setDefault,
} from "@/components/sluice/form-fields";

/** Abilities and settings of a chat model. */
interface ChatModelInfo {
  /** True for a model that sees images. */
  readonly seesImages: boolean;
  /** Says if the model calls tools; `unlisted`: the spec does not list them, and they may be ignored. */
  readonly tools: "yes" | "no" | "unlisted";
  /** Says if the model thinks before it responds; `optional`: the field `thinking` decides. */
  readonly thinking: "always" | "optional" | "never";
  /** True for a model with a JSON mode. */
  readonly hasJSONMode: boolean;
  /**
   * Settings of the model. Omits `messages`, `stream` and `tools`, which the chat sets, and `user_id`, `stream_options`
   * and `response_format`, which the app sets.
   */
  readonly fields: readonly FormField[];
}

const NO_VALUES: FormValues = {};

/**
 * Describes a chat model, and its settings for a form. Plain data, made from the tables of the spec.
 *
 * @param values the current values of the form. They decide which fields are shown
 * @example
 * ```ts
 * const { seesImages, fields } = describeChatModel("alpha-v4.1-flash", { thinking: false });
 * const labels = fields.filter(({ isAdvanced }) => !isAdvanced).map(({ label }) => label); // ["Thinking", "Effort"]
 * ```
 */
export function describeChatModel(model: ChatModel, values: FormValues = NO_VALUES): ChatModelInfo {
  const row = models[model];
  const thinkingTypes: readonly string[] = row.thinking;
  return {
    seesImages: row.seesImages,
    tools: row.tools === "unlisted" ? "unlisted" : row.tools ? "yes" : "no",
    thinking: thinkingTypes.length === 0 ? "never" : thinkingTypes.length === 1 ? "always" : "optional",
    hasJSONMode: row.jsonMode,
    fields: createFields(model, values),
  };
}

/**
 * Creates the options `model` and `params` of `useChatStream` from the values of a form.
 *
 * @example
 * ```tsx
 * const values: FormValues = { thinking: false, temperature: 1 };
 * const { send } = useChatStream({ id: "support", storage, ...createChatTarget("alpha-v4.1-flash", values) });
 * ```
 */
export function createChatTarget(model: ChatModel, values: FormValues): ChatStoreOptions {
  const { fields } = describeChatModel(model, values);
  const params: Record<string, unknown> = {};
  for (const [name, value] of readValues(fields, values)) {
    if (name === "thinking") setAt(params, "thinking.type", value ? "enabled" : "disabled");
    else if (name === "stop" && models[model].stop === 1) setAt(params, name, (value as string[])[0]);
    else setAt(params, name, value);
  }
  return { model, params } as ChatStoreOptions;
}

function createFields(model: ChatModel, values: FormValues): FormField[] {
  const row = models[model];
  const efforts = (["low", "high", "max"] as const).filter((effort) =>
    (row.reasoningEffort as readonly string[]).includes(effort),
  );
  const isOptional = row.thinking.length > 1;
  const thinks = row.thinking.length > 0 && !(isOptional && values.thinking === false);
  // a model with optional thinking ignores these fields while it thinks
  const samplingFlags = { isAdvanced: true, isShown: !(isOptional && thinks) };
  const fields: FormField[] = [];
  if (isOptional) fields.push({ ...pickParts("switch", "thinking"), default: true });
  if (efforts.length > 0)
    fields.push({
      ...pickParts("choice", "reasoning_effort", { isShown: thinks }),
      ...setDefault("reasoningEffortDefault" in row ? row.reasoningEffortDefault : undefined),
      choices: efforts.map((value) => ({ value, label: fieldLabels.choices[value] })),
    });
  fields.push(
    {
      ...pickParts("number", "max_tokens", { isAdvanced: true }),
      min: 1,
      max: row.maxTokens,
      step: 1,
    },
    { ...pickParts("number", "temperature", samplingFlags), min: 0, max: row.temperature, step: 0.1 },
    { ...pickParts("number", "top_p", samplingFlags), min: 0, max: 1, step: 0.05 },
  );
  if (row.penalties)
    for (const name of ["frequency_penalty", "presence_penalty"] as const)
      fields.push({ ...pickParts("number", name, samplingFlags), min: -2, max: 2, step: 0.1 });
  fields.push({ ...pickParts("list", "stop", { isAdvanced: true }), max: row.stop });
  return fields;
}
