import { type ChatModel, defineTool, type Tool } from "@sluice/core";
import { models as rows } from "@sluice/core/schemas";
import type { ChatTarget } from "@sluice/react";
import { atom } from "nanostores";
import * as v from "valibot";
import { chatModelInfo, chatTargetOf } from "@/components/sluice/chat-form";
import type { FormValues } from "@/components/sluice/form-fields";
import { keptAtom } from "../browser.js";

/** Settings of the chat. They are kept when the model changes, and used where the model has them. */
export interface ChatSettings {
  readonly model: ChatModel;
  /** Values of the model's form: thinking, effort, temperature, … */
  readonly values: FormValues;
  /** Says if the tools of the studio are offered. */
  readonly offersTools: boolean;
  /** Says if the answer is a JSON object. */
  readonly wantsJSON: boolean;
  /** System prompt. */
  readonly instructions: string;
}

/** A chat model in words. */
export interface ModelWords {
  readonly name: string;
  readonly note: string;
}

/** Names of the chat models, in the order of the menu. */
export const modelWords: Readonly<Record<ChatModel, ModelWords>> = {
  "alpha-v4.1-flash": { name: "Alpha 4.1 Flash", note: "Fast, and sees images" },
  "delta-5.3": { name: "Delta 5.3", note: "Thinks before each answer" },
  "gamma-chat-1-6-251015": { name: "Gamma Chat 1.6", note: "Short answers, text only" },
};

/** Ids of the chat models, in the order of the menu. */
export const models = Object.keys(modelWords) as ChatModel[];

/** The rows of the menu. */
export const modelChoices = models.map((id) => ({ id, ...modelWords[id] }));

/** The chat settings of this browser. */
export const chatSettings = keptAtom<ChatSettings>(
  "sluice-chat",
  { model: "alpha-v4.1-flash", values: {}, offersTools: false, wantsJSON: false, instructions: "" },
  isSettings,
);

/** Changes some of the settings. */
export function changeSettings(changes: Partial<ChatSettings>): void {
  chatSettings.set({ ...chatSettings.get(), ...changes });
}

/** The settings with the tools, if need be with a model that calls tools. */
export function withTools(settings: ChatSettings): ChatSettings {
  const model = chatModelInfo(settings.model).tools === "no" ? "alpha-v4.1-flash" : settings.model;
  return { ...settings, offersTools: true, model };
}

/** True if the model is offered the tools. */
export function hasTools({ model, offersTools }: ChatSettings): boolean {
  return offersTools && chatModelInfo(model).tools !== "no";
}

/** Names of the tools that the model is offered; undefined where there are none. */
export function toolNamesOf(settings: ChatSettings): readonly string[] | undefined {
  return hasTools(settings) ? Object.keys(toolTitles) : undefined;
}

/** Makes the model and the parameters that it has. */
export function targetOf({ model, values, wantsJSON }: ChatSettings): ChatTarget {
  const target = chatTargetOf(model, values);
  const row = rows[model];
  const params = {
    ...target.params,
    ...("usageOnRequest" in row && { stream_options: { include_usage: true } }),
    ...(wantsJSON && row.jsonMode && { response_format: { type: "json_object" } }),
  };
  return { model, params } as ChatTarget;
}

/** Checks settings that were kept. */
function isSettings(kept: unknown): kept is ChatSettings {
  if (typeof kept !== "object" || kept === null) return false;
  const { model, values, offersTools, wantsJSON, instructions } = kept as Record<string, unknown>;
  return (
    models.some((known) => known === model) &&
    typeof values === "object" &&
    values !== null &&
    typeof offersTools === "boolean" &&
    typeof wantsJSON === "boolean" &&
    typeof instructions === "string"
  );
}

/** Chat settings under a name: model, parameters, instructions and tools. */
interface Preset {
  readonly name: string;
  readonly settings: ChatSettings;
}

const Presets = v.array(v.object({ name: v.string(), settings: v.custom<ChatSettings>(isSettings) }));

/** The presets of this browser, newest first. */
export const presets = keptAtom<readonly Preset[]>("sluice-presets", [], (kept): kept is Preset[] =>
  v.is(Presets, kept),
);

/** Keeps the present settings under a name, in place of those that have it. */
export function savePreset(name: string): void {
  const preset = { name, settings: chatSettings.get() };
  presets.set([preset, ...presets.get().filter((it) => it.name !== name)]);
}

/** Forgets a preset. Returns a function that brings it back. */
export function removePreset(name: string): () => void {
  const before = presets.get();
  presets.set(before.filter((it) => it.name !== name));
  return () => presets.set(before);
}

/** Notes that the model was allowed to keep. They are gone when the page is left. */
export const notes = atom<readonly string[]>([]);

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

/** Runs after the user has approved it. */
const saveNote = defineTool({
  name: "save_note",
  description: "Keeps a note for the user, on this page",
  inputSchema: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute({ text }) {
    notes.set([...notes.get(), text]);
    return { saved: true, notes: notes.get().length };
  },
});

/** Waits for the user's answer, which its card asks for. */
const pickColor = defineTool({
  name: "pick_color",
  description: "Asks the user to pick a color; returns its name and hex code",
  inputSchema: v.object({ question: v.pipe(v.string(), v.description("What the color is for")) }),
});

/** The tools of the studio. */
export const tools: readonly Tool[] = [rollDice, saveNote, pickColor];

/** Names of the tools on their cards. */
export const toolTitles: Readonly<Record<string, string>> = {
  roll_dice: "Roll dice",
  save_note: "Save a note",
  pick_color: "Pick a color",
};
