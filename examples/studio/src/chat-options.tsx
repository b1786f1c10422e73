import { type ChatModel, defineTool, type Tool } from "@sluice/core";
import type { ChatStoreOptions, ChatToolCall } from "@sluice/react";
import * as v from "valibot";
import { Chip, onPressOnce } from "@/components/sluice/button";
import { createChatTarget, describeChatModel } from "@/components/sluice/chat-form";
import type { FormValues } from "@/components/sluice/form-fields";
import { storedAtom } from "./state.js";

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

/** Runs at once. */
const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls dice and returns what each shows",
  inputSchema: v.object({
    count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(20), v.description("Number of dice")),
    sides: v.pipe(v.number(), v.integer(), v.minValue(2), v.maxValue(100), v.description("Sides of each")),
  }),
  execute({ count, sides }) {
    const words = crypto.getRandomValues(new Uint32Array(count));
    const rolls = Array.from(words, (word) => 1 + (word % sides));
    return { rolls, total: rolls.reduce((sum, roll) => sum + roll, 0) };
  },
});

const notes: string[] = [];

/** Runs after the user approved the call. */
const saveNote = defineTool({
  name: "save_note",
  description: "Keeps a note for the user, on this page",
  inputSchema: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute: ({ text }) => ({ saved: true, notes: notes.push(text) }),
});

/** A tool without a function: the user gives the result. */
const pickColor = defineTool({
  name: "pick_color",
  description: "Asks the user to pick a color; returns its name and hex code",
  inputSchema: v.object({ question: v.pipe(v.string(), v.description("What the color is for")) }),
});

/** The tools of the studio. */
const tools: readonly Tool[] = [rollDice, saveNote, pickColor];

/** Names of the tools on their cards. */
export const toolTitles: Readonly<Record<string, string>> = {
  roll_dice: "Roll dice",
  save_note: "Save a note",
  pick_color: "Pick a color",
};

const colors = { reed: "#6f8f3a", current: "#0b7a72", dusk: "#4a5fa8", brick: "#b3402f", sand: "#d1a85a" };

/** Asks the user for the result of a tool without a function. */
export function renderTool({ name }: ChatToolCall, respond: (output: unknown) => void) {
  const results = name === "pick_color" ? Object.entries(colors) : [];
  return (
    <div className="flex flex-wrap gap-2">
      {results.map(([color, hex]) => (
        <Chip key={color} {...onPressOnce(() => respond({ name: color, hex }))}>
          <span aria-hidden className="size-4 rounded-full" style={{ background: hex }} />
          {color}
        </Chip>
      ))}
      <Chip {...onPressOnce(() => respond({ name: "none" }))}>Skip</Chip>
    </div>
  );
}
