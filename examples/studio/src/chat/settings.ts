import type { ChatTarget } from "@sluice/core";
import { type ChatModel, chatModels } from "@sluice/core/schemas";
import { useEffect, useState } from "react";
import { recall, remember } from "../stored.js";

/** The efforts that one can choose; `none` is what the thinking switch is for. */
export type Effort = "low" | "high" | "max";

/** What a person set: kept when the model changes, used where the model has it. */
export interface ChatSettings {
  readonly model: ChatModel;
  readonly thinks: boolean;
  /** Undefined leaves it to the model. */
  readonly effort: Effort | undefined;
  readonly offersTools: boolean;
}

export const models = Object.keys(chatModels) as ChatModel[];

const KEY = "sluice-chat-settings";
const initial: ChatSettings = {
  model: "alpha-v4.1-flash",
  thinks: true,
  effort: undefined,
  offersTools: false,
};

/** The settings, as they were on the last visit. */
export function useSettings() {
  const [settings, setSettings] = useState(() => settingsFrom(recall(KEY)));
  useEffect(() => remember(KEY, JSON.stringify(settings)), [settings]);
  return [settings, setSettings] as const;
}

/** Whether the model thinks, and why nobody is asked where nobody is. */
export function thinkingOf({ model, thinks }: ChatSettings): { isOn: boolean; fixed?: string } {
  const kinds: readonly string[] = chatModels[model].thinking;
  if (kinds.length === 0) return { isOn: false, fixed: "This model never thinks out loud." };
  if (kinds.length === 1) return { isOn: true, fixed: "This model always thinks." };
  return { isOn: thinks };
}

/** Whether the model is offered tools, and what a person should know about it. */
export function toolsOf({ model, offersTools }: ChatSettings): {
  isOn: boolean;
  fixed?: string;
  note?: string;
} {
  const { tools } = chatModels[model];
  if (tools === false) return { isOn: false, fixed: "This model calls no tools." };
  if (tools === "unlisted" && offersTools)
    return { isOn: true, note: "Tools are not listed for this model: it may ignore them." };
  return { isOn: offersTools };
}

/** The same, with tools offered, if need be to another model. */
export function withTools(settings: ChatSettings): ChatSettings {
  const model = chatModels[settings.model].tools ? settings.model : initial.model;
  return { ...settings, model, offersTools: true };
}

/** The efforts that the model accepts; none where it does not have any. */
export function effortsOf(model: ChatModel): readonly Effort[] {
  const known: readonly string[] = chatModels[model].reasoningEffort;
  return (["low", "high", "max"] as const).filter((effort) => known.includes(effort));
}

/** The model and exactly the parameters that it has. */
export function targetOf({ model, thinks, effort }: ChatSettings): ChatTarget {
  const chosen = effort && { reasoning_effort: effort };
  switch (model) {
    case "alpha-v4.1-flash":
      return {
        model,
        params: {
          stream_options: { include_usage: true },
          thinking: { type: thinks ? "enabled" : "disabled" },
          ...(thinks && chosen),
        },
      };
    case "gamma-chat-1-6-251015":
      return { model };
    case "delta-5.3":
      return { model, params: { ...chosen } };
  }
}

function settingsFrom(text: string | undefined): ChatSettings {
  try {
    const { model, thinks, effort, offersTools } = JSON.parse(text ?? "") as Partial<ChatSettings>;
    return {
      model: models.find((known) => known === model) ?? initial.model,
      thinks: thinks !== false,
      effort: effort === "low" || effort === "high" || effort === "max" ? effort : undefined,
      offersTools: offersTools === true,
    };
  } catch {
    return initial;
  }
}
