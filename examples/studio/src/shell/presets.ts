import * as v from "valibot";
import { keptAtom } from "../browser.js";
import { type ChatSettings, chatSettings, isSettings } from "../chat/chat.js";

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
