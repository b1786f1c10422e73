import { type ChatTool, defineTool } from "@sluice/core";
import * as v from "valibot";
import { notes } from "./settings.js";

/** Runs at once. */
const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls dice and returns what each shows",
  parameters: v.object({
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
  parameters: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute({ text }) {
    notes.set((kept) => [...kept, text]);
    return { saved: true, notes: notes.getSnapshot().length };
  },
});

/** Waits for the user's answer, which its card asks for. */
const pickColor = defineTool({
  name: "pick_color",
  description: "Asks the user to pick a color; returns its name and hex code",
  parameters: v.object({ question: v.pipe(v.string(), v.description("What the color is for")) }),
});

/** The tools of the studio. */
export const tools: readonly ChatTool[] = [rollDice, saveNote, pickColor];
