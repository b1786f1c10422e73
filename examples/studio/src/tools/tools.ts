import { type ChatTool, defineTool } from "@sluice/core";
import * as v from "valibot";
import { keepNote } from "./notes.js";

/** One that runs at once. */
const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls dice and gives what each shows",
  parameters: v.object({
    count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(20), v.description("How many dice")),
    sides: v.pipe(v.number(), v.integer(), v.minValue(2), v.maxValue(100), v.description("Of each")),
  }),
  execute({ count, sides }) {
    const words = crypto.getRandomValues(new Uint32Array(count));
    const rolls = Array.from(words, (word) => 1 + (word % sides));
    return { rolls, total: rolls.reduce((sum, roll) => sum + roll, 0) };
  },
});

/** One that a person has to allow. */
const saveNote = defineTool({
  name: "save_note",
  description: "Keeps a note for the person, on this page",
  parameters: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute: ({ text }) => ({ saved: true, notes: keepNote(text) }),
});

/** One that nothing runs: its card asks the person (color-choice.tsx). */
const pickColor = defineTool({
  name: "pick_color",
  description: "Asks the person to pick a color; gives its name and hex code",
  parameters: v.object({ question: v.pipe(v.string(), v.description("What the color is for")) }),
});

/** What the studio offers to a model. */
export const tools: readonly ChatTool[] = [rollDice, saveNote, pickColor];

/** What approving a call of the tool means. */
export function askOf(name: string): string {
  return asks[name] ?? "The model wants to run this. Nothing runs unless you approve.";
}

const asks: Readonly<Record<string, string>> = {
  save_note:
    "The model wants to keep this note on the page, until the page is left. Nothing is kept unless you approve.",
};
