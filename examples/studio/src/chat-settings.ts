import type { ChatModel } from "@sluice/core";
import type { ChatStoreOptions } from "@sluice/react";
import * as v from "valibot";
import { createChatTarget, describeChatModel } from "@/components/sluice/chat-form";
import type { FormValues } from "@/components/sluice/form-fields";
import { storedAtom } from "./state.js";
import { tools } from "./tools.js";

/** The models of the menu. */
export const models = [
  { id: "alpha-v4.1-flash", name: "Alpha 4.1 Flash", note: "Fast, and sees images" },
  { id: "delta-5.3", name: "Delta 5.3", note: "Thinks before each response" },
  { id: "gamma-chat-1-6-251015", name: "Gamma Chat 1.6", note: "Short responses, text only" },
] as const;

const settingsSchema = v.object({
  model: v.custom<ChatModel>((model) => models.some(({ id }) => id === model)),
  values: v.custom<FormValues>((values) => typeof values === "object" && values !== null),
  offersTools: v.boolean(),
  wantsJSON: v.boolean(),
  /** System prompt. */
  instructions: v.string(),
});

/** Settings of the chat. They stay when the model changes. A model ignores settings that it does not have. */
export type ChatSettings = v.InferOutput<typeof settingsSchema>;

/** The settings of this browser. */
export const chatSettings = storedAtom<ChatSettings>(
  "sluice-chat",
  { model: "alpha-v4.1-flash", values: {}, offersTools: true, wantsJSON: false, instructions: "" },
  (stored) => v.is(settingsSchema, stored),
);

/** Changes some of the settings. */
export function changeSettings(changes: Partial<ChatSettings>): void {
  chatSettings.set({ ...chatSettings.get(), ...changes });
}

/** Returns the options of `useChatStream` for the settings. */
export function createChatOptions({ model, values, offersTools, wantsJSON, instructions }: ChatSettings) {
  const { tools: support, hasJSONMode } = describeChatModel(model, values);
  const target = createChatTarget(model, values);
  const json = wantsJSON && hasJSONMode && { response_format: { type: "json_object" } };
  return {
    ...({ ...target, params: { ...target.params, ...json } } as ChatStoreOptions),
    ...(instructions.trim() && { instructions: instructions.trim() }),
    ...(offersTools && support !== "no" && { tools }),
  };
}
